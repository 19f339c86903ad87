#!/bin/sh
# Shell scripts are POSIX sh: each is read by `sh -n`, and the commonest words of other shells are refused.
# Usage: shell.sh [TREE] | shell.sh --self-test
set -eu

words='(^|[;&|!(]|if|while) *\[\[ |<<[<]|[^0-9&][&]>[^&]|\$\{[A-Za-z_0-9]+(\^|,|//|:[0-9])|^[ \t]*(local|declare|source|typeset) '

check() {
	find "$1" -type f ! -path '*/.git/*' ! -path '*/build*/*' ! -path '*/node_modules/*' | sort >"$place/files"
	scripts=0
	bad=0
	while read -r file; do
		case $(head -n 1 "$file" | tr -d '\0') in
		'#!/bin/sh'*) ;;
		'#!'*bash*)
			echo "${file#"$1"/}: begins with bash"
			bad=1
			continue
			;;
		*) case $file in *.sh) ;; *) continue ;; esac ;;
		esac
		scripts=$((scripts + 1))
		sh -n "$file" || bad=1
		! grep -nE -e "$words" -H "$file" || bad=1
	done <"$place/files"
	[ "$scripts" -gt 0 ] || {
		echo "there is no script under '$1': nothing was checked"
		bad=1
	}
	return "$bad"
}

must_find() {
	printf '#!/bin/sh\n%s\n' "$1" >"$place/tree/a"
	if check "$place/tree" >"$place/log" 2>&1; then
		echo "shell.sh did not see '$1'"
		exit 1
	fi
}

self_test() {
	mkdir "$place/tree"
	must_find 'if true; then'
	must_find "[""[ -n x ]""] && true"
	must_find "loc""al x=1"
	must_find "sour""ce lib.sh"
	must_find "cat <<""< x"
	must_find 'echo "${x/''/a/b}"'
	printf '#!/bin/sh\n[ -n "$x" ] || . ./lib.sh\n' >"$place/tree/a"
	check "$place/tree"
	printf '#!/usr/bin/env ba''sh\ntrue\n' >"$place/tree/a"
	! check "$place/tree" >/dev/null
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
case ${1-} in
--self-test) self_test ;;
*) check "${1:-.}" ;;
esac
