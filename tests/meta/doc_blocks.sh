#!/bin/sh
# Every public function (declared in src/*/*.h or include/*.h) has a doc block directly above it. One block may stand
# above several declarations when no blank line parts them from it.
# Usage: doc_blocks.sh [TREE]      the check
#        doc_blocks.sh --self-test   shows that the check finds what is missing
set -eu

check() {
	find "$1/src" "$1/include" -type f -name '*.h' 2>/dev/null | sort >"$place/files"
	[ -s "$place/files" ] || {
		echo "there is no header under '$1': nothing was checked"
		return 1
	}
	xargs awk -v strip="$1/" '
	FNR == 1 {
		has_block = in_comment = in_macro = depth = 0
		statement = ""
		name = FILENAME
		if (index(name, strip) == 1)
			name = substr(name, length(strip) + 1)
	}
	function function_of(text) {
		sub(/[ \t]*\(.*$/, "", text)
		sub(/^.*[ \t*]/, "", text)
		return text
	}
	# A whole statement at file level has ended: is it a function, and does a block stand above it?
	function judge() {
		gsub(/__attribute__[ \t]*\(\(([^()]|\([^()]*\))*\)\)/, "", statement)
		if (statement ~ /^[ \t]*(typedef|_Static_assert|static_assert|extern "C")/)
			return
		if (statement !~ /[A-Za-z_0-9][ \t]*\(/ || statement ~ /=/)
			return
		if (!has_block) {
			print name ":" FNR ": " function_of(statement) " has no doc block directly above it"
			bad = 1
		}
	}
	# What stands between braces is not ours to read: count them only.
	function walk(text, i, letter) {
		for (i = 1; i <= length(text); i++) {
			letter = substr(text, i, 1)
			if (letter == "{") {
				if (depth == 0 && statement ~ /\)[ \t]*$/)
					judge()
				if (!(depth == 0 && statement ~ /extern "C"[ \t]*$/))
					depth++
				if (depth == 0)
					statement = ""
			} else if (letter == "}") {
				if (depth > 0)
					depth--
				if (depth == 0 && statement ~ /\)[ \t]*$/)
					statement = "" # a function with its body
			} else if (depth == 0) {
				if (letter == ";") {
					judge()
					statement = ""
				} else {
					statement = statement letter
				}
			}
		}
		statement = statement ~ /^[ \t]*$/ ? "" : statement " "
	}
	in_comment {
		if ($0 ~ /\*\//) {
			in_comment = 0
			has_block = comment_is_block && (comment_text $0) ~ /[A-Za-z].*[A-Za-z]/
		}
		comment_text = comment_text $0
		next
	}
	in_macro || /^[ \t]*#/ {
		in_macro = /\\$/
		next
	}
	/^[ \t]*$/ {
		if (depth == 0 && statement == "")
			has_block = 0
		next
	}
	/^\/\*/ && depth == 0 && statement == "" {
		comment_is_block = 1
		comment_text = $0
		if ($0 ~ /\*\//)
			has_block = /[A-Za-z].*[A-Za-z]/
		else
			in_comment = 1
		next
	}
	{
		line = $0
		gsub(/\/\*[^*]*\*\//, "", line)
		if (line ~ /\/\*/) {
			comment_is_block = 0
			in_comment = 1
			kept = has_block
			sub(/\/\*.*$/, "", line)
			walk(line)
			comment_is_block = kept
			comment_text = "as before"
			next
		}
		sub(/\/\/.*$/, "", line)
		gsub(/"C"/, "\001", line)
		gsub(/"([^"\\]|\\.)*"/, "", line)
		gsub(/\001/, "\"C\"", line)
		walk(line)
	}
	END { exit bad }' <"$place/files"
}

# must_find FUNCTION HEADER: a tree with that header is refused, and the function is named.
must_find() {
	printf '%s\n' "$2" >"$place/tree/src/core/a.h"
	if check "$place/tree" >"$place/log"; then
		echo "doc_blocks.sh did not see that $1 has no block:"
		echo "$2"
		exit 1
	fi
	grep -q ": $1 has no doc block" "$place/log" || {
		echo "doc_blocks.sh did not name $1:"
		cat "$place/log"
		exit 1
	}
}

must_pass() {
	printf '%s\n' "$1" >"$place/tree/src/core/a.h"
	check "$place/tree" || {
		echo "doc_blocks.sh refused what is right:"
		echo "$1"
		exit 1
	}
}

self_test() {
	mkdir -p "$place/tree/src/core"
	top='/* a.h - a room. */
#ifndef A_H
#define A_H
'
	must_find a_run "$top
int a_run(void);
#endif"
	must_find a_run "$top
/* Runs. */

int a_run(void);
#endif"
	must_find a_stop "$top
/* Runs. */
int a_run(void);

int a_stop(struct a *a,
	   int how) __attribute__((format(printf, 2, 3)));
#endif"
	must_find a_add "$top
static inline int a_add(int x)
{
	return (x + 1);
}
#endif"
	must_find a_last "$top
struct a {
	int (*run)(void); /* not a function of ours */
};

void a_last(struct a *a);
#endif"
	must_find a_two "$top
/* Adds. */
static inline int a_add(int x)
{
	return (x + 1);
}

struct a *a_two(void);
#endif"
	must_find a_run "$top
/* */
int a_run(void);
#endif"
	must_find a_run "$top
#ifdef __cplusplus
extern \"C\" {
#endif
API int a_run(void);
#endif"
	must_find a_run "$top
int x; /* a remark
	* goes on */
int a_run(void);
#endif"
	must_pass "$top
/* Runs, and stops. */
int a_run(void);
void a_stop(struct a *a, int how) __attribute__((format(printf, 2, 3)));

/* The callback. */
typedef void (*a_fn)(void *owner);

struct a {
	int (*run)(void); /* what runs,
			   * and how */
};

/* One event.
 * It is told. */
struct event {
	int kind; /* of (which) */
};
void a_tell(const struct event *e);

/* Adds. */
static inline int a_add(int x)
{
	if (x > 0) {
		return (x + 1);
	}
	return 0;
}
extern const struct table table_a;
#define A(x) \\
	a_run(x)
#define EMPTY ((struct a){ .run = 0 })
_Static_assert(sizeof(int) == 4, \"layout\");
#endif"
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
case ${1-} in
--self-test) self_test ;;
*) check "${1:-.}" ;;
esac
