#!/bin/sh
# record_command.sh - a recorded command behaves as if it ran alone, and leaves a recording.
. "$(dirname "$0")/lib.sh"

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'

one_recording() {
	[ "$(ls -- *.tare 2>/dev/null | wc -l)" -eq 1 ]
}

run "$tare" record -- sh -c 'echo out; echo err >&2; exit 7'
check "the command's status is the status" status_is 7
check "the command's output is its own" out_has out
check 'the summary names the file' err_has 'look: tare report tare-sh-'
check 'one recording is left, and nothing beside it' one_recording
rm -f -- *.tare

run "$tare" record -q -- sh -c 'kill -TERM $$'
check 'a command that a signal ended: 128 and its number' status_is 143
rm -f -- *.tare

run "$tare" record -q -- sh -c 'umask; ulimit -c; trap'
sh -c 'umask; ulimit -c; trap' >want
check 'the command keeps its umask, limits and signals' cmp want out
rm -f -- *.tare

run "$tare" record -q -- true
check 'a command that dies at once is a short task, not an error' status_is 0
run "$tare" report
check 'its recording can be shown' status_is 0
rm -f -- *.tare

mkdir many
for _ in 1 2 3 4; do
	"$tare" record -q -o many --keep-files 2 -- true
done
touch many/tare-true-notes.tare many/other.tare
"$tare" record -q -o many --keep-files 2 -- true
count() {
	[ "$(ls many | grep -c '^tare-true-[0-9]')" -eq 2 ]
}
check '--keep-files keeps the newest two' count
check '--keep-files touches no other names' test -e many/tare-true-notes.tare -a -e many/other.tare

run "$tare" record -o x.tare -- sleep 0.1
small() {
	[ "$(stat -c %s x.tare)" -le 131072 ]
}
check 'a short recording is a small file: the room kept for it is given back' small
check 'a name of its own' test -s x.tare
mode() {
	[ "$(stat -c %a x.tare)" = 600 ]
}
check 'only its owner may read it' mode

"$tare" record -q -o held.tare -- sleep 3 &
first=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ -e held.tare ] && break
	sleep 0.1
done
sleep 0.3
run "$tare" record -f -o held.tare -- true
check 'a second writer is refused' status_is 125
check "and told the holder's pid" err_has "$first"
wait "$first"
check 'the first one ends well' test $? -eq 0

run "$tare" record --json -q -o j.tare -- true
check '--json prints one object with its version' out_has '"schema_version"'
end
