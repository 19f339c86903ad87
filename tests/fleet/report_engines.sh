#!/bin/sh
# report_engines.sh - a fleet's store gives the same report whichever engine keeps it: byte for byte, but for where it is and how large.
. "$(dirname "$0")/../cli/lib.sh"
. "$here/servers.sh"
servers_begin
trap 'servers_end; cd / && rm -rf "$place"' EXIT
trap 'exit 129' HUP INT TERM

make=${MAKE_FLEET:?set MAKE_FLEET to the built make_fleet}
utf8=$(locale -a 2>/dev/null | grep -i -m 1 -e '^C\.utf-\{0,1\}8$' -e '\.utf-\{0,1\}8$')
LC_ALL=${utf8:-C}
export LC_ALL

# A database for each kind of fleet.
url_of() {
	echo "postgresql://postgres@/$1?host=$servers/store"
}

make_both() {
	for kind in shop holes hostile empty; do
		sql store "CREATE DATABASE $kind" || return 1
		"$make" "$kind" "$kind.tare" && "$make" "$kind" "$(url_of "$kind")" || return 1
	done
}

# Where a store is and how large it is are its own.
plain() {
	sed -e 's/^store   .*/store   S/' -e 's/^\( *"\(file\|store\|path\)": \).*/\1S,/' -e 's/^\( *"\(file\|store\|size\)_bytes": \)[0-9]*/\1N/' "$1"
}

# same KIND ARGUMENTS: both engines say the same
same() {
	kind=$1
	shift
	"$tare" report "$@" "$kind.tare" >file.out 2>file.err || {
		cat file.err
		return 1
	}
	"$tare" report "$@" "$(url_of "$kind")" >server.out 2>server.err || {
		cat server.err
		return 1
	}
	[ -s file.out ] && plain file.out >file.plain && plain server.out >server.plain && diff -u file.plain server.plain
}

# The page's name of the store and its size are its own; all else, its data too, is the same.
same_page() {
	rm -f file.html server.html
	run "$tare" report --html file.html "$1.tare" && status_is 0 && run "$tare" report --html server.html "$(url_of "$1")" && status_is 0 || return 1
	for page in file server; do
		sed -e 's/^<dt>store<.*/<dt>store S/' -e 's/<footer><span>.*<.span><span>tare/<footer>S<span>tare/' "$page.html" >"$page.plain"
	done
	grep -q '"lines":' file.plain && diff file.plain server.plain
}

rows() {
	[ "$("$tare" report --json "$(url_of shop)" | python3 -c 'import json, sys; r = json.load(sys.stdin); print(len(r["statements"]))')" -ge 8 ]
}

# A password in the URL is for the server only.
no_password() {
	"$tare" report "postgresql://postgres:canary-secret@/shop?host=$servers/store" >secret.out 2>&1 &&
		"$tare" report --json "postgresql://postgres@/shop?host=$servers/store&password=canary-secret" >>secret.out 2>&1 &&
		if [ "$has_viewer" = yes ]; then
			"$tare" report --html secret.html "postgresql://postgres:canary-secret@/shop?host=$servers/store" >>secret.out 2>&1 &&
				cat secret.html >>secret.out
		fi &&
		! grep -q canary secret.out
}

no_password_in_errors() {
	run "$tare" report "postgresql://postgres:canary-secret@/nowhere?host=$servers/store"
	status_is 2 && [ -s err ] && ! grep -q canary out err
}

has_viewer=no
"$make" empty viewer.tare && "$tare" report --html viewer.html viewer.tare 2>/dev/null && has_viewer=yes

check 'a server is started' server_make store
check 'the same fleets can be made in both' make_both
for kind in shop holes hostile empty; do
	check "$kind: the report" same "$kind"
	check "$kind: every row" same "$kind" --all
	check "$kind: what stands out" same "$kind" --findings
	check "$kind: the label" same "$kind" --label
	check "$kind: JSON" same "$kind" --json
	[ "$has_viewer" = no ] || check "$kind: the page" same_page "$kind"
done
check 'only the last ten minutes' same shop --last 10min
check 'and there is something in it' rows
check 'no password of a URL is printed' no_password
check 'nor when it fails' no_password_in_errors
end
