/* test_waits_why.c - why a thread waits, in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "bpf/waits.h"
#include "core/scoped.h"
#include "sense/waits_source.h"

static void assert_why(uint32_t why, long syscall, const char *want)
{
	struct str text = waits_why_text(why, (uint32_t)syscall);

	assert_int_equal(text.len, strlen(want));
	assert_memory_equal(text.bytes, want, text.len);
}

static void the_call_says_what_is_waited_for(void **state)
{
	(void)state;
	assert_why(WAITS_ASLEEP, SYS_futex, "[waits for a lock]");
	assert_why(WAITS_ASLEEP, SYS_wait4, "[waits for a child]");
	assert_why(WAITS_ASLEEP, SYS_getpid, "[waits]");
	assert_why(WAITS_ASLEEP, WAITS_NO_SYSCALL, "[waits]");
}

static void who_is_blocked_in_a_read_waits_for_a_disk_and_who_sleeps_for_input(void **state)
{
	(void)state;
	assert_why(WAITS_ASLEEP, SYS_read, "[waits for input]");
	assert_why(WAITS_BLOCKED, SYS_read, "[waits for a disk]");
	assert_why(WAITS_ASLEEP, SYS_pwrite64, "[waits for output]");
	assert_why(WAITS_BLOCKED, SYS_pwrite64, "[waits for a disk]");
	assert_why(WAITS_BLOCKED, SYS_unlink, "[waits for a disk]");
}

static void who_is_blocked_in_its_own_code_waits_for_memory(void **state)
{
	(void)state;
	assert_why(WAITS_BLOCKED, WAITS_NO_SYSCALL, "[waits for memory]");
}

/* Until its child executes or ends, the parent is blocked, and no disk has to do with it. */
static void a_parent_in_vfork_waits_for_its_child(void **state)
{
	(void)state;
	assert_why(WAITS_BLOCKED, SYS_vfork, "[waits for a child]");
	assert_why(WAITS_BLOCKED, SYS_clone3, "[waits for a child]");
}

static void whoever_could_run_is_runnable_whatever_it_was_doing(void **state)
{
	(void)state;
	assert_why(WAITS_PREEMPTED, SYS_read, "[runnable]");
	assert_why(WAITS_BORN, SYS_clone, "[runnable]");
	assert_why(WAITS_STOPPED, SYS_read, "[waits to be continued]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_call_says_what_is_waited_for),
		cmocka_unit_test(
			who_is_blocked_in_a_read_waits_for_a_disk_and_who_sleeps_for_input),
		cmocka_unit_test(who_is_blocked_in_its_own_code_waits_for_memory),
		cmocka_unit_test(a_parent_in_vfork_waits_for_its_child),
		cmocka_unit_test(whoever_could_run_is_runnable_whatever_it_was_doing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
