#!/bin/sh
# zoo.sh - targets that are hard to follow (zoo.c): the job ends with its own status and within its time, price and size hold,
# what was not seen is counted.
. "$(dirname "$0")/../cli/lib.sh"
zoo=${ZOO:?set ZOO to the built zoo}

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'

number() {
	tr ',{}' '\n\n\n' <out | sed -n "s/^ *\"$1\": *\([0-9]*\)\$/\1/p" | head -n 1
}

# look FILE: the label of a recording, into `out`.
look() {
	run "$tare" report --json "$1" && [ "$status" -eq 0 ]
}

size_holds() {
	bytes=$(cat "$1".tare* | wc -c)
	[ "$bytes" -le "$(number size_limit_bytes)" ]
}

# What samples take, in the recorder and in the kernel, is ruled window by window, and a window may be over by its own
# ticks; start-up is spread over ten minutes. In CPU time: how busy the machine is does not matter.
price_holds() {
	awk -v sample="$(number sample_ns)" -v kernel="$(number kernel_ns)" -v start="$(number start_ns)" \
		-v save="$(number save_ns)" -v elapsed="$(number elapsed_ns)" -v ppm="$(number price_limit_ppm)" 'BEGIN {
			print "samples", (sample + kernel) / 1e6, "ms, start-up", start / 1e6, "ms of", elapsed / 1e6
			exit !(sample + kernel <= elapsed * ppm / 1e6 + 40e6 && start + save <= 600e9 * ppm / 1e6)
		}'
}

# No weight is made up, and every stack is counted as what it is.
sums_hold() {
	awk -v weight="$(number weight_ns)" -v clock="$(number clock_ns)" -v kept="$(number kept)" \
		-v stacks="$(($(number whole_stacks) + $(number broken_stacks) + $(number cut_stacks)))" 'BEGIN {
			print weight / 1e6, "of", clock / 1e6, "ms,", kept, "kept,", stacks, "stacks"
			exit !(weight <= clock && kept == stacks)
		}'
}

# meet NAME STATUS ARGUMENT...: records `zoo NAME ARGUMENT...` and judges it; $before goes in front of tare.
before=
meet() {
	name=$1
	want=$2
	shift 2
	# shellcheck disable=SC2086 # words
	run timeout -k 1 60 $before "$tare" record -q -f $options -o "$name.tare" -- "$zoo" "$name" "$@"
	check "$name: the job ends with its own status, in its time" status_is "$want"
	check "$name: the recording opens" look "$name.tare"
	check "$name: and is finished" out_has '"is_finished": true'
	check "$name: the price holds" price_holds
	check "$name: the size holds" size_holds "$name"
	check "$name: what was seen adds up" sums_hold
}

# at_least KEY NUMBER, is KEY NUMBER: of the label.
at_least() {
	echo "$1 $(number "$1")"
	[ "$(number "$1")" -ge "$2" ]
}

is() {
	echo "$1 $(number "$1")"
	[ "$(number "$1")" -eq "$2" ]
}

# Most of what the kernel counted is in samples, or is said to be lost.
is_covered() {
	echo "weight $(number weight_ns) of $(number clock_ns), lost $(number lost)"
	[ "$(($(number weight_ns) * 10))" -ge "$(($(number clock_ns) * 7))" ] || [ "$(number lost)" -gt 0 ]
}

options=
meet threads 7 2000
check 'threads: each was seen' at_least threads 2001
meet forks 8 200 200
check 'forks: each was seen' at_least processes 201
check 'forks: what is too short for a sample is said' out_has 'under a period unseen'
meet execs 9 100
check 'execs: it stays one process' is processes 1
check 'execs: and its time is seen' is_covered
meet zombies 12 200
check 'zombies: each was seen' is processes 201
check 'zombies: the time beside them is seen' is_covered
meet vforks 13 50
meet stops 14
check 'stops: the time before and after is seen' is_covered
meet deep 15 100000
check 'deep: its stacks are cut, and counted' at_least cut_stacks 1
check 'deep: the time at its end is seen' is_covered
meet gone 16
# The same in the kernel, where that is permitted; and where neither is.
if "$tare" record -q --engine bpf -o may.tare -- true 2>err || ! grep -qE 'no BPF programs|built without BPF' err; then
	options='--engine bpf'
	meet threads 7 500
	check 'threads: each was seen in the kernel' at_least threads 501
	meet forks 8 100 200
	check 'forks: each was seen in the kernel' at_least processes 101
	check 'forks: none is too short to be seen' out_lacks 'under a period unseen'
	meet execs 9 50
	check 'execs: it stays one process in the kernel' is processes 1
	meet vforks 13 50
	meet stops 14
	meet deep 15 100000
	meet gone 16
	meet segv 139
else
	skip 'the zoo in the kernel' "$(head -n 1 err)"
fi
options='--engine ptrace'
meet threads 7 200
meet forks 8 50 100
meet execs 9 30
meet vforks 13 20
meet stops 14
meet gone 16
options=
meet segv 139
check 'segv: it is said that a signal ended it' out_has '"ended_by": "signal"'
check 'segv: the time before is seen' is_covered

if [ "$(id -u)" -eq 0 ] && ! findmnt -no OPTIONS -T . | grep -qw nosuid; then
	cp "$zoo" other
	chown 65534 other
	chmod 4755 other
	chmod 755 .
	meet setuid 10 "$PWD/other"
	check 'setuid: the time of another user is seen' is_covered
	check 'setuid: from the next look on, a second later at most' at_least weight_ns 800000000
else
	skip 'setuid: a program of another user' 'only root can make one'
fi

# watch NAME STATUS CALLS ARGUMENT...: the same under `tare watch`, which counts every call of one function.
watch() {
	name=$1
	want=$2
	calls=$3
	shift 3
	run timeout -k 1 60 "$tare" watch -q -o "watch_$name.tare" "$place/zoo:spend" -- "$place/zoo" "$name" "$@"
	if [ "$status" -eq 125 ] && err_has 'cannot watch'; then
		skip "$name under watch" 'no probes here'
		return
	fi
	check "$name under watch: the job ends with its own status, in its time" status_is "$want"
	check "$name under watch: the recording opens" look "watch_$name.tare"
	check "$name under watch: the size holds" size_holds "watch_$name"
	check "$name under watch: every call is counted" out_has "\"calls\": $calls,"
}

cp "$zoo" "$place/zoo"
watch threads 7 2000 2000
watch deep 15 1 100000
watch segv 139 1

if unshare -p -f --mount-proc true 2>/dev/null; then
	before='unshare -p -f --mount-proc'
	meet reuse 11 12
	before=
	check 'reuse: processes that had one number are told apart' is processes 13
	check 'reuse: the time of all is seen' is_covered
else
	skip 'reuse: numbers of processes that come again' 'no pid namespaces here'
fi
end
