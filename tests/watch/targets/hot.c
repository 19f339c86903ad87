/* hot.c - calls a function of hot_library at a rate. Usage: hot nop5|push|other CALLS-A-SECOND|0 SECONDS [free|paced]
 *   free   each call is followed by so much work of our own that unwatched it comes to the rate: probes slow it (default)
 *   paced  the clock decides: probes take from what would be idle
 *   0      as fast as it goes
 * Standard output is lines "NS CPU-NS CALLS" of CLOCK_MONOTONIC, its own CPU time and the calls so far, ten a second, so that
 * whoever watches for a while can tell the true rate before, meanwhile and after; and, by CPU time, what was taken from it
 * even while others want the machine too. */
#include "truth.h"

extern uint64_t hot_calls;
uint64_t hot_nop5(uint64_t x);
uint64_t hot_push(uint64_t x);
uint64_t hot_other(uint64_t x);

#define TELL_NS 100000000u

static volatile uint64_t sink;

static uint64_t steps_of(uint64_t x, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++)
		x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + 1;
	return x;
}

/* Steps of our own work that take `ns`: by the fastest of 20. */
static uint64_t steps_in(uint64_t ns)
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t from_ns = now_ns(), took_ns;

		sink += steps_of(sink, 1000000);
		took_ns = now_ns() - from_ns;
		best_ns = took_ns < best_ns ? took_ns : best_ns;
	}
	return ns * 1000000 / best_ns;
}

static uint64_t cpu_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static void call_for(uint64_t (*call)(uint64_t), uint64_t steps, uint64_t until_ns)
{
	/* The clock is read about every 20 us. */
	uint64_t calls = steps == 0 ? 10000 : 1 + 10000 / steps;

	while (now_ns() < until_ns)
		for (uint64_t i = 0; i < calls; i++)
			sink += call(steps_of(sink, steps));
}

static void call_paced(uint64_t (*call)(uint64_t), uint64_t rate, uint64_t until_ns)
{
	static uint64_t from_ns;
	uint64_t at_ns = now_ns();

	from_ns = from_ns == 0 ? at_ns : from_ns;
	for (; at_ns < until_ns; at_ns = now_ns()) {
		uint64_t due = (uint64_t)((double)(at_ns - from_ns) * 1e-9 * (double)rate);

		while (hot_calls < due)
			sink += call(sink);
	}
}

int main(int argc, char **argv)
{
	uint64_t (*call)(uint64_t) = hot_other;
	uint64_t rate, at_ns, until_ns, steps;
	int is_paced;

	if (argc < 4)
		return 2;
	call = strcmp(argv[1], "nop5") == 0 ? hot_nop5 : call;
	call = strcmp(argv[1], "push") == 0 ? hot_push : call;
	rate = strtoull(argv[2], NULL, 10);
	steps = rate == 0 ? 0 : steps_in(1000000000 / rate);
	is_paced = argc > 4 && strcmp(argv[4], "paced") == 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	at_ns = now_ns();
	until_ns = at_ns + strtoull(argv[3], NULL, 10) * 1000000000;
	while (at_ns < until_ns) {
		if (is_paced)
			call_paced(call, rate, at_ns + TELL_NS);
		else
			call_for(call, steps, at_ns + TELL_NS);
		at_ns = now_ns();
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", at_ns, cpu_ns(), hot_calls);
	}
	return 0;
}
