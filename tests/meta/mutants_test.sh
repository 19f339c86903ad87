#!/bin/sh
# tests/mutants.sh itself, on a project of two functions: what did not apply must never read as caught.
set -eu
script=$(cd "$(dirname "$0")/.." && pwd)/mutants.sh
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/src" "$place/tests/unit" "$place/tests/mutants"
cp "$script" "$place/tests/mutants.sh"
cd "$place"

cat >meson.build <<'MESON'
project('small', 'c')
core = static_library('core', 'src/sum.c')
subdir('tests/unit')
MESON
echo "executable('test_sum', 'test_sum.c', link_with: core)" >tests/unit/meson.build
cat >src/sum.c <<'C'
/* A tab, two lines and a backslash: "\n" */
int sum(int a, int b);
int less(int a, int b);
int sum(int a, int b)
{
	int all = a;
	all += b;
	return all;
}
int less(int a, int b)
{
	return a < b ? 1 : 0;
}
C
# The lines of cmocka: "adds" and "compares" are two tests.
cat >tests/unit/test_sum.c <<'C'
#include <stdio.h>
int sum(int a, int b);
int less(int a, int b);
static int run(const char *name, int good)
{
	printf("[ RUN      ] %s\n[  %s ] %s\n", name, good ? "     OK" : "FAILED ", name);
	return !good;
}
int main(void)
{
	return run("adds", sum(2, 3) == 5) + run("compares", less(1, 2) == 1);
}
C

row() {
	printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>tests/mutants/x.tsv
}

# expect STATUS LAST_LINE VERDICT: the verdict of the one row in x.tsv.
expect() {
	status=0
	tests/mutants.sh >log 2>&1 || status=$?
	[ "$status" -eq "$1" ] && [ "$(tail -n 1 log)" = "$2" ] && grep -q "^$3" log || {
		echo "wanted $1, '$2' and '$3'; got $status and:"
		cat log tests/mutants/x.tsv
		exit 1
	}
	: >tests/mutants/x.tsv
}

row src/sum.c 'all += b' 'all -= b' test_sum 'a sum adds'
expect 0 '1 caught, 0 survived, 0 not applied' 'caught  test_sum  src/sum.c: a sum adds'
row src/sum.c 'int all = a;\n\tall += b;' 'int all = a;' test_sum:adds 'two lines and a tab'
expect 0 '1 caught, 0 survived, 0 not applied' 'caught'
row src/sum.c 'all += b;' '' test_sum:adds 'a text that goes'
expect 0 '1 caught, 0 survived, 0 not applied' 'caught'
row src/sum.c 'a < b' 'a <= b' test_sum 'nobody looks at equal ones'
expect 1 '0 caught, 1 survived, 0 not applied' 'SURVIVED'
row src/sum.c 'all += b' 'all -= b' test_sum:compares 'another test fails'
expect 1 '0 caught, 1 survived, 0 not applied' "SURVIVED: 'compares' did not fail"
row src/sum.c 'all += b' 'all -= b' test_sum:adds 'one break'
row src/sum.c 'a < b' 'a > b' test_sum:compares 'and another: the first is gone by then'
row src/sum.c 'all += c' 'all -= b' test_sum 'and what does not apply'
row src/sum.c 'a < b' 'a <= b' test_sum 'and what nobody sees'
expect 1 '2 caught, 1 survived, 1 not applied' 'caught  test_sum:compares'
row src/sum.c 'all += c' 'all -= b' test_sum 'not there'
expect 1 '0 caught, 0 survived, 1 not applied' 'NOT APPLIED: the text stands in it 0 times'
row src/sum.c 'int all' 'int none' test_sum 'no longer compiles'
expect 1 '0 caught, 0 survived, 1 not applied' 'NOT APPLIED: it does not compile'
row src/sum.c 'return' 'return 1 +' test_sum 'there twice'
expect 1 '0 caught, 0 survived, 1 not applied' 'NOT APPLIED: the text stands in it 2 times'
row src/sum.c '"\\n"' '"\\t"' test_sum 'a comment changes no program'
expect 1 '0 caught, 0 survived, 1 not applied' 'NOT APPLIED: the test program stayed the same'
row src/none.c 'all' 'none' test_sum 'no such file'
expect 1 '0 caught, 0 survived, 1 not applied' "NOT APPLIED: there is no 'src/none.c'"
row src/sum.c 'a < b' 'a > b' test_sum ''
expect 2 'mutants.sh: tests/mutants has rows that cannot be read' 'a row needs five columns'
row src/sum.c 'all += b' 'all -= b' test_sum 'a sum adds'
status=0
tests/mutants.sh nothing_like_it >log 2>&1 || status=$?
[ "$status" -eq 2 ] && grep -q "no row matches" log || exit 1
grep -q 'all += b' src/sum.c || {
	echo "the tree itself was touched"
	exit 1
}
