#!/bin/sh
# mutants.sh - breaks the policies on purpose, one row at a time; each break must be caught by the test named for it.
# Usage: tests/mutants.sh [PATTERN]    only rows that match the extended regular expression PATTERN
#
# Rows are in tests/mutants/*.tsv, five columns parted by single tabs; empty lines and lines that begin with # are
# comments:
#   file    the source that is broken, from the top of the tree
#   find    text that stands in it exactly once
#   put     text that takes its place; may be empty
#   test    program that must fail: "test_price" is tests/unit/test_price; "test_price:NAME" asks that the test NAME of
#           it fails; "tests/sim/x" with a slash is a target of the build
#   shows   what the row shows: the rule that is broken, as a sentence
# In find and put, \n is a new line, \t a tab and \\ a backslash; any other backslash stands for itself.
#
# A row counts only if its text was found exactly once, the broken source compiled, and the bytes of the built test
# program are others than those of the whole one, which passed; afterwards the source is put back. At the end every program is
# built once more, and its bytes must be the old ones again. So a break that did not apply cannot read as a caught one. Works on
# copies of the tree, one for each CPU; the tree itself is never touched.
# MUTANTS_PART=K/N takes each N-th row only, from the K-th (0 to N - 1) on.
#
# Ends with "N caught, N survived, N not applied"; 0: all caught, 1: not all, 2: could not be run.
set -eu
export LC_ALL=C

die() {
	printf 'mutants.sh: %s\n' "$*" >&2
	exit 2
}

top=$(cd "$(dirname "$0")/.." && pwd)
pattern=${1:-}
limit_s=60
separator=$(printf '\037')

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 2' HUP INT TERM
work=$place/1 # of a worker: its copy of the tree, and what it writes down
tree=$work/tree
build=$tree/build

# What the build needs, without build folders and history.
copy_tree() {
	mkdir -p "$tree"
	(cd "$top" && find . -name .git -prune -o -name 'build*' -type d -prune -o -name node_modules -prune \
		-o \( -type f -o -type l \) -print0 | tar --null -T - -cf -) | tar -xf - -C "$tree"
}

# The chosen rows, with \037 for the tabs: a tab is white space to read and would swallow empty columns.
rows() {
	cat "$tree"/tests/mutants/*.tsv | awk -F '\t' -v OFS="$separator" '
		/^#/ || /^[ \t]*$/ { next }
		NF != 5 || $1 == "" || $2 == "" || $4 == "" || $5 == "" || $2 == $3 {
			print "a row needs five columns: " $0 >"/dev/stderr"
			bad = 1
			next
		}
		{ $1 = $1; print }
		END { exit bad }' || die "tests/mutants has rows that cannot be read"
}

target_of() {
	case ${1%%:*} in
	*/*) echo "${1%%:*}" ;;
	*) echo "tests/unit/${1%%:*}" ;;
	esac
}

make_targets() {
	ninja -C "$build" "$@" >"$work/log" 2>&1
}

hash_of() {
	sha256sum "$build/$1" | cut -d ' ' -f 1
}

# The bytes of a program before anything was broken.
whole_hash_of() {
	awk -v target="$1" '$2 == target { print $1 }' "$place/hashes"
}

run_test() {
	timeout "$limit_s" "$build/$1" >"$work/log" 2>&1
}

