#!/bin/sh
# The arrows between the rooms point down (docs/design.md): a file may include only from its own room and those below.
# core knows core and C's own headers without a clock, a signal, a thread or a locale.
# Usage: layering.sh [TREE]      the check, on the tree's src and include
#        layering.sh --self-test   shows that the check finds each arrow that points up
set -eu

rules='
core   core
sense  core sense
fleet  core fleet
store  core store
format core format
serve  core store serve
lib    lib
bpf    bpf
cli    core sense fleet store format serve bpf cli
'
# Plain structs and arithmetic that two rooms share: a room, and the one header of another that it may include.
shared='lib core/bucket.h
lib core/gap.h
sense lib/mapping.h
bpf core/bucket.h
bpf core/coin.h
bpf core/gap.h
sense bpf/record.h
sense bpf/record.skel.h
sense bpf/waits.h
sense bpf/waits.skel.h
sense bpf/watch.h
sense bpf/watch.skel.h'
# Of these, core may include: C17 without <locale.h>, <signal.h>, <threads.h>, <time.h>.
pure_headers='assert complex ctype errno fenv float inttypes iso646 limits math setjmp stdalign stdarg stdatomic
stdbool stddef stdint stdio stdlib stdnoreturn string tgmath uchar wchar wctype'

check() {
	tree=$1
	find "$tree/src" "$tree/include" -type f \( -name '*.c' -o -name '*.h' \) 2>/dev/null | sort >"$place/files"
	[ -s "$place/files" ] || {
		echo "there is no source under '$tree': nothing was checked"
		return 1
	}
	: >"$place/up"
	while read -r file; do
		# shellcheck disable=SC2086
		awk -v file="${file#"$tree"/}" -v rules="$rules" -v shared="$shared" -v pure=" $(echo $pure_headers) " '
		BEGIN {
			split(file, part, "/")
			room = part[1] == "src" ? part[2] : "lib"
			split(rules, row, "\n")
			for (i in row) {
				n = split(row[i], word, " ")
				for (j = 2; j <= n; j++)
					may[word[1] " " word[j]] = 1
				if (n > 0)
					known[word[1]] = 1
			}
			n = split(shared, row, "\n")
			for (i = 1; i <= n; i++)
				may_file[row[i]] = 1
			if (!(room in known))
				print file ": there is no room \"" room "\""
		}
		function say(why) {
			print file ":" FNR ": " $0 ": " why
		}
		/^[ \t]*#[ \t]*include[ \t]*"/ {
			split($0, quoted, "\"")
			if (quoted[2] == "tare.h")
				quoted[2] = "lib/tare.h"
			n = split(quoted[2], step, "/")
			if (n < 2)
				say("name the room: \"" room "/" quoted[2] "\"")
			else if (quoted[2] ~ /(^|\/)[.][.]?\//)
				say("no path upward")
			else if ((room " " quoted[2]) in may_file)
				next
			else if (!((room " " step[1]) in may))
				say(room " must not know " step[1])
		}
		room == "core" && /^[ \t]*#[ \t]*include[ \t]*</ {
			header = $0
			sub(/^[^<]*</, "", header)
			sub(/[.]h>.*$/, "", header)
			if (index(pure, " " header " ") == 0)
				say("not one of the pure headers of C")
		}' "$file" >>"$place/up"
	done <"$place/files"
	[ -s "$place/up" ] || return 0
	cat "$place/up"
	return 1
}

# must_find FILE LINE: a tree with that line in that file is refused, and the file is named.
must_find() {
	rm -rf "$place/tree"
	mkdir -p "$place/tree/src/core" "$place/tree/$(dirname "$1")"
	printf '/* a file */\n%s\n' "$2" >"$place/tree/$1"
	if check "$place/tree" >"$place/log"; then
		echo "layering.sh did not see '$2' in $1"
		exit 1
	fi
	grep -q "^$1:" "$place/log" || {
		echo "layering.sh did not name $1:"
		cat "$place/log"
		exit 1
	}
}

must_pass() {
	rm -rf "$place/tree"
	mkdir -p "$place/tree/$(dirname "$1")"
	printf '%s\n' "$2" >"$place/tree/$1"
	check "$place/tree"
}

self_test() {
	must_find src/core/a.c '#include "store/store.h"'
	must_find src/core/a.h '#include "cli/app.h"'
	must_find src/core/a.c '#include <time.h>'
	must_find src/core/a.c '#include <unistd.h>'
	must_find src/core/a.c '#  include <sys/types.h>'
	must_find src/sense/a.c '#include "store/store.h"'
	must_find src/store/a.c '#include "sense/space.h"'
	must_find src/format/a.c '#include "store/store.h"'
	must_find src/fleet/a.c '#include "format/pprof.h"'
	must_find src/store/a.c '#include "cli/opt.h"'
	must_find src/serve/a.c '#include "sense/space.h"'
	must_find src/lib/a.c '#include "core/err.h"'
	must_find src/sense/a.c '#include "lib/inside.h"'
	must_find src/store/a.c '#include "lib/mapping.h"'
	must_pass src/lib/a.c '#include "core/gap.h"'
	must_pass src/sense/a.c '#include "lib/mapping.h"'
	must_find src/store/a.c '#include "store.h"'
	must_find src/store/a.c '#include "../core/err.h"'
	must_find src/store/a.c '#include "store/../sense/space.h"'
	must_find src/attic/a.c '#include "core/err.h"'
	must_find include/tare.h '#include "core/err.h"'
	must_pass src/core/a.c '#include "core/err.h"
#include <stdint.h>'
	must_pass src/cli/a.c '#include "sense/space.h"
#include <time.h>'
	must_pass src/lib/a.c '#include "tare.h"'
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
case ${1-} in
--self-test) self_test ;;
*) check "${1:-.}" ;;
esac
