#!/bin/sh
# collect_service.sh - the daemon: 42 servers, what it tells systemd, status, SIGHUP, /metrics for a real Prometheus, a clean end.
. "$(dirname "$0")/../cli/lib.sh"
. "$here/servers.sh"
servers_begin
collector=
listener=
prometheus=
trap 'kill $collector $listener $prometheus 2>/dev/null; servers_end; cd / && rm -rf "$place"' EXIT

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# json FILE EXPRESSION over d
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

status_json() {
	"$tare" collect status --json -c tare.conf >status.json 2>status.err
}

# config COUNT [LINE]
config() {
	cat <<-CONF
		[collect]
		store = $place/fleet.tare
		spool = $place/spool
		control = $place/c.sock
		metrics = 127.0.0.1:$port
		cycle = 2s
		user = postgres
		password = file:$place/secret
		${2-}
	CONF
	i=1
	while [ "$i" -le "$1" ]; do
		printf '[server "s%s"]\nhost = %s\n' "$i" "$servers/one"
		i=$((i + 1))
	done
}

check 'a server is made' server_make one
port=$(free_port)
(umask 077 && echo canary-secret >secret)
config 42 >tare.conf

# A stand-in for systemd.
python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("notify")
open("bound", "w")
with open("told", "ab", buffering=0) as out:
    while True:
        out.write(s.recv(4096) + b"\n--\n")' &
listener=$!
until_true test -e bound
NOTIFY_SOCKET=$place/notify WATCHDOG_USEC=1500000 "$tare" collect -c tare.conf >out 2>log &
collector=$!
check 'systemd is told that it is ready' until_true grep -q 'READY=1' told
check 'it answers by its socket' until_true status_json
check 'which is of its user only' test "$(stat -c %a c.sock)" = 600
all_visited() {
	status_json && json status.json "all(s['visited_wall_ns'] for s in d['servers'])"
}
check 'all 42 servers are visited' until_true all_visited
check 'busiest slot of 42 servers at one in 4 is 11' json status.json "sorted(d['cadence']['captures_a_slot']) == [10, 10, 11, 11]"
check 'nobody is owed' json status.json "d['cadence']['owed'] == 0"
check 'the model stands beside the measurement' json status.json "{'model_ns', 'measured_p95_ns', 'model'} <= set(d['cadence'])"
run "$tare" collect status -c tare.conf
check 'a person reads it in words' out_has 'plans one cycle in 4'
full_slots() {
	sqlite3 fleet.tare "SELECT count(*) FROM run WHERE reading = 100 AND capture = 2 GROUP BY cycle" 2>/dev/null | sed '1d;$d' >slots
	[ "$(wc -l <slots)" -ge 4 ]
}
check 'four slots pass' until_true full_slots
check 'none had more than 11 captures' sh -c '[ "$(sort -n slots | tail -n 1)" -le 11 ]'
check 'none had fewer than 10' sh -c '[ "$(sort -n slots | head -n 1)" -ge 10 ]'
check 'signs of life come' until_true grep -q WATCHDOG=1 told
check 'with words' until_true grep -q 'STATUS=42 servers, 0 failing' told

# SIGHUP.
config 42 'cycel = 5s' >tare.conf
kill -HUP $collector
check 'a bad file keeps the old settings and says so' until_true grep -q "the old settings stay in force: cannot use 'cycel' in line 9" log
check 'and what it was meant to be' grep -q 'the nearest one is cycle' log
config 42 >tare.conf
check 'it goes on' status_json
check 'with all its servers' json status.json "d['servers_count'] == 42 and 'cycel' in d['settings_refused']"
config 30 'one_in = 3' >tare.conf
kill -HUP $collector
taken_over() {
	status_json && json status.json "d['servers_count'] == 30 and d['cadence']['one_in_given'] == 3"
}
check 'a good file is taken over, live' until_true taken_over
check 'the seats are 0 to 29' json status.json "sorted(s['seat'] for s in d['servers']) == list(range(30))"
check 'its slots are even again' json status.json "d['cadence']['one_in'] != 3 or sorted(d['cadence']['captures_a_slot']) == [10, 10, 10]"
check 'systemd saw the reload' grep -q RELOADING=1 told
check 'with its time' grep -q MONOTONIC_USEC= told

# Prometheus.
curl -s -o page "http://127.0.0.1:$port/metrics"
check 'promtool finds nothing to say of the page' promtool check metrics <page
code() {
	curl -s -o /dev/null -w '%{http_code}' "$@"
}
check 'a Host that is not ours is refused' test "$(code -H 'Host: evil.example' "http://127.0.0.1:$port/metrics")" = 421
check 'nor one that only begins like it' test "$(code -H "Host: 127.0.0.1:$port.evil.example" "http://127.0.0.1:$port/metrics")" = 421
check 'localhost is ours' test "$(code -H "Host: localhost:$port" "http://127.0.0.1:$port/metrics")" = 200
check 'GET only' test "$(code -X POST "http://127.0.0.1:$port/metrics")" = 405
check 'nothing else is there' test "$(code "http://127.0.0.1:$port/etc/passwd")" = 404
check 'no header over 8 KB' test "$(code -H "X: $(head -c 9000 /dev/zero | tr '\0' a)" "http://127.0.0.1:$port/metrics")" != 200
check 'only loopback listens' sh -c "! ss -ltn 2>/dev/null | grep -q '0.0.0.0:$port'"
cat >prometheus.yml <<CONF
scrape_configs:
  - job_name: tare
    scrape_interval: 1s
    static_configs:
      - targets: ['127.0.0.1:$port']
CONF
own=$(free_port)
prometheus --config.file=prometheus.yml --storage.tsdb.path=tsdb --web.listen-address=127.0.0.1:"$own" >prometheus.log 2>&1 &
prometheus=$!
ask() {
	curl -s "http://127.0.0.1:$own/api/v1/query?query=$1" | grep -q "$2"
}
check 'a real Prometheus finds it up' until_true ask up '"127.0.0.1:'"$port"'","job":"tare"},"value":\[[0-9.]*,"1"\]'
check 'and reads how many servers there are' until_true ask tare_collect_servers ',"30"\]'
check 'and each of them' until_true ask 'count(tare_collect_server_up==1)' ',"30"\]'
kill $prometheus

# A second collector on the same store, and the end.
sed "s/^metrics.*//; s|^control.*|control = $place/d.sock|" tare.conf >second.conf
run "$tare" collect -c second.conf
check 'a second collector on the same store is refused' status_is 2
kill -TERM $collector
status=0
wait $collector || status=$?
check 'SIGTERM ends it with 0' status_is 0
check 'systemd is told' grep -q STOPPING=1 told
check 'its socket is gone' test ! -e c.sock
check 'the store is whole' test "$(sqlite3 fleet.tare 'PRAGMA integrity_check')" = ok
check 'the collector has rows of its own' test "$(sqlite3 fleet.tare 'SELECT count(*) FROM collector')" -ge 1
check 'no secret is anywhere' sh -c '! grep -aqr canary-secret --exclude=secret .'

# SIGINT.
"$tare" collect -c second.conf >out 2>log2 &
collector=$!
until_true test -S d.sock
kill -INT $collector
status=0
wait $collector || status=$?
check 'SIGINT ends it with 0' status_is 0
end
