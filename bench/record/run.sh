#!/bin/sh
# What recording costs, beside perf record: one run in which bare, tare record, perf record -g and perf record
# --call-graph dwarf take turns, round by round, on the same fixed job. Prints a table for docs/benchmarks.md.
# Usage: run.sh BUILD [ROUNDS [UNITS]]   (a unit is about a millisecond of CPU; default 5 rounds of 20000)
#   recorder CPU  user + system time of the recorder and all its processes, the job's own taken off
#   bytes         what is left on disk, side files included
#   slowdown      the job's own user + system time against the bare one of the same round
#   job begins    after the recorder was started; the first sample comes a period (10 ms) later, for each
#   its report    CPU and time of `tare report`, or `perf report --stdio`, of what was left
set -eu

build=$(cd "$1" && pwd)
rounds=${2:-5}
units=${3:-20000}
meter=$build/bench/bench_meter
job=$build/bench/bench_job
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM HUP

# report MODE: makes the report that a user would; leaves its line in the file "report".
report() {
	case $1 in
	tare) set -- "$build/tare" report "$place/left.tare" ;;
	perf-*) set -- perf report --stdio -i "$place/left.data" ;;
	*)
		echo 0 0 >"$place/report"
		return
		;;
	esac
	"$meter" "$place/report" "$@" >"$place/log" 2>&1 </dev/null || {
		cat "$place/log" >&2
		exit 2
	}
}

# once MODE FILE COMMAND...: one run; adds a line "mode round job-ns recorder-ns bytes wall-ns rss-kb label-ns begins-ns
# report-cpu-ns report-wall-ns" to rows.
once() {
	mode=$1
	left=$2
	shift 2
	rm -f "$place"/left.* "$place/job"
	if ! "$meter" "$place/meter" "$@" "$job" "$units" "$place/job" >"$place/log" 2>&1 </dev/null; then
		echo "run.sh: $mode failed:" >&2
		cat "$place/log" >&2
		exit 2
	fi
	read -r job_ns sum began_ns <"$place/job"
	read -r all_ns wall_ns rss_kb from_ns <"$place/meter"
	[ "${first_sum:=$sum}" = "$sum" ] || {
		echo "run.sh: under $mode the job came to another result" >&2
		exit 2
	}
	bytes=0
	for file in "$place"/left.*; do
		[ ! -f "$file" ] || bytes=$((bytes + $(stat -c %s "$file")))
	done
	label_ns=-
	if [ "$mode" = tare ]; then
		label_ns=$(sqlite3 -readonly "$left" 'SELECT own_cpu_ns FROM recording')
	fi
	report "$mode"
	read -r report_ns report_wall_ns _ <"$place/report"
	echo "$mode $round $job_ns $((all_ns - job_ns)) $bytes $wall_ns $rss_kb $label_ns $((began_ns - from_ns)) $report_ns $report_wall_ns" >>"$place/rows"
}

play() {
	case $1 in
	bare) once bare "$place/left.none" ;;
	tare) once tare "$place/left.tare" "$build/tare" record -o "$place/left.tare" -- ;;
	perf-g) once perf-g "$place/left.data" perf record -q -g -F 99 -o "$place/left.data" -- ;;
	perf-dwarf) once perf-dwarf "$place/left.data" perf record -q --call-graph dwarf -F 99 -o "$place/left.data" -- ;;
	esac
}

# Everyone is first, second, third and last equally often.
order='bare tare perf-g perf-dwarf'
round=1
while [ "$round" -le "$rounds" ]; do
	echo "round $round of $rounds: $order" >&2
	for mode in $order; do
		play "$mode"
	done
	# shellcheck disable=SC2086 # words
	set -- $order
	order="$2 $3 $4 $1"
	round=$((round + 1))
done

echo "\`./dev bench $rounds $units\`, $(date -u +%Y-%m-%d), $(uname -sr), $(nproc) CPUs, $(perf --version),"
echo "$("$build/tare" --version | head -n 1); rounds in turn: $rounds; median (least to most) of each; measured."
echo
sort -k 1,1 -k 2,2n "$place/rows" | awk '
function median(list, n, i, j, t) {
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
			t = list[j]
			list[j] = list[j - 1]
			list[j - 1] = t
		}
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
# Median and range of column `what` of one mode, each value times `scale`.
function cell(mode, what, scale, format, n, i, list, middle) {
	n = rows[mode]
	for (i = 1; i <= n; i++)
		list[i] = value[mode, i, what] * scale
	middle = median(list, n)
	return sprintf(format " (" format " to " format ")", middle, list[1], list[n])
}
{
	mode = $1
	i = ++rows[mode]
	value[mode, i, "job"] = $3
	value[mode, i, "recorder"] = $4
	value[mode, i, "bytes"] = $5
	value[mode, i, "share"] = $4 / $6
	value[mode, i, "rss"] = $7
	value[mode, i, "label"] = $8 == "-" ? 0 : $8
	value[mode, i, "agree"] = $8 == "-" ? 0 : ($8 / $4 - 1)
	bare[$2] = mode == "bare" ? $3 : bare[$2]
	value[mode, i, "slow"] = $3 / bare[$2] - 1
	value[mode, i, "begins"] = $9
	value[mode, i, "report"] = $10
	value[mode, i, "opens"] = $11
	value[mode, i, "both"] = $4 + $10
}
END {
	names["bare"] = "bare"
	names["tare"] = "tare record"
	names["perf-g"] = "perf record -g -F 99"
	names["perf-dwarf"] = "perf record --call-graph dwarf -F 99"
	split("bare tare perf-g perf-dwarf", order, " ")
	print "| recorder | its CPU, s | of one CPU, % | KB left | job, own CPU, s | slowdown, % | peak RSS, MB |"
	print "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
	for (i = 1; i <= 4; i++) {
		m = order[i]
		printf "| %s | %s | %s | %s | %s | %s | %s |\n", names[m], cell(m, "recorder", 1e-9, "%.3f"),
			cell(m, "share", 100, "%.2f"), cell(m, "bytes", 1 / 1024, "%.0f"), cell(m, "job", 1e-9, "%.2f"),
			m == "bare" ? "-" : cell(m, "slow", 100, "%.2f"), cell(m, "rss", 1 / 1024, "%.1f")
	}
	print ""
	print "| recorder | job begins after, ms | its report: CPU, s | and time, ms | recorder and report, CPU, s |"
	print "| --- | ---: | ---: | ---: | ---: |"
	for (i = 2; i <= 4; i++) {
		m = order[i]
		printf "| %s | %s | %s | %s | %s |\n", names[m], cell(m, "begins", 1e-6, "%.0f"), cell(m, "report", 1e-9, "%.3f"),
			cell(m, "opens", 1e-6, "%.0f"), cell(m, "both", 1e-9, "%.3f")
	}
	printf "\nOwn CPU by the label of tare against getrusage: %s %%.\n", cell("tare", "agree", 100, "%+.1f")
}'
