#!/bin/sh
# Nothing in the project speaks of one machine, one person's home, a package registry's host or a workplace's tools.
# Usage: no_paths.sh [TREE]      the check, on the files git knows (all files when it is no checkout)
#        no_paths.sh --self-test   shows that the check finds each of them
set -eu

# Brackets keep this list from finding itself.
patterns='(^|[^A-Za-z0-9_.])/(wor[k]|far[m]|hom[e]|roo[t]|User[s])/
/tmp/(hu[b]|brie[f]|bas[h])
bash_job[s]
[.]librar[y]/
before-sto[p]
registry[.]npmj[s][.]org|registry[.]yarnpk[g]
pypi[.]or[g]|pythonhoste[d][.]org
crates[.]i[o]|proxy[.]golan[g][.]org
deb[.]debia[n][.]org|snapshot[.]debia[n]|archive[.]ubunt[u]
[Cc]laud[e]|[Aa]nthropi[c]|[Oo]pen[A]I|[Cc]hatGP[T]|[Cc]opilo[t]'

check() {
	(
		cd "$1"
		if [ -e .git ] && command -v git >/dev/null 2>&1; then
			git -c safe.directory="$(pwd)" ls-files --cached --others --exclude-standard
		else
			find . -type f ! -path './build*' ! -path './.git/*'
		fi
	) | sed "s|^\(\./\)*|$1/|" >"$place/files"
	[ -s "$place/files" ] || {
		echo "there is no file under '$1': nothing was checked"
		return 1
	}
	printf '%s\n' "$patterns" >"$place/patterns"
	# A name from git may have gone from the folder.
	while read -r file; do
		[ -f "$file" ] && grep -InE -H -f "$place/patterns" "$file"
	done <"$place/files" >"$place/found" || true
	[ -s "$place/found" ] || return 0
	echo "the project must not speak of these:"
	sed "s|^$1/||" "$place/found"
	return 1
}

must_find() {
	printf 'a line\n%s\n' "$1" >"$place/tree/a.md"
	if check "$place/tree" >"$place/log"; then
		echo "no_paths.sh did not see '$1'"
		exit 1
	fi
	grep -q '^a.md:2:' "$place/log" || {
		echo "no_paths.sh did not name a.md, line 2:"
		cat "$place/log"
		exit 1
	}
}

self_test() {
	mkdir "$place/tree"
	# Put together here, so that this file passes its own check.
	for word in "see /wor""k/main" "in /hom""e/jane/x" "(/roo""t/x)" "/tmp/hu""b.git" "/tmp/ba""sh_jobs.0/x" \
		".librar""y/env" "the before-sto""p hook" "https://registry.npm""js.org/x" "https://py""pi.org/simple" \
		"https://crates"".io" "http://deb.debia""n.org/debian" "by Clau""de" "Open""AI"; do
		must_find "$word"
	done
	printf '%s\n' 'the framework/ and net/work/ of a home/ and ./root/ are fine' >"$place/tree/a.md"
	check "$place/tree"
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
case ${1-} in
--self-test) self_test ;;
*) check "${1:-.}" ;;
esac
