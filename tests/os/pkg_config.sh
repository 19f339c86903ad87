#!/bin/sh
# An installed libtare is found by pkg-config, and a program built by what it says runs: shared and static.
# Usage: pkg_config.sh BUILD CC...
set -eu

build=$1
shift
command -v pkg-config >/dev/null 2>&1 || {
	echo "skipped: there is no pkg-config here"
	exit 77
}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
# Only what belongs to the library: a whole install would need every target.
mkdir -p "$place/lib" "$place/include" "$place/pc"
for file in "$build"/src/lib/libtare.*; do
	[ -d "$file" ] || cp -P "$file" "$place/lib/"
done
cp "$(dirname "$0")/../../include/tare.h" "$place/include/"
sed "s|^prefix=.*|prefix=$place|; s|^libdir=.*|libdir=\${prefix}/lib|; s|^includedir=.*|includedir=\${prefix}/include|" \
	"$build/meson-private/tare.pc" >"$place/pc/tare.pc"
export PKG_CONFIG_PATH="$place/pc"
cat >"$place/a.c" <<'TEXT'
#include <tare.h>

static int work(void)
{
	TARE_WATCH("work");
	return tare_is_watched();
}

int main(void)
{
	tare_frame();
	return work();
}
TEXT
sanitize=$(nm -D "$build/src/lib/libtare.so" | sed -n 's/.* __asan_init.*/-fsanitize=address,undefined/p; s/.* __tsan_init.*/-fsanitize=thread/p' | head -n 1)
# shellcheck disable=SC2046,SC2086 # lists of words
"$@" -std=c11 -Wall -Wextra -Werror $sanitize -o "$place/shared" "$place/a.c" $(pkg-config --cflags --libs tare)
LD_LIBRARY_PATH="$place/lib" "$place/shared"
rm -f "$place"/lib/*.so*
# shellcheck disable=SC2046,SC2086
"$@" -std=c11 -Wall -Wextra -Werror $sanitize -o "$place/static" "$place/a.c" $(pkg-config --static --cflags --libs tare)
"$place/static"
[ "$(pkg-config --modversion tare)" != "" ]
