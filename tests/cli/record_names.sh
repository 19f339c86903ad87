#!/bin/sh
# record_names.sh - what a live program is made of has its names: C++ with what was inlined, as it was written; the old build of a
# program or library that was replaced; the library of another mount namespace, and of another root.
. "$(dirname "$0")/lib.sh"

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'
command -v g++ >/dev/null || skip_all 'no g++'

# rows: "KIND NAME" of every function that the last recording has, one a line
rows() {
	"$tare" report --json "$1" | python3 -c '
import json, sys
for f in json.load(sys.stdin)["functions"]:
    print(f["kind"], f["name"], f["file"].rpartition("/")[2], f["line"], f["module"])'
}

# row_is RECORDING PATTERN: it has such a row
row_is() {
	rows "$1" | grep -qE -e "$2"
}

row_is_not() {
	! row_is "$1" "$2"
}

cat >shapes.cc <<'C'
#include <cstdint>
#include <cstdlib>
namespace shapes {
template <typename T> struct Box {
	T state;
	[[gnu::always_inline]] inline T mix(T x) { return state = state * 6364136223846793005u + x; }
	[[gnu::noinline]] T stir(unsigned times)
	{
		T sum = 0;
		for (unsigned i = 0; i < times; i++)
			sum += mix(i);
		return sum;
	}
};
}
int main(int argc, char **argv)
{
	shapes::Box<std::uint64_t> box = {7};
	std::uint64_t sum = 0;
	for (int i = 0; i < 300; i++)
		sum += box.stir(1000000);
	return sum == 42;
}
C
g++ -g -O2 -o shapes shapes.cc || skip_all 'no C++ here'

run "$tare" record -q --every 1ms --price 100% -o shapes.tare -- ./shapes
check 'a template of C++ is named in full' row_is shapes.tare '^native shapes::Box<unsigned long>::stir\(unsigned int\) shapes.cc 7 shapes$'
check 'what was inlined into it is a function of its own' row_is shapes.tare '^inlined shapes::Box<unsigned long>::mix\(unsigned long\) shapes.cc 6 shapes$'
run "$tare" report --all shapes.tare
check 'the report marks it' out_has '(inlined)'

# ---- another file under the same path ----
# library NAME FILE: a library with a function of that name
library() {
	cat >work.c <<C
#include <stdint.h>
volatile uint64_t sink;
__attribute__((noinline)) void $1(void) { for (unsigned i = 0; i < 200000000; i++) sink += i; }
void work(void) { $1(); $1(); }
C
	${CC:-cc} -O1 -shared -fPIC -fno-optimize-sibling-calls -o "$2" work.c
}
cat >host.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW);
	void (*work)(void) = library ? (void (*)(void))dlsym(library, "work") : NULL;
	if (work == NULL)
		return 3;
	puts("here");
	fflush(stdout);
	getchar();
	work();
	return 0;
}
C
${CC:-cc} -O1 -o host host.c -ldl
library old_work libwork.so
library new_work libnew.so

# record_after DO RECORDING CMD...: starts CMD, does DO once it is there, then records it while it works
record_after() {
	do=$1 recording=$2
	shift 2
	rm -f gate said
	mkfifo gate
	"$@" <gate >said &
	job=$!
	exec 3>gate
	for i in $(seq 100); do
		grep -q here said && break
		sleep 0.05
	done
	eval "$do"
	pid=$(pgrep -P "$job" -x host || echo "$job")
	(sleep 0.3 && echo go >&3) &
	run "$tare" record -q --every 1ms --price 100% -d 2s -o "$recording" -p "$pid"
	exec 3>&-
	kill "$job" 2>/dev/null
	wait
}

record_after 'mv libnew.so libwork.so' replaced.tare ./host ./libwork.so
check 'a library that was replaced is named by the file that is mapped' row_is replaced.tare '^native old_work .* libwork.so$'
check 'and never by the new one' row_is_not replaced.tare 'new_work'
library old_work libwork.so
record_after 'rm -f libwork.so host' gone.tare ./host ./libwork.so
check 'of a program that was deleted its functions are named' row_is gone.tare '^native main .* host$'
check 'and those of its library' row_is gone.tare '^native old_work .* libwork.so$'
${CC:-cc} -O1 -o host host.c -ldl

# ---- other places ----
if ! unshare -m -p -f true 2>/dev/null; then
	skip 'a library of another mount namespace is its own' 'no namespaces'
	end
fi
library their_work theirs.so
library our_work libwork.so
record_after : mount.tare unshare -m sh -c "mount --bind '$place/theirs.so' '$place/libwork.so' && exec ./host ./libwork.so"
check 'a library of another mount namespace is its own' row_is mount.tare '^native their_work .* libwork.so$'
check 'and not ours of that path' row_is_not mount.tare 'our_work'
end
