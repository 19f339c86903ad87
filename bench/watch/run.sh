#!/bin/sh
# What watching a call costs, beside the peers: one run in which all take turns, round by round, on the same program
# (calls.c), whose functions of about 2 ns begin in the three ways that decide what a probe costs. Prints tables for
# docs/benchmarks.md, and the ratios that tare is judged by.
# Usage: run.sh BUILD [ROUNDS [CALLS]]   (default 5 rounds of 200000 calls a function)
# Needs root (probes), bpftrace, uftrace, perf, sqlite3. A peer that does not work here is left out, and said so.
set -eu

build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
rounds=${2:-5}
calls=${3:-200000}
tare=$build/tare
program=$build/bench/watch/bench_calls
place=$(mktemp -d)
mounted=
clean() {
	perf probe -q -d 'tare_bench:*' >/dev/null 2>&1 || true
	[ -z "$mounted" ] || umount "$mounted" || true
	cd /
	rm -rf "$place"
}
trap clean EXIT
trap 'exit 130' INT TERM HUP
cd "$place"
unset TARE_NO

say() {
	printf '%s\n' "$*" >&2
}

# row MODE BYTES NOP5 PUSH OTHER SCOPE: adds a line to rows: what a call took by the program's own clock (ps), the bytes
# left, and what each function was said to take (ns; - where nothing is said).
row() {
	[ -s own ] || {
		say "run.sh: the program did not end well under $1"
		cat log >&2
		exit 2
	}
	read -r _ nop5 _ push _ other _ scope <own
	echo "$1 $round $nop5 $push $other $scope $2 $3 $4 $5 $6" >>rows
	rm -rf own left log
}

size() {
	du -sb left 2>/dev/null | cut -f 1
}

# The three probed functions, each behind PREFIX and before SUFFIX.
probed() {
	for first in nop5 push other; do
		printf '%s%s%s' "$1" "$first" "$2"
	done
}

play_plain() {
	"$program" own $((calls * 50)) >log 2>&1
	row plain 0 - - - -
}

play_uftrace_pg() {
	uftrace record --no-libcall --no-event --no-sched -d left "${program}_pg" own "$calls" >log 2>&1 || return 1
	row uftrace-pg "$(size)" - - - "$(uftrace_mean hot_scope)"
}

# What uftrace says a call took on average, in ns: "6.076 ms    0.030 us      200000  hot_scope".
uftrace_mean() {
	uftrace report -d left --no-sched -f total,total-avg,call 2>/dev/null | awk -v name="$1" '
		BEGIN { said = "-"; unit["ns"] = 1; unit["us"] = 1e3; unit["ms"] = 1e6; unit["s"] = 1e9 }
		$NF == name { said = $3 * unit[$4] }
		END { print said }'
}

play_uftrace_patch() {
	uftrace record --no-libcall --no-event --no-sched -P '^hot_' -d left "$program" own "$calls" >log 2>&1 || return 1
	row uftrace-P "$(size)" "$(uftrace_mean hot_nop5)" - - -
}

play_bpftrace_count() {
	mkdir left
	bpftrace -q -o left/out -e "$(probed "uprobe:$program:hot_" ' { @ = count(); } ')" -c "$program own $calls" >log 2>&1 || return 1
	row bpftrace-count "$(size_of left/out)" - - - -
}

size_of() {
	stat -c %s "$1"
}

play_bpftrace_both() {
	mkdir left
	script=
	for first in nop5 push other; do
		at=$program:hot_$first
		script="$script uprobe:$at { @from[tid] = nsecs; }
			uretprobe:$at /@from[tid]/ { \$took = nsecs - @from[tid]; @$first = stats(\$took); delete(@from[tid]); }"
	done
	bpftrace -q -o left/out -e "$script" -c "$program own $calls" >log 2>&1 || return 1
	row bpftrace-both "$(size_of left/out)" "$(bpftrace_mean nop5)" "$(bpftrace_mean push)" "$(bpftrace_mean other)" -
}

# "@nop5: count 200000, average 1055, total 316665381"
bpftrace_mean() {
	sed -n "s/^@$1: .*average \([0-9]*\).*/\1/p" left/out
}

