#!/bin/sh
# collect_gate.sh - the gate as the running collector shows it: 42 servers at N = 4 capture 10, 10, 11 and 11 a slot, whatever they are called,
# after kill -9 too; after joins and leaves the busiest slot is ceil(n / N). The servers are fakepg's.
. "$(dirname "$0")/../cli/lib.sh"

fakepg=${TARE_FAKEPG:?set TARE_FAKEPG to the built fakepg}
homes=$(mktemp -d /tmp/tgate.XXXXXX)
collector= fakes=
trap 'kill -KILL $collector $fakes 2>/dev/null; cd / && rm -rf "$place" "$homes"' EXIT
trap 'exit 129' HUP INT TERM

until_true() {
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ "$tries" -lt 150 ] || return 1
		sleep 0.2
	done
}

fakes_start() {
	"$fakepg" "$homes" 60 20 >fakes.out 2>&1 &
	fakes=$!
	until_true grep -q ready fakes.out
}

# config NAMING: a store for each
config() {
	cat <<-CONF
		[collect]
		store = $place/$1.tare
		spool = $place/spool
		control = $place/c.sock
		cycle = 1s
		one_in = 4
		at_once = 50
	CONF
}

# servers NAMING FIRST LAST: servers of these numbers; their names, and so their order, are by NAMING
servers() {
	for i in $(seq "$2" "$3"); do
		case $1 in
		plain) name=server-$i ;;
		backwards) name=z$((1000 - i)) ;;
		*) name=$(printf 'salt-%s' "$i" | sha256sum | cut -c 1-12) ;;
		esac
		printf '[server "%s"]\nhost = %s\nport = %s\n' "$name" "$homes" $((10000 + i))
	done
}

status_says() {
	"$tare" collect status --json -c tare.conf >status.json 2>status.err &&
		python3 -c "
import json, sys
d = json.load(open('status.json'))
c = d['cadence']
slots = c['captures_a_slot']
sys.exit(0 if ($1) else 'captures a slot %s, of %s servers, visits %s' % (slots, d['servers_count'], d['visits']))" 2>>status.err
}

start() {
	"$tare" collect -c tare.conf >>out.log 2>>err.log &
	collector=$!
	until_true status_says "d['visits'] >= $1" || {
		cat err.log status.err
		return 1
	}
}

# fleet NAMING: 42 of them
fleet() {
	{
		config "$1"
		servers "$1" 0 41
	} >tare.conf
	: >status.err
	start 42
}

slots_are() {
	status_says "$1" || {
		tail -n 1 status.err
		return 1
	}
}

# What was captured, slot after slot: never more than F + max(1, ceil(F / 8)) = 13.
never_over() {
	most=0
	for _ in $(seq 16); do
		"$tare" collect status --json -c tare.conf >status.json || return 1
		got=$(python3 -c 'import json; print(json.load(open("status.json"))["cadence"]["captures_last_slot"])')
		[ "$got" -le "$most" ] || most=$got
		sleep 0.5
	done
	echo "most in a slot: $most"
	[ "$most" -ge 10 ] && [ "$most" -le 13 ]
}

kill_hard() {
	kill -KILL "$collector"
	wait "$collector" 2>/dev/null
	collector=
}

stop() {
	kill -TERM "$collector"
	wait "$collector"
	status=$?
	collector=
	[ "$status" -eq 0 ]
}

leave_and_join() {
	{
		config hashed
		servers hashed 0 9
		servers hashed 15 44
	} >tare.conf
	kill -HUP "$collector"
	until_true status_says "d['servers_count'] == 40 and c['one_in'] == 4 and sum(slots) == 40" || {
		tail -n 1 status.err
		return 1
	}
}

no_seat_twice() {
	python3 -c "
import json
seats = sorted(s['seat'] for s in json.load(open('status.json'))['servers'])
assert seats == list(range(len(seats))), seats"
}

four="sorted(slots) == [10, 10, 11, 11]"

# What the collector has written of its own pace, as if its slots had been three cycles long.
slow_down() {
	python3 -c "
import sqlite3
db = sqlite3.connect('hashed.tare')
changed = db.execute('UPDATE collector SET turn_slots = 3').rowcount
db.commit()
assert changed > 0, 'the collector wrote no row of itself'"
}

check 'sixty servers listen' fakes_start
for naming in plain backwards hashed; do
	check "$naming names: the collector visits all 42" fleet "$naming"
	check "$naming names: [10, 10, 11, 11]" slots_are "$four"
	[ "$naming" = hashed ] || check "$naming names: it ends" stop
done
sleep 3
check 'what is really captured in a slot stays within its bound' never_over
kill_hard
check 'after kill -9 it is back within its slot' start 42
check 'and its slots are [10, 10, 11, 11] as before' slots_are "$four"
check 'no slot behind the restart is over its bound' never_over
check 'five leave and three join, live' leave_and_join
check 'the busiest slot is ceil(40 / 4)' slots_are "max(slots) == 10 and sum(slots) == 40"
check 'seats are 0 to 39, each once' no_seat_twice
kill_hard
check 'killed again, it starts' start 40
check 'and the busiest slot is 10 still' slots_are "max(slots) == 10 and sum(slots) == 40"
check 'it ends' stop
check 'its slots were three cycles long' slow_down
check 'it starts once more' start 40
check 'and goes on with slots of that length' status_says "c['cycles_in_slot'] == 3"
check 'it ends again' stop
end
