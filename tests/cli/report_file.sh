#!/bin/sh
# report_file.sh - which recording is read, and what is said of one that cannot be.
. "$(dirname "$0")/lib.sh"

make=${MAKE_RECORDING:?set MAKE_RECORDING to the built make_recording}

lines_are() {
	[ "$(wc -l <err)" -eq "$1" ]
}

run "$tare" report
check 'no recording here: exit 2' status_is 2
check 'it is said, with what to do, in three lines' lines_are 3
check 'and nothing goes to stdout' test ! -s out

"$make" parser b.tare
"$make" coarse a.tare
touch -d '2001-01-01' b.tare
mkdir folder.tare
run "$tare" report
check 'without a file the newest is read' out_has 'Coarse, 38 samples'
check 'and named on stderr' err_has 'tare report: a.tare'
run "$tare" report b.tare
check 'with a file, that one' out_has Parser::parse
check 'and nothing is said of it' test ! -s err
# What a recorder leaves that is killed before its first save.
cp a.tare unsaved
sqlite3 unsaved "UPDATE recording SET instrument = '', is_finished = 0; DELETE FROM context; DELETE FROM slot"
run "$tare" report unsaved
check 'one that was never saved is unfinished, not refused' test "$status" -eq 0 -a -s out
sqlite3 unsaved "UPDATE recording SET instrument = 'weigh'"
run "$tare" report unsaved
check 'an instrument of a later version: exit 2' status_is 2
check 'it is named' err_has weigh
touch -d '2001-01-01' a.tare
mv a.tare "$(printf 'c\033[2J.tare')"
run "$tare" report
check 'a hostile file name is harmless on stderr' err_has '\x1b[2J.tare'

echo x >"$(printf 'd\033[2J.tare')"
run "$tare" report
check 'in an error too' sh -c 'grep -qF "\x1b[2J.tare" err && ! LC_ALL=C grep -q "[[:cntrl:]]" err'
rm -f d*.tare

# refuses SENTENCE FILE WORDS
refuses() {
	run "$tare" report "$2"
	check "$1: exit 2" status_is 2
	check "$1: said" err_has "$3"
	check "$1: at most three lines" test "$(wc -l <err)" -le 3
	check "$1: nothing on stdout" test ! -s out
}

refuses 'a file that is not there' nowhere.tare nowhere.tare
echo 'not a recording' >text.tare
refuses 'a foreign file' text.tare text.tare
head -c 8000 b.tare >half.tare
refuses 'a truncated recording' half.tare half.tare
: >none.tare
refuses 'an empty file' none.tare none.tare

run "$tare" report a.tare b.tare
check 'two recordings are one too many' status_is 2
run "$tare" report --frobnicate
check 'an option that is not known: exit 2' status_is 2
run "$tare" report --help
check '--help: exit 0' status_is 0
check '--help names the options' out_has --findings

full() {
	"$tare" report "$@" b.tare >/dev/full 2>err
	[ $? -eq 2 ] && err_has 'cannot write' && [ "$(wc -l <err)" -eq 1 ]
}
if [ -e /dev/full ]; then
	check 'a report that cannot be written: exit 2' full
	check 'JSON that cannot be written: exit 2' full --json
else
	skip 'a report that cannot be written' 'no /dev/full'
fi
cp b.tare before
chmod 400 b.tare
"$tare" report b.tare >/dev/null
check 'reading changes nothing' cmp before b.tare
check 'and leaves nothing beside it' test ! -e b.tare-wal -a ! -e b.tare-shm
end
