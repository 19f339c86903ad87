#!/bin/sh
# report_watch_json.sh - the JSON of a watch's report is valid, is what its schema says, and has no 0 for what was not
# measured.
. "$(dirname "$0")/lib.sh"

make=${MAKE_RECORDING:?set MAKE_RECORDING to the built make_recording}
command -v python3 >/dev/null || skip_all 'no python3 to read JSON with'

for kind in world colony probes watch_unfinished watch_empty watch_refused watch_nothing watch_hostile; do
	"$make" "$kind" "$kind.tare"
	run "$tare" report --json "$kind.tare"
	check "$kind: exit 0" status_is 0
	cp out "$kind.json"
done
run "$tare" report --json-schema watch
check '--json-schema watch: exit 0' status_is 0
check 'the schema is the one in docs' out_is "$here/../../docs/report-watch.schema.json"
cp out schema
check 'every report is valid JSON in UTF-8, and what the schema says' python3 "$here/valid.py" schema ./*.json
run "$tare" report --json-schema record
check '--json-schema record is that of samples' out_is "$here/../../docs/report.schema.json"
run "$tare" report --json-schema top
check 'the schema of what has no report is refused' status_is 2
check 'and the instruments are named' err_has '[record|watch|collect]'

# KIND | SENTENCE | EXPRESSION, of the report `r`; f(NAME) is a function of it
cat >facts <<'F'
world | the verdict is the first line | r["verdict"].startswith("Of a slow frame, 56")
world | the label and the watch have every fact | r["label"]["instrument"] == "watch" and r["watch"]["slow_ns"] == 50000000
world | functions come first, then frames, then what is not watched | [g["kind"] for g in r["functions"]][-3:] == [3, 0, 0] and r["totals"]["not_watched"] == 2
world | what is not watched says why | f("vfs_write")["why_not"] == "not allowed: needs CAP_PERFMON"
world | a share has its error and its words | 0 < f("findPath")["share_of_frame"]["error"] < f("findPath")["share_of_frame"]["value"] and "\u00b1" in f("findPath")["share_of_frame"]["words"]
world | calls are exact | f("onMovement")["calls"] == {"value": 1200000.0, "error": 0.0}
world | calls of slices are an estimate | f("Hash::mix")["covered"] == 0.02 and f("Hash::mix")["is_sliced"] is True
world | a rate that the probe slows is at least | f("Hash::mix")["is_at_least"] is True
world | the interval that was ever in force | (f("onMovement")["interval_least"], f("onMovement")["interval_largest"]) == (26, 84)
world | never timed: null, and why | f("Chat::filter")["p50"]["ns"] is None and f("Chat::filter")["p50"]["ns_reason"] == "nothing was timed"
world | and its calls are counted | (f("Chat::filter")["calls"]["value"], f("Chat::filter")["never_timed"], f("Chat::filter")["timed"]) == (3, 3, 0)
world | did not run: a measured 0 | f("Auth::check")["calls"]["value"] == 0 and f("Auth::check")["windows"] == []
world | below the floor is said | f("Entity::id")["is_below_floor"] is True and f("Entity::id")["p99"]["is_below_floor"] is True
world | an upper end that is open is null | f("Net::flush")["p99"]["high_ns"] is None and f("Net::flush")["is_coarse"] is True
world | what grew, when, and by how much | f("Log::write")["mean_growth"]["is_step"] is True and f("Log::write")["mean_growth"]["at_ns"] == 800000000000
world | what did not grow has no numbers | f("findPath")["mean_growth"]["from_ns"] is None
world | windows begin where they began | [w["start_ns"] for w in f("Net::flush")["windows"]] == [i * 10000000000 for i in (10, 11, 12, 13)]
world | the histogram weighs all calls in windows with a timed one | abs(sum(s[2] for s in f("findPath")["histogram"]) / f("findPath")["calls"]["value"] - 1) < 0.01
world | parts of a slow frame add up to it | all(sum(p["own_ns"] for p in s["parts"]) + s["rest_ns"] + s["other_ns"] == s["duration_ns"] for s in r["slow_frames"])
world | a part names its function | r["functions"][r["slow_frames"][0]["parts"][0]["function"]]["name"].startswith("Pathfinder")
world | frames, slow ones, and their rhythm | (r["frames"]["count"], r["frames"]["slow"]["value"], r["frames"]["rhythm"]["every"]) == (86400, 23, 97)
world | costs are in it as they were measured | (f("findPath")["untimed_ps"], f("findPath")["hook_ps"]) == (200000, 600000)
probes | a cost that was not measured is null | f("strHash")["untimed_ps"] is None and f("strHash")["assumed_untimed_ps"] == 40000
probes | and the price says that it is partly assumed | r["price"]["bound"] == "partly assumed"
probes | no frames: a count of 0 and nothing else | r["frames"]["count"] == 0 and r["frames"]["p50"]["ns_reason"] == "no frame was marked"
probes | slow was not asked for | r["watch"]["slow_ns"] is None
probes | a place that cannot be told | f("sqlite3RunParser")["cannot_rank"] is True
probes | findings have ids | all(x["id"] and x["title"] and x["look_next"].startswith("Look next at") for x in r["findings"])
colony | in process there is no hook | f("think")["hook_ps"] is None and r["price"]["bound"] == "calibrated"
watch_refused | what was refused, and what the price allows | r["watch"]["refused"] == 0 and r["watch"]["allowed_rate"] == 8700
watch_empty | what was not measured is null | r["totals"]["floor_ps"] is None and r["label"]["own_rss_bytes"] is None
world | what only samples have is null | r["label"]["ticks"] is None and r["label"]["ticks_reason"] == "nothing was sampled" and r["ledger"][0]["period_ns"] is None
world | what calls were charged is a number | r["label"]["kernel_ns"] > 0
watch_nothing | nothing is watched | r["totals"]["watched"] == 0 and len(r["functions"]) == 4
watch_hostile | a name keeps its bytes | "\x1b[2J\x1b]0;owned\x07" in [g["name"] for g in r["functions"]]
watch_hostile | NUL too | "class@anonymous\0/x.php:3$0" in [g["name"] for g in r["functions"]]
watch_hostile | bytes that are no UTF-8 are replaced and counted | r["replaced_bytes"] > 0
F
cat >facts.py <<'P'
import json

for line in open("facts"):
    kind, sentence, expression = line.rstrip("\n").split(" | ")
    r = json.load(open(kind + ".json"))
    f = lambda name: next(g for g in r["functions"] if name in g["name"])
    try:
        holds = eval(expression) is True
    except Exception as error:
        holds, sentence = False, "%s (%s: %s)" % (sentence, type(error).__name__, error)
    print("%s %s" % ("ok" if holds else "fail", sentence))
P
python3 facts.py >answers 2>facts.err || fail 'the facts can be looked at' "$(cat facts.err)"
check 'every fact was looked at' test "$(wc -l <answers)" -eq "$(wc -l <facts)"
while read -r verdict sentence; do
	"$verdict" "$sentence"
done <answers
end
