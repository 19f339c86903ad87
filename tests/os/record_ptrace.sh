#!/bin/sh
# record_ptrace.sh - `tare record` where a filter forbids perf events and BPF, as in most containers: it works, says how, and what
# it says of the job is true.
. "$(dirname "$0")/../cli/lib.sh"
spinner=${SPINNER:?set SPINNER to the built spinner}
shut=${SHUT:?set SHUT to the built shut}
calls=perf_event_open,bpf

"$shut" EPERM "$calls" true || skip_all 'no filter of system calls can be set here'

number() {
	tr ',{}' '\n\n\n' <out | sed -n "s/^ *\"$1\": *\([0-9]*\)\$/\1/p" | head -n 1
}

# What the recording says of a function's own time, in ns.
own() {
	sed -n "s/.*\"name\": \"$1\",.*\"own\": {\"share\": {[^}]*},\"weight_ns\": \([0-9]*\),.*\"own_uncertain_ns\".*/\1/p" report.json
}

# Shares of the three functions by the spinner's own clock and by the recording: within 5 standard errors of so many samples.
shares_hold() {
	"$tare" report --json r.tare >report.json || return 1
	cp report.json out
	echo "$(cat said) $(own alpha) $(own beta) $(own gamma_) $(number kept)" | awk '
		NF == 10 {
			really = $2 + $4 + $6
			seen = $7 + $8 + $9
			for (i = 0; i < 3; i++) {
				want = $(2 + 2 * i) / really
				got = $(7 + i) / seen
				off = 5 * sqrt(want * (1 - want) / $10)
				printf "%s %.3f, really %.3f, within %.3f of %d samples\n", $(1 + 2 * i), got, want, off, $10
				bad += got > want + off || got < want - off
			}
			held = bad == 0 && $10 >= 200
		}
		END { exit !held }'
}

for code in EPERM ENOSYS; do
	rm -f r.tare
	run "$shut" "$code" "$calls" "$tare" record -f --every 2ms --price 100% -o r.tare -- "$spinner" 1.5 7
	cp out said
	check "$code: the job is recorded, with its own status" status_is 0
	check "$code: it is said which engine, and why" err_has "engine ptrace, since a filter forbids perf events here ($code)"
	check "$code: shares hold" shares_hold
	run "$tare" report --json r.tare
	check "$code: the label says the engine" out_has '"engine": "ptrace"'
	check "$code: stops are counted, no more than ticks" test "$(number stops)" -gt 0 -a "$(number stops)" -le "$(number ticks)"
	check "$code: what they took is charged" test "$(number stopped_ns)" -gt 0 -a "$(number kernel_ns)" -ge "$(number stopped_ns)"
	run "$tare" report r.tare
	tr -s ' \n' ' ' <out >line
	check "$code: the report says it" grep -q 'it stopped a running thread' line
done

run "$shut" EPERM "$calls" "$tare" record -q -o q.tare -- sh -c 'exit 7'
check 'the status of the job is its own' status_is 7
run "$shut" EPERM "$calls" "$tare" record -q -o k.tare -- sh -c 'kill -TERM $$'
check 'also when a signal ended it' status_is 143
run "$tare" record -q --engine ptrace -o f.tare -- "$spinner" 0.2 1
check '--engine ptrace: works where perf is permitted too' status_is 0
check '--engine ptrace: nothing is said with --quiet' test ! -s err
run "$shut" EPERM "$calls" "$tare" record --engine perf -o p.tare -- true
check '--engine perf: is taken at its word' status_is 125
check '--engine perf: says what forbids it' err_has 'seccomp profile'
# A leak checker, where the build has one, traces too.
run env ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" "$shut" EPERM "$calls,ptrace" "$tare" record -o n.tare -- true
check 'no engine at all: status 125' status_is 125
check 'no engine at all: says what to permit' err_has 'allow the system call perf_event_open'
run "$shut" EPERM ptrace "$tare" record --engine ptrace -o n.tare -- true
check '--engine ptrace without ptrace: says what to permit' err_has 'allow the system call ptrace'
check 'refusals leave no file' test ! -e n.tare -a ! -e p.tare
run "$tare" record --engine magic -o n.tare -- true
check 'an engine that there is not: status 125' status_is 125
check 'an engine that there is not: names those that there are' err_has '--engine takes perf, bpf or ptrace'

# A recorder that is killed leaves its job as it was.
"$tare" record -q --engine ptrace --every 200us --price 100% -o s.tare -- sh -c 'echo $$ >job; exec "$0" 20 1' "$spinner" >/dev/null 2>err &
recorder=$!
tries=0
until [ -s job ] && [ -s s.tare ] || [ "$tries" -ge 50 ]; do
	sleep 0.1
	tries=$((tries + 1))
done
sleep 0.3
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
sleep 0.1
job=$(cat job)
ran() {
	cut -d ' ' -f 14 "/proc/$job/stat"
}
before=$(ran)
sleep 0.3
check 'the job of a killed recorder runs on' test "$(ran)" -gt "$before"
check 'and nobody traces it' grep -q '^TracerPid:	0$' "/proc/$job/status"
kill "$job"

# What waits is recorded too, without being touched.
run "$shut" EPERM "$calls" "$tare" record -q -o w.tare -- sleep 0.5
check 'a job that only waits: ends as it would' status_is 0
run "$tare" doctor
with=$status
run "$shut" EPERM "$calls" "$tare" doctor
check 'doctor says that record works here' out_has 'tare record works here'
check 'doctor names the engine' out_has 'engine ptrace'
check 'doctor ends as where perf is permitted' status_is "$with"
end
