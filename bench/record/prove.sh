#!/bin/sh
# Is what the label claims true? `tare prove` on three jobs that cost a recorder in different ways (kinds.c), at the price and at 20 times
# it. Prints what it says, with the load of the machine before each.
# Usage: prove.sh BUILD [PAIRS [UNITS [KIND...]]]   (default 30 pairs of 1000 units, about a second of CPU a run)
set -eu

build=$(cd "$1" && pwd)
pairs=${2:-30}
units=${3:-1000}
shift "$(($# < 3 ? $# : 3))"
[ $# -gt 0 ] || set -- spinning threads asleep

echo "\`bench/record/prove.sh build $pairs $units\`, $(date -u +%Y-%m-%d), $(uname -sr), $(nproc) CPUs, $("$build/tare" --version | head -n 1); measured."
for kind in "$@"; do
	echo
	echo "$kind (load before: $(cut -d ' ' -f 1 /proc/loadavg)):"
	echo
	# 1 and 2 are answers, not failures.
	"$build/tare" prove --pairs "$pairs" --time 2h -- "$build/bench/bench_kinds" "$kind" "$units" || [ $? -le 2 ]
done
