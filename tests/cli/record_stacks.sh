#!/bin/sh
# record_stacks.sh - a binary without frame pointers is walked to its root; without its .eh_frame it is reported as
# broken stacks, never as roots.
. "$(dirname "$0")/lib.sh"

"$tare" doctor >/dev/null || skip_all 'tare record does not work here'
command -v objcopy >/dev/null || skip_all 'no objcopy'

cat >chain.c <<'C'
#include <stdint.h>
volatile uint64_t sink;
__attribute__((noinline)) static uint64_t leaf(uint64_t x)
{
	for (unsigned i = 0; i < 2000000; i++)
		x = x * 6364136223846793005u + 7;
	return x;
}
__attribute__((noinline)) static uint64_t middle(uint64_t x)
{
	char room[200];
	room[x % 200] = (char)x;
	return leaf(x) + (uint64_t)room[(x + 1) % 200 == 0 ? 0 : x % 200];
}
__attribute__((noinline)) static uint64_t outer(uint64_t x)
{
	return middle(x) + 1;
}
int main(void)
{
	for (int i = 0; i < 600; i++)
		sink += outer((uint64_t)i);
	return 0;
}
C
${CC:-cc} -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -o chain chain.c || skip_all 'no compiler'
objcopy --remove-section .eh_frame --remove-section .eh_frame_hdr chain bare

# number NAME: a field of the label in the JSON of the last run
number() {
	tr ',{}' '\n\n\n' <out | sed -n "s/^ *\"$1\": *\([0-9]*\)\$/\1/p" | head -n 1
}

run "$tare" record -q --every 1ms --price 100% -o chain.tare -- ./chain
run "$tare" report --json chain.tare
kept=$(number kept)
whole=$(number whole_stacks)
check 'there are samples' test "${kept:-0}" -ge 200
check "at least 99 % of samples reach the root ($whole of $kept)" test "$((whole * 100))" -ge "$((kept * 99))"
run "$tare" report --all chain.tare
check 'the root has its name' out_has _start
check 'so has every function' out_has middle

run "$tare" record -q --every 1ms --price 100% -o bare.tare -- ./bare
run "$tare" report --json bare.tare
kept=$(number kept)
broken=$(number broken_stacks)
check "without .eh_frame stacks are broken ($broken of $kept)" test "$((broken * 100))" -ge "$((kept * 95))"
run "$tare" report --all bare.tare
check 'the report shows them as broken' out_has '[broken]'
check 'and makes a finding of it' out_has 'broken'
end
