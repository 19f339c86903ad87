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

# What is wrong with the run before, on standard output; nothing: it is as promised.
judge_record() {
	ran=no
	[ ! -e ran ] || ran=yes
	case $ran,$status in
	yes,7 | no,125) ;;
	*) echo "the job ran: $ran, status $status" ;;
	esac
	told=$(grep -c '^tare record: cannot' err)
	[ "$told" -le 1 ] || echo "told $told times"
	if [ -e "$folder/job.tare" ]; then
		integrity=$(sqlite3 "$folder/job.tare" 'PRAGMA integrity_check' 2>&1)
		[ "$integrity" = ok ] || echo "integrity_check: $integrity"
		"$tare" report "$folder/job.tare" >report.out 2>report.err || [ $? -eq 1 ] || echo "report: $(cat report.err)"
		finished=$(sqlite3 "$folder/job.tare" 'SELECT is_finished, exit_status FROM recording')
	else
		finished=none
	fi
	# No false "saved": it is silent only when all of it is there.
	[ "$told" -gt 0 ] || [ "$finished" = '1|7' ] || echo "nothing was told, and the file is: $finished"
	[ "$finished" != none ] || [ "$ran" = no ] || echo "the job ran and there is no recording"
}

# sweep_record SENTENCE ERRNO STICKY STEP
sweep_record() {
	sentence=$1 errno=$2 sticky=$3 step=$4 at=1 wrong=
	while :; do
		rm -rf "$folder" ran
		mkdir "$folder"
		met=yes
		with_fault "$at" "$errno" "$sticky" record -q -o "$folder/job.tare" -- sh -c 'echo >ran; exit 7' || met=no
		wrong=$(judge_record)
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

sweep_record 'EIO for good: the job has its own status, the file is whole' 5 1 "$stride"
sweep_record 'ENOSPC once: the job has its own status, the file is whole' 28 0 "$stride"
sweep_record 'EDQUOT for good: the job has its own status, the file is whole' 122 1 $((stride * 2))
sweep_record 'no memory once: the job has its own status, the file is whole' 0 0 $((stride * 40))
sweep_record 'no memory for good: the job has its own status, the file is whole' 0 1 $((stride * 40))

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
