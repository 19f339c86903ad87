#!/bin/sh
# record_jit.sh - code that a program makes while it runs has the names that the program gives it: a perf map, also of another mount
# and pid namespace; a jitdump, by the time at which each function lay there; node.
. "$(dirname "$0")/lib.sh"

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'

# Makes a function that spins, calls it, and says what it is called: maker map | maker dump
cat >maker.c <<'C'
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "made_jit.h"

/* push rbp; mov rbp, rsp; mov rcx, rdi; 1: dec rcx; jnz 1b; pop rbp; ret */
static const unsigned char spin[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9, 0x48,
				      0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3 };
static unsigned char *code;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void run(void)
{
	uint64_t end = now_ns(CLOCK_PROCESS_CPUTIME_ID) + 500000000;

	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
		((void (*)(uint64_t))code)(1000000);
}

static void dump(int fd, const char *name)
{
	made_jit_line(fd, (uint64_t)code, "made.tare", 77);
	made_jit_load(fd, &(struct made_jit_code){ now_ns(CLOCK_MONOTONIC), (uint64_t)code, sizeof(spin), name, spin });
}

int main(int argc, char **argv)
{
	char path[64];
	int fd;

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, spin, sizeof(spin));
	if (argc > 1 && strcmp(argv[1], "map") == 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
		FILE *map = fopen(path, "w");
		if (map == NULL)
			return 3;
		fprintf(map, "%lx %zx made by (hand) x.tare:5\n", (unsigned long)code, sizeof(spin));
		fclose(map);
		run();
		unlink(path);
		return 0;
	}
	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	made_jit_begin(fd, 0);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 4;
	dump(fd, "first_there");
	run();
	dump(fd, "then_there");
	run();
	return 0;
}
C
${CC:-cc} -O1 -fno-omit-frame-pointer -I "$here/.." -o maker maker.c || skip_all 'no compiler'

# share RECORDING NAME: thousandths of the weight that is that function's own
share() {
	"$tare" report --json "$1" | python3 -c '
import json, sys
rows = json.load(sys.stdin)["functions"]
own = sum(f["own"]["weight_ns"] for f in rows if f["name"].startswith(sys.argv[1]) and f["kind"] == "jit")
print(own * 1000 // max(1, sum(f["own"]["weight_ns"] for f in rows)))' "$2"
}

# is_most RECORDING NAME LEAST
is_most() {
	[ "$(share "$1" "$2")" -ge "$3" ]
}

run "$tare" record -q --every 1ms --price 100% -o map.tare -- ./maker map
check 'code of a perf map has its name, blanks and all' is_most map.tare 'made by (hand) x.tare:5' 600

run "$tare" record -q --every 1ms --price 100% -o dump.tare -- ./maker dump
check 'of two functions at one address the first is named while it was there' is_most dump.tare first_there 250
check 'and then the second' is_most dump.tare then_there 250
# has_place RECORDING NAME FILE LINE
has_place() {
	"$tare" report --json "$1" | python3 -c '
import json, sys
name, file, line = sys.argv[1:]
sys.exit(not any(f["name"] == name and f["file"] == file and f["line"] == int(line)
                 for f in json.load(sys.stdin)["functions"]))' "$2" "$3" "$4"
}
check 'with file and line' has_place dump.tare then_there made.tare 77

# Its number is 1 in there, and its /tmp another.
if unshare -m -p -f sh -c 'mount -t tmpfs none /tmp' 2>/dev/null; then
	run "$tare" record -q --every 1ms --price 100% -o inner.tare -- \
		unshare -m -p -f sh -c "cp maker /dev/shm/maker.$$ && mount -t tmpfs none /tmp && exec /dev/shm/maker.$$ map"
	rm -f "/dev/shm/maker.$$"
	check 'in namespaces of its own a program has its own map' is_most inner.tare 'made by (hand)' 600
else
	skip 'in namespaces of its own a program has its own map' 'no namespaces'
fi

if command -v node >/dev/null; then
	cat >work.js <<'C'
function spinHere(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
let sum = 0;
while (process.cpuUsage().user < 1500000) sum += spinHere(1e6);
console.log(sum);
C
	run "$tare" record -q --every 1ms --price 100% -o node.tare -- node --perf-basic-prof work.js
	check 'functions of node have their names' is_most node.tare 'JS:*spinHere' 300
	# It leaves its map.
	rm -f "/tmp/perf-$("$tare" report --json node.tare | python3 -c '
import json, sys
print(json.load(sys.stdin)["label"]["pid"])').map"
else
	skip 'functions of node have their names' 'no node'
fi
end
