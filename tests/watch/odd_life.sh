#!/bin/sh
# odd_life.sh - fork, exec and death inside a watched function, a library that comes and goes, and a recorder that is
# killed: the program never notices, and nothing is left in it.
. "$(dirname "$0")/watch_lib.sh"
need_probes

fork_calls() {
	if label "scope LIKE '%children%'"; then
		holds work 'calls = 300 AND timed = 300'
	else
		holds work 'calls = 900'
	fi
}

plain "$targets/odd_life" fork
watch --interval 1 --price 100% work divide -- "$targets/odd_life" fork
check 'fork: the program does the same' same
check 'fork inside a watched function: counted once a parent' holds divide 'calls = 20 AND timed = 20'
check 'fork: calls of the parent are counted; those of children only if the label does not leave them out' fork_calls

plain "$targets/odd_life" exec
watch --interval 1 --price 100% work replace -- "$targets/odd_life" exec
check 'exec of itself inside a watched function: the program does the same' same
check 'exec: calls before and after are counted' holds work 'calls = 270 AND timed = 270 AND p50_ns BETWEEN 95000 AND 130000'
check 'exec: the call that ended in it never ended' holds replace 'calls = 1 AND timed = 0'

plain "$targets/odd_life" death
watch --interval 1 --price 100% work die -- "$targets/odd_life" death
check 'SIGKILL inside a watched function: the program ends the same' same
check 'SIGKILL: calls before it are counted and timed' holds work 'calls = 101 AND timed = 101'
check 'SIGKILL: the call it ended in never ended' holds die 'calls = 1 AND timed = 0'

plain "$targets/odd_life" unload "$targets/libodd_plugin.so"
watch --interval 1 --price 100% "$targets/libodd_plugin.so:plugged" work -- "$targets/odd_life" unload "$targets/libodd_plugin.so"
check 'a library loaded and unloaded 200 times: the program does the same' same
check 'a library loaded and unloaded 200 times: every call is counted' holds plugged 'calls = 1000 AND timed = 1000'
check 'and calls afterwards' holds work 'calls = 100 AND timed = 100'

run "$tare" watch -q -f -o go.tare work -- "$targets/odd_go"
check 'a Go binary is not watched, and the reason is told' err_has 'a Go binary'
check 'a Go binary alone: an error of ours, and nothing is run' test "$status" -eq 125 -a ! -s out
end
