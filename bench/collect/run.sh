#!/bin/sh
# run.sh - a thousand fake servers, a tenth of them hostile, visited by the runner with PostgreSQL's own bodies: who was on time, and what
# it took. The healthy ones must be on time in 99.9 % of their cycles, with one connection each.
# Usage: bench/collect/run.sh BUILD [SERVERS [CYCLE_MS [CYCLES]]]
# NO_PLANS=1 captures none. MADE=1 takes a small body of one question in place of PostgreSQL's: the runner's own part.
set -eu
build=${1:?usage: bench/collect/run.sh BUILD [SERVERS [CYCLE_MS [CYCLES]]]}
servers=${2:-1000} cycle_ms=${3:-10000} cycles=${4:-10}
folder=$(mktemp -d /tmp/tare-fleet-XXXXXX)
trap 'rm -rf "$folder"' EXIT
trap 'exit 2' HUP INT TERM

# Of a hundred: 3 never answer, 2 a byte a second, 2 reset in the middle of a row, 2 restart every 20 s, 1 refuses.
share() {
	echo $((servers * $1 / 100))
}
TOLD=1 "$build/bench/collect/bench_fleet" "$build/tests/fleet/fakepg" "$folder" "$servers" 150 "$cycle_ms" "$cycles" \
	"silent=$(share 3)" "trickle=$(share 2)" "reset=$(share 2)" "restart=$(share 2)" "refuse=$(share 1)"
