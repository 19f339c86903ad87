#!/bin/sh
# watch_list.sh - what could be watched in a program, at what price, and why not.
. "$(dirname "$0")/lib.sh"

cat >prog.c <<'C'
__attribute__((noinline)) int probe_me(int x) { return x * 3; }
__attribute__((noinline)) int and_me(int x) { return probe_me(x) + 1; }
int main(int argc, char **argv) { (void)argv; return and_me(argc) == 0; }
C
# shellcheck disable=SC2086
$CC -O1 -g -o prog prog.c || skip_all "no compiler: $CC"

run "$tare" watch --list ./prog 'prob*' and_me
check 'status 0' status_is 0
check 'a function by glob' out_has probe_me
check 'a function by name' out_has and_me
check 'nothing else' out_lacks main
priced() {
	grep -Eq '^[0-9.]+ (ns|us) +(nop5|push|other) +probe_me' out
}
check 'with its price and how it begins' priced
check 'how many there are goes to stderr' err_has 'functions'
run "$tare" watch --list ./prog
check 'no glob: all of them' out_has main
run "$tare" watch --list ./prog no_such_function
check 'nothing that can be watched: status 1' status_is 1
check 'and the reason' out_has 'not found'
run "$tare" watch --list --json ./prog and_me
check '--json has its version' out_has '"schema_version": 1'
if command -v python3 >/dev/null; then
	check 'and is JSON' python3 -m json.tool out
else
	skip 'and is JSON' 'python3 is not here'
fi
run "$tare" watch --list ./no-such-program
check 'a program that is not there: status 2' status_is 2
run "$tare" watch --list -p $$ 'mall*'
check 'a process by its number' out_has malloc
end
