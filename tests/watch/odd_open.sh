#!/bin/sh
# odd_open.sh - calls that are still open when a recording ends count as calls, once each, and are said to be never timed:
# in each way to attach, at the end of --duration and at Ctrl-C.
. "$(dirname "$0")/watch_lib.sh"
need_probes

# How many of a row's calls were open at the end. usage: still_open FUNC COUNT
still_open() {
	found=$(sqlite3 -readonly w.tare "SELECT still_open FROM watched WHERE name = '$1'")
	[ "$found" = "$2" ] || {
		echo "$1: still_open is '$found', not '$2'"
		return 1
	}
}

# usage: open_calls_count WORDS
open_calls_count() {
	check "$1: a function entered once and still open is one call, never timed" holds stay 'calls = 1 AND timed = 0 AND never_timed = 1'
	check "$1: it has no total, which would be a guess" holds stay 'total_ns IS NULL'
	check "$1: and is said to be open" still_open stay 1
	check "$1: so is each level of a recursion" holds deep 'calls = 4 AND timed = 0'
	check "$1: and said to be open" still_open deep 4
	check "$1: what is called inside goes on counting and is timed" holds work 'calls > 1000 AND timed > 100 AND abandoned = 0'
}

for no in '' session multi; do
	TARE_NO=$no
	export TARE_NO
	watch -f --duration 1s --interval 1 --price 100% stay deep work -- "$targets/odd_open" 2
	unset TARE_NO
	open_calls_count "--duration${no:+, without $no}"
done

"$targets/odd_open" 30 >lines &
target=$!
trap 'kill "$target"; cd / && rm -rf "$place"' EXIT
rm -f w.tare
"$tare" watch -q -f --interval 2 --price 100% -o w.tare -p "$target" stay deep work 2>err &
recorder=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ -s w.tare ] && break
	sleep 0.2
done
sleep 1
kill -INT "$recorder"
wait "$recorder" || true
"$tare" report --json w.tare >json
check 'Ctrl-C: what was entered before it was watched is no call' holds stay 'calls = 0 AND timed = 0'
check 'Ctrl-C: nothing more than the one call that runs is open' test "$(sqlite3 -readonly w.tare "SELECT sum(still_open) <= 1 FROM watched")" = 1
check 'Ctrl-C: what is called inside is counted' holds work 'calls > 1000 AND timed > 100'

watch -f --interval 1 --price 100% stay deep work -- "$targets/odd_open" 1
check 'to the end: all of them end, and are timed' holds stay 'calls = 1 AND timed = 1 AND never_timed = 0 AND total_ns BETWEEN 9e8 AND 2e9'
check 'to the end: nothing is open' test "$(sqlite3 -readonly w.tare "SELECT sum(still_open) FROM watched")" = 0
end
