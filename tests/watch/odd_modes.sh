#!/bin/sh
# odd_modes.sh - every way of probing, forced by TARE_NO, gives the same rows for the same odd program; and without BPF
# nothing is watched, which is said.
. "$(dirname "$0")/watch_lib.sh"
need_probes

for off in session multi session,multi; do
	TARE_NO=$off
	export TARE_NO
	plain "$targets/odd_stack" longjmp
	watch --interval 1 --price 100% leap carry steady -- "$targets/odd_stack" longjmp
	check "without $off: the program does the same" same
	check "without $off: the label says how it probes, and why" label "hook = 'entry+return' AND hook_why <> '' OR hook LIKE 'entry+return%'"
	check "without $off: longjmp out 1,000 times: all counted, 1,000 abandoned, 100 timed" holds leap 'calls = 1100 AND abandoned = 1000 AND timed = 100'
	check "without $off: times are right afterwards" holds steady 'timed = 100 AND p50_ns BETWEEN 195000 AND 230000'

	plain "$targets/odd_stack" recursion
	watch deep steady -- "$targets/odd_stack" recursion
	check "without $off: recursion 200 deep: the program does the same" same
	check "without $off: recursion 200 deep: every call is counted" holds deep 'calls = 4000'
	check "without $off: times are right after it" holds steady 'calls = 100 AND p50_ns BETWEEN 195000 AND 230000'

	plain "$targets/odd_stack" pthread_exit
	watch --interval 1 --price 100% leave steady -- "$targets/odd_stack" pthread_exit
	check "without $off: pthread_exit inside: the program does the same" same
	check "without $off: pthread_exit inside: all counted, 500 abandoned" holds leave 'calls = 600 AND abandoned = 500 AND timed = 100'
done

TARE_NO=bpf
export TARE_NO
plain "$targets/odd_life" after
run "$tare" watch -q -o none.tare work -- "$targets/odd_life" after
check 'without BPF: it is an error of ours, and said' test "$status" -eq 125
check 'without BPF: the reason is told' err_has bpf
end
