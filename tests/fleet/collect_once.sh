#!/bin/sh
# collect_once.sh - one server by its URL; --check, --grants, plan and cost, against real servers.
. "$(dirname "$0")/../cli/lib.sh"
. "$here/servers.sh"
servers_begin
trap 'servers_end; cd / && rm -rf "$place"' EXIT

json() {
	python3 -c "import json,sys; d=json.load(open(sys.argv[1])); sys.exit(not (${2}))" "$1"
}

load() {
	while [ -f load ]; do
		sql "$1" "SELECT count(*) FROM item WHERE name LIKE '%canary-literal%'; SELECT busy(10); UPDATE item SET name = 'x' WHERE id = 7" >/dev/null 2>&1
	done
}

check 'a server is made' server_make one
sql one "CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item SELECT i, md5(i::text) FROM generate_series(1, 5000) i; ANALYZE item;
	CREATE FUNCTION busy(n int) RETURNS int LANGUAGE plpgsql AS 'DECLARE r int; BEGIN SELECT count(*) INTO r FROM item WHERE id < n; RETURN r; END'" >/dev/null
touch load
load one &
run "$tare" collect --once "$(server_url one)" --wait 2s -o once.tare
check 'one visit of a URL, without settings' status_is 0
check 'the statement stands in it, normalised' out_has 'name LIKE $1'
check 'and its plan' out_has 'plan of cost'
check 'and what collecting took' out_has 'ms on the server'
check 'no literal is in it' out_lacks canary-literal
check 'no literal is in the store' sh -c '! grep -aq canary-literal once.tare*'
run "$tare" report once.tare
check 'the report reads its store' out_has 'SELECT count(*) FRO'
run "$tare" collect cost once.tare --json
check 'cost is JSON, with the plans apart' json out "any(r['reading'] == 'plans' and r['plans'] > 0 and r['server_ns'] > 0 for r in d['readings'])"
check 'gated and capturing means are apart' json out "all('gated_mean_server_ns' in r for r in d['readings'])"

# A second pass over the same store compares with what it remembers, and re-reads no text.
before=$(sqlite3 once.tare 'SELECT count(*) FROM payload')
run "$tare" collect --once "$(server_url one)" --wait 2s -o once.tare
check 'a second start is well' status_is 0
check 'it needs no second look: it remembers' err_lacks 'counters are compared over'
check 'and reads no text again' test "$(sqlite3 once.tare "SELECT count(*) FROM payload WHERE kind = 0")" -le "$((before + 2))"

# A role with the least rights, by the SQL that is printed.
"$tare" collect --grants 'tare role' >grants.sql
check 'the grants are SQL' sql one "$(cat grants.sql)"
check 'they hold no superuser' sh -c '! grep -qi superuser\; grants.sql'
cat >tare.conf <<CONF
[collect]
store = $place/fleet.tare
spool = $place/spool
database = postgres
[server "one"]
host = $servers/one
user = tare role
CONF
run "$tare" collect --check -c tare.conf
check 'a server with the grants passes' status_is 0
check 'PASS, with its name' out_has 'PASS  one'
check 'with its version' out_has "$(sql one 'SHOW server_version')"
check 'with its role and rights' out_has "as tare role in postgres: sees all roles' statements"
check 'with what applies' out_has 'readings apply'
check 'nothing is kept by a check' test ! -e fleet.tare

sql one "CREATE ROLE poor LOGIN" >/dev/null
sed 's/user = tare role/user = poor/' tare.conf >poor.conf
run "$tare" collect --check -c poor.conf
check 'a role without rights is told what it does not see' out_has 'sees its own statements only'

cat >>tare.conf <<CONF
[server "gone"]
host = $servers/nowhere
[server "wrong"]
host = $servers/one
database = nodb
CONF
run "$tare" collect --check -c tare.conf
check 'one that fails: exit 1' status_is 1
check 'FAIL, with its name' out_has 'FAIL  gone'
check 'and why' out_has 'No such file'
check 'a database that is not there fails' out_has 'FAIL  wrong'
check 'the others pass beside it' out_has 'PASS  one'
check 'and they are counted' out_has '1 of 3 servers pass'

