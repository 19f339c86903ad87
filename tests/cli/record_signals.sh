#!/bin/sh
# record_signals.sh - the first interrupt finishes the recording, the job goes on; HUP changes nothing.
. "$(dirname "$0")/lib.sh"

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'

# begin ARGUMENT...: starts a recording of `sleep 20` and waits until it has a file; $recorder is its pid.
begin() {
	rm -f s.tare
	"$tare" record -o s.tare "$@" -- sh -c 'echo $$ >job; exec sleep 20' >out 2>err &
	recorder=$!
	tries=0
	until [ -s job ] && [ -s s.tare ] || [ "$tries" -ge 50 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	job=$(cat job)
}

ends_within() {
	tries=0
	while kill -0 "$recorder" 2>/dev/null; do
		[ "$tries" -lt "$1" ] || return 1
		sleep 0.1
		tries=$((tries + 1))
	done
}

begin
kill -HUP "$recorder"
kill -USR1 "$recorder"
sleep 0.3
check 'SIGHUP changes nothing' kill -0 "$recorder"
check 'SIGUSR1 prints the status line' grep -q 'Ctrl-C ends' err
kill -TERM "$recorder"
check 'SIGTERM finishes within 2 s' ends_within 20
wait "$recorder"
status=$?
check 'the status says which signal' status_is 143
check 'the job is not stopped' kill -0 "$job"
check 'the summary is there' grep -q 'look: tare report s.tare' err
run "$tare" report --json s.tare
check 'the recording is finished' out_has '"interrupt"'
kill "$job"
rm -f job

begin -d 500ms
sleep 1
run "$tare" report --json s.tare
check '-d ends the recording' out_has '"duration"'
check 'and the job goes on, with tare waiting for it' kill -0 "$recorder"
kill -INT "$recorder"
check 'an interrupt then ends the waiting' ends_within 20
kill "$job"
rm -f job

begin
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
check 'the job outlives a killed recorder' kill -0 "$job"
run "$tare" report s.tare
check 'the recording of a killed recorder opens' status_is 0
check 'and says that it is unfinished' grep -qi unfinished out
kill "$job"
end
