#!/bin/sh
# docs/format.md and docs/format-fleet.md are what fields_doc prints, and say what the store writes.
# Usage: format_doc.sh PROGRAM TREE             the check
#        format_doc.sh --write PROGRAM TREE     writes it anew
#        format_doc.sh --self-test PROGRAM TREE   shows that the check finds what differs
set -eu

make_pages() {
	"$1" recording "$2/docs/format.in.md" >"$place/format.md"
	"$1" fleet "$2/docs/format-fleet.in.md" >"$place/format-fleet.md"
}

# same_facts TREE PAGE SCHEMA...: facts of the store that the page states as numbers.
same_facts() {
	page=$1/docs/$2
	shift 2
	for fact in application_id user_version; do
		value=$(cat "$@" | sed -n "s/^PRAGMA $fact *= *\([0-9]*\);.*/\1/p" | tail -n 1)
		grep -q "^| \`PRAGMA $fact\` |.*\b${value:-none}\b" "$page" || {
			echo "$page has another $fact than the store: '$value'"
			bad=1
		}
	done
}

check() {
	make_pages "$1" "$2"
	bad=0
	for page in format.md format-fleet.md; do
		diff -u "$2/docs/$page" "$place/$page" || {
			echo "docs/$page is not what src/core/fields.c and fleet_fields.c say: ninja -C build docs"
			bad=1
		}
	done
	same_facts "$2" format.md "$2"/src/store/schema/0*.sql
	same_facts "$2" format-fleet.md "$2"/src/store/schema/fleet_*.sql
	return "$bad"
}

take_pages() {
	mkdir -p "$place/tree/docs"
	cp "$1"/docs/format.in.md "$1"/docs/format.md "$1"/docs/format-fleet.in.md "$1"/docs/format-fleet.md "$place/tree/docs"
}

must_fail() {
	if check "$1" "$place/tree" >"$place/log" 2>&1; then
		echo "format_doc.sh did not see $2"
		exit 1
	fi
	take_pages "$3"
}

self_test() {
	schema=$place/tree/src/store/schema
	mkdir -p "$place/tree/docs" "$schema"
	cp "$2"/docs/format.in.md "$2"/docs/format-fleet.in.md "$place/tree/docs"
	must_fail "$1" "a page that is not there" "$2"
	must_fail "$1" "a store without a schema" "$2"
	echo 'PRAGMA application_id = 1952543333; -- "tare"' >"$schema/001_x.sql"
	echo 'PRAGMA user_version = 4;' >>"$schema/001_x.sql"
	echo 'PRAGMA application_id = 1952543334; -- "tarf"' >"$schema/fleet_001.sql"
	echo 'PRAGMA user_version = 1;' >>"$schema/fleet_001.sql"
	check "$1" "$place/tree"
	sed -i 's/^| `kept` .*//' "$place/tree/docs/format.md"
	must_fail "$1" "a column that is not described" "$2"
	sed -i 's/^| `exec_ns` .*//' "$place/tree/docs/format-fleet.md"
	must_fail "$1" "a column of a fleet that is not described" "$2"
	echo 'PRAGMA user_version = 3;' >>"$schema/fleet_001.sql"
	must_fail "$1" "another version in a fleet's store" "$2"
	echo 'PRAGMA user_version = 1;' >>"$schema/fleet_001.sql"
	check "$1" "$place/tree"
	echo 'PRAGMA user_version = 5;' >>"$schema/001_x.sql"
	must_fail "$1" "another version in the store" "$2"
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
case $1 in
--write)
	make_pages "$2" "$3"
	cp "$place/format.md" "$place/format-fleet.md" "$3/docs/"
	;;
--self-test)
	self_test "$2" "$3"
	;;
*)
	check "$1" "$2"
	;;
esac
