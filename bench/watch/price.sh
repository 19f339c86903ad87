#!/bin/sh
# Does watching cost what its label says, does it stay inside its price, and are the rates it tells true? Each number beside
# the truth, which the watched program tells by itself (tests/watch/targets/hot.c): ten lines a second of the clock, its
# CPU time and its exact calls so far, unwatched and watched in turn within one run of it.
# Usage: price.sh BUILD [ROUNDS]   (default 6; about 25 s a round)
set -eu

build=$(cd "$1" && pwd)
rounds=${2:-6}
tare=$build/tare
targets=$build/tests/watch
place=$(mktemp -d)
target=
trap '[ -z "$target" ] || kill "$target" 2>/dev/null; cd /; rm -rf "$place"' EXIT
trap 'exit 130' INT TERM HUP
cd "$place"
unset TARE_NO

# Now by CLOCK_MONOTONIC, in ns: as the program's last line has it.
now() {
	tail -n 1 lines | cut -d ' ' -f 1
}

start() {
	"$targets/hot" "$@" >lines &
	target=$!
	sleep 0.7
}

stop() {
	kill "$target" 2>/dev/null || true
	wait "$target" 2>/dev/null || true
	target=
}

# rate FROM TO [cpu]: true calls a second between two instants, a third of a second of each end left out; with cpu, calls a
# second of the program's own CPU time.
rate() {
	awk -v from="$1" -v to="$2" -v by="$([ "${3-}" = cpu ] && echo 2 || echo 1)" '
		$1 >= from + 3e8 && !seen { at = $by; calls = $3; seen = 1 }
		$1 <= to - 3e8 { last = $by; last_calls = $3 }
		END { if (last > at) printf "%.1f\n", (last_calls - calls) / (last - at) * 1e9; else print 0 }' lines
}

# busy FROM TO: the part of one CPU that the program had.
busy() {
	awk -v from="$1" -v to="$2" '
		$1 >= from + 3e8 && !seen { at = $1; cpu = $2; seen = 1 }
		$1 <= to - 3e8 { last = $1; last_cpu = $2 }
		END { print (last > at ? (last_cpu - cpu) / (last - at) : 1) }' lines
}

watch() {
	"$tare" watch -q -f -o w.tare -p "$target" "$@" >out 2>err || {
		cat err >&2
		exit 2
	}
	"$tare" report --json w.tare >json
}

# What the recording says: of its one function, and of the whole. usage: told SQL-EXPRESSION
told() {
	sqlite3 -readonly w.tare "SELECT $1 FROM
		(SELECT sum(calls) + sum(never_timed) AS calls, sum(covered_ns) AS covered_ns, sum(span_ns) AS span_ns FROM window),
		(SELECT charged_ps, is_sliced, interval FROM watched WHERE mode <> '' LIMIT 1),
		(SELECT own_cpu_ns, elapsed_ns FROM recording)"
}

# And in the report. usage: said MEMBER
said() {
	sqlite3 :memory: "SELECT f.value->>'$1' FROM json_each(readfile('json'), '\$.functions') AS f WHERE f.value->>'why_not' = '' LIMIT 1"
}

# A: what a watch at 20 times the price takes from the program, and what its label claims. Rows: "TRUE CLAIMED", shares of
# one CPU that the program lost.
compare_claims() {
	: >claims
	start nop5 250000 600
	for _ in $(seq "$rounds"); do
		from=$(now)
		sleep 2.6
		before=$(rate "$from" "$(now)" cpu)
		watch --price 20% --duration 6s hot_nop5
		to=$(now)
		meanwhile=$(rate $((to - 4000000000)) "$to" cpu)
		had=$(busy $((to - 4000000000)) "$to")
		from=$(now)
		sleep 2.6
		after=$(rate "$from" "$(now)" cpu)
		awk -v before="$before" -v meanwhile="$meanwhile" -v after="$after" -v had="$had" \
			-v claimed="$(told 'charged_ps / 1e3 / covered_ns')" \
			'BEGIN { print had * (1 - meanwhile / ((before + after) / 2)), claimed }' >>claims
	done
	stop
}

