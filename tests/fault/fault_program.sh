#!/bin/sh
# The built program on a disk that fails and with memory that runs out: the job runs unharmed and ends with its own status, or
# does not run at all; the recording is whole; what is not saved is not called saved.
# Usage: fault_program.sh [STRIDE]: every STRIDE-th operation (1: all), and every 40 x STRIDE-th allocation.
. "$(dirname "$0")/../cli/lib.sh"

preload=${FAULT_PRELOAD:?set FAULT_PRELOAD to the library of faults}
stride=${1:-3}
folder=$place/disk
# enum disk_op, as bits
any=255

command -v sqlite3 >/dev/null 2>&1 || skip_all 'there is no sqlite3 here to check files with'
"$tare" record -q -o probe.tare -- true 2>err || skip_all "cannot record here: $(head -n 1 err)"

# with_fault N ERRNO STICKY ARGUMENT...: tare with the n-th operation failing; leaves $status, out and err. True: it was met.
with_fault() {
	n=$1 errno=$2 sticky=$3
	shift 3
	rm -f met
	status=0
	FAULT_PROGRAM=tare FAULT_FOLDER=$folder FAULT_OPS=$any FAULT_AT=$n FAULT_ERRNO=$errno FAULT_STICKY=$sticky \
		FAULT_TOLD=$place/met LD_PRELOAD=$preload timeout 20 "$tare" "$@" >out 2>err </dev/null || status=$?
	[ -e met ]
}

# What is wrong with the run before, on standard output; nothing: it is as promised. WANT is the job's own status.
judge() {
	instrument=$1 want=$2 ran=no
	! grep -q -e '^ran$' -e ' ticks' out || ran=yes
	case $ran,$status in
	"yes,$want" | no,125) ;;
	*) echo "the job ran: $ran, status $status" ;;
	esac
	told=$(grep -c "^tare $instrument: cannot" err)
	[ "$told" -le 1 ] || echo "told $told times"
	finished=none
	if [ -e "$folder/job.tare" ]; then
		integrity=$(sqlite3 "$folder/job.tare" 'PRAGMA integrity_check' 2>&1)
		[ "$integrity" = ok ] || echo "integrity_check: $integrity"
		"$tare" report "$folder/job.tare" >report.out 2>report.err || [ $? -eq 1 ] || echo "report: $(cat report.err)"
		finished=$(sqlite3 "$folder/job.tare" 'SELECT is_finished, exit_status FROM recording')
	fi
	# No false "saved": it is silent only when all of it is there.
	[ "$told" -gt 0 ] || [ "$finished" = "1|$want" ] || echo "nothing was told, and the file is: $finished"
	[ "$finished" != none ] || [ "$ran" = no ] || echo "the job ran and there is no recording"
}

# sweep INSTRUMENT SENTENCE ERRNO STICKY STEP
sweep() {
	instrument=$1 sentence="$1: $2" errno=$3 sticky=$4 step=$5 at=1 want=7
	set -- sh -c 'echo ran; exit 7'
	if [ "$instrument" = watch ]; then
		want=0
		set -- "$COLONY" 300 0
	fi
	while :; do
		rm -rf "$folder"
		mkdir "$folder"
		met=yes
		with_fault "$at" "$errno" "$sticky" "$instrument" -q -o "$folder/job.tare" -- "$@" || met=no
		wrong=$(judge "$instrument" "$want")
		if [ -n "$wrong" ]; then
			fail "$sentence" "at $at: $wrong
$(cat err)"
			return
		fi
		[ $met = yes ] || break
		at=$((at + step))
	done
	echo "# $sentence: up to operation $at"
	if [ "$at" -gt 20 ]; then
		ok "$sentence"
	else
		fail "$sentence" "only $at operations were met"
	fi
}

promise='the job has its own status, the file is whole'
sweep record "EIO for good: $promise" 5 1 "$stride"
sweep record "ENOSPC once: $promise" 28 0 "$stride"
sweep record "EDQUOT for good: $promise" 122 1 $((stride * 2))
sweep record "no memory once: $promise" 0 0 $((stride * 40))
sweep record "no memory for good: $promise" 0 1 $((stride * 40))
if [ -n "${COLONY-}" ] && "$tare" watch -q -o probe.watch.tare -- "$COLONY" 300 0 >/dev/null 2>&1; then
	sweep watch "EIO for good: $promise" 5 1 $((stride * 2))
	sweep watch "no memory once: $promise" 0 0 $((stride * 80))
	sweep watch "no memory for good: $promise" 0 1 $((stride * 80))
else
	skip 'the same of watch' 'the example is not built here, or cannot be watched'
fi

# sweep_report SENTENCE STICKY STEP
sweep_report() {
	sentence=$1 sticky=$2 step=$3 at=1
	while with_fault "$at" 0 "$sticky" report probe.tare; do
		case $status in
		0 | 1) ;;
		2) [ -s err ] || {
			fail "$sentence" "at $at: status 2 without a word"
			return
		} ;;
		*)
			fail "$sentence" "at $at: status $status: $(cat err)"
			return
			;;
		esac
		at=$((at + step))
	done
	echo "# $sentence: up to allocation $at"
	ok "$sentence"
}

sweep_report 'a report without memory says so' 1 $((stride * 12))
sweep_report 'a report that misses one allocation says so, or does without' 0 $((stride * 12))

end
