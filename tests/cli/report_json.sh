#!/bin/sh
# report_json.sh - the JSON of a report is valid, is what its schema says, and has no 0 for what was not measured.
. "$(dirname "$0")/lib.sh"

make=${MAKE_RECORDING:?set MAKE_RECORDING to the built make_recording}
command -v python3 >/dev/null || skip_all 'no python3 to read JSON with'

for kind in parser hostile coarse unfinished empty quiet; do
	"$make" "$kind" "$kind.tare"
	run "$tare" report --json "$kind.tare"
	check "$kind: exit 0" status_is 0
	check "$kind: valid JSON, in UTF-8" python3 -c 'import json, sys; json.loads(open("out", "rb").read().decode("utf-8"))'
	cp out "$kind.json"
done
run "$tare" report --json-schema
check '--json-schema: exit 0' status_is 0
check 'the schema is the one in docs' out_is "$here/../../docs/report.schema.json"

cat >valid.py <<'P'
import json, sys

schema = json.load(open(sys.argv[1]))
kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object", type(None): "null"}

def check(value, rule, path):
    if "$ref" in rule:
        rule = schema["$defs"][rule["$ref"].split("/")[-1]]
    allowed = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
    kind = kinds[type(value)]
    assert kind in allowed or (kind == "integer" and "number" in allowed), (path, kind, allowed)
    assert "enum" not in rule or value in rule["enum"], (path, value)
    if kind == "object":
        assert not set(rule["required"]) - set(value), (path, set(rule["required"]) - set(value))
        for key, member in value.items():
            assert key in rule["properties"], (path, key, "is not in the schema")
            assert member is not None or value.get(key + "_reason"), (path, key, "is null without a reason")
            check(member, rule["properties"][key], path + "." + key)
    if kind == "array":
        for i, member in enumerate(value):
            check(member, rule["items"], "%s[%d]" % (path, i))

for name in sys.argv[2:]:
    check(json.load(open(name)), schema, name)
P
check 'every report is what the schema says' python3 valid.py out ./*.json

# holds SENTENCE KIND EXPRESSION: of the report `r`
holds() {
	check "$1" python3 -c "import json; r = json.load(open('$2.json')); assert $3, $3"
}
holds 'the verdict is the first line' parser 'r["verdict"].startswith("44.0\u00a0%\u00a0±\u00a01.0 running in Parser::parse")'
holds 'the label has every fact' parser 'r["label"]["kept"] == 9998 and r["label"]["lost"] == 100'
holds 'own shares add up to all' parser 'abs(sum(f["own"]["share"]["value"] for f in r["functions"]) - 1) < 1e-6'
holds 'threads add up to all' parser 'sum(t["all"]["weight_ns"] for t in r["threads"]) == r["totals"]["sampled_ns"]'
holds 'sampled and (unsampled) add up to the clock' parser \
	'r["totals"]["sampled_ns"] + r["totals"]["unsampled_ns"] == r["totals"]["clock_ns"]'
holds 'a slot names its function' parser 'r["functions"][r["slots"][0]["function"]]["name"] == "main"'
holds 'a slot where nothing was kept says so' parser \
	'r["slots"][1]["function"] is None and r["slots"][1]["function_reason"] == "nothing was kept here"'
holds '64-bit integers are exact' parser 'r["label"]["started_wall_ns"] == 1764300000000000000'
holds 'findings have ids' parser '[f["id"] for f in r["findings"]] == ["lost_samples", "unnamed_functions", "kernel_not_allowed"]'
holds 'nothing stands out: an empty list' quiet 'r["findings"] == []'
holds 'a name keeps its bytes' hostile '"\x1b[2J\x1b]0;owned\x07" in [f["name"] for f in r["functions"]]'
holds 'NUL too' hostile '"class@anonymous\0/x.php:3\x240" in [f["name"] for f in r["functions"]]'
holds 'bytes that are no UTF-8 are replaced and counted' hostile \
	'"\ufffd" * 4 in [f["name"] for f in r["functions"]] and r["replaced_bytes"] == 4'
holds 'what was not measured is null' empty \
	'r["label"]["kernel_ns"] is None and r["label"]["kernel_ns_reason"] == "not measured" and r["price"]["value"] is None'
holds 'an exit status that is not known is null' unfinished 'r["label"]["exit_status"] is None'
holds 'a measured zero is 0' quiet 'r["label"]["lost"] == 0'
holds 'too few samples are coarse' coarse 'r["functions"][0]["own"]["share"]["is_coarse"] is True'
end
