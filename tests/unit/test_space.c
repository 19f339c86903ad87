/* test_space.c - our own stack, walked and named. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "capture.h"

static struct capture sample;

static __attribute__((noinline)) void take_sample(void)
{
	ucontext_t context;

	getcontext(&context);
	capture_registers(&context, sample.copy.regs);
	capture_stack(&sample);
}

static void a_stack_reaches_the_start_of_the_program(void **state)
{
	struct spaces *s;
	static struct frame frames[SPACE_MAX_FRAMES];
	enum stack_end end;
	size_t count;

	(void)state;
	assert_int_equal(spaces_open(&s, NULL), 0);
	spaces_read(s, getpid());
	take_sample();
	count = spaces_walk(s, getpid(), &sample.copy, frames, SPACE_MAX_FRAMES, &end);
	for (size_t i = 0; i < count; i++)
		print_message("%.*s (%.*s)\n", (int)frames[i].name.len, frames[i].name.bytes,
			      (int)frames[i].module.len, frames[i].module.bytes);
	assert_int_equal(end, STACK_WHOLE);
	spaces_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_reaches_the_start_of_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
