#!/bin/sh
# report_json.sh - the JSON of a report is valid, is what its schema says, and has no 0 for what was not measured.
. "$(dirname "$0")/lib.sh"

make=${MAKE_RECORDING:?set MAKE_RECORDING to the built make_recording}
command -v python3 >/dev/null || skip_all 'no python3 to read JSON with'

for kind in parser hostile coarse unfinished empty quiet; do
	"$make" "$kind" "$kind.tare"
	run "$tare" report --json "$kind.tare"
	check "$kind: exit 0" status_is 0
	cp out "$kind.json"
done
run "$tare" report --json-schema
check '--json-schema: exit 0' status_is 0
check 'the schema is the one in docs' out_is "$here/../../docs/report.schema.json"

check 'every report is valid JSON in UTF-8, and what the schema says' python3 "$here/valid.py" out ./*.json

# KIND | SENTENCE | EXPRESSION, of the report `r`
cat >facts <<'F'
parser | the verdict is the first line | r["verdict"].startswith("44.0\u00a0%\u00a0±\u00a01.0 running in Parser::parse")
parser | the label has every fact | r["label"]["kept"] == 9998 and r["label"]["lost"] == 100
parser | own shares add up to all | abs(sum(f["own"]["share"]["value"] for f in r["functions"]) - 1) < 1e-6
parser | threads add up to all | sum(t["all"]["weight_ns"] for t in r["threads"]) == r["totals"]["sampled_ns"]
parser | sampled and (unsampled) add up to the clock | r["totals"]["sampled_ns"] + r["totals"]["unsampled_ns"] == r["totals"]["clock_ns"]
parser | a slot names its function | r["functions"][r["slots"][0]["function"]]["name"] == "main"
parser | a slot where nothing was kept says so | r["slots"][1]["function"] is None and r["slots"][1]["function_reason"] == "nothing was kept here"
parser | 64-bit integers are exact | r["label"]["started_wall_ns"] == 1764300000000000000
parser | findings have ids | [f["id"] for f in r["findings"]] == ["lost_samples", "unnamed_functions", "kernel_not_allowed"]
quiet | nothing stands out: an empty list | r["findings"] == []
hostile | a name keeps its bytes | "\x1b[2J\x1b]0;owned\x07" in [f["name"] for f in r["functions"]]
hostile | NUL too | "class@anonymous\0/x.php:3\x240" in [f["name"] for f in r["functions"]]
hostile | bytes that are no UTF-8 are replaced and counted | "\ufffd" * 4 in [f["name"] for f in r["functions"]] and r["replaced_bytes"] == 4
empty | what was not measured is null | r["label"]["kernel_ns"] is None and r["label"]["kernel_ns_reason"] == "not measured" and r["price"]["value"] is None
unfinished | an exit status that is not known is null | r["label"]["exit_status"] is None
quiet | a measured zero is 0 | r["label"]["lost"] == 0
coarse | too few samples are coarse | r["functions"][0]["own"]["share"]["is_coarse"] is True
F
cat >facts.py <<'P'
import json

for line in open("facts"):
    kind, sentence, expression = line.rstrip("\n").split(" | ")
    r = json.load(open(kind + ".json"))
    print("%s %s" % ("ok" if eval(expression) is True else "fail", sentence))
P
python3 facts.py >answers 2>facts.err || fail 'the facts can be looked at' "$(cat facts.err)"
check 'every fact was looked at' test "$(wc -l <answers)" -eq "$(wc -l <facts)"
while read -r verdict sentence; do
	"$verdict" "$sentence"
done <answers
end
