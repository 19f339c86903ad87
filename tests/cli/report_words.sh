#!/bin/sh
# report_words.sh - what a report says, to the letter: the first screen, all of it, without UTF-8, findings alone.
. "$(dirname "$0")/lib.sh"

make=${MAKE_RECORDING:?set MAKE_RECORDING to the built make_recording}
expected=$here/expected
utf8=$(locale -a 2>/dev/null | grep -i -m 1 -e '^C\.utf-\{0,1\}8$' -e '\.utf-\{0,1\}8$')

# same FILE: the last run says what the file does. How large an almost empty database is, is not ours to say.
same() {
	sed 's/\(size  *\)[0-9.]*\( KB\)* of/\1NN KB of/' <out >seen && diff -u "$1" seen
}

# as KIND: expected/report_KIND.txt is what the terminal shows of it
as() {
	"$make" "$1" "$1.tare" || return 1
	run env LC_ALL="$utf8" TERM=xterm "$tare" report "$1.tare"
	status_is 0 && same "$expected/report_$1.txt"
}

fits_in_80() {
	[ "$(cat "$@" | LC_ALL=${utf8:-C} wc -L)" -le 80 ]
}

# Lines up to the one that says how many findings there are.
first_screen() {
	[ "$(sed -n '/findings\{0,1\}: tare report --findings/=' out | head -n 1)" -le 24 ]
}

plain() {
	! LC_ALL=C grep -n '[^ -~]' out
}

if [ -n "$utf8" ]; then
	check 'a place that stands out' as parser
	check 'its first screen has at most 24 lines' first_screen
	check 'names that would take over a terminal' as hostile
	check 'no byte that a terminal obeys is printed' sh -c '! LC_ALL=C grep -q "[[:cntrl:]]" out'
	check 'few samples' as coarse
	check 'a recording that was cut off' as unfinished
	check 'nothing was sampled' as empty
	check 'the tasks of a run' as tasks
	run env LC_ALL="$utf8" TERM=xterm "$tare" report --task import tasks.tare
	check 'one task as if it were a run' same "$expected/report_task.txt"
	check 'no line is wider than 80 columns' fits_in_80 "$expected"/report_*.txt
else
	skip 'reports in UTF-8' 'no UTF-8 locale'
	for kind in parser hostile empty tasks; do "$make" "$kind" "$kind.tare"; done
fi

run env LC_ALL=C "$tare" report parser.tare
check 'without UTF-8 it is ASCII' plain
check 'and says the same' same "$expected/report_parser_ascii.txt"
check 'and is no wider than 80 columns' fits_in_80 out
run env LC_ALL="${utf8:-C}" TERM=dumb "$tare" report parser.tare
check 'TERM=dumb gets ASCII too' same "$expected/report_parser_ascii.txt"
run env LC_ALL=C "$tare" report hostile.tare
check 'hostile names in ASCII' plain

run env LC_ALL=C "$tare" report --findings parser.tare
check '--findings prints them and nothing else' out_is "$expected/report_parser_findings.txt"
"$make" quiet quiet.tare
run env LC_ALL=C "$tare" report --findings quiet.tare
check 'no findings: nothing stands out' test "$(cat out)" = 'nothing stands out'
run env LC_ALL=C "$tare" report --all parser.tare
check '--all shows every function' out_has small_f
check 'and keeps (unsampled) last' sh -c 'sed "/^by thread/,\$d" out | grep -B 1 "findings:" | head -n 1 | grep -q "^(unsampled)"'
run "$tare" report parser.tare
check 'a few functions are enough without it' out_lacks small_f
end
