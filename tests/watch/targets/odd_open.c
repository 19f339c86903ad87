/* odd_open.c - functions that are still running when the recording of them ends. Usage: odd_open SECONDS
 * stay() is entered once and stays so long; it goes through deep() four levels down, which calls work() on and on. */
#include "truth.h"

static uint64_t sum = 1, until_ns;

static WATCHED uint64_t work(uint64_t x)
{
	return spin(x, 100000);
}

static WATCHED uint64_t deep(uint64_t x, int levels)
{
	if (levels > 1) {
		x = deep(x, levels - 1);
		return x ^ x >> 29; /* a call and no jump */
	}
	while (now_ns() < until_ns)
		x = work(x);
	return x;
}

static WATCHED uint64_t stay(uint64_t x)
{
	return deep(work(x), 4) + 1;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;

	until_ns = now_ns() + seconds * 1000000000u;
	sum += stay(sum);
	say_calls("stay", 1);
	return sum == 0;
}
