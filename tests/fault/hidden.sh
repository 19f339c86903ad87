#!/bin/sh
# hidden.sh - programs whose file is not where its name says: deleted, replaced by another, in a chroot, in a mount namespace. Their names
# come from the file that runs, by every engine; never from another one of the same name.
. "$(dirname "$0")/../cli/lib.sh"

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'
source=$here/../os/targets/spinner.c
${CC:-cc} -O1 -static -o spinner "$source" || skip_all 'no compiler'
# The one that must not be taken for it: other functions under the same name, elsewhere in the file.
${CC:-cc} -O2 -static -Dalpha=wrong_one -Dbeta=wrong_two -Dgamma_=wrong_three -o decoy "$source"
job=
trap '[ -z "$job" ] || kill -KILL "$job" 2>/dev/null; cd / && rm -rf "$place"' EXIT

# waits_for FILE: until it is there, with something in it.
waits_for() {
	tries=0
	until [ -s "$1" ] || [ "$tries" -ge 100 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
}

# Each starts the program as `hidden`, so that its file is not what its name says. It says its process number and waits to be let go.
start='echo $$ >number; kill -STOP $$; exec'

# The same of one that must run before its file can go.
start_hidden() {
	cp spinner hidden
	./hidden 0.6 1 >/dev/null &
	until grep -q hidden "/proc/$!/comm"; do
		:
	done
	kill -STOP $!
	echo $! >number
}

in_deleted() {
	start_hidden
	rm hidden
}

in_replaced() {
	start_hidden
	cp decoy other
	mv other hidden
}

in_chroot() {
	mkdir -p "root$PWD"
	cp spinner "root$PWD/hidden"
	cp decoy hidden
	sh -c "$start chroot root '$PWD/hidden' 0.3 1" >/dev/null &
}

in_mounted() {
	cp decoy hidden
	unshare -m sh -c "mount --bind spinner hidden && $start ./hidden 0.3 1" >/dev/null &
}

# seen_by ENGINE WAY: records the program from before it runs to its end; the right functions are there, and no wrong ones.
seen_by() {
	rm -rf number h.tare hidden root
	"in_$2"
	waits_for number
	job=$(cat number)
	"$tare" record -q -f --engine "$1" --every 1ms --price 100% -o h.tare -p "$job" >record.log 2>&1 &
	recorder=$!
	waits_for h.tare
	kill -CONT "$job"
	wait "$recorder" || {
		cat record.log
		return 1
	}
	run "$tare" report --all h.tare
	[ "$status" -eq 0 ] && out_has alpha && out_has beta && out_has gamma_ && out_lacks wrong_
}

engines='perf ptrace'
if "$tare" record -q --engine bpf -f -o h.tare -- true 2>err || ! grep -qE 'no BPF programs|built without BPF' err; then
	engines="$engines bpf"
fi

# meet WAY TRY...: by each engine, if TRY works.
meet() {
	way=$1
	shift
	for engine in $engines; do
		if "$@" >/dev/null 2>&1; then
			check "$way: its names are those of what runs, by engine $engine" seen_by "$engine" "$way"
		else
			skip "$way: its names are those of what runs, by engine $engine" 'no right to make one'
		fi
	done
}

meet deleted true
meet replaced true
meet chroot chroot / true
meet mounted unshare -m true
end
