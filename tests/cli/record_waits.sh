#!/bin/sh
# record_waits.sh - `record --clock wall`: states apart, what was waited for, and what is said where it cannot be had.
. "$(dirname "$0")/lib.sh"

run "$tare" record -q --clock sundial -o no.tare -- true
check "a clock that there is not is refused with those there are" err_has "--clock takes cpu"
check "the job does not run" status_is 125

run env TARE_NO=bpf "$tare" record -q --clock wall -o no.tare -- true
if err_has "built without BPF"; then
	skip "waiting is seen" "this tare was built without BPF"
	end
fi
check "where BPF is switched off, waiting is refused" err_has "cannot see waits"
check "it says what still works" err_has "--clock cpu"
check "it says what mends it" err_has "take bpf out of TARE_NO"

cat >job.sh <<'EOF'
for i in 1 2 3 4 5 6; do sleep 0.1; done
i=0
while [ $i -lt 60000 ]; do i=$((i + 1)); done
EOF
run "$tare" record -q --clock wall -o wall.tare -- sh job.sh
if err_has "cannot see waits"; then
	skip "waiting is seen" "$(head -n 1 err)"
	end
fi
check "the job's status is its own" status_is 0
run "$tare" report wall.tare
check "the verdict is about waiting" sh -c 'head -n 1 out | grep -q waiting'
check "states are shares of the threads' time" out_has "of its threads' time"
check "what waits is a table of its own" out_has "where it waits"
check "a timer is what sleep waits for" out_has "[waits for a timer]"
check "a child is what a shell waits for" out_has "[waits for a child]"
check "the clock is on the label" out_has "wall clock"
check "nobody says that waiting was not measured" out_lacks "not measured: the clock is CPU time"

run "$tare" report --json wall.tare
check "more was waited than was run, and both are there" python3 -c '
import json
r = json.load(open("out"))
sums = [sum(t["all"][s + "_ns"] for t in r["threads"]) for s in ("running", "waiting", "runnable")]
assert sums[1] > sums[0] > 0, sums
assert any(f["why"] == "[waits for a timer]" for f in r["functions"]), [f["why"] for f in r["functions"]]
'

run "$tare" record -q -o cpu.tare -- sh job.sh
run "$tare" report cpu.tare
check "by CPU time nothing has changed: waiting is not measured, and that is said" out_has "the clock is CPU time"
check "and has no table" out_lacks "where it waits"

end
