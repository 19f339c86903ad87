#!/bin/sh
# ledger.sh - what the run log says a server's time was, beside the CPU time of the server's own backends: a real PostgreSQL, the real
# collector, a visit a second. Usage: ledger.sh BUILD [CYCLES] [N]
set -eu
build=$(cd "$1" && pwd)
cycles=${2:-100}
one_in=${3:-4}
. "$(dirname "$0")/../../tests/fleet/servers.sh"
place=$(mktemp -d)
collector=
finish() {
	[ -z "$collector" ] || kill "$collector" 2>/dev/null || true
	servers_end
	rm -rf "$place"
}
trap finish EXIT
trap 'exit 2' HUP INT TERM
servers_begin
server_make one
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
	sql one "CREATE TABLE t$i (id int PRIMARY KEY, a int, b int); CREATE INDEX ON t$i (a); INSERT INTO t$i SELECT i, i % 100, i % 7 FROM generate_series(1, 500) i; ANALYZE t$i" >/dev/null
done
# 160 statements, each another one to the server; again and again.
awk 'BEGIN { for (i = 0; i < 160; i++)
	printf "SELECT x.a, y.b, count(*) AS n%d FROM t%d x JOIN t%d y ON x.a = y.id WHERE x.id = %d GROUP BY 1, 2 ORDER BY 3;\n", i, i % 12, int(i / 12) % 12, i
	print "SELECT pg_sleep(0.5);" }' >"$place/load.sql"
(while :; do cat "$place/load.sql"; done | "$programs/psql" -q -h "$servers/one" -U postgres postgres >/dev/null 2>&1) &
load=$!
cat >"$place/tare.conf" <<CONF
[collect]
store = $place/fleet.tare
spool = $place/spool
control = $place/control
cycle = 1s
one_in = $one_in
[server "one"]
host = $servers/one
user = postgres
database = postgres
CONF
"$build/tare" collect -c "$place/tare.conf" >"$place/log" 2>&1 &
collector=$!
sleep 5
# CPU time of our backends so far, in ns; they live as long as the collector.
backends() {
	for pid in $(sql one "SELECT pid FROM pg_stat_activity WHERE application_name = 'tare' ORDER BY 1"); do
		cut -d ' ' -f 1 "/proc/$pid/schedstat"
	done | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}
began=$(date +%s%N)
before=$(backends)
sleep "$cycles"
after=$(backends)
ended=$(date +%s%N)
sleep 2
kill "$load" "$collector" 2>/dev/null || true
wait "$collector" || true
collector=
sqlite3 -cmd '.mode markdown' "$place/fleet.tare" "
	select count(distinct cycle) as visits, sum(capture in (2, 3) and reading = 0) as capturing,
		round(sum(server_ns) / 1e6 / count(distinct cycle), 2) as 'ledger, ms a visit',
		round(($after - $before) / 1e6 / count(distinct cycle), 2) as 'CPU of our backends, ms a visit',
		round(1.0 * sum(server_ns) / ($after - $before), 2) as 'ledger / CPU'
	from run where at_wall_ns between $began and $ended"
