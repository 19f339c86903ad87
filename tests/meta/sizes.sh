#!/bin/sh
# Guides, not walls: prints C files over 400 lines and functions over 60; only a file over 700 lines fails.
# Usage: sizes.sh [TREE] | sizes.sh --self-test
set -eu

check() {
	find "$1/src" "$1/include" "$1/bench" "$1/demo" "$1/tests" -name '*.[ch]' 2>/dev/null | sort >"$place/files"
	[ -s "$place/files" ] || {
		echo "there is no source under '$1': nothing was checked"
		return 1
	}
	# A function begins with "{" and ends with "}" in the first column (Linux braces).
	xargs awk -v strip="$1/" '
	function end_file() {
		if (lines > 700)
			bad = 1
		if (lines > 400)
			print name ": " lines " lines"
	}
	FNR == 1 {
		end_file()
		name = substr(FILENAME, length(strip) + 1)
	}
	{ lines = FNR }
	/^[a-z].*\(/ { head = $0 }
	/^{/ { from = FNR }
	/^}/ && from > 0 {
		if (FNR - from - 1 > 60)
			print name ":" from ": " FNR - from - 1 " lines: " head
		from = 0
	}
	END {
		end_file()
		exit bad
	}' <"$place/files"
}

self_test() {
	mkdir -p "$place/tree/src/core"
	{
		printf 'int long_one(void)\n{\n'
		yes '	x();' | head -n 61
		printf '}\n'
	} >"$place/tree/src/core/a.c"
	check "$place/tree" | grep -q '^src/core/a.c:2: 61 lines: int long_one'
	yes '/* a line */' | head -n 401 >"$place/tree/src/core/b.c"
	check "$place/tree" | grep -q '^src/core/b.c: 401 lines'
	yes '/* a line */' | head -n 701 >"$place/tree/src/core/b.c"
	! check "$place/tree" >/dev/null
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
case ${1-} in
--self-test) self_test ;;
*) check "${1:-.}" ;;
esac
