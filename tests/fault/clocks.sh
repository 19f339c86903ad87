#!/bin/sh
# clocks.sh - a clock that is set by an hour while recording, and a time namespace whose clock is not the kernel's: no slot is
# negative or huge, and what happened stands in the recording and in the report.
. "$(dirname "$0")/../cli/lib.sh"
zoo=${ZOO:?set ZOO to the built zoo}

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'

number() {
	tr ',{}' '\n\n\n' <out | sed -n "s/^ *\"$1\": *\(-\{0,1\}[0-9]*\)\$/\1/p" | head -n 1
}

# ask FILE SQL: one line.
ask() {
	sqlite3 "$1" "$2"
}

# Two seconds of work: it took about so long, its slots end where it ended, and its time lies in many of them.
slots_are_where_they_belong() {
	ask "$1" 'SELECT elapsed_ns / 1e9, "s,", max(id) * slot_ns / 1e9, "s last slot,", count(*), "with time"
		FROM recording, slot WHERE running_ns > 0'
	[ "$(ask "$1" 'SELECT elapsed_ns BETWEEN 1.4e9 AND 60e9 AND max(id) * slot_ns <= elapsed_ns
		AND max(id) * slot_ns >= elapsed_ns / 2 AND count(*) >= 10
		FROM recording, slot WHERE running_ns > 0')" = 1 ]
}

# is_near NS S: within a tenth of a second, which may lie between the two looks at two clocks.
is_near() {
	awk -v ns="$1" -v s="$2" 'BEGIN { d = ns / 1e9 - s; print d, "s off"; exit !(d < 0.1 && d > -0.1) }'
}

shift_clock() {
	# The sanitizer wants to be loaded first, and need not be.
	run env ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD="$CLOCK_SHIFT_SO" CLOCK_SHIFT="$1" CLOCK_AFTER=700 \
		"$tare" record -q --every 1ms --price 20% -o "set$1.tare" -- env -u LD_PRELOAD "$zoo" forks 300 200
}

for step in 3600 -3600; do
	shift_clock "$step"
	check "set by $step s: the job ends with its own status" status_is 8
	check "set by $step s: no slot is negative or huge" slots_are_where_they_belong "set$step.tare"
	run "$tare" report --json "set$step.tare"
	check "set by $step s: the recording has it" test "$(number clock_steps)" -eq 1
	check "set by $step s: and by how much" is_near "$(number clock_step_ns)" "$step"
	check "set by $step s: and when" test "$(number clock_step_at_ns)" -ge 500000000
	run "$tare" report "set$step.tare"
	word=on
	[ "$step" -gt 0 ] || word=back
	check "set by $step s: and the report says so" out_has "the clock was set 1 time, at most 1 h $word"
done

"$tare" record -q -o unset.tare -- "$zoo" gone
run "$tare" report unset.tare
check 'who set no clock reads nothing of it' out_lacks 'the clock was set'

uptime_s=$(cut -d. -f1 /proc/uptime)
for ahead in 3600 "-$((uptime_s / 2))"; do
	if ! unshare -T --monotonic "$ahead" true 2>/dev/null; then
		skip "a time namespace $ahead s ahead" 'no time namespaces here'
		continue
	fi
	run unshare -T --monotonic "$ahead" "$tare" record -q --every 1ms --price 20% -o "ahead$ahead.tare" -- "$zoo" forks 300 200
	check "a clock $ahead s ahead of the kernel's: the job ends with its own status" status_is 8
	check "a clock $ahead s ahead of the kernel's: no slot is negative or huge" slots_are_where_they_belong "ahead$ahead.tare"
done
end
