/* late_plugin.c - what late.c loads: a chain of calls without frame pointers. */
#include <stdint.h>

void late_outer(uint64_t (*clock)(void), uint64_t until_ns);

__attribute__((noinline)) static void late_inner(uint64_t (*clock)(void), uint64_t until_ns)
{
	while (clock() < until_ns)
		for (volatile int i = 0; i < 20000; i++)
			;
}

__attribute__((visibility("default"))) void late_outer(uint64_t (*clock)(void), uint64_t until_ns)
{
	volatile char room[100];

	room[0] = 1;
	late_inner(clock, until_ns);
	room[99] = room[0];
}
