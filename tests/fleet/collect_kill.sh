#!/bin/sh
# collect_kill.sh - kill -9 of the collector, of a monitored server and of the store; the store away: what was counted is exactly what ran.
. "$(dirname "$0")/../cli/lib.sh"
. "$here/servers.sh"
servers_begin
collector=
trap 'kill -KILL $collector 2>/dev/null; servers_end; cd / && rm -rf "$place"' EXIT

json() {
	python3 -c "import json,sys; d=json.load(open(sys.argv[1])); sys.exit(not ($2))" "$1"
}

until_true() {
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ "$tries" -lt 150 ] || return 1
		sleep 0.2
	done
}

status_is_json() {
	"$tare" collect status --json -c tare.conf >status.json 2>status.err && json status.json "$1"
}

start() {
	"$tare" collect -c tare.conf >>out 2>>log &
	collector=$!
	until_true status_is_json "d['visits'] > 0"
}

end_well() {
	kill -TERM "$collector"
	wait "$collector"
}

# A statement that only the load runs; its server says how often.
load() {
	while [ -f load ]; do
		sql one "SELECT name AS counted FROM item WHERE id = 1" >/dev/null 2>&1
	done
}

ran() {
	sql one "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query LIKE 'SELECT name AS counted%'"
}

config() {
	cat >tare.conf <<-CONF
		[collect]
		store = $1
		spool = $place/spool
		control = $place/c.sock
		cycle = 1s
		user = postgres
		query_timeout = 5s
		[server "one"]
		host = $servers/one
	CONF
}

queryid() {
	sql one "SELECT queryid FROM pg_stat_statements WHERE query LIKE 'SELECT name AS counted%' LIMIT 1"
}

check 'a server is made' server_make one
sql one 'CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item VALUES (1)' >/dev/null

# ---- the collector is killed, again and again ----
config "$place/fleet.tare"
check 'it starts' start
sleep 1.5 # a whole visit without the statement: all of it is counted
touch load
load &
loader=$!
for pause in 1.3 0.4 2.1 0.8 1.7 0.2; do
	sleep "$pause"
	kill -KILL "$collector"
	wait "$collector" 2>/dev/null
	"$tare" collect -c tare.conf >>out 2>>log &
	collector=$!
done
sleep 2
rm load
wait "$loader"
sleep 2.5
check 'it ends well' end_well
id=$(queryid)
counted() {
	sqlite3 fleet.tare "SELECT coalesce(sum(calls), 0) FROM statement WHERE queryid = $id"
}
check "after six kills all that ran is counted, and nothing twice ($(ran) ran, $(counted) counted)" test "$(counted)" -eq "$(ran)"
check 'it ran at all' test "$(ran)" -gt 20
check 'the store is whole' test "$(sqlite3 fleet.tare 'PRAGMA integrity_check')" = ok

# ---- a monitored server is killed ----
check 'it starts again' start
touch load
load &
loader=$!
sleep 2
server_kill one
sleep 2
check 'the collector goes on without its server' status_is_json "d['failures'] > 0"
check 'the server comes back' server_start one
before=$(date +%s)
visited_since() {
	status_is_json "(d['servers'][0]['visited_wall_ns'] or 0) > $before * 10**9"
}
check 'and is visited again' until_true visited_since
sleep 2.5
rm load
wait "$loader"
check 'it ends well after that' end_well
check 'no difference is negative' test "$(sqlite3 fleet.tare 'SELECT count(*) FROM statement WHERE calls < 0 OR exec_ns < 0 OR rows < 0 OR span_ns < 0')" -eq 0
check 'the new life is told from the old one' test "$(sqlite3 fleet.tare "SELECT count(*) FROM statement WHERE queryid = $id AND calls > $(ran)")" -eq 0

# ---- the store is killed and stays away ----
check 'a store in PostgreSQL is made' server_make keep
config "$(server_url keep)"
check 'it starts on it' start
sleep 1.5
sql one 'SELECT pg_stat_statements_reset()' >/dev/null
sleep 2.5
touch load
load &
loader=$!
sleep 2
server_kill keep
check 'what comes waits on disk while the store is away' until_true status_is_json "d['store']['is_away'] and d['store']['spooled'] >= 3"
check 'and it says so' grep -q 'the store is away, visits wait on disk' log
kill -KILL "$collector"
wait "$collector" 2>/dev/null
check 'the store is back' server_start keep
check 'the collector too' start
check 'what waited is written' until_true status_is_json "not d['store']['is_away'] and d['store']['spooled'] == 0"
sleep 1.5
server_kill keep
check 'away once more' until_true status_is_json "d['store']['spooled'] >= 2"
check 'and back while it runs' server_start keep
check 'all is written then' until_true status_is_json "not d['store']['is_away'] and d['store']['spooled'] == 0 and d['store']['waiting'] == 0"
rm load
wait "$loader"
sleep 2.5
check 'it ends well then' end_well
id=$(queryid)
counted() {
	sql keep "SELECT coalesce(sum(calls), 0) FROM tare.statement WHERE queryid = $id"
}
check "after all that what ran is counted, and nothing twice ($(ran) ran, $(counted) counted)" test "$(counted)" -eq "$(ran)"
check 'nothing was lost' sh -c '! grep -q "is lost" log'
check 'each run is there once' test "$(sql keep 'SELECT count(*) - count(DISTINCT (server, cycle, reading)) FROM tare.run')" -eq 0
end
