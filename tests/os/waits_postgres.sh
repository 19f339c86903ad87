#!/bin/sh
# waits_postgres.sh - the three states of a program that asks a real PostgreSQL server over a unix socket, by each engine.
# Usage: waits_postgres.sh TEST_WAITS ASKER
. "$(dirname "$0")/../fleet/servers.sh"

servers_begin
trap servers_end EXIT
server_make asked || {
	echo "no PostgreSQL server here"
	exit 77
}
export PGHOST="$servers/asked"
failed=0
for engine in perf bpf; do
	"$1" "$2" "$engine" query || failed=1
done
exit "$failed"
