#!/bin/sh
# record_cost.sh - the label's own CPU agrees with the kernel's account of all our processes within 5 %; one reader
# after another never disturbs a recorder; an idle process costs next to nothing: under 0.3 % of a CPU, or, where the machine
# takes milliseconds for waking up and for a save, little more than a program beside it that only keeps a file.
. "$(dirname "$0")/lib.sh"

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'
${CC:-cc} -O2 -o cost "$here/../os/targets/cost.c" || skip_all 'no compiler'
${CC:-cc} -O2 -o spinner "$here/../os/targets/spinner.c" || skip_all 'no compiler'
${CC:-cc} -O2 -o keeper "$here/../os/targets/keeper.c" -lsqlite3 || skip_all 'no compiler'

number() {
	tr ',{}' '\n\n\n' <out | sed -n "s/^ *\"$1\": *\([0-9]*\)\$/\1/p" | head -n 1
}

# agrees: the label of the last report against the file `spent`: within 5 %, or 4 ms where that is more: what the
# loader takes before, and packing the file and leaving take after the last label, is in no label.
agrees() {
	awk -v label="$(number own_cpu_ns)" '{
		d = label / $1
		print "label / kernel =", d, "of", $1 / 1e6, "ms"
		exit !(d < 1.05 && (d > 0.95 || $1 - label < 4e6))
	}' spent
}

./spinner 8 1 >/dev/null &
spinner=$!
./cost spent "$tare" record -q --every 1ms --price 100% -d 6s -o busy.tare -p "$spinner"
run "$tare" report --json busy.tare
check 'the label and the kernel agree on the cost of a busy recording' agrees
wait "$spinner"
check 'what the label says was taken from the job is what its windows say' \
	test "$(sqlite3 -readonly busy.tare 'SELECT kernel_ns = (SELECT sum(kernel_ns) FROM ledger) FROM recording')" -eq 1

# costs_nothing: what it took beside its start, in 5 s, and what the program beside it took.
costs_nothing() {
	awk -v start="$(number start_ns)" -v kept="$(cat kept)" '{
		ns = $1 - start
		print ns, "ns in 5 s;", kept, "ns of a program that only keeps a file"
		exit !(ns < 15000000 || (ns < 2.5 * kept && ns < 60000000))
	}' spent
}

# Noise only adds: what costs more three times costs more.
sleep 60 &
idle=$!
for try in 1 2 3; do
	./keeper "keeper$try.db" 5 >kept &
	keeper=$!
	./cost spent "$tare" record -q -d 5s -o "idle$try.tare" -p "$idle" --price 0.5%
	wait "$keeper"
	run "$tare" report --json "idle$try.tare"
	! costs_nothing >/dev/null || break
done
check 'and of an idle one' agrees
check 'beside its start, an idle process costs under 0.3 % of a CPU' costs_nothing
kill "$idle"

./spinner 6 2 >/dev/null &
spinner=$!
"$tare" record -q --every 1ms --price 100% -d 5s -o watched.tare -p "$spinner" &
recorder=$!
while kill -0 "$recorder" 2>/dev/null; do
	[ ! -e watched.tare ] || "$tare" report --json watched.tare >out 2>err || echo "$?" >>failed_reports
done
wait "$recorder"
check 'reports in a loop do not disturb the recorder' test $? -eq 0
check 'and every one of them succeeds' test ! -e failed_reports
run "$tare" report --json watched.tare
check 'no save was held up' test "$(number save_pauses)" -eq 0
wait "$spinner"
end
