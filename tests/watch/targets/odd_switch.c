/* odd_switch.c - a function in which stacks are switched: two coroutines that hand over to each other inside it.
 * Usage: odd_switch coroutine */
#include <ucontext.h>

#include "truth.h"

static uint64_t sum = 1;

/* The function that is right before and after: 200 us a call. */
static WATCHED uint64_t steady(uint64_t x)
{
	return spin(x, 200000);
}

static void run_steady(uint64_t calls)
{
	uint64_t from_ns = now_ns();

	for (uint64_t i = 0; i < calls; i++)
		sum += steady(i);
	say_time("steady", calls, now_ns() - from_ns);
	say_calls("steady", calls);
}

static ucontext_t first, second, whole;

static WATCHED uint64_t hand_over(uint64_t x, ucontext_t *from, ucontext_t *to)
{
	swapcontext(from, to);
	return x + 1;
}

static void run_first(void)
{
	for (uint64_t i = 0; i < 400; i++)
		sum = sum * 5 + hand_over(i, &first, &second);
	swapcontext(&first, &whole);
}

static void run_second(void)
{
	uint64_t own = 7;

	for (uint64_t i = 0; i < 500; i++) {
		own = own * 3 + hand_over(i, &second, &first);
		sum ^= own;
	}
	swapcontext(&second, &whole);
}

static int run_coroutine(void)
{
	static char stacks[2][65536];

	for (int low = 0; low < 2; low++) {
		getcontext(&first);
		first.uc_stack.ss_sp = stacks[low];
		first.uc_stack.ss_size = sizeof(stacks[0]);
		makecontext(&first, run_first, 0);
		getcontext(&second);
		second.uc_stack.ss_sp = stacks[1 - low];
		second.uc_stack.ss_size = sizeof(stacks[0]);
		makecontext(&second, run_second, 0);
		swapcontext(&whole, &first);
	}
	say_calls("hand_over", 2 * 800);
	run_steady(100);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = { { "coroutine", run_coroutine } };
	int status = run_mode(modes, sizeof(modes) / sizeof(modes[0]), argc > 1 ? argv[1] : NULL);

	printf("checksum %016" PRIx64 "\n", sum);
	return status;
}
