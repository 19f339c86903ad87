#!/bin/sh
# odd_kill.sh - kill -9 of the recorder leaves no probe behind: the watched function has the code that it had, and the
# program goes on.
. "$(dirname "$0")/watch_lib.sh"
need_probes

"$targets/hot" nop5 1000 60 >lines &
target=$!
trap 'kill "$target"; cd / && rm -rf "$place"' EXIT

# The first 16 bytes of a function of the library as the process has them now. usage: code FUNC
code() {
	at=$(awk '/libhot_library/ { split($1, range, "-"); print range[1]; exit }' "/proc/$target/maps")
	offset=$(nm -D "$targets/libhot_library.so" | awk -v name="$1" '$3 == name { print $1 }')
	dd if="/proc/$target/mem" bs=1 skip="$((0x$at + 0x$offset))" count=16 2>/dev/null | od -An -tx1
}

until grep -q libhot_library "/proc/$target/maps"; do
	sleep 0.05
done

lines() {
	wc -l <lines
}

for first in nop5 push other; do
	code "hot_$first" >"$first.before"
done
command -v nm >/dev/null && [ -s nop5.before ] || skip_all 'the memory of the process cannot be read here'

# usage: killed_while TARE_NO
killed_while() {
	rm -f k.tare*
	TARE_NO=$1 "$tare" watch -q -o k.tare -p "$target" hot_nop5 hot_push hot_other >out 2>err &
	recorder=$!
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40; do
		code hot_push >during
		cmp -s during push.before || break
		sleep 0.1
	done
	sleep 0.3
	kill -KILL "$recorder"
	wait "$recorder" 2>/dev/null
	! cmp -s during push.before || {
		echo 'no probe was ever set'
		cat err
		return 1
	}
	left='nop5 push other'
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		for first in $left; do
			code "hot_$first" >after
			cmp -s after "$first.before" && left=$(echo "$left" | sed "s/$first//")
		done
		[ -n "$(echo "$left" | tr -d ' ')" ] || return 0
		sleep 0.1
	done
	echo "still probed: $left"
	return 1
}

check 'kill -9 of the recorder leaves no probe' killed_while ''
check 'kill -9 leaves no probe: without sessions' killed_while session
check 'kill -9 leaves no probe: without multi links' killed_while multi
before=$(lines)
sleep 0.5
check 'the program goes on' test "$(lines)" -gt "$before"
check 'what was saved can be read, and says that it is not finished' sh -c '"$TARE" report --json k.tare | grep -q "\"is_finished\": false"'
end
