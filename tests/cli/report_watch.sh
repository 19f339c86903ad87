#!/bin/sh
# report_watch.sh - what a report says of a watch, to the letter: the whole of it, parts, one function, without UTF-8.
. "$(dirname "$0")/lib.sh"

make=${MAKE_RECORDING:?set MAKE_RECORDING to the built make_recording}
expected=$here/expected
utf8=$(locale -a 2>/dev/null | grep -i -m 1 -e '^C\.utf-\{0,1\}8$' -e '\.utf-\{0,1\}8$')

for kind in world colony probes watch_unfinished watch_empty watch_refused watch_nothing watch_hostile; do
	"$make" "$kind" "$kind.tare" || fail "a recording of $kind can be made"
done
"$make" parser parser.tare

report() {
	run env LC_ALL="${utf8:-C}" TERM=xterm "$tare" report "$@"
}

# How large an almost empty database is, is not ours to say.
same() {
	sed 's/^size .*MB, for ever/size    S of 4.0 MB, for ever/; s/size    .* MB, for ever/size    S of 4.0 MB, for ever/' <out >seen &&
		diff -u "$1" seen
}

# as NAME ARGUMENTS: expected/report_watch_NAME.txt is what the terminal shows
as() {
	name=$1
	shift
	report "$@"
	status_is 0 && same "$expected/report_watch_$name.txt"
}

fits_in_80() {
	[ "$(cat "$@" | LC_ALL=${utf8:-C} wc -L)" -le 80 ]
}

# Lines up to the one that says how many findings there are.
first_screen() {
	report "$1"
	[ "$(sed -n '/findings\{0,1\}: tare report --findings/=' out | head -n 1)" -le 24 ]
}

plain() {
	! LC_ALL=C grep -n '[^ -~]' out
}

no_controls() {
	! LC_ALL=C grep -q '[[:cntrl:]]' out
}

if [ -n "$utf8" ]; then
	check 'frames, slow ones, functions of every sort' as world world.tare
	check 'its first screen has at most 24 lines' first_screen world.tare
	check 'in process: a rhythm, and what grew' as colony colony.tare
	check 'probes: slices, no rank, no return, names that are not watched' as probes probes.tare
	check 'cut off' as unfinished watch_unfinished.tare
	check 'nothing was called, nothing was measured' as empty watch_empty.tare
	check 'too hot for any interval' as refused watch_refused.tare
	check 'nothing could be watched' as nothing watch_nothing.tare
	check 'names that would take over a terminal' as hostile watch_hostile.tare
	check 'no byte that a terminal obeys is printed' no_controls
	check '--all: every function with all its numbers' as all --all world.tare
	check '--slow: every slow frame with its parts' as slow --slow world.tare
	check '--label: the whole label' as label --label probes.tare
	check '--findings prints them and nothing else' as findings --findings colony.tare
	check '--function: its windows' as function --function sqlite3Malloc probes.tare
	check 'and of one that was never timed' as never --function raid colony.tare
	check 'no line is wider than 80 columns' fits_in_80 "$expected"/report_watch_*.txt
else
	skip 'reports in UTF-8' 'no UTF-8 locale'
fi

run env LC_ALL=C "$tare" report world.tare
check 'without UTF-8 it is ASCII' plain
check 'and says the same' same "$expected/report_watch_ascii.txt"
check 'and is no wider than 80 columns' fits_in_80 out
for arguments in --all --slow --label --findings '--function nds::'; do
	# shellcheck disable=SC2086 # one or two words
	run env LC_ALL=C "$tare" report $arguments watch_hostile.tare
	check "hostile names in ASCII: $arguments" plain
done

report --findings --function Tiny colony.tare
check 'a part that is not there: exit 2' status_is 2
report --findings --label --function raid colony.tare
check 'several parts stand one after another' sh -c 'grep -q "^1  " out && grep -q "^label " out && grep -q "^raid " out'

report --function Script world.tare
check 'a part of several names is refused' status_is 2
check 'and told how many have it' err_has '2 have it in their names'
report --function findPath world.tare
check 'a part of one name is enough' out_has Pathfinder::findPath
report --function "$(printf 'no\033[2Jne')" world.tare
check 'a name that was not watched: exit 2' status_is 2
check 'and shown harmlessly' err_lacks "$(printf '\033')"
report --function submit world.tare
check 'one that is not watched: why' out_has 'Gpu::submit — inlined away'
report --slow probes.tare
check 'slow frames of a watch without frames are refused' status_is 2
check 'with what to do' err_has 'tare watch --frame'
for option in --slow '--function f'; do
	# shellcheck disable=SC2086 # one or two words
	report $option parser.tare
	check "$option of a recording of samples is refused" status_is 2
	check "$option of it: nothing on stdout" test ! -s out
done
report --label parser.tare
check '--label of a recording of samples' out_has 'stacks    whole'
end
