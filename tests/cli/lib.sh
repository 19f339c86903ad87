# lib.sh - what every script in tests/cli begins with: `. "$(dirname "$0")/lib.sh"`. Gives $tare (the built program),
# an own folder as the current one, removed at the end, and one line of TAP for each behaviour:
#   ok SENTENCE            the behaviour holds
#   fail SENTENCE [WHY]    it does not
#   check SENTENCE CMD...  ok when the command succeeds, else fail, with what it wrote
#   skip SENTENCE WHY      it cannot be seen here
#   skip_all WHY           none of this script can be seen here; ends it
#   run CMD...             runs it; leaves $status, and files out and err
#   status_is WANT, out_has TEXT, err_has TEXT, out_lacks TEXT, err_lacks TEXT, out_is FILE: conditions on the last run
# A script ends with `end`: without it the run counts as failed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
tare=${TARE:?set TARE to the built program}
place=$(mktemp -d)
trap 'cd / && rm -rf "$place"' EXIT
cd "$place" || exit 99
seen=0
status=
# What a user has set must not change what is tested.
unset TARE_NO TARE_SOCKET NO_COLOR
LC_ALL=C
TZ=UTC
export LC_ALL TZ

ok() {
	seen=$((seen + 1))
	echo "ok $seen - $1"
}

fail() {
	seen=$((seen + 1))
	echo "not ok $seen - $1"
	[ $# -lt 2 ] || printf '%s\n' "$2" | sed 's/^/# /'
}

skip() {
	seen=$((seen + 1))
	echo "ok $seen - $1 # SKIP $2"
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

check() {
	sentence=$1
	shift
	if "$@" >check.log 2>&1; then
		ok "$sentence"
	else
		fail "$sentence" "$(
			echo "failed: $*"
			cat check.log
			[ -z "$status" ] || echo "status $status"
			[ ! -s out ] || sed 's/^/out: /' out | head -n 40
			[ ! -s err ] || sed 's/^/err: /' err | head -n 40
		)"
	fi
}

run() {
	status=0
	"$@" >out 2>err </dev/null || status=$?
}

status_is() {
	[ "$status" -eq "$1" ]
}

out_has() {
	grep -qF -e "$1" out
}

err_has() {
	grep -qF -e "$1" err
}

out_lacks() {
	! out_has "$1"
}

err_lacks() {
	! err_has "$1"
}

out_is() {
	diff -u "$1" out
}

end() {
	echo "1..$seen"
	exit 0
}
