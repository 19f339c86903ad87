#!/bin/sh
# odd_switch.sh - stacks that are switched inside a watched call: with sessions such calls are counted and others timed;
# without, return probes would break the program, so that it is seen beforehand, and everything is counted only.
. "$(dirname "$0")/watch_lib.sh"
need_probes

plain "$targets/odd_switch" coroutine
if label "hook = 'session'" >/dev/null; then
	watch hand_over steady -- "$targets/odd_switch" coroutine
	check 'with sessions: the program does the same' same
	check 'with sessions: every call is counted' holds hand_over 'calls = 1600'
	watch --interval 1 --price 100% hand_over steady -- "$targets/odd_switch" coroutine
	check 'with sessions, every call timed: the program does the same' same
	check 'with sessions, every call timed: every call is counted' holds hand_over 'calls = 1600'
	check 'with sessions: times are right after it' holds steady 'calls = 100 AND p50_ns BETWEEN 195000 AND 230000'
	watch steady -- "$targets/odd_switch" coroutine
	check 'with sessions: it is timed, as one that switches no stacks' holds steady "mode = 'session' AND timed > 0"
else
	skip 'with sessions: the program does the same' 'this kernel has none'
fi

for off in session multi; do
	TARE_NO=$off
	export TARE_NO
	watch --interval 1 --price 100% hand_over steady -- "$targets/odd_switch" coroutine
	check "without $off: the program does the same" same
	check "without $off: every call is counted, none is timed" holds hand_over 'calls = 1600 AND timed = 0 AND never_timed = 1600'
	check "without $off: the row says why" holds hand_over \
		"mode = 'counting: it can switch stacks (makecontext, in odd_switch)' OR mode = 'counting: it can switch stacks (swapcontext, in odd_switch)'"
	check "without $off: another function of it is counted only, too" holds steady 'calls = 100 AND timed = 0'
	check "without $off: the label says so" label "scope LIKE '%can switch stacks%'"
	run "$tare" report w.tare
	check "without $off: the report says why" out_has 'counted only: it can switch stacks ('
	run "$tare" watch -o said.tare -f hand_over -- "$targets/odd_switch" coroutine
	check "without $off: it is said before" err_has '; counted only: it can switch stacks ('
	check "without $off: there is nothing to warn of" err_lacks 'warning:'
	run "$tare" watch -o said.tare -f work -- "$targets/odd_life" after
	check "without $off: a warning where nothing shows that stacks are switched" err_has 'warning: without uprobe sessions'
	watch steady -- "$targets/odd_stack" longjmp
	check "without $off: what shows nothing is timed" holds steady 'timed > 0'
done
end
