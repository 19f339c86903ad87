#!/bin/sh
# again_test.sh - what again.py lets pass and what not, by logs made for it and a meson that answers as it is told.
set -eu

again=$(cd "$(dirname "$0")/.." && pwd)/again.py
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/bin" "$place/build/meson-logs"
log=$place/build/meson-logs/testlog.json
PATH=$place/bin:$PATH
cat >"$place/bin/meson" <<'TEXT'
#!/bin/sh
# The second time every test ends as $SECOND says.
while [ "$1" != again ]; do shift; done
shift
for name in "$@"; do
	printf '{"name": "tare:os / %s", "result": "%s", "stdout": "second"}\n' "$name" "$SECOND"
done >"$BUILD/meson-logs/again.json"
TEXT
chmod +x "$place/bin/meson"
export BUILD="$place/build" SECOND=OK

bad=0
# expect STATUS WHAT: what again.py says of the log.
expect() {
	status=0
	python3 "$again" "$BUILD" 2>"$place/err" || status=1
	[ "$status" -eq "$1" ] && return
	echo "again_test.sh: $2: $(cat "$place/err")" >&2
	bad=1
}

# ended NAME RESULT...: writes the log; each with $code, and $said behind what it says.
code=1
said=
ended() {
	: >"$log"
	while [ $# -gt 0 ]; do
		printf '{"name": "tare:%s", "result": "%s", "returncode": %s, "stdout": "first %s"}\n' "$1" "$2" "$code" "$said" >>"$log"
		shift 2
	done
}

ended 'os / late' FAIL 'meta / twin' OK 'meta / twin' OK
expect 0 'a test that passes alone must be let pass'
[ "$(grep -c second "$log") $(grep -c first "$log")" = '1 2' ] || { echo 'again_test.sh: what passed is not in the log' >&2; bad=1; }
ended 'os / late' FAIL
SECOND=FAIL expect 1 'a test that fails twice must fail'
ended 'os / late' FAIL
SECOND=SKIP expect 1 'a skip is no pass'
code=-11
ended 'os / late' FAIL
expect 1 'a crash is not late'
code=1 said='ERROR: AddressSanitizer: heap-use-after-free'
ended 'os / late' FAIL
expect 1 'nor what a sanitizer stopped'
said=
ended 'unit / sums' FAIL
expect 1 'no clock judges sums'
ended 'os / late' FAIL 'unit / sums' FAIL
expect 1 'nor where something else is late'
ended 'os / a' FAIL 'os / b' FAIL 'os / c' FAIL 'cli / d' TIMEOUT 'os / e' FAIL
expect 1 'five are no chance'
ended 'os / fine' OK
expect 1 'a run that failed without a failed test must fail'
exit "$bad"
