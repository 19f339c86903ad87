#!/bin/sh
# watch_command.sh - a watched command behaves as if it ran alone; signals end the recording, not the job.
. "$(dirname "$0")/lib.sh"

colony=${COLONY-}
[ -n "$colony" ] || skip_all "the example is not built here"

run "$tare" watch -q -o a.tare -- "$colony" 100 0
check 'a command that ends at once is a short recording, not an error' status_is 0
run "$tare" watch -q -d 1s -o b.tare -- "$colony" 6000 4000
check '-d ends the recording; tare waits for the end of the command' status_is 0
run "$tare" report --json b.tare
check 'and says so' out_has '"duration"'
mkdir many
for _ in 1 2 3; do
	"$tare" watch -q -o many --keep-files 2 -- "$colony" 10 0 >/dev/null
done
two() {
	[ "$(ls many | grep -c '^tare-colony-[0-9]')" -eq 2 ]
}
check '--keep-files keeps the newest two' two

"$tare" watch -o s.tare --window 1s -- "$colony" 0 1000 >out 2>err &
recorder=$!
tries=0
until [ -s s.tare ] || [ "$tries" -ge 100 ]; do
	sleep 0.1
	tries=$((tries + 1))
done
sleep 1.5
kill -USR1 "$recorder"
sleep 0.3
check 'SIGUSR1 prints the status line' grep -q 'calls, .* timed · price .* of 1.00 % · file .* for ever · window 1 s · lost 0 · Ctrl-C ends' err
job=$(pgrep -P "$recorder" -x colony)
kill -TERM "$recorder"
tries=0
while kill -0 "$recorder" 2>/dev/null && [ "$tries" -lt 20 ]; do
	sleep 0.1
	tries=$((tries + 1))
done
wait "$recorder"
check 'SIGTERM finishes within 2 s, and the status says which signal' test $? -eq 143
check 'the job is not stopped' kill -0 "$job"
kill "$job"
run "$tare" report --json s.tare
check 'the recording is finished' out_has '"interrupt"'
end
