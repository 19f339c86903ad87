#!/bin/sh
# What the kernel loads says that it is under the GPL or BSD: each file of src/bpf bears that in its first line, and each header that
# it includes from elsewhere in the tree is under BSD too. Follows what those include.
# Usage: licences.sh [TREE] | licences.sh --self-test
set -eu

# The headers of the tree that a file includes.
included() {
	sed -n 's/^#include "\(.*\)"/\1/p' "$1"
}

check() {
	src=$1/src
	ls "$src"/bpf/*.bpf.c >/dev/null 2>&1 || {
		echo "there is no program under '$src/bpf': nothing was checked"
		return 1
	}
	ls "$src"/bpf/*.[ch] | sed "s|^$src/||" >"$place/todo"
	: >"$place/seen"
	while [ -s "$place/todo" ]; do
		sort -u "$place/todo" | grep -Fxv -f "$place/seen" >"$place/new" || :
		: >"$place/todo"
		while read -r file; do
			echo "$file" >>"$place/seen"
			case $file in
			bpf/*) want='GPL-2.0-only OR BSD-2-Clause' ;;
			*) want='Apache-2.0 OR BSD-2-Clause' ;;
			esac
			# The skeleton and vmlinux.h are made, and are not here.
			[ -e "$src/$file" ] || continue
			[ "$(head -n 1 "$src/$file")" = "/* SPDX-License-Identifier: $want */" ] ||
				echo "src/$file: its first line is not: /* SPDX-License-Identifier: $want */"
			included "$src/$file" >>"$place/todo"
		done <"$place/new"
	done >"$place/bad"
	for licence in GPL-2.0-only BSD-2-Clause; do
		[ -s "$1/LICENSES/$licence.txt" ] || echo "LICENSES/$licence.txt is not there"
	done >>"$place/bad"
	cat "$place/bad"
	[ ! -s "$place/bad" ]
}

must_find() {
	if check "$place/tree" >"$place/log"; then
		echo "licences.sh did not see: $1"
		exit 1
	fi
	grep -q "$1" "$place/log" || {
		echo "licences.sh did not say '$1':"
		cat "$place/log"
		exit 1
	}
}

# A tree in which all is right.
make_tree() {
	rm -rf "$place/tree"
	mkdir -p "$place/tree/src/bpf" "$place/tree/src/core" "$place/tree/LICENSES"
	printf '%s\n' '/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */' '#include "core/a.h"' >"$place/tree/src/bpf/x.bpf.c"
	printf '%s\n' '/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause */' '#include "core/b.h"' >"$place/tree/src/core/a.h"
	echo '/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause */' >"$place/tree/src/core/b.h"
	echo text >"$place/tree/LICENSES/GPL-2.0-only.txt"
	echo text >"$place/tree/LICENSES/BSD-2-Clause.txt"
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
if [ "${1-}" != --self-test ]; then
	check "${1:-.}"
	exit
fi
make_tree
check "$place/tree" || {
	echo 'licences.sh finds fault with a tree in which all is right'
	exit 1
}
echo '/* b.h - nothing said */' >"$place/tree/src/core/b.h"
must_find 'src/core/b.h'
make_tree
echo 'int x;' >"$place/tree/src/bpf/y.h"
must_find 'src/bpf/y.h'
make_tree
rm "$place/tree/LICENSES/BSD-2-Clause.txt"
must_find 'LICENSES/BSD-2-Clause.txt'
rm -rf "$place/tree/src/bpf"
must_find 'nothing was checked'
