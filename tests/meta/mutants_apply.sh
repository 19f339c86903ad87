#!/bin/sh
# Every row of tests/mutants/*.tsv still applies: its text stands in its file exactly once, and the test that must catch
# it is there. tests/mutants.sh finds that out too, but takes an hour; this reads the files and builds nothing.
# Usage: mutants_apply.sh [TREE] | mutants_apply.sh --self-test
set -eu
export LC_ALL=C

check() {
	tree=$1
	set -- "$1"/tests/mutants/*.tsv
	[ -f "$1" ] || {
		echo "there are no rows under '$tree/tests/mutants': nothing was checked"
		return 1
	}
	shared=$(cd "$tree" && find tests -maxdepth 1 -name '*.c') tree=$tree awk -F '\t' '
	BEGIN {
		tree = ENVIRON["tree"] "/"
		suites = split(ENVIRON["shared"], suite, "\n")
	}
	function decode(text,   i, c, plain) {
		if (index(text, "\\") == 0)
			return text
		plain = ""
		for (i = 1; i <= length(text); i++) {
			c = substr(text, i, 1)
			if (c == "\\" && substr(text, i + 1, 1) ~ /[nt\\]/) {
				i++
				c = substr(text, i, 1)
				c = c == "n" ? "\n" : c == "t" ? "\t" : c
			}
			plain = plain c
		}
		return plain
	}
	# The text of a file, read once; "" when it is not there.
	function text_of(path,   line, all) {
		if (path in texts)
			return texts[path]
		all = ""
		while ((getline line <(tree path)) > 0)
			all = all line "\n"
		close(tree path)
		return texts[path] = all
	}
	function times(text, find,   at, count) {
		count = 0
		while ((at = index(text, find)) > 0) {
			count++
			text = substr(text, at + 1)
		}
		return count
	}
	# What cmocka calls NAME is a function of that name, in the program itself or in a suite that it shares.
	function has_test(program, name,   path, text, i) {
		path = program ~ /\// ? program ".c" : "tests/unit/" program ".c"
		text = text_of(path)
		if (text == "" || name == "" || index(text, "void " name "(") > 0)
			return text != ""
		for (i = 1; i <= suites && text ~ /_suite\.h"/; i++)
			if (index(text_of(suite[i]), "void " name "(") > 0)
				return 1
		return 0
	}
	function tell(what) {
		where = FILENAME
		if (index(where, tree) == 1)
			where = substr(where, length(tree) + 1)
		print where ":" FNR ": " what
		bad = 1
	}
	/^#/ || /^[ \t]*$/ { next }
	NF != 5 || $1 == "" || $2 == "" || $4 == "" || $5 == "" || $2 == $3 {
		tell("a row needs five columns")
		next
	}
	{
		rows++
		program = name = $4
		sub(/:.*/, "", program)
		if (!sub(/^[^:]*:/, "", name))
			name = ""
		count = text_of($1) == "" ? -1 : times(text_of($1), decode($2))
		if (count < 0)
			tell("there is no " $1)
		else if (count != 1)
			tell("its text stands " count " times in " $1 ": " $5)
		if (!has_test(program, name))
			tell("there is no test " $4)
	}
	END {
		if (rows == 0) {
			print "there is no row: nothing was checked"
			bad = 1
		}
		exit bad
	}' "$@"
}

# must_find WHAT ROW...: a row of these columns is refused, and the reason told.
must_find() {
	want=$1
	shift
	printf '%s\t%s\t%s\t%s\t%s\n' "$@" >"$place/tree/tests/mutants/x.tsv"
	if check "$place/tree" >"$place/log"; then
		echo "mutants_apply.sh did not see of '$*': $want"
		exit 1
	fi
	grep -qF "tests/mutants/x.tsv:1: $want" "$place/log" || {
		echo "mutants_apply.sh did not say of '$*': $want, but:"
		cat "$place/log"
		exit 1
	}
}

must_pass() {
	printf '%s\t%s\t%s\t%s\t%s\n' "$@" >"$place/tree/tests/mutants/x.tsv"
	check "$place/tree" || {
		echo "mutants_apply.sh refused what applies: $*"
		exit 1
	}
}

self_test() {
	mkdir -p "$place/tree/src" "$place/tree/tests/unit" "$place/tree/tests/os" "$place/tree/tests/mutants"
	printf 'int sum(int a)\n{\n\tint all = a;\n\treturn all; /* "\\n" */\n}\n' >"$place/tree/src/sum.c"
	echo 'static void adds(void **state) {}' >"$place/tree/tests/unit/test_sum.c"
	echo '#include "sum_suite.h"' >"$place/tree/tests/os/test_shared.c"
	echo 'static void divides(void **state) {}' >"$place/tree/tests/sum_suite.c"
	must_pass src/sum.c 'int all' 'int none' test_sum:adds 'a row'
	must_pass src/sum.c 'all = a;\n\treturn' 'return' test_sum 'two lines and a tab'
	must_pass src/sum.c '"\\n"' '"\\t"' test_sum 'a backslash'
	must_pass src/sum.c 'int all' '' tests/os/test_shared:divides 'a suite that is shared'
	must_find 'its text stands 0 times in src/sum.c: a row' src/sum.c 'int many' '' test_sum 'a row'
	must_find 'its text stands 2 times in src/sum.c: a row' src/sum.c 'int a' '' test_sum 'a row'
	must_find 'there is no src/none.c' src/none.c 'all' '' test_sum 'a row'
	must_find 'there is no test test_none' src/sum.c 'int all' '' test_none 'a row'
	must_find 'there is no test test_sum:add' src/sum.c 'int all' '' test_sum:add 'a row'
	must_find 'there is no test test_sum:divides' src/sum.c 'int all' '' test_sum:divides 'a row'
	must_find 'a row needs five columns' src/sum.c 'int all' '' test_sum ''
	echo '# no row' >"$place/tree/tests/mutants/x.tsv"
	! check "$place/tree" >/dev/null || exit 1
	rm "$place/tree/tests/mutants/x.tsv"
	! check "$place/tree" >/dev/null || exit 1
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
case ${1-} in
--self-test) self_test ;;
*) check "${1:-.}" ;;
esac
