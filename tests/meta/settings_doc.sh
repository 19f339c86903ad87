#!/bin/sh
# Every setting of the collector stands in the example file, the documents and the manual, as its table has it.
# Usage: settings_doc.sh PROGRAM TREE             the check
#        settings_doc.sh --write PROGRAM TREE     writes them anew
#        settings_doc.sh --self-test PROGRAM TREE   shows that the check finds what differs
set -eu

files='example packaging/tare.conf.example
markdown docs/collect.md
manual man/tare.conf.5.scd'

# replace KIND FILE: FILE with what stands between its marks made anew; the example is made as a whole.
replace() {
	"$program" "$1" >"$place/made"
	[ "$1" != example ] || {
		cat "$place/made"
		return 0
	}
	[ "$(grep -c 'settings: begin' "$2")" = 1 ] && [ "$(grep -c 'settings: end' "$2")" = 1 ] || return 1
	sed -n '1,/settings: begin/p' "$2"
	cat "$place/made"
	sed -n '/settings: end/,$p' "$2"
}

check() {
	bad=0
	echo "$files" >"$place/files"
	while read -r kind file; do
		if ! [ -f "$1/$file" ] || ! replace "$kind" "$1/$file" >"$place/want"; then
			echo "$file is not there, or has no marks"
			bad=1
		elif ! diff -u "$1/$file" "$place/want"; then
			echo "$file is not what src/fleet/settings_defs.c says: ninja -C build docs"
			bad=1
		fi
	done <"$place/files"
	return "$bad"
}

write() {
	echo "$files" >"$place/files"
	while read -r kind file; do
		replace "$kind" "$1/$file" >"$place/want"
		cp "$place/want" "$1/$file"
	done <"$place/files"
}

self_test() {
	for changed in packaging/tare.conf.example docs/collect.md man/tare.conf.5.scd; do
		for change in '/candidates/d' 's/10min/11min/' 's/settings: begin/begin/; s/^#one_in = 4$/#one_in = 5/'; do
			rm -rf "$place/tree"
			mkdir -p "$place/tree/packaging" "$place/tree/docs" "$place/tree/man"
			cp "$1/packaging/tare.conf.example" "$place/tree/packaging"
			cp "$1/docs/collect.md" "$place/tree/docs"
			cp "$1/man/tare.conf.5.scd" "$place/tree/man"
			check "$place/tree" >"$place/log" || {
				cat "$place/log"
				exit 1
			}
			sed -i "$change" "$place/tree/$changed"
			if check "$place/tree" >"$place/log" 2>&1; then
				echo "settings_doc.sh did not see '$change' in $changed"
				exit 1
			fi
		done
	done
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
case $1 in
--write)
	program=$2
	write "$3"
	;;
--self-test)
	program=$2
	self_test "$3"
	;;
*)
	program=$1
	check "$2"
	;;
esac
