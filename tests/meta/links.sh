#!/bin/sh
# Every relative link of a Markdown page leads to a file, and every file that a page names as docs/..., tests/... or
# src/... in running text is there.
# Usage: links.sh [TREE] | links.sh --self-test
set -eu

check() {
	find "$1" -name '*.md' ! -path '*/.git/*' ! -path '*/build*/*' ! -path '*/node_modules/*' >"$place/pages"
	[ -s "$place/pages" ] || {
		echo "there is no page under '$1': nothing was checked"
		return 1
	}
	while read -r page; do
		folder=$(dirname "$page")
		# [text](target), without an anchor; a target with a scheme is not ours to check.
		grep -oE '\]\([^)#]+' "$page" | sed 's/^](//' | grep -v '^[a-z]*:' | while read -r target; do
			[ -e "$folder/$target" ] || echo "${page#"$1"/}: leads to '$target', which is not there"
		done
		grep -oE '(docs|tests|src|demo|bench|man|core|sense|store|cli)/[A-Za-z0-9_./-]*[.](md|sh|c|h|scd|build)' "$page" | sort -u |
			while read -r target; do
				[ -e "$1/$target" ] || [ -e "$1/src/$target" ] ||
					echo "${page#"$1"/}: names '$target', which is not there"
			done
	done <"$place/pages" >"$place/dead"
	[ -s "$place/dead" ] || return 0
	cat "$place/dead"
	return 1
}

must_find() {
	printf '%s\n' "$1" >"$place/tree/a.md"
	if check "$place/tree" >"$place/log"; then
		echo "links.sh did not see that this leads nowhere: $1"
		exit 1
	fi
}

self_test() {
	mkdir -p "$place/tree/docs" "$place/tree/src/core"
	: >"$place/tree/docs/there.md"
	: >"$place/tree/src/core/there.c"
	must_find 'see [the page](docs/gone.md)'
	must_find 'see [here](docs/there.md) and [the page](docs/gone.md#part)'
	must_find 'tests/meta/gone.sh refuses it'
	must_find 'what stands in core/gone.c'
	printf '%s\n' '[a](docs/there.md#x), [b](https://example.org/x), core/there.c, src/core/there.c' >"$place/tree/a.md"
	check "$place/tree"
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
case ${1-} in
--self-test) self_test ;;
*) check "${1:-.}" ;;
esac
