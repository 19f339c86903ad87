#!/bin/sh
# The harness itself: a behaviour that does not hold must come out as failed, and a script that stops early too.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# play BODY: a script with that body, beside lib.sh; its output is in $place/tap.
play() {
	cp "$here/lib.sh" "$place/lib.sh"
	printf '%s\n' '. "$(dirname "$0")/lib.sh"' "$1" >"$place/script.sh"
	TARE=/bin/true sh "$place/script.sh" >"$place/tap"
}

expect() {
	grep -q -e "$1" "$place/tap" || {
		echo "lib.sh: wanted '$1', got:"
		cat "$place/tap"
		exit 1
	}
}

play 'run sh -c "echo one; echo two >&2; exit 3"
check "the status is 3" status_is 3
check "the status is 4" status_is 4
check "it says one" out_has one
check "it says two" out_has two
check "it complains of two" err_has two
check "it does not say one" out_lacks one
skip "the moon" "it is day"
end'
expect '^ok 1 - the status is 3$'
expect '^not ok 2 - the status is 4$'
expect '^# status 3$'
expect '^ok 3 - it says one$'
expect '^not ok 4 - it says two$'
expect '^ok 5 - it complains of two$'
expect '^not ok 6 - it does not say one$'
expect '^ok 7 - the moon # SKIP it is day$'
expect '^1..7$'

play 'skip_all "no kernel"; ok "never reached"'
expect '^1..0 # SKIP no kernel$'
! grep -q 'never reached' "$place/tap"

play 'ok "first"; exit 0'
! grep -q '^1\.\.' "$place/tap" # no plan: meson says that tests are missing
