#!/bin/sh
# odd_stack.sh - functions that are left in odd ways: every call is counted, what was timed and never ended is told, times
# are right afterwards, and the program does what it does unwatched.
. "$(dirname "$0")/watch_lib.sh"
need_probes

plain "$targets/odd_stack" recursion
watch deep steady -- "$targets/odd_stack" recursion
check 'recursion 200 deep: the program does the same' same
check 'recursion 200 deep: every call is counted' holds deep 'calls = 4000'
check 'recursion: the outermost call has the time of all inside it' holds deep 'max_ns >= 1000000'
check 'times are right after it' holds steady 'calls = 100 AND p50_ns BETWEEN 195000 AND 230000'

plain "$targets/odd_stack" nested
watch --interval 1 --price 100% outer inner -- "$targets/odd_stack" nested
check 'nested: the program does the same' same
check 'nested: all of both are counted, and timed' holds outer 'calls = 200 AND timed = 200'
check 'nested: total is with what is inside' holds outer 'mean_ns BETWEEN 0.85 * truth_ns AND 1.02 * truth_ns'
check 'nested: own is without' holds outer 'p50_ns BETWEEN 650000 AND 900000 AND own_ns < 0.5 * total_ns'
check 'nested: what is inside is its own row' holds inner 'calls = 400 AND timed = 400 AND p50_ns BETWEEN 295000 AND 340000'

plain "$targets/odd_stack" longjmp
watch --interval 1 --price 100% leap carry steady -- "$targets/odd_stack" longjmp
check 'longjmp: the program does the same' same
check 'longjmp out 1,000 times: every call is counted' holds leap 'calls = 1100'
check 'longjmp: 1,000 abandoned, 100 timed' holds leap 'abandoned = 1000 AND timed = 100'
check 'longjmp past a frame: abandoned too' holds carry 'calls = 1100 AND abandoned = 1000 AND timed = 100'
check 'longjmp: calls afterwards have their times' holds leap 'p50_ns BETWEEN 195000 AND 230000 AND mean_ns BETWEEN 0.85 * truth_ns AND 1.02 * truth_ns'
check 'longjmp: another function afterwards has its times' holds steady 'timed = 100 AND p50_ns BETWEEN 195000 AND 230000'
watch leap carry steady -- "$targets/odd_stack" longjmp
check 'longjmp, one call in 8 timed: every call is counted' holds leap 'calls = 1100 AND timed > 0 AND abandoned BETWEEN 60 AND 250'
check 'longjmp, one in 8: the program does the same' same

plain "$targets/odd_stack" signal
watch --interval 1 --price 100% struck steady -- "$targets/odd_stack" signal
check 'a jump out of a signal handler: the program does the same' same
check 'a jump out of a signal handler: 500 abandoned, 100 timed' holds struck 'calls = 600 AND abandoned = 500 AND timed = 100'
check 'times are right after it' holds steady 'timed = 100 AND p50_ns BETWEEN 195000 AND 230000'

plain "$targets/odd_stack" tail
if objdump -d --no-show-raw-insn "$targets/odd_stack" 2>/dev/null | grep -q 'jmp .*<tail_end>'; then
	watch --interval 1 --price 100% tail_call tail_end -- "$targets/odd_stack" tail
	check 'a tail call: the program does the same' same
	check 'a tail call: both are counted' holds tail_call 'calls = 400'
	check 'a tail call: the callee is timed' holds tail_end 'calls = 400 AND timed = 400 AND mean_ns >= 190000'
	check 'a tail call: the caller ends with its callee' holds tail_call 'timed = 400 AND mean_ns BETWEEN 0.85 * truth_ns AND 1.02 * truth_ns'
else
	skip 'a tail call: both are counted and timed' 'this compiler makes no jump of it, or there is no objdump'
fi
end
