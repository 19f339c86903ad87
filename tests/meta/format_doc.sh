#!/bin/sh
# docs/format.md and docs/recording.schema.json are what fields_doc prints, and say what the store writes.
# Usage: format_doc.sh PROGRAM TREE             the check
#        format_doc.sh --write PROGRAM TREE     writes both anew
#        format_doc.sh --self-test PROGRAM TREE   shows that the check finds what differs
set -eu

make_pages() {
	"$1" --page "$2/docs/format.in.md" >"$place/format.md"
	"$1" --schema >"$place/recording.schema.json"
}

check() {
	make_pages "$1" "$2"
	bad=0
	for page in format.md recording.schema.json; do
		diff -u "$2/docs/$page" "$place/$page" || {
			echo "docs/$page is not what src/core/fields.c says: ninja -C build docs"
			bad=1
		}
	done
	# Facts of the store that the page states as numbers.
	set -- "$2" "$2"/src/store/schema/*.sql
	if [ -f "$2" ]; then
		for fact in application_id user_version; do
			value=$(cat "$@" 2>/dev/null | sed -n "s/^PRAGMA $fact *= *\([0-9]*\);.*/\1/p" | tail -n 1)
			grep -q "^| \`PRAGMA $fact\` |.*\b${value:-none}\b" "$1/docs/format.md" || {
				echo "docs/format.md has another $fact than the store: '$value'"
				bad=1
			}
		done
	fi
	return "$bad"
}

must_fail() {
	if check "$1" "$place/tree" >"$place/log" 2>&1; then
		echo "format_doc.sh did not see $2"
		exit 1
	fi
	mkdir -p "$place/tree/docs"
	cp "$3"/docs/format.in.md "$3"/docs/format.md "$3"/docs/recording.schema.json "$place/tree/docs"
}

self_test() {
	mkdir -p "$place/tree/docs" "$place/tree/src/store/schema"
	cp "$2"/docs/format.in.md "$place/tree/docs"
	must_fail "$1" "a page that is not there" "$2"
	echo 'PRAGMA application_id = 1952543333; -- "tare"' >"$place/tree/src/store/schema/001_x.sql"
	echo 'PRAGMA user_version = 1;' >>"$place/tree/src/store/schema/001_x.sql"
	check "$1" "$place/tree"
	sed -i 's/^| `kept` .*//' "$place/tree/docs/format.md"
	must_fail "$1" "a column that is not described" "$2"
	echo >>"$place/tree/docs/recording.schema.json"
	must_fail "$1" "a schema that differs" "$2"
	echo 'PRAGMA user_version = 2;' >>"$place/tree/src/store/schema/001_x.sql"
	must_fail "$1" "another version in the store" "$2"
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
case $1 in
--write)
	make_pages "$2" "$3"
	cp "$place/format.md" "$place/recording.schema.json" "$3/docs/"
	;;
--self-test)
	self_test "$2" "$3"
	;;
*)
	check "$1" "$2"
	;;
esac
