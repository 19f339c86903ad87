#!/bin/sh
# Do recorders stay as large as they are? A restless job (processes come and go, threads, programs that execute others) runs for an
# hour under tare record, and another whose threads come and go under tare watch; every few seconds memory, descriptors and threads of each recorder and of its children are
# read from /proc, with the bytes of its recording. Prints one line a recorder: the largest after a tenth of the time, and the largest
# of the last third. Flat is: no more than 1 MB, no descriptor and no thread more. Exit status 1: not flat, or over a limit.
# Usage: soak.sh BUILD [SECONDS]   (default 3600)
set -eu

build=$(cd "$1" && pwd)
seconds=${2:-3600}
every=$((seconds / 360 > 1 ? seconds / 360 : 1))
place=$(mktemp -d)
job=
cleanup() {
	[ -z "$job" ] || kill -- "-$job" 2>/dev/null || :
	rm -rf "$place"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
cp "$build/tare" "$build/tests/fault/zoo" "$place/"
cd "$place"

cat >job.sh <<'JOB'
while :; do
	./zoo forks 40 20
	./zoo threads 50
	./zoo execs 20
	./zoo zombies 5
	./zoo segv
done
JOB
# A group of its own, so that all of it ends with the soak.
setsid sh job.sh >/dev/null 2>&1 &
job=$!
./tare record -q -p "$job" -d "${seconds}s" -o record.tare &
record=$!
./tare watch -q -o watch.tare "$place/zoo:spend" -- ./zoo crowd "$seconds" 2>watch.log &
watch=$!

# size PID: "rss-kb descriptors threads" of a recorder and of its children together; nothing when it has ended.
size() {
	rss=0
	fds=0
	threads=0
	for pid in "$1" $(pgrep -P "$1" -x tare); do
		[ -r "/proc/$pid/statm" ] || continue
		read -r _ pages _ <"/proc/$pid/statm" || continue
		rss=$((rss + pages * 4))
		fds=$((fds + $(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l)))
		threads=$((threads + $(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)))
	done
	[ "$rss" -eq 0 ] || echo "$rss $fds $threads"
}

start=$(date +%s)
while kill -0 "$record" 2>/dev/null || kill -0 "$watch" 2>/dev/null; do
	now=$(($(date +%s) - start))
	for name in record watch; do
		pid=$record
		[ "$name" = record ] || pid=$watch
		line=$(size "$pid")
		[ -z "$line" ] || echo "$now $name $line $(cat "$name".tare* 2>/dev/null | wc -c)" >>sizes
	done
	sleep "$every"
done
wait "$record" || echo "tare record ended with $?"
wait "$watch" || [ $? -eq 17 ] || echo "tare watch ended badly: $(cat watch.log)"

echo "what                from KB  to KB  descriptors  threads  file bytes  looks"
awk -v seconds="$seconds" '
	$1 < seconds / 10 || $1 > seconds - 5 { next } # growing to its limits; ending
	{
		third = $1 < seconds / 2 ? "first" : $1 > seconds * 2 / 3 ? "last" : ""
		looks[$2]++
		if ($6 > bytes[$2])
			bytes[$2] = $6
		if (third == "")
			next
		for (i = 3; i <= 5; i++)
			if ($i > most[$2, third, i])
				most[$2, third, i] = $i
	}
	END {
		for (name in looks) {
			flat = most[name, "last", 3] <= most[name, "first", 3] + 1024 &&
				most[name, "last", 4] <= most[name, "first", 4] && most[name, "last", 5] <= most[name, "first", 5] &&
				bytes[name] <= 4 * 1024 * 1024
			printf "%-18s %8d %6d %6d to %-4d %d to %d %11d %6d %s\n", "tare " name, most[name, "first", 3], most[name, "last", 3],
				most[name, "first", 4], most[name, "last", 4], most[name, "first", 5], most[name, "last", 5],
				bytes[name], looks[name], flat ? "flat" : "NOT FLAT"
			if (!flat)
				bad = 1
		}
		exit bad
	}' sizes && status=0 || status=$?
for name in record watch; do
	./tare report "$name.tare" >"$name.txt" 2>&1 || continue
	echo
	grep -E '^(ran|price|size|kept|lost|memory|marks) ' "$name.txt"
done
exit "$status"
