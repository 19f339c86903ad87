# watch_lib.sh - what every script here begins with, beside lib.sh: watches a target and compares what was recorded with
# the target's own truth.
#   plain CMD...           what it does unwatched: files plain and plain_status
#   watch [ARG...] -- CMD  `tare watch` over it: files out, err, w.tare and json; $status
#   same                   ... and its output and status were those of the plain run
#   holds FUNC EXPRESSION  an SQL expression over one function's members in the report's JSON, and over `truth_ns`, the mean
#                          that the target itself measured in the watched run under the name of FUNC
#   settles FUNC EXPRESSION [ARG...] -- CMD
#                          watches again, three times at most, until the expression holds: for what a busy machine can
#                          spoil, as a wrong estimate is wrong each time
#   label EXPRESSION       the same over the members of the whole watch
# shellcheck disable=SC2034,SC2154 # used by who sources this, set by lib.sh
. "$(dirname "$0")/../cli/lib.sh"

targets=${TARGETS:?set TARGETS to the folder of the built targets}
command -v sqlite3 >/dev/null || skip_all 'no sqlite3 to read JSON with'

plain() {
	plain_status=0
	TRUTH=$place/plain_truth "$@" >plain 2>plain_err </dev/null || plain_status=$?
}

watch() {
	rm -f w.tare json truth
	TRUTH=$place/truth
	export TRUTH
	run "$tare" watch -q -o w.tare "$@"
	unset TRUTH
	"$tare" report --json w.tare >json 2>report_err || cat report_err >>err
}

same() {
	cmp plain out && [ "$status" -eq "$plain_status" ]
}

truth_ns() {
	awk -v name="$1" '$1 == name { calls += $2; ns += $3 } END { print (calls > 0 ? ns / calls : "NULL") }' truth 2>/dev/null ||
		echo NULL
}

# The report's numbers as one SQL row a function.
functions_sql() {
	cat <<SQL
SELECT ($1) FROM (
	SELECT f->>'name' AS name, f->>'module' AS module, f->>'mode' AS mode, f->>'first' AS first, f->>'why_not' AS why_not,
		f->>'\$.calls.value' AS calls, f->>'timed' AS timed, f->>'never_timed' AS never_timed,
		f->>'abandoned' AS abandoned, f->>'\$.total_ns.value' AS total_ns, f->>'\$.total_ns.error' AS total_error_ns,
		f->>'\$.mean_ns.value' AS mean_ns, f->>'\$.mean_ns.error' AS mean_error_ns, f->>'\$.own_ns.value' AS own_ns,
		f->>'\$.own_ns.error' AS own_error_ns, f->>'max_ns' AS max_ns, f->>'\$.p50.ns' AS p50_ns,
		f->>'\$.p90.ns' AS p90_ns, f->>'\$.p99.ns' AS p99_ns, f->>'a_second' AS a_second,
		f->>'is_at_least' AS is_at_least, f->>'cannot_rank' AS cannot_rank, f->>'interval' AS interval,
		$(truth_ns "$2") AS truth_ns
	FROM (SELECT value AS f FROM json_each(readfile('json'), '\$.functions')))
WHERE name = '$2'
SQL
}

holds() {
	found=$(functions_sql "$2" "$1" | sqlite3 :memory:)
	[ "$found" = 1 ] || {
		echo "$1: $2 is '$found'; the row, with the target's own mean of $(truth_ns "$1") ns:"
		sqlite3 :memory: "SELECT value FROM json_each(readfile('json'), '\$.functions') WHERE value->>'name' = '$1'"
		return 1
	}
}

settles() {
	function=$1
	expression=$2
	shift 2
	for _ in 1 2; do
		watch "$@"
		! holds "$function" "$expression" >/dev/null || return 0
	done
	watch "$@"
	holds "$function" "$expression"
}

label() {
	found=$(sqlite3 :memory: "SELECT ($1) FROM (SELECT w->>'hook' AS hook, w->>'hook_why' AS hook_why, w->>'scope' AS scope,
		w->>'lost_places' AS lost_places, w->>'lost_returns' AS lost_returns, w->>'lost_calls' AS lost_calls
		FROM (SELECT CAST(readfile('json') AS TEXT)->'\$.watch' AS w))")
	[ "$found" = 1 ] || {
		echo "$1 is '$found'"
		sqlite3 :memory: "SELECT CAST(readfile('json') AS TEXT)->'\$.watch'"
		return 1
	}
}

# Skips the whole script when no probe can be set here, with what tare says of it.
need_probes() {
	watch work -- "$targets/odd_life" after
	[ "$status" -eq 0 ] && holds work "mode <> '' AND why_not = ''" >check.log 2>&1 ||
		skip_all "no probe can be set here: $(head -n 3 err | tr '\n' ' ')"
}
