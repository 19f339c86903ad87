/* odd_pace.c - patterns that trap a sampler: dearness in step with the interval, a cold first call, bursts, and a function
 * that is dear only because its callees are watched too. Usage: odd_pace MODE [COUNT] */
#include <unistd.h>

#include "truth.h"

static uint64_t sum = 1;
static uint64_t count;

/* Every `count`-th call is ten times as dear. */
static WATCHED uint64_t stepped(uint64_t x)
{
	return spin(x, x % count == 0 ? 50000 : 5000);
}

static int run_pattern(void)
{
	uint64_t from_ns = now_ns();

	for (uint64_t i = 0; i < 40000; i++)
		sum += stepped(i);
	say_time("stepped", 40000, now_ns() - from_ns);
	say_calls("stepped", 40000);
	return 0;
}

/* `count` calls, the first ten times as dear. */
static WATCHED uint64_t cold(uint64_t x)
{
	return spin(x, x == 0 ? 5000000 : 500000);
}

static int run_cold(void)
{
	uint64_t from_ns = now_ns();

	for (uint64_t i = 0; i < count; i++)
		sum += cold(i);
	say_time("cold", count, now_ns() - from_ns);
	say_calls("cold", count);
	return 0;
}

static WATCHED uint64_t burst(uint64_t x)
{
	return spin(x, 20000);
}

/* `count` bursts of 1,000 calls, 300 ms apart. */
static int run_bursts(void)
{
	uint64_t busy_ns = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t from_ns = now_ns();

		for (uint64_t k = 0; k < 1000; k++)
			sum += burst(k);
		busy_ns += now_ns() - from_ns;
		usleep(300000);
	}
	say_time("burst", count * 1000, busy_ns);
	say_calls("burst", count * 1000);
	return 0;
}

/* About as long as an addition: what is spent in it under probes is the probes' own. */
static WATCHED uint64_t tiny(uint64_t x)
{
	return x * 3 + 1;
}

/* About 60 us a call of its own. */
static WATCHED uint64_t own_heavy(uint64_t x)
{
	for (int i = 0; i < 30000; i++)
		x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + 1;
	return x;
}

/* About 20 us a call, and 100 calls of tiny(). */
static WATCHED uint64_t callee_heavy(uint64_t x)
{
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 100; k++)
			x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + 1;
		x += tiny(x);
	}
	return x;
}

static int run_heavy(void)
{
	uint64_t own_ns = 0, callee_ns = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t at_ns[3];

		at_ns[0] = now_ns();
		sum += own_heavy(i);
		at_ns[1] = now_ns();
		sum += callee_heavy(i);
		at_ns[2] = now_ns();
		own_ns += at_ns[1] - at_ns[0];
		callee_ns += at_ns[2] - at_ns[1];
	}
	say_time("own_heavy", count, own_ns);
	say_time("callee_heavy", count, callee_ns);
	say_calls("own_heavy", count);
	say_calls("callee_heavy", count);
	say_calls("tiny", count * 100);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{ "pattern", run_pattern },
		{ "cold", run_cold },
		{ "bursts", run_bursts },
		{ "heavy", run_heavy },
	};
	int status;

	count = argc > 2 ? strtoull(argv[2], NULL, 10) : 8;
	if (count == 0)
		return 2;
	status = run_mode(modes, sizeof(modes) / sizeof(modes[0]), argc > 1 ? argv[1] : NULL);
	printf("checksum %016" PRIx64 "\n", sum);
	return status;
}
