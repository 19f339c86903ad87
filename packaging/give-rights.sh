#!/bin/sh
# give-rights.sh PROGRAM GROUP - gives an installed tare what it needs to look at everybody's processes, instead of root, and leaves it to
# one group: whoever may start it then sees what other people's programs do.
#   cap_perfmon     events of others, and of the kernel
#   cap_bpf         programs in the kernel: engine bpf, --clock wall, tare watch
#   cap_sys_ptrace  files and memory of the processes of others
set -eu

die() {
	printf 'give-rights.sh: %s\n' "$*" >&2
	exit 2
}

[ $# -eq 2 ] || die 'takes an installed program and a group'
[ -f "$1" ] || die "there is no program '$1'"
command -v setcap >/dev/null || die 'there is no setcap: install libcap2-bin'
chgrp -- "$2" "$1" || die "cannot give '$1' to the group '$2' (run as root; is there such a group?)"
chmod 750 -- "$1"
setcap cap_perfmon,cap_bpf,cap_sys_ptrace=ep "$1" || die "the file system of '$1' keeps no rights of files"
