#!/bin/sh
# hidden.sh - programs whose file is not where its name says: deleted, replaced by another, in a chroot, in a mount namespace. Their names
# come from the file that runs, by every engine; never from another one of the same name.
. "$(dirname "$0")/../cli/lib.sh"

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'
source=$here/../os/targets/spinner.c
${CC:-cc} -O1 -static -o spinner "$source" || skip_all 'no compiler'
# The one that must not be taken for it: other functions under the same name, elsewhere in the file.
${CC:-cc} -O2 -static -Dalpha=wrong_one -Dbeta=wrong_two -Dgamma_=wrong_three -o decoy "$source"
jobs=
trap 'kill $jobs 2>/dev/null; cd / && rm -rf "$place"' EXIT

# begins COMM: waits until the program started last, $!, executes what is to be recorded.
begins() {
	job=$!
	jobs="$jobs $job"
	tries=0
	until grep -q "$1" "/proc/$job/comm" || [ "$tries" -ge 50 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
}

# seen_by ENGINE NAME: records the job for a moment; the right functions are there, and no wrong ones.
seen_by() {
	run "$tare" record -q -f --engine "$1" --every 1ms --price 100% -d 400ms -o "$2.tare" -p "$job"
	[ "$status" -eq 0 ] || return 1
	run "$tare" report --all "$2.tare"
	[ "$status" -eq 0 ] && out_has alpha && out_has beta && out_has gamma_ && out_lacks wrong_
}

meet() {
	for engine in perf ptrace; do
		check "$1: its names are those of what runs, by engine $engine" seen_by "$engine" "$1"
	done
	kill "$job"
}

cp spinner gone
./gone 60 1 >/dev/null &
begins gone
rm gone
meet deleted

cp spinner new
./new 60 1 >/dev/null &
begins new
cp decoy other
mv other new
meet replaced

mkdir -p "root$PWD"
cp spinner "root$PWD/jailed"
cp decoy jailed
if chroot root "$PWD/jailed" 0 1 >/dev/null 2>&1; then
	chroot root "$PWD/jailed" 60 1 >/dev/null &
	begins jailed
	meet chroot
else
	skip 'chroot: its names are those of what runs' 'only root can change the root'
fi

cp decoy covered
if unshare -m true 2>/dev/null; then
	unshare -m sh -c 'mount --bind spinner covered && exec ./covered 60 1' >/dev/null &
	begins covered
	meet mounted
else
	skip 'mounted: its names are those of what runs' 'no mount namespaces here'
fi
end