# One cycle of all by the settings.
run "$tare" collect --once -c tare.conf
check 'one cycle of all: 1, for some were not visited' status_is 1
check 'with who was not' out_has 'not visited: gone'
check 'the others are kept' test "$(sqlite3 fleet.tare "SELECT count(*) FROM run WHERE reading = 100 AND outcome = 0")" -ge 1

# A person's plan.
id=$(sql one "SELECT queryid FROM pg_stat_statements WHERE query LIKE 'SELECT count(*) FROM item WHERE name LIKE%' LIMIT 1")
run "$tare" collect plan one "$id" -c tare.conf
check 'the plan of one statement, now' status_is 0
check 'it is a plan' json out "'Plan' in (d[0] if isinstance(d, list) else d)"
check 'without a literal' out_lacks canary
plans=$(sqlite3 fleet.tare 'SELECT count(*) FROM plan')
check 'nothing of it is stored' test "$plans" -eq 0
run "$tare" collect plan one 123 -c tare.conf
check 'a statement that is not there: 2' status_is 2
run "$tare" collect plan nobody 123 -c tare.conf
check 'a server that is not there is named' err_has "'nobody'"
run "$tare" collect plan one x -c tare.conf
check 'a queryid is a number' err_has "'x'"
rm -f load
wait_for_plan() {
	sed "s|^store = .*|store = $place/once.tare|; s|\"one\"|\"local\"|" tare.conf >stored.conf
	server_stop one
	run "$tare" collect plan local "$id" -c stored.conf
	server_start one
	status_is 0 && err_has 'this is the stored plan, last seen' && out_has 'Plan'
}
check 'where it cannot be rendered the stored one is shown, with its age' wait_for_plan

# A password in the arguments.
sql one "ALTER ROLE poor PASSWORD 'hush-1234'" >/dev/null
url="postgresql://poor:hush-1234@$(printf %s "$servers/one" | sed 's:/:%2F:g')/postgres?application_name=x"
run "$tare" collect --once "$url"
check 'what a URL cannot have is refused' status_is 2
check 'a password in the arguments is warned of' err_has 'password in the arguments'
check 'and never shown' err_lacks hush-1234
"$tare" collect --once "${url%\?*}" --wait 3s >out 2>err &
pid=$!
sleep 1
tr '\0' ' ' <"/proc/$pid/cmdline" >seen
wait $pid
check 'it is overwritten where everybody can see it' grep -q 'poor:\*\*\*\*' seen
check 'all of it' sh -c '! grep -q hush seen'
run "$tare" collect --once postgresql://poor@nowhere.invalid/x
check 'a name that is not there: 1' status_is 1

# The example, with every key that has a preset set.
sed 's/^#\([a-z_]* = .\)/\1/' "$here/../../packaging/tare.conf.example" >example.conf
run "$tare" collect plan shop-1 x -c example.conf
check 'the example is read' err_has "'x' as a queryid"
run "$tare" collect plan nobody 1 -c example.conf
check 'with all its keys' err_has "cannot find server 'nobody'"

# A cycle's place may come while all are visited at once: who is then visited twice does not stand for another.
{
	printf '[collect]\nuser = postgres\ncycle = 1s\n'
	for name in a b c; do
		printf '[server "%s"]\nhost = %s\n' "$name" "$servers/one"
	done
} >three.conf
thirty_checks() {
	i=0
	while [ "$i" -lt 30 ]; do
		run "$tare" collect --check -c three.conf
		status_is 0 || return 1
		i=$((i + 1))
	done
}
check 'each of three is visited, in thirty checks' thirty_checks

run "$tare" collect --once --check
check 'two modes at a time are refused' status_is 2
run "$tare" collect frob
check 'a verb that is not known is refused' err_has plan
run "$tare" collect status -c tare.conf
check 'status without a collector says so' err_has 'start it'
end
