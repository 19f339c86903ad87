/* spinner.c - spends 50, 30 and 20 % of its CPU time in three functions, in random order, and says what each really
 * took by the thread's own clock: usage: spinner SECONDS SEED. Prints "alpha NS beta NS gamma NS". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static volatile uint64_t sink;

/* Each is a function of its own, and nothing else happens in it. */
#define SPIN(name, salt)                                                         \
	__attribute__((noinline, aligned(64))) static void name(unsigned rounds) \
	{                                                                        \
		uint64_t x = (salt);                                             \
		for (unsigned i = 0; i < rounds; i++)                            \
			x = x * 6364136223846793005u + (salt);                   \
		sink = x;                                                        \
	}
SPIN(alpha, 3)
SPIN(beta, 5)
SPIN(gamma_, 7)

int main(int argc, char **argv)
{
	static void (*const functions[])(unsigned) = { alpha, beta, gamma_ };
	uint64_t end_ns = (uint64_t)(1e9 * (argc > 1 ? atof(argv[1]) : 1.0));
	uint64_t random = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	uint64_t took_ns[3] = { 0 };
	uint64_t now_ns = cpu_ns();

	while (now_ns < end_ns) {
		unsigned tenth, chosen;
		uint64_t before_ns = now_ns;

		random = random * 6364136223846793005u + 1442695040888963407u;
		tenth = (unsigned)((random >> 33) % 10);
		chosen = tenth < 5 ? 0 : tenth < 8 ? 1 : 2;
		functions[chosen](200000);
		now_ns = cpu_ns();
		took_ns[chosen] += now_ns - before_ns;
	}
	printf("alpha %llu beta %llu gamma_ %llu\n", (unsigned long long)took_ns[0],
	       (unsigned long long)took_ns[1], (unsigned long long)took_ns[2]);
	return 0;
}