# exchange FILE FIND PUT: writes FILE anew with PUT for FIND; prints how often FIND stands in it, and changes nothing
# unless that is once.
exchange() {
	find=$2 put=$3 awk -v out="$work/broken" '
		function decode(text,   i, c, plain) {
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
		{ all = all $0 "\n" }
		END {
			find = decode(ENVIRON["find"])
			put = decode(ENVIRON["put"])
			rest = all
			while ((at = index(rest, find)) > 0) {
				count++
				rest = substr(rest, at + 1)
			}
			if (count == 1) {
				at = index(all, find)
				printf "%s%s%s", substr(all, 1, at - 1), put, substr(all, at + length(find)) >out
			}
			print count + 0
		}' "$1" >"$work/count"
	count=$(cat "$work/count")
	[ "$count" -ne 1 ] || cat "$work/broken" >"$1"
	echo "$count"
}

# Did the test NAME fail, or was it the one that ran when the program ended?
names_failure() {
	grep -aqx "\[  FAILED  \] $1" "$work/log" && return 0
	[ "$(grep -a '^\[ RUN  ' "$work/log" | tail -n 1)" = "[ RUN      ] $1" ] &&
		! grep -aqx "\[       OK \] $1" "$work/log"
}

# judge TARGET NAME: runs the broken test program; says "caught", or what went wrong.
judge() {
	status=0
	run_test "$1" || status=$?
	if [ "$status" -eq 0 ]; then
		echo "SURVIVED"
	elif [ -n "$2" ] && ! names_failure "$2"; then
		echo "SURVIVED: '$2' did not fail, another did"
	elif [ "$status" -eq 124 ]; then
		echo "caught: it ran for over $limit_s s"
	else
		echo "caught"
	fi
}

# one_row FILE FIND PUT TEST: prints its verdict; what is no "caught" or "SURVIVED" did not apply.
one_row() {
	target=$(target_of "$4")
	name=
	case $4 in *:*) name=${4#*:} ;; esac
	[ -f "$tree/$1" ] || {
		echo "NOT APPLIED: there is no '$1'"
		return
	}
	before=$(whole_hash_of "$target")
	cp -p "$tree/$1" "$work/whole"
	count=$(exchange "$tree/$1" "$2" "$3")
	if [ "$count" -ne 1 ]; then
		echo "NOT APPLIED: the text stands in it $count times"
		return
	fi
	if ! make_targets "$target"; then
		verdict="NOT APPLIED: it does not compile: $(grep -am 1 'error' "$work/log" || true)"
	elif [ "$(hash_of "$target")" = "$before" ]; then
		verdict="NOT APPLIED: the test program stayed the same"
	else
		verdict=$(judge "$target" "$name")
	fi
	cat "$work/whole" >"$tree/$1"
	echo "$verdict"
}

# take WHAT: is it this worker's? The first who asks has it.
take() {
	mkdir "$place/taken/$1" 2>/dev/null
}

# as_worker K TASK: does it in the K-th copy of the tree, in a process of its own.
as_worker() {
	work=$place/$1
	tree=$work/tree
	build=$tree/build
	"$2" </dev/null
}

# Every worker at once; fails when one did.
all_workers() {
	pids=
	for worker in $workers; do
		(as_worker "$worker" "$1") &
		pids="$pids $!"
	done
	failed=0
	for pid in $pids; do
		wait "$pid" || failed=1
	done
	return "$failed"
}

# Programs must pass while they are whole.
try_whole() {
	while read -r target; do
		take "$(echo "$target" | tr / .)" || continue
		run_test "$target" </dev/null || { cat "$work/log" >&2; die "'$target' fails before anything is broken"; }
	done <"$place/targets"
}

break_rows() {
	number=0
	while IFS=$separator read -r file find put test shows; do
		number=$((number + 1))
		take "$number" || continue
		verdict=$(one_row "$file" "$find" "$put" "$test" </dev/null)
		printf '%s  %s  %s: %s\n' "$verdict" "$test" "$file" "$shows" | tee -a "$work/verdicts"
	done <"$place/rows"
}

# The first program whose bytes are not the old ones.
changed_target() {
	for target in $targets; do
		[ "$(hash_of "$target")" = "$(whole_hash_of "$target")" ] || { echo "$target"; return; }
	done
}

# What was put back within a tick of the file system's clock looks unchanged to ninja: then all is compiled anew.
check_back() {
	make_targets $targets || die "what was put back does not compile"
	[ -n "$(changed_target)" ] || return 0
	find "$tree/src" "$tree/include" "$tree/tests" -name '*.[ch]' -exec touch {} +
	make_targets $targets || die "what was put back does not compile"
	changed=$(changed_target)
	[ -z "$changed" ] || die "'$changed' did not come back"
}

copy_tree
rows >"$place/all" || exit 2
grep -aE -e "$pattern" "$place/all" >"$place/matching" || die "no row matches '$pattern'"
part=${MUTANTS_PART:-0/1}
# Programs that wait for servers come first, so that the last to end is none of these.
awk -v k="${part%/*}" -v n="${part#*/}" 'NR % n == k % n' "$place/matching" |
	awk -F "$separator" '{ print ($4 ~ /^tests\/(fleet|os)/ ? 0 : 1) "\t" $0 }' | sort -s -n -k 1,1 | cut -f 2- >"$place/rows"
CC=${CC:-gcc} meson setup "$build" "$tree" --buildtype=plain -Doptimization=1 -Dwerror=false >"$work/log" 2>&1 ||
	{ cat "$work/log" >&2; die "cannot set up the build"; }

cut -d "$separator" -f 4 "$place/rows" | while read -r test; do target_of "$test"; done | awk '!seen[$0]++' >"$place/targets"
targets=$(cat "$place/targets")
# shellcheck disable=SC2086 # a list of names
make_targets $targets || { cat "$work/log" >&2; die "cannot build the tests"; }
for target in $targets; do
	echo "$(hash_of "$target") $target" >>"$place/hashes"
done
workers=$(seq "$(nproc)")
for worker in $workers; do
	[ -d "$place/$worker" ] || cp -a "$place/1" "$place/$worker"
done

mkdir "$place/taken"
all_workers try_whole || exit 2
rm -r "$place/taken"
mkdir "$place/taken"
all_workers break_rows || exit 2
all_workers check_back || exit 2
cat "$place"/*/verdicts | awk '
	{ kind[/^caught/ ? "caught" : /^SURVIVED/ ? "survived" : "missed"]++ }
	END {
		printf "%d caught, %d survived, %d not applied\n", kind["caught"], kind["survived"], kind["missed"]
		exit kind["survived"] + kind["missed"] > 0
	}'
