#!/bin/sh
# tests/count.sh itself: what failed or was skipped must not be counted as passed.
set -eu
count=$(cd "$(dirname "$0")/.." && pwd)/count.sh
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# expect LINE STATUS FILE...
expect() {
	want=$1
	want_status=$2
	shift 2
	status=0
	got=$("$count" "$@" 2>/dev/null) || status=$?
	[ "$got" = "$want" ] && [ "$status" -eq "$want_status" ] || {
		echo "wanted '$want' and $want_status, got '$got' and $status, for:"
		cat "$@"
		exit 1
	}
}

log=$place/testlog.json
printf '%s\n' '{"name": "a", "stdout": "x \"y\" \\\\\n", "result": "OK", "returncode": 0}' >"$log"
expect '1 passed, 0 failed, 0 skipped' 0 "$log"
printf '%s\n' '{"name": "a", "result": "SKIP", "returncode": 77}' >>"$log"
printf '%s\n' '{"name": "a", "result": "FAIL", "returncode": 1}' >>"$log"
printf '%s\n' '{"name": "a", "result": "TIMEOUT", "returncode": 1}' >>"$log"
expect '1 passed, 2 failed, 1 skipped' 1 "$log"
# cmocka: three cases, one of them skipped.
printf '%s\n' '{"name": "c", "stdout": "[==========] Running 3 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n[  SKIPPED ] b\n[ RUN      ] c\n[       OK ] c\n", "result": "OK"}' >"$log"
expect '2 passed, 0 failed, 1 skipped' 0 "$log"
# cmocka that failed one case; that crashed in its second; that failed in a group fixture.
printf '%s\n' '{"stdout": "[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n", "stderr": "[  FAILED  ] b\n", "result": "FAIL"}' >"$log"
expect '1 passed, 1 failed, 0 skipped' 1 "$log"
printf '%s\n' '{"stdout": "[ RUN      ] a\n[       OK ] a\n", "result": "ERROR"}' >"$log"
expect '1 passed, 1 failed, 0 skipped' 1 "$log"
# TAP: in meson's log, and alone. A sentence may speak of skipping.
printf '%s\n' '{"stdout": "ok 1 - a\nnot ok 2 - b\n# why\nok 3 - c # SKIP no kernel\nok 4 - the rest is not skipped\n1..4\n", "result": "FAIL"}' >"$log"
expect '2 passed, 1 failed, 1 skipped' 1 "$log"
printf '%s\n' '{"stdout": "ok 1 - a\n", "result": "ERROR"}' >"$log"
expect '1 passed, 1 failed, 0 skipped' 1 "$log"
printf 'ok 1 - a\nok 2 - b # SKIP x\n1..2\n' >"$place/x.tap"
expect '1 passed, 0 failed, 1 skipped' 0 "$place/x.tap"
# Nothing ran; a log is not there.
: >"$log"
expect '0 passed, 0 failed, 0 skipped' 1 "$log"
status=0
"$count" "$place/x.tap" "$place/nowhere.json" >"$place/out" 2>/dev/null || status=$?
[ "$status" -eq 1 ] && grep -q '^1 passed, 1 failed, 1 skipped$' "$place/out"
