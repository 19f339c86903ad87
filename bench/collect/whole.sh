#!/bin/sh
# whole.sh - a thousand fake servers, a tenth of them hostile, visited by the whole `tare collect` with an SQLite store: who was on time by the
# run log, our CPU and memory, and what the store took. Usage: whole.sh BUILD [SERVERS [CYCLE_S [CYCLES]]]
# NO_PLANS=1 captures none.
set -eu
build=$(cd "${1:?usage: whole.sh BUILD [SERVERS [CYCLE_S [CYCLES]]]}" && pwd)
servers=${2:-1000} cycle_s=${3:-10} cycles=${4:-10}
place=$(mktemp -d /tmp/tare-whole-XXXXXX)
collector= fakes=
finish() {
	for pid in $collector $fakes; do
		kill "$pid" 2>/dev/null || true
	done
	wait
	rm -rf "$place"
}
trap finish EXIT
trap 'exit 2' HUP INT TERM
ulimit -n 8192

share() {
	echo $((servers * $1 / 100))
}
mkdir "$place/homes"
"$build/tests/fleet/fakepg" "$place/homes" "$servers" 150 "silent=$(share 3)" "trickle=$(share 2)" "reset=$(share 2)" \
	"restart=$(share 2)" "refuse=$(share 1)" >"$place/fakes" &
fakes=$!
until grep -qs ready "$place/fakes"; do sleep 0.1; done
{
	cat <<-CONF
		[collect]
		store = $place/fleet.tare
		spool = $place/spool
		control = $place/c.sock
		cycle = ${cycle_s}s
	CONF
	for i in $(seq 0 $((servers - 1))); do
		printf '[server "s%d"]\nhost = %s\nport = %d\n' "$i" "$place/homes" $((10000 + i))
		[ -z "${NO_PLANS-}" ] || echo 'plans = no'
	done
} >"$place/tare.conf"

# CPU so far, of all threads, in clock ticks.
ticks() {
	awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$collector/stat"
}
size() {
	cat "$place"/fleet.tare* | wc -c
}
"$build/tare" collect -c "$place/tare.conf" >"$place/log" 2>&1 &
collector=$!
sleep $((2 * cycle_s)) # first sight, and the texts of all
began=$(date +%s%N) before=$(ticks) small=$(size)
sleep $((cycle_s * cycles))
ended=$(date +%s%N) after=$(ticks) large=$(size)
rss=$(awk '/VmHWM/ { print $2 }' "/proc/$collector/status")
"$build/tare" collect status -c "$place/tare.conf" --json >"$place/status.json"
kill "$collector"
wait "$collector" || true
collector=
python3 - "$place" "$began" "$ended" "$((after - before))" "$(getconf CLK_TCK)" "$rss" "$small" "$large" "$servers" "$cycle_s" <<'PY'
import json, sqlite3, sys

place = sys.argv[1]
began, ended, ticks, hz, rss, small, large, servers, cycle_s = map(int, sys.argv[2:])
cycle_ns = cycle_s * 10**9
db = sqlite3.connect(place + "/fleet.tare")
status = json.load(open(place + "/status.json"))
seats = dict(db.execute("SELECT server, seat FROM server"))
bad = {server for server, name in db.execute("SELECT server, name FROM server") if int(name[1:]) < servers // 10}


def begins(seat, cycle):  # src/core/beat.c
    return cycle * cycle_ns + ((seat * 0x9E3779B97F4A7C15 % 2**64) * cycle_ns >> 64)


due = well = late = failed = skipped = 0
for server, seat in seats.items():
    if server in bad:
        continue
    runs = {cycle: (outcome, at + wall) for cycle, outcome, at, wall in db.execute(
        "SELECT cycle, outcome, at_wall_ns, wall_ns FROM run WHERE server = ? AND reading = 100", (server,))}
    cycle = began // cycle_ns
    while begins(seat, cycle) < began:
        cycle += 1
    while begins(seat, cycle + 1) <= ended:  # whole cycles within the time
        due += 1
        outcome, end = runs.get(cycle, (None, 0))
        well += outcome == 0 and end <= begins(seat, cycle + 1)
        late += outcome == 0 and end > begins(seat, cycle + 1)
        skipped += outcome == 4
        failed += outcome in (1, 2, 3)
        cycle += 1
plans, kept, payloads = (db.execute(q).fetchone()[0] for q in (
    "SELECT sum(plans) FROM run WHERE at_wall_ns BETWEEN %d AND %d" % (began, ended),
    "SELECT count(*) FROM plan", "SELECT count(*) FROM payload"))
took = (ended - began) / 1e9
print("healthy: %d visits due, %d on time, %d late, %d skipped, %d failed: on time %.3f %%" % (due, well, late, skipped, failed, 100 * well / due))
print("cpu: %.1f %% of one core over %.0f s, all threads; peak RSS %.1f MB" % (100 * ticks / hz / took, took, rss / 1024))
print("plans: %d taken, %.0f a second; %d rows of plans, %d payloads" % (plans or 0, (plans or 0) / took, kept, payloads))
print("store: %.1f MB at the start, %.1f MB at the end, %.1f kB a server and cycle; waiting %d, lost %d" % (
    small / 1e6, large / 1e6, (large - small) / 1e3 / servers / (took / cycle_s), status["store"]["waiting"], status["store"]["lost"]))
PY
