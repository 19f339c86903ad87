#!/bin/sh
# How what a recorder leaves and takes grows with the length of a run. One job a length, and on it at the same time tare record, perf
# record -g and perf record --call-graph dwarf, all attached to it (-p): so all three see the very same work, and ten minutes take ten
# minutes, not forty. What each takes is its own processes' CPU; what the job loses is not told here (run.sh and tare prove do).
# Then each one's report. Prints tables for docs/benchmarks.md, and the ratios that tare is judged by.
# Usage: long.sh BUILD [SECONDS...]   (of the job's CPU; default 10 60 600)
set -eu

build=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- 10 60 600
meter=$build/bench/bench_meter
place=$(mktemp -d)
target=
trap '[ -z "$target" ] || kill "$target" 2>/dev/null; rm -rf "$place"' EXIT
trap 'exit 130' INT TERM HUP

# record NAME COMMAND...: one recorder under the meter, in the background; its last line is in NAME.meter.
record() {
	name=$1
	shift
	"$meter" "$place/$name.meter" "$@" >"$place/$name.log" 2>&1 </dev/null &
}

# row LENGTH NAME FILE COMMAND...: its report, and a line "length name recorder-ns bytes rss-kb report-cpu-ns report-wall-ns samples".
row() {
	length=$1
	name=$2
	file=$3
	shift 3
	if [ ! -s "$place/$name.meter" ]; then
		echo "long.sh: $name failed:" >&2
		cat "$place/$name.log" >&2
		exit 2
	fi
	"$meter" "$place/report" "$@" >"$place/out" 2>"$place/log" </dev/null || {
		cat "$place/log" >&2
		exit 2
	}
	read -r recorder_ns _ rss_kb _ <"$place/$name.meter"
	read -r report_ns report_wall_ns _ <"$place/report"
	echo "$length $name $recorder_ns $(stat -c %s "$file") $rss_kb $report_ns $report_wall_ns" >>"$place/rows"
	rm -f "$file" "$place/$name.meter"
}

play() {
	"$build/bench/bench_job" $(($1 * 1000)) "$place/job" &
	target=$!
	record tare "$build/tare" record -q -f -o "$place/left.tare" -p "$target"
	record perf-g perf record -q -g -F 99 -o "$place/left.g" -p "$target"
	record perf-dwarf perf record -q --call-graph dwarf -F 99 -o "$place/left.dwarf" -p "$target"
	wait
	target=
	row "$1" tare "$place/left.tare" "$build/tare" report "$place/left.tare"
	row "$1" perf-g "$place/left.g" perf report --stdio -i "$place/left.g"
	row "$1" perf-dwarf "$place/left.dwarf" perf report --stdio -i "$place/left.dwarf"
}

for seconds in "$@"; do
	echo "long.sh: a job of $seconds s, three recorders on it" >&2
	play "$seconds"
done
echo "\`bench/record/long.sh build $*\`, $(date -u +%Y-%m-%d), $(uname -sr), $(nproc) CPUs, $(perf --version), $("$build/tare" --version | head -n 1);"
echo "one job a length, all recorders on it at once; measured, once."
echo
awk '
	BEGIN {
		names["tare"] = "tare record"
		names["perf-g"] = "perf record -g -F 99"
		names["perf-dwarf"] = "perf record --call-graph dwarf -F 99"
		print "| job, s of CPU | recorder | its CPU, s | KB left | peak RSS, MB | its report: CPU, s | and time, ms | both, CPU, s |"
		print "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
	}
	{
		printf "| %d | %s | %.3f | %.0f | %.1f | %.3f | %.0f | %.3f |\n", $1, names[$2], $3 / 1e9, $4 / 1024, $5 / 1024, $6 / 1e9, $7 / 1e6,
			($3 + $6) / 1e9
		bytes[$1, $2] = $4
		both[$1, $2] = $3 + $6
		opens[$1, $2] = $7
		last = $1
	}
	END {
		print ""
		printf "| at %d s | measured | wanted |\n| --- | ---: | ---: |\n", last
		printf "| bytes, tare / perf -g | 1 / %.0f | <= 1 / 10 |\n", bytes[last, "perf-g"] / bytes[last, "tare"]
		printf "| bytes, tare / perf dwarf | 1 / %.0f | <= 1 / 50 |\n", bytes[last, "perf-dwarf"] / bytes[last, "tare"]
		printf "| CPU of recorder and report, tare / perf dwarf | %.2f | <= 1 |\n", both[last, "tare"] / both[last, "perf-dwarf"]
		printf "| tare report opens after | %.0f ms | <= 100 ms |\n", opens[last, "tare"] / 1e6
	}' "$place/rows"
