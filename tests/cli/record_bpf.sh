#!/bin/sh
# record_bpf.sh - engine bpf from end to end: what it says of itself, and how it is refused.
. "$(dirname "$0")/lib.sh"

[ -r /sys/kernel/btf/vmlinux ] || skip_all 'this kernel does not describe its types'

run env TARE_NO=bpf "$tare" record --engine bpf -o off.tare -- true
check 'an engine that is switched off ends the recorder before the job' status_is 125
check 'it says why' err_has 'BPF is switched off'
check 'what still works' err_has '--engine perf'
check 'and how to mend it' err_has 'TARE_NO'
check 'no recording is left' test ! -e off.tare

run "$tare" record -q --engine bpf --every 1ms --price 100% -o b.tare -- \
	sh -c 'i=0; while [ $i -lt 150000 ]; do i=$((i + 1)); done; exit 3'
if err_has 'no BPF programs'; then
	skip 'a job is sampled in the kernel' "$(head -n 1 err)"
	end
fi
check "the job's status comes through" status_is 3
run "$tare" report --json b.tare
check 'the recording names its engine' out_has '"engine": "bpf"'
check 'no child goes unseen' out_lacks 'under a period unseen'
check 'what it takes in the kernel is measured' out_lacks '"kernel_tick_ps": 0'
run "$tare" report b.tare
check 'the shell is there with its root' out_has 'sh ('
check 'and the report says how it was sampled' out_has 'engine    bpf'
end
