#!/bin/sh
# record_kill.sh - SIGKILL of the recorder at random instants: every file opens, is whole, says unfinished and holds
# every save that was seen in it before. usage: ROUNDS=300 SEED=7 tests/cli/record_kill.sh (30 rounds by default)
. "$(dirname "$0")/lib.sh"

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'
command -v sqlite3 >/dev/null || skip_all 'no sqlite3'
${CC:-cc} -O2 -o spinner "$here/../os/targets/spinner.c" || skip_all 'no compiler'

rounds=${ROUNDS:-30}
seed=${SEED:-$(date +%s)}
echo "# seed $seed, $rounds rounds"
./spinner 100000 1 >/dev/null &
spinner=$!
trap 'kill "$spinner"; cd / && rm -rf "$place"' EXIT

saves() {
	sqlite3 -readonly k.tare 'SELECT saves FROM recording' 2>/dev/null || echo 0
}

# One round: delay in ms.
killed_at() {
	rm -f k.tare k.tare-wal k.tare-shm .tare-*.tmp
	"$tare" record -q --every 1ms --price 100% -o k.tare -p "$spinner" 2>err &
	recorder=$!
	sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
	acknowledged=$(saves)
	kill -KILL "$recorder"
	wait "$recorder" 2>/dev/null
	[ -e k.tare ] || return 0 # killed before it was born
	"$tare" report --json k.tare >out 2>err || return 1
	grep -q '"is_finished": false' out || return 1
	[ "$(sqlite3 k.tare 'PRAGMA integrity_check')" = ok ] || return 1
	kept=$(saves)
	born=$((born + 1))
	[ "$kept" -ge "$acknowledged" ] || {
		echo "saw $acknowledged saves, found $kept"
		return 1
	}
}

born=0
round=0
bad=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	delay=$((seed / 65536 % 1500))
	killed_at "$delay" >why 2>&1 || {
		bad=$((bad + 1))
		echo "# killed after $delay ms: $(cat why err)"
	}
done
check "$rounds kills, $born of them of a living file: every file is whole" test "$bad" -eq 0
check 'most recorders were alive when they were killed' test "$((born * 2))" -ge "$rounds"
end
