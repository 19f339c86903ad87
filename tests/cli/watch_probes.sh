#!/bin/sh
# watch_probes.sh - functions of programs that know nothing of tare: counted, timed, inside the price, and nothing is left.
. "$(dirname "$0")/lib.sh"

"$tare" watch -q -d 200ms -o try.tare malloc -p $$ >try.log 2>&1 || skip_all "probes cannot be had here: $(head -n 1 try.log)"
rows() {
	sqlite3 -readonly "$1" "$2"
}
true_in() {
	got=$(rows "$1" "select $2") && [ "$got" = 1 ] || {
		echo "got '$got'"
		return 1
	}
}
calls_of() {
	rows "$1" "select sum(calls + never_timed) from window w join watched f on f.id = w.watched where f.name = '$2'"
}

cat >prog.c <<'C'
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static volatile int sink;
__attribute__((noinline)) void probe_me(void)
{
	sink++;
}
int main(void)
{
	unsigned char before[16];
	memcpy(before, (void *)probe_me, sizeof(before));
	for (int i = 0;; i++) {
		probe_me();
		usleep(1000);
		if (i % 50 != 0)
			continue;
		FILE *f = fopen("state.new", "w");
		fputs(memcmp(before, (void *)probe_me, sizeof(before)) == 0 ? "plain" : "probed", f);
		fclose(f);
		rename("state.new", "state");
	}
}
C
# becomes WORD: waits until the program says so of its own code
becomes() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
		[ "$(cat state 2>/dev/null)" = "$1" ] && return 0
		sleep 0.1
	done
	return 1
}
# shellcheck disable=SC2086
if $CC -O1 -o prog prog.c 2>cc.log; then
	./prog &
	target=$!
	check 'a program that is not watched has its own code' becomes plain
	"$tare" watch -o killed.tare --window 1s probe_me -p "$target" 2>said &
	recorder=$!
	check 'a probe is attached' becomes probed
	sleep 1.5
	kill -KILL "$recorder"
	wait "$recorder" 2>/dev/null
	check 'kill -9 leaves no probe' becomes plain
	check 'the program goes on' kill -0 "$target"
	run "$tare" report killed.tare
	check 'the recording opens' status_is 0
	check 'a line says at what price' grep -q 'watching probe_me (prog) at ' said
	check 'and how many calls the price allows' grep -q 'the price of 1.00 % allows [0-9,]* calls a second of them' said
	run "$tare" watch -q -d 1s -o ended.tare probe_me -p "$target"
	check 'a recording that ends leaves no probe either' becomes plain
	run "$tare" watch -d 1s -o none.tare no_such_function -p "$target"
	check 'a function that is not there: status 2' status_is 2
	check 'leaves no file' test ! -e none.tare
	kill "$target"
else
	skip 'kill -9 leaves no probe' "no compiler: $(head -n 1 cc.log)"
fi

if command -v sqlite3 >/dev/null; then
	query='with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) select i, printf("%d", i) from n;'
	sqlite3 :memory: "$query" >plain
	run "$tare" watch --price 100% --window 1s -o s.tare sqlite3_step 'sqlite3_column_te*' sqlite3_nothing -- sqlite3 :memory: "$query"
	check "sqlite3: the command's status" status_is 0
	check 'its output is the same' cmp plain out
	counted() {
		got=$(calls_of s.tare sqlite3_step)
		[ "$got" -ge 20001 ] && [ "$got" -le 20020 ] || {
			echo "counted '$got'"
			return 1
		}
	}
	check 'every call of sqlite3_step is counted' counted
	check 'one in eight is timed' true_in s.tare \
		"sum(firsts + others) between 2000 and 4000 from window w join watched f on f.id = w.watched where f.name = 'sqlite3_step'"
	"$tare" report --json s.tare >json
	check 'threads and processes are not counted, which is null and no 0' sh -c "sqlite3 :memory: \"
		select cast(readfile('json') as text)->>'\\$.label.threads_reason', cast(readfile('json') as text)->'\\$.label.processes'
		\" | grep -Fx 'not counted|null'"
	check 'a name that is not there is told and listed' true_in s.tare "why_not <> '' from watched where name = 'sqlite3_nothing'"
	run "$tare" watch --window 1s -q -o hot.tare sqlite3_step -- sqlite3 :memory: "with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000000) select i from n;"
	check 'one that is far over the price: status 0' status_is 0
	check 'its output is whole' test "$(wc -l <out)" -eq 2000000
	check 'is detached, or watched in slices' true_in hot.tare "sum(covered_ns) < sum(span_ns) from window"
	check 'and is charged under twice the price and a second of a slice' true_in hot.tare \
		"charged_ps <= 2 * elapsed_ns * 10 + 1200000000000 from watch, recording"
	run "$tare" watch --window 1s --no-slices -o left.tare sqlite3_step -- sqlite3 :memory: "with recursive n(i) as (select 1 union all select i + 1 from n where i < 4000000) select i from n;"
	check '--no-slices leaves it and says the allowed rate' err_has 'too hot: the price allows'
else
	skip 'sqlite3' 'it is not here'
fi
end
