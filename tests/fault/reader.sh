#!/bin/sh
# reader.sh - the child that reads foreign files is killed while a job runs: the file that was to be read has no names and is counted
# on the label; the job, and all that was read before, go on.
. "$(dirname "$0")/../cli/lib.sh"
zoo=${ZOO:?set ZOO to the built zoo}

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'

number() {
	tr ',{}' '\n\n\n' <out | sed -n "s/^ *\"$1\": *\([0-9]*\)\$/\1/p" | head -n 1
}

# Another file with the same code: it has to be read anew.
cp "$zoo" second
mkfifo go
cat >job.sh <<JOB
"$zoo" zombies 1
read -r _ <go
./second zombies 1
"$zoo" zombies 1
exit 5
JOB
"$tare" record -q -o r.tare -- sh job.sh 2>err &
recorder=$!
# The one with a filter: the job is called tare too, until it executes.
find_reader() {
	for pid in $(pgrep -P "$recorder" -x tare); do
		! grep -q '^Seccomp:.*2$' "/proc/$pid/status" || reader=$pid
	done
	[ -n "$reader" ]
}
reader=
tries=0
until find_reader || [ "$tries" -ge 200 ]; do
	sleep 0.05
	tries=$((tries + 1))
done
[ -n "$reader" ] || fail 'the reader of a recorder is found'
sleep 0.5
has_no_capability() {
	grep -E '^(Cap|Seccomp:|NoNewPrivs)' "/proc/$reader/status"
	grep -q '^CapEff:.*0000000000000000$' "/proc/$reader/status" && grep -q '^CapPrm:.*0000000000000000$' "/proc/$reader/status" &&
		grep -q '^Seccomp:.*2$' "/proc/$reader/status" && grep -q '^NoNewPrivs:.*1$' "/proc/$reader/status"
}
check 'the reader of a recorder has no capability, and a filter' has_no_capability
kill -KILL "$reader"
# What is read next is the second program: the shell that waits starts nothing else.
echo >go
status=0
wait "$recorder" || status=$?
check 'the job ends with its own status' status_is 5
run "$tare" report --json r.tare
check 'the file that was to be read is counted' test "$(number unread_files)" -eq 1
has_both() {
	sqlite3 r.tare "SELECT name, module FROM frame WHERE module IN ('zoo', 'second')"
	[ "$(sqlite3 r.tare "SELECT count(*) FROM frame WHERE name = 'spend' AND module = 'zoo'")" -eq 1 ] &&
		[ "$(sqlite3 r.tare "SELECT count(*) FROM frame WHERE name = '[second]'")" -eq 1 ]
}
check 'it has no names; what was read before has its own' has_both
run "$tare" report r.tare
check 'and the report says so' out_has '1 file without names: reading them killed our reader'
end
