/* odd_stack.c - functions that are left, or come back to, in odd ways: recursion, longjmp, a signal handler's jump, threads
 * that end inside, tail calls. Usage: odd_stack MODE */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* ---- recursion ---- */

static WATCHED uint64_t deep(uint64_t depth)
{
	uint64_t x = depth == 0 ? spin(1, 1000000) : deep(depth - 1);

	__asm__ volatile("" : "+r"(x)); /* no tail call, no loop */
	return x * 3 + depth;
}

static int run_recursion(void)
{
	for (int i = 0; i < 20; i++) {
		uint64_t from_ns = now_ns();

		sum += deep(199);
		say_time("deepest", 1, now_ns() - from_ns);
	}
	say_calls("deep", 20 * 200);
	run_steady(100);
	return 0;
}

static WATCHED uint64_t inner(uint64_t x)
{
	return spin(x, 300000);
}

static WATCHED uint64_t outer(uint64_t x)
{
	uint64_t y = spin(x, 100000);

	y += inner(y);
	y += inner(y);
	return y + 1;
}

static int run_nested(void)
{
	uint64_t from_ns = now_ns();

	for (uint64_t i = 0; i < 200; i++)
		sum += outer(i);
	say_time("outer", 200, now_ns() - from_ns);
	say_calls("outer", 200);
	say_calls("inner", 400);
	return 0;
}

/* ---- jumps ---- */

static sigjmp_buf back;

static WATCHED uint64_t leap(uint64_t x, int is_leaping)
{
	uint64_t y = spin(x, is_leaping ? 1000 : 200000);

	if (is_leaping)
		siglongjmp(back, 1);
	return y;
}

static WATCHED uint64_t carry(uint64_t x, int is_leaping)
{
	return leap(x, is_leaping) + 1;
}

static int run_longjmp(void)
{
	uint64_t from_ns;

	for (volatile int i = 0; i < 1000; i++)
		if (sigsetjmp(back, 0) == 0)
			sum += carry((uint64_t)i, 1);
	from_ns = now_ns();
	for (uint64_t i = 0; i < 100; i++)
		sum += carry(i, 0);
	say_time("leap", 100, now_ns() - from_ns);
	say_calls("leap", 1100);
	say_calls("carry", 1100);
	run_steady(100);
	return 0;
}

static void jump_out(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static WATCHED uint64_t struck(uint64_t x)
{
	if (x < 500)
		raise(SIGUSR1);
	return spin(x, 200000);
}

static int run_signal(void)
{
	signal(SIGUSR1, jump_out);
	for (volatile int i = 0; i < 600; i++)
		if (sigsetjmp(back, 1) == 0)
			sum += struck((uint64_t)i);
	say_calls("struck", 600);
	run_steady(100);
	return 0;
}

/* ---- threads that end inside ---- */

static WATCHED void *leave(void *how)
{
	if (how == NULL)
		pthread_exit(NULL);
	return how;
}

static int run_pthread_exit(void)
{
	pthread_t thread;

	for (int i = 0; i < 500; i++) {
		if (pthread_create(&thread, NULL, leave, NULL) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	for (uintptr_t i = 1; i <= 100; i++)
		sum += (uintptr_t)leave((void *)i);
	say_calls("leave", 600);
	run_steady(100);
	return 0;
}

static WATCHED void *vanish(void *how)
{
	if (how != NULL)
		syscall(SYS_exit, 0);
	sum += spin(1, 200000);
	return NULL;
}

static int run_threads(void)
{
	static char stack[4][65536];
	pthread_attr_t with;
	pthread_t thread;
	uint64_t from_ns;

	pthread_attr_init(&with);
	for (int i = 0; i < 20000; i++) {
		pthread_attr_setstack(&with, stack[i % 4], sizeof(stack[0]));
		if (pthread_create(&thread, &with, vanish, stack) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	from_ns = now_ns();
	for (int i = 0; i < 100; i++)
		vanish(NULL);
	say_time("vanish", 100, now_ns() - from_ns);
	say_calls("vanish", 20100);
	run_steady(100);
	return 0;
}

/* ---- tail calls: both jump at -O2 ---- */

static WATCHED uint64_t tail_end(uint64_t x)
{
	return spin(x, 200000);
}

/* Apart, so that the caller has no frame of its own to leave. */
static __attribute__((noinline)) void dawdle(uint64_t x)
{
	spin(x, 100000);
}

static WATCHED uint64_t tail_call(uint64_t x)
{
	if (x % 2 == 0)
		dawdle(x);
	return tail_end(x + 1);
}

static int run_tail(void)
{
	uint64_t from_ns = now_ns();

	for (uint64_t i = 0; i < 400; i++)
		sum += tail_call(i);
	say_time("tail_call", 400, now_ns() - from_ns);
	say_calls("tail_call", 400);
	say_calls("tail_end", 400);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{ "recursion", run_recursion },
		{ "nested", run_nested },
		{ "longjmp", run_longjmp },
		{ "signal", run_signal },
		{ "pthread_exit", run_pthread_exit },
		{ "threads", run_threads },
		{ "tail", run_tail },
	};
	int status = run_mode(modes, sizeof(modes) / sizeof(modes[0]), argc > 1 ? argv[1] : NULL);

	printf("checksum %016" PRIx64 "\n", sum);
	return status;
}
