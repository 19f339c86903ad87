#!/bin/sh
# releases.sh - the fleet's tests against the PostgreSQL of the next Debian: the release is put into a folder by debootstrap, and the
# programs of this build run in it, unchanged. Needs root. Takes a minute and 1 GB the first time; the folder is kept.
# Usage: releases.sh BUILD [MESON-TEST-ARGUMENT...]      TARE_RELEASES=DIR: where the release is, or is put
set -eu

release=trixie
packages='postgresql-17 postgresql-contrib libcmocka0 libpq5 libjansson4 libzstd1 libssl3t64 libinih1 libsqlite3-0 libxxhash0 libcivetweb1
	libelf1t64 libdw1t64 libbpf1 python3 sqlite3 curl procps iproute2 prometheus'

die() {
	echo "releases.sh: $*" >&2
	exit 2
}

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
shift
root=${TARE_RELEASES:-$build/releases}/$release
[ "$(id -u)" -eq 0 ] || die "another release needs root: debootstrap and chroot do"
command -v debootstrap >/dev/null || die "debootstrap is not installed"

# A mirror that this machine takes its own packages from.
mirror() {
	apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v -e security -e updates | grep /debian | head -n 1
}

if [ "$(cat "$root/.tare-ready" 2>/dev/null)" != "$packages" ]; then
	echo "releases.sh: putting $release into $root" >&2
	mkdir -p "$root"
	if [ ! -x "$root/usr/bin/apt-get" ]; then
		debootstrap --variant=minbase "$release" "$root" "$(mirror)" >"$build/releases.log" 2>&1 || die "debootstrap failed: $build/releases.log"
	fi
	# shellcheck disable=SC2086 # a list of words
	chroot "$root" sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get -qq update && apt-get -qq install --yes --no-install-recommends "$@"' apt $packages \
		>>"$build/releases.log" 2>&1 || die "cannot install PostgreSQL there: $build/releases.log"
	printf '%s\n' "$packages" >"$root/.tare-ready"
fi

# Mounts are seen by what runs here only, and are gone with it.
export root top build
# shellcheck disable=SC2016
exec unshare --mount --propagation private sh -eu -c '
	mkdir -p "$root$top" "$root$build"
	mount --bind "$top" "$root$top"
	mount --bind "$build" "$root$build"
	mount --bind /tmp "$root/tmp"
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	echo "releases.sh: $(chroot "$root" sh -c "/usr/lib/postgresql/*/bin/postgres --version")" >&2
	# Libraries that have another name there come from here.
	mkdir -p "$build/releases-lib"
	chroot "$root" ldd "$build/tare" | awk "/not found/ { print \$1 }" | while read -r library; do
		cp -L "$(ldd "$build/tare" | awk -v wanted="$library" "\$1 == wanted { print \$3 }")" "$build/releases-lib/"
	done
	exec meson test -C "$build" --no-rebuild --suite fleet --logbase releases \
		--wrapper "chroot $root env LD_LIBRARY_PATH=$build/releases-lib" "$@"
' releases "$@"
