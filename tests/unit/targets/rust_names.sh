#!/bin/sh
# rust_names.sh - prints tests/unit/rust_names.h: names that rustc mangled, with what Rust's own demangler calls them, from
# rust_names.rs. Usage: rust_names.sh >tests/unit/rust_names.h  (needs rustc 1.65 or newer, and nm)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
rustc --edition 2021 -g -C symbol-mangling-version=v0 -o "$place/names" "$here/rust_names.rs"
"$place/names" >"$place/plain"
nm "$place/names" | awk '{ print $3 }' | grep '^_R.*rust_names' >"$place/mangled"
cat <<'C'
/* rust_names.h - names of functions in Rust, mangled (v0) and plain. Made by tests/unit/targets/rust_names.sh. */
static const struct {
	const char *mangled, *plain;
} rust_names[] = {
C
while IFS="$(printf '\t')" read -r word plain; do
	case $word in
	closure_seven*) mangled=$(grep 'C.*closure_seven0' "$place/mangled") ;;
	gr*) mangled=$(grep 'acht' "$place/mangled") ;;
	*) mangled=$(grep "$word" "$place/mangled") ;;
	esac
	printf '\t{ "%s",\n\t  "%s" },\n' "$mangled" "$plain"
done <"$place/plain"
echo '};'