play_perf() {
	mkdir left
	perf record -q -e 'tare_bench:*' -o left/out "$program" own "$calls" >log 2>&1 || return 1
	row perf "$(size_of left/out)" - - - -
}

# watch MODE INTERVAL PROGRAM FUNC...: by tare, at the largest price, so that only INTERVAL decides.
watch() {
	as=$1
	interval=$2
	what=$3
	shift 3
	count=$calls
	wait=
	# Scopes cost so little that more of them are needed.
	case $as in inside) count=$((calls * 50)) wait=wait ;; esac
	mkdir left
	# shellcheck disable=SC2086 # a word or none
	"$tare" watch -q --price 100% --interval "$interval" -o left/out.tare "$@" -- "$what" own "$count" $wait >log 2>&1 || return 1
	"$tare" report --json left/out.tare >json || return 1
	row "$as" "$(size_of left/out.tare)" "$(tare_mean hot_nop5)" "$(tare_mean hot_push)" "$(tare_mean hot_other)" "$(tare_mean bench_scope)"
}

# What the report says a call took: the mean, or that it is below the floor.
tare_mean() {
	sqlite3 :memory: "SELECT CASE WHEN f.value->>'is_below_floor' THEN 'below-floor' ELSE coalesce(f.value->>'\$.mean_ns.value', '-') END
		FROM json_each(readfile('json'), '\$.functions') AS f WHERE f.value->>'name' = '$1'
		UNION ALL SELECT '-' LIMIT 1"
}

play_tare_count() {
	watch tare-count 4096 "$program" hot_nop5 hot_push hot_other
}

play_tare_timed() {
	watch tare-timed 1 "$program" hot_nop5 hot_push hot_other
}

play_tare() {
	watch tare 8 "$program" hot_nop5 hot_push hot_other
}

play_inside_off() {
	"${program}_inside" own $((calls * 50)) >log 2>&1
	row inside-off 0 - - - -
}

play_inside() {
	watch inside 8 "${program}_inside" bench_scope
}

# The probes of perf need tracefs, and names that are not there yet.
prepare_perf() {
	command -v perf >/dev/null || return 1
	if [ ! -e /sys/kernel/tracing/uprobe_events ]; then
		mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null || return 1
		mounted=/sys/kernel/tracing
	fi
	for first in nop5 push other; do
		perf probe -q -x "$program" "tare_bench:$first=hot_$first" >/dev/null 2>&1 || return 1
	done
}

[ "$(id -u)" -eq 0 ] || say 'run.sh: not root: what needs probes will be left out'
prepare_perf || true
modes='plain uftrace_pg uftrace_patch bpftrace_count bpftrace_both perf tare_count tare_timed tare inside_off inside'
missing=
round=0
# The round 0 finds out who works here; it is not counted.
for mode in $modes; do
	if play_$mode 2>>log; then
		working="${working:+$working }$mode"
	else
		missing="${missing:+$missing, }$mode"
		say "run.sh: $mode does not work here:"
		head -n 5 log >&2
		rm -rf own left
	fi
	rm -rf log
done
: >rows
# Who was first is last in the next round.
round=1
while [ "$round" -le "$rounds" ]; do
	say "round $round of $rounds: $working"
	for mode in $working; do
		play_$mode || {
			say "run.sh: $mode failed in round $round"
			cat log >&2
			exit 2
		}
	done
	working="${working#* } ${working%% *}"
	round=$((round + 1))
done

echo "\`./dev bench watch $rounds $calls\`, $(date -u +%Y-%m-%d), $(uname -sr), $(nproc) CPUs; $(bpftrace --version 2>/dev/null), $(uftrace --version 2>/dev/null | sed 's/ (.*//'), $(perf --version 2>/dev/null),"
echo "$("$tare" --version | head -n 1); $rounds rounds in turn, $calls calls of each function a round; median (least to most); measured."
[ -z "$missing" ] || echo "Did not work here: $missing."
echo
sort -k 1,1 -k 2,2n rows | awk -v calls="$calls" -f "$here/table.awk"
