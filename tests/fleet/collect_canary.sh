#!/bin/sh
# collect_canary.sh - secrets and literals: none comes out of the collector anywhere. Canaries stand in passwords, statements, plans, utility
# commands and names of the environment; store, spool, logs, status, metrics, arguments and core are searched for them.
. "$(dirname "$0")/../cli/lib.sh"
. "$here/servers.sh"
servers_begin
collector=
trap 'kill -KILL $collector 2>/dev/null; servers_end; cd / && rm -rf "$place"' EXIT

until_true() {
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ "$tries" -lt 150 ] || return 1
		sleep 0.2
	done
}

check 'a server is made' server_make one
sql one "CREATE TABLE item (id int PRIMARY KEY, name text, at date); INSERT INTO item SELECT i, 'canary-row-' || i, now() FROM generate_series(1, 3000) i;
	CREATE INDEX ON item (name) WHERE name <> 'canary-in-index'; ANALYZE item;
	CREATE PROCEDURE note(s text, n int8) LANGUAGE plpgsql AS 'BEGIN UPDATE item SET name = s || ''canary-0'' WHERE id = n; END';
	CREATE ROLE tare LOGIN PASSWORD 'canary-secret-file'; GRANT pg_read_all_stats, pg_read_all_data TO tare;
	CREATE ROLE keeper LOGIN SUPERUSER PASSWORD 'canary-secret-store'" >/dev/null
check 'its log-ins ask for passwords' sh -c "sed -i 's/^local *all *all *trust/local all postgres trust\nlocal all all scram-sha-256/' '$servers/one/d/pg_hba.conf'"
sql one 'SELECT pg_reload_conf()' >/dev/null
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir folder
(
	umask 077
	echo canary-secret-file >folder/password
)
cat >tare.conf <<CONF
[collect]
store = $place/fleet.tare
spool = $place/spool
control = $place/c.sock
metrics = 127.0.0.1:$port
cycle = 1s
one_in = 1
[server "one"]
host = $servers/one
password = file:$place/folder/password
[server "two"]
host = $servers/one
password = env:CANARY_TWO
[server "three"]
host = $servers/one
password = canary-secret-literal
CONF
ulimit -c unlimited 2>/dev/null
CANARY_TWO=canary-secret-wrong "$tare" collect -c tare.conf >out 2>log &
collector=$!
statements() {
	sql one "SELECT name FROM item WHERE name = 'canary-a' OR name LIKE 'canary-b%' OR id = 987654321;
		SELECT count(*) FROM item WHERE at > '1999-12-31' AND name IN ('canary-c', 'canary-d');
		UPDATE item SET name = 'canary-e' WHERE name = 'canary-f';
		SELECT \$\$canary-g\$\$, E'canary-h\\n', U&'canary-i', B'1010101';
		ALTER ROLE tare CONNECTION LIMIT 9; CREATE ROLE other PASSWORD 'canary-j'; ALTER ROLE other PASSWORD 'canary-k'; DROP ROLE other;
		SET application_name = 'canary-l'; COMMENT ON TABLE item IS 'canary-m';
		CREATE TABLE IF NOT EXISTS t2 (x text DEFAULT 'canary-n'); DO 'BEGIN PERFORM ''canary-o''; END'; SELECT 'canary-p' AS q FROM item WHERE 'canary-q' = name;
		COPY (SELECT 'canary-r') TO STDOUT;
		CALL note('canary-u', 987654321); CALL note(n => 987654321, s => E'canary-v\n'); CALL note(\$\$canary-w\$\$, 987654321 + 1);
		PREPARE x AS SELECT 'canary-x', \$1::text; EXECUTE x('canary-y'); DEALLOCATE x; SET TIME ZONE 'canary-z'"
	sql one "SELECT 1 / 0 /* canary-s */" 2>/dev/null
	sql one "SELECT 'canary-t" 2>/dev/null
}
captured() {
	statements >/dev/null 2>&1
	[ "$(sqlite3 fleet.tare 'SELECT count(*) FROM plan' 2>/dev/null || echo 0)" -gt 2 ]
}
check 'plans of them are captured' until_true captured
statements >/dev/null 2>&1
sleep 2.5
curl -s "http://127.0.0.1:$port/metrics" >page
"$tare" collect status -c tare.conf >status.txt
"$tare" collect status --json -c tare.conf >status.json
ps -o args= -p "$collector" >args
run "$tare" collect --check -c tare.conf
cp out check.out
cp err check.err
id=$(sqlite3 fleet.tare 'SELECT queryid FROM plan LIMIT 1')
"$tare" collect plan one "$id" -c tare.conf >plan.json 2>plan.err
"$tare" report fleet.tare >report.txt
"$tare" report --json fleet.tare >report.json
"$tare" collect cost fleet.tare >cost.txt
check 'a wrong password fails its server only' grep -q 'FAIL  two' check.out
check 'the others pass' grep -q 'PASS  one' check.out
check 'a literal password is warned of' grep -q "password of server 'three' stands in" log
kill -SEGV "$collector"
wait "$collector" 2>/dev/null
check 'a collector that crashes leaves no core' sh -c '! ls core* 2>/dev/null'
sqlite3 fleet.tare .dump >dump
check 'there are texts and plans to be searched' test "$(sqlite3 fleet.tare 'SELECT count(*) FROM payload')" -gt 3
python3 - <<'PY'
import ctypes, ctypes.util, sqlite3
zstd = ctypes.CDLL("libzstd.so.1")
zstd.ZSTD_decompress.restype = ctypes.c_size_t
with open("payloads", "wb") as out:
    for content, size in sqlite3.connect("fleet.tare").execute("SELECT content, size_bytes FROM payload WHERE content IS NOT NULL AND length(content) > 0"):
        room = ctypes.create_string_buffer(size + 1)
        got = zstd.ZSTD_decompress(room, size, content, len(content))
        assert got == size, (got, size)
        out.write(room.raw[:size] + b"\n")
PY
check 'payloads are read' grep -q 'FROM item' payloads
check 'a CALL is kept without its arguments' grep -qi 'call note(' payloads
check 'no secret comes out anywhere' sh -c '! grep -arl canary-secret . | grep -v -e ^./folder/password -e ^./tare.conf | grep .'
check 'no literal comes out anywhere' sh -c '! grep -arl -e canary- -e 987654321 . | grep -v -e ^./folder/password -e ^./tare.conf | grep .'
end
