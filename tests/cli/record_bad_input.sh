#!/bin/sh
# record_bad_input.sh - each bad input gets its own clear message and the right status, and nothing is lost.
. "$(dirname "$0")/lib.sh"

# refused STATUS TEXT SENTENCE ARGUMENT...
refused() {
	want=$1
	text=$2
	what=$3
	shift 3
	run "$tare" record "$@"
	check "$what: status $want" status_is "$want"
	check "$what: says so" err_has "$text"
	check "$what: leaves no file" no_recording
}

no_recording() {
	for file in *.tare*; do
		[ ! -e "$file" ] || return 1
	done
}

refused 2 'neither a command nor a process' 'nothing named'
refused 2 'the nearest one is --price' 'a misspelt option' --prize 1% -- true
refused 2 "cannot use '10' for --every" 'a time without a unit' --every 10 -- true
refused 2 'without a value' 'an option without its value' --every
refused 125 'cannot use 7 slots' 'slots that are no power of two' --slots 7 -- true
refused 125 'a power of two from 16 to 65536' 'slots that are too few' --slots 8 -- true
refused 125 '65536 slots' 'slots that do not fit' --slots 65536 -- true
refused 125 'cannot keep a recording within' 'a size that is too small' --max-size 1KB -- true
refused 125 'cannot sample every' 'a period that is too short' --every 1ns -- true
refused 127 "cannot run 'no-such-command-here'" 'a command that is not found' -- no-such-command-here
: >plain
refused 126 "cannot run './plain'" 'a command that cannot be executed' -- ./plain
refused 126 "cannot run '/'" 'a folder as command' -- /
refused 2 'cannot record process 4194304' 'a pid that nobody can have' -p 4194304
refused 125 'in one recording' 'a process and a command' -p 1 -- true
sh -c 'exit 0' &
dead=$!
wait "$dead"
refused 2 "cannot record process $dead" 'a process that has ended' -p "$dead"
refused 125 'there is no such folder' 'a folder that is not there' -o nowhere/ -- true
refused 125 'nowhere/x.tare' 'a file in a folder that is not there' -o nowhere/x.tare -- true

echo precious >kept.tare
run "$tare" record -o kept.tare -- true
check 'a file that exists: status 125' status_is 125
check 'a file that exists: says so' err_has "kept.tare"
check 'a file that exists: stays as it was' grep -qx precious kept.tare
run "$tare" record -f -o kept.tare -- no-such-command-here
check 'a command that is not found overwrites nothing, even with --force' grep -qx precious kept.tare
run "$tare" record -q -f -o kept.tare -- true
check '--force overwrites' status_is 0
rm -f kept.tare

if [ "$(id -u)" -eq 0 ]; then
	skip 'a folder that cannot be written: says so' 'root may write everywhere'
else
	mkdir closed
	chmod 555 closed
	run "$tare" record -o closed/ -- true
	check 'a folder that cannot be written: status 125' status_is 125
	check 'a folder that cannot be written: says so' err_has closed
fi
end
