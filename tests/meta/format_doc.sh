#!/bin/sh
# docs/format.md is what fields_doc prints, and says what the store writes.
# Usage: format_doc.sh PROGRAM TREE             the check
#        format_doc.sh --write PROGRAM TREE     writes it anew
#        format_doc.sh --self-test PROGRAM TREE   shows that the check finds what differs
set -eu

make_page() {
	"$1" "$2/docs/format.in.md" >"$place/format.md"
}

check() {
	make_page "$1" "$2"
	bad=0
	diff -u "$2/docs/format.md" "$place/format.md" || {
		echo "docs/format.md is not what src/core/fields.c says: ninja -C build docs"
		bad=1
	}
	# Facts of the store that the page states as numbers.
	for fact in application_id user_version; do
		value=$(cat "$2"/src/store/schema/0*.sql | sed -n "s/^PRAGMA $fact *= *\([0-9]*\);.*/\1/p" | tail -n 1)
		grep -q "^| \`PRAGMA $fact\` |.*\b${value:-none}\b" "$2/docs/format.md" || {
			echo "docs/format.md has another $fact than the store: '$value'"
			bad=1
		}
	done
	return "$bad"
}

must_fail() {
	if check "$1" "$place/tree" >"$place/log" 2>&1; then
		echo "format_doc.sh did not see $2"
		exit 1
	fi
	mkdir -p "$place/tree/docs"
	cp "$3"/docs/format.in.md "$3"/docs/format.md "$place/tree/docs"
}

self_test() {
	mkdir -p "$place/tree/docs" "$place/tree/src/store/schema"
	cp "$2"/docs/format.in.md "$place/tree/docs"
	must_fail "$1" "a page that is not there" "$2"
	must_fail "$1" "a store without a schema" "$2"
	echo 'PRAGMA application_id = 1952543333; -- "tare"' >"$place/tree/src/store/schema/001_x.sql"
	echo 'PRAGMA user_version = 2;' >>"$place/tree/src/store/schema/001_x.sql"
	check "$1" "$place/tree"
	sed -i 's/^| `kept` .*//' "$place/tree/docs/format.md"
	must_fail "$1" "a column that is not described" "$2"
	echo 'PRAGMA user_version = 3;' >>"$place/tree/src/store/schema/001_x.sql"
	must_fail "$1" "another version in the store" "$2"
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
case $1 in
--write)
	make_page "$2" "$3"
	cp "$place/format.md" "$3/docs/"
	;;
--self-test)
	self_test "$2" "$3"
	;;
*)
	check "$1" "$2"
	;;
esac