# B: 2,000,000 calls a second at the default price: slices.
watch_hottest() {
	start nop5 2000000 600
	from=$(now)
	sleep 3.6
	before=$(rate "$from" "$(now)" cpu)
	from=$(now)
	watch --duration 42s hot_nop5
	to=$(now)
	meanwhile=$(rate "$from" "$to" cpu)
	had=$(busy "$from" "$to")
	from=$(now)
	sleep 3.6
	after=$(rate "$from" "$(now)" cpu)
	stop
	awk -v before="$before" -v meanwhile="$meanwhile" -v after="$after" -v had="$had" -v claimed="$(told '100.0 * charged_ps / 1e3 / elapsed_ns')" \
		-v own="$(told '100.0 * own_cpu_ns / elapsed_ns')" -v covered="$(told '100.0 * covered_ns / span_ns')" \
		-v said="$(said a_second)" -v at_least="$(said is_at_least)" -v slowed="$(said slowed)" 'BEGIN {
		plain = (before + after) / 2
		printf "| true rate by its CPU time, unwatched; meanwhile | %.0f; %.0f |\n", plain, meanwhile
		printf "| taken from the program, true | %.2f %% |\n", 100 * had * (1 - meanwhile / plain)
		printf "| taken from the program, by the label | %.2f %% |\n", claimed
		printf "| our own CPU | %.2f %% |\n", own
		printf "| covered by slices | %.2f %% |\n", covered
		printf("| rate told | %s%.0f |\n", at_least ? "at least " : "", said)
		printf "| slowed while covered, told | %.1f %% |\n", 100 * slowed
	}'
}

# C: is the rate, corrected for the time of the probes, true? usage: rate_of FIRST RATE; rows "TRUE TOLD".
rate_of() {
	: >rates
	start "$1" "$2" 600
	for _ in $(seq "$(((rounds + 1) / 2))"); do
		from=$(now)
		sleep 2.6
		before=$(rate "$from" "$(now)")
		watch --price 20% --duration 4s "hot_$1"
		from=$(now)
		sleep 2.6
		after=$(rate "$from" "$(now)")
		echo "$before $after $(said a_second)" >>rates
	done
	stop
	awk -v first="$1" '
		{ plain += ($1 + $2) / 2; told += $3; n++; off = $3 / (($1 + $2) / 2) - 1; list[n] = 100 * off }
		END {
			least = most = list[1]
			for (i = 2; i <= n; i++) {
				least = list[i] < least ? list[i] : least
				most = list[i] > most ? list[i] : most
			}
			printf "| %s | %.0f | %.0f | %+.1f %% (%+.1f to %+.1f) |\n", first, plain / n, told / n, 100 * (told / plain - 1), least, most
		}' rates
}

# D: the order of two functions, one of which calls a watched one a hundred times.
order() {
	"$tare" record -q -f --every 1ms --price 100% -o r.tare -- "$targets/odd_pace" heavy 5000 >log
	"$tare" report --json r.tare >record.json
	"$tare" watch -q -f --price 20% -o w.tare own_heavy callee_heavy tiny -- "$targets/odd_pace" heavy 5000 >log
	"$tare" report --json w.tare >json
	sqlite3 -separator ' | ' :memory: "
		SELECT '| ' || (w.value->>'name'), printf('%.1f %%', 100 * (r.value->>'\$.own.share.value')),
			printf('%.1f %%', 100 * (w.value->>'\$.share_of_run.value')),
			CASE w.value->>'cannot_rank' WHEN 1 THEN 'cannot tell |' ELSE ' |' END
		FROM json_each(readfile('json'), '\$.functions') AS w
		JOIN json_each(readfile('record.json'), '\$.functions') AS r ON r.value->>'name' = w.value->>'name'"
}

echo "\`bench/watch/price.sh build $rounds\`, $(date -u +%Y-%m-%d), $(uname -sr), $(nproc) CPUs, $("$tare" --version | head -n 1); measured."
echo
echo 'A function called 250,000 times a second at 20 times the price, unwatched and watched in turn; what the program lost, of one CPU:'
echo
compare_claims
awk '
	{ n++; true_sum += $1; true_squares += $1 * $1; claimed += $2; off = $2 - $1; off_sum += off; off_squares += off * off }
	END {
		mean = true_sum / n
		half = n > 1 ? 2.6 * sqrt((true_squares / n - mean * mean) / (n - 1)) : 0
		claimed /= n
		is_inside = (claimed >= mean - half && claimed <= mean + half)
		printf("| true, 95 %% interval | %.2f %% ± %.2f |\n| by the label | %.2f %% |\n| inside | %s |\n", 100 * mean,
			100 * half, 100 * claimed, is_inside ? "yes" : "no")
	}' claims | sed '1i | | |\n| --- | ---: |'
echo
echo 'A function called 2,000,000 times a second, price 1 %:'
echo
echo '| | |'
echo '| --- | ---: |'
watch_hottest
echo
echo 'Rates, corrected for the time of the probes (the true one is that of the unwatched program before and after):'
echo
echo '| first instruction | true | told | off |'
echo '| --- | ---: | ---: | ---: |'
rate_of nop5 100000
rate_of other 15000
echo
echo 'The order of two functions, one of which calls a watched one a hundred times; own time by `tare record`, and by `tare watch`:'
echo
echo '| function | record | watch | |'
echo '| --- | ---: | ---: | --- |'
order
