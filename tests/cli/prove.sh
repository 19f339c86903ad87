#!/bin/sh
# prove.sh - bad input is refused in words; a real proof of a tiny job makes the runs that it says, and its JSON holds what its
# numbers are made of. Nothing here depends on how long anything takes.
. "$(dirname "$0")/lib.sh"

# refused TEXT SENTENCE ARGUMENT...
refused() {
	text=$1
	what=$2
	shift 2
	run "$tare" prove "$@"
	check "$what: status 2" status_is 2
	check "$what: says so" err_has "$text"
	check "$what: how to mend it" err_has 'to mend it:'
}

refused 'cannot prove without a command' 'no command'
refused 'cannot prove without a command' 'nothing behind the dashes' --
refused 'the nearest one is --pairs' 'a misspelt option' --pears 3 -- true
refused 'cannot prove with 1 pairs' 'too few pairs' --pairs 1 -- true
refused 'cannot prove with 501 pairs' 'too many pairs' --pairs 501 -- true
refused 'cannot prove at a price of 0.00 %' 'no price' --price 0% -- true
refused 'cannot prove at a price of' 'a price of which 20 times is none' --price 321% -- true
refused "cannot sample with engine 'steam'" 'an engine that there is not' --engine steam -- true
refused "cannot prove a watch by engine 'bpf'" 'an engine of a watch' --watch --engine bpf f -- true
refused 'cannot prove a watch of nothing' 'a watch without functions' --watch -- true
refused "cannot use 'main' in front of the command" 'functions without --watch' main -- true
refused "cannot run 'no-such-command-here'" 'a command that is not found' -- no-such-command-here

"$tare" doctor >/dev/null || {
	skip 'a real proof' 'tare record does not work here'
	end
}

mkdir tmp
TMPDIR=$place/tmp
export TMPDIR
cat >job <<'JOB'
#!/bin/sh
echo run >>"$1"
echo noise
echo more noise >&2
exit 3
JOB
chmod +x job
run "$tare" prove --pairs 6 --seed 5 --json -- ./job "$place/runs"
check 'six pairs of a job of nothing: told, or cannot be told' test "$status" -le 2
check 'nothing that the job says is in the result' out_lacks noise
check 'or on the error output' err_lacks noise
check 'a first run, and six pairs at both prices' test "$(grep -c run runs)" -eq 25
check 'nothing is left behind' rmdir tmp
mkdir tmp

# ask EXPRESSION: of the JSON
ask() {
	sqlite3 :memory: "SELECT $1 FROM (SELECT readfile('out') AS j)"
}
check 'the JSON is valid' test "$(ask 'json_valid(j)')" = 1
check 'it has both prices' test "$(ask "json_extract(j, '$.prices[0].price_ppm') || ' ' || json_extract(j, '$.prices[1].price_ppm')")" = '5000 100000'
check 'and six pairs at each' test "$(ask "json_array_length(j, '$.prices[0].pairs') || json_array_length(j, '$.prices[1].pairs')")" = 66
check 'its seed' test "$(ask "json_extract(j, '$.seed')")" = 5

# The same arithmetic another way: the middle of the means by two of the logarithms, and the interval from the least to the greatest,
# which is that of six pairs.
same_numbers() {
	for i in 0 1; do
		sqlite3 -separator ' ' :memory: "SELECT p.value->>'bare_cpu_ns', p.value->>'with_cpu_ns', p.value->>'claim_ns'
			FROM json_each(readfile('out'), '\$.prices[$i].pairs') AS p" >"pairs$i"
		echo "$(ask "json_extract(j, '\$.prices[$i].slowdown.value')") $(ask "json_extract(j, '\$.prices[$i].slowdown.error')") $(
			ask "json_extract(j, '\$.prices[$i].claimed')")" >"told$i"
		awk '
			NR == FNR { told = $1; told_error = $2; told_claim = $3; next }
			{ x[n++] = log($2 / $1); ours += $3; bare += $1 }
			END {
				for (i = 0; i < n; i++)
					for (k = i; k < n; k++)
						mean[m++] = (x[i] + x[k]) / 2
				for (i = 1; i < m; i++)
					for (k = i; k > 0 && mean[k - 1] > mean[k]; k--) {
						swap = mean[k]
						mean[k] = mean[k - 1]
						mean[k - 1] = swap
					}
				middle = exp(m % 2 ? mean[(m - 1) / 2] : (mean[m / 2 - 1] + mean[m / 2]) / 2) - 1
				down = middle - (exp(mean[0]) - 1)
				up = exp(mean[m - 1]) - 1 - middle
				error = up > down ? up : down
				claim = ours / bare
				print n, middle, told, error, told_error, claim, told_claim
				off = (middle - told) ^ 2 + (error - told_error) ^ 2 + (claim - told_claim) ^ 2
				exit !(n == 6 && off < 1e-12)
			}' "told$i" "pairs$i" || return 1
	done
}
check 'its numbers are those of its pairs' same_numbers

# ABBA or BAAB: each pair is the other way round than the one before, and the seed decides.
ask "(SELECT group_concat(value->>'is_with_first', '') FROM json_each(j, '\$.prices[0].pairs'))" >order
check 'each two pairs are in both orders' grep -qxE '(01|10)(01|10)(01|10)' order
run "$tare" prove --pairs 6 --seed 5 --json -- ./job "$place/runs"
ask "(SELECT group_concat(value->>'is_with_first', '') FROM json_each(j, '\$.prices[1].pairs'))" >again
check 'the seed decides, at both prices' diff order again

cat >changing <<'JOB'
#!/bin/sh
[ ! -e been ]
status=$?
: >been
exit "$status"
JOB
chmod +x changing
run "$tare" prove --pairs 2 -- ./changing
check 'a job that ends in another way is refused' status_is 2
check 'and both ways are told' err_has 'it ended with status 0, and then with 1'
check 'again nothing is left behind' rmdir tmp
mkdir tmp

# An interrupt ends the job of the run with it.
cat >sleeper <<'JOB'
#!/bin/sh
echo $$ >sleeper.pid
exec sleep 60
JOB
chmod +x sleeper
"$tare" prove --pairs 2 -- ./sleeper >out 2>err &
prover=$!
for _ in $(seq 100); do
	[ ! -s sleeper.pid ] || break
	sleep 0.05
done
kill -TERM "$prover"
wait "$prover"
status=$?
check 'an interrupt: status 2' status_is 2
# Whoever takes orphans in may take a moment to bury it.
is_gone() {
	for _ in $(seq 100); do
		kill -0 "$1" 2>/dev/null || return 0
		! grep -q '^State:.Z' "/proc/$1/status" || return 0
		sleep 0.05
	done
	return 1
}
check 'an interrupt: the job is gone too' is_gone "$(cat sleeper.pid)"
check 'an interrupt: nothing is left behind' rmdir tmp
end
