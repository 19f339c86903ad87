/* test_ptrace_regs.c - registers of a stopped thread, and the text that stands for a waiting one's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "sense/ptrace_regs.h"

#define CODE_64	       0x33u
#define ERESTARTNOHAND 514 /* the kernel's: begin again, but with EINTR when a handler runs */
#define CODE_32	       0x23u

static void what_the_kernel_says_of_a_thread_is_read(void **state)
{
	static const struct {
		const char *text;
		bool is_read, is_running;
		uint64_t sp, pc;
	} cases[] = {
		{ "running\n", true, true, 0, 0 },
		{ "202 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffe0010 0x7f0020\n", true, false, 0x7ffe0010,
		  0x7f0020 },
		{ "-1 0x7ffe0010 0x7f0020\n", true, false, 0x7ffe0010, 0x7f0020 },
		{ "", false, false, 0, 0 },
		{ "runs", false, false, 0, 0 },
		{ "202 0x1 0x2\n", false, false, 0, 0 },
		{ "202 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffe0010", false, false, 0, 0 },
		{ "1 2", false, false, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ptrace_place place = { .is_running = false };

		print_message("'%s'\n", cases[i].text);
		assert_int_equal(ptrace_place_parse(cases[i].text, &place), cases[i].is_read);
		assert_int_equal(place.is_running, cases[i].is_running);
		assert_int_equal(place.sp, cases[i].sp);
		assert_int_equal(place.pc, cases[i].pc);
	}
}

static struct user_regs_struct at_call(uint64_t number, int64_t result)
{
	return (struct user_regs_struct){ .cs = CODE_64,
					  .orig_rax = number,
					  .rax = (uint64_t)result,
					  .rip = 0x1002,
					  .rdx = 100 };
}

static void only_a_wait_that_we_ended_is_begun_again(void **state)
{
	static const struct {
		const char *sentence;
		uint64_t number;
		int64_t result;
		uint64_t cs;
		bool is_undone;
	} cases[] = {
		{ "epoll_wait that said EINTR", SYS_epoll_wait, -EINTR, CODE_64, true },
		{ "a socket's read with a limit of time", SYS_read, -EINTR, CODE_64, true },
		{ "epoll_wait that found something", SYS_epoll_wait, 1, CODE_64, false },
		{ "what the kernel begins again itself", SYS_poll, -516, CODE_64, false },
		{ "close: it is closed all the same", SYS_close, -EINTR, CODE_64, false },
		{ "connect: it goes on all the same", SYS_connect, -EINTR, CODE_64, false },
		{ "no call at all", UINT64_MAX, -EINTR, CODE_64, false },
		{ "a 32-bit program: its calls have other numbers", SYS_epoll_wait, -EINTR, CODE_32,
		  false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct user_regs_struct regs = at_call(cases[i].number, cases[i].result);
		bool is_undone;

		regs.cs = cases[i].cs;
		is_undone = ptrace_regs_undo_eintr(&regs);
		print_message("%s\n", cases[i].sentence);
		assert_int_equal(is_undone, cases[i].is_undone);
		assert_int_equal(regs.rip, 0x1002);
		assert_int_equal(regs.orig_rax, cases[i].number);
		assert_int_equal(regs.rax,
				 (uint64_t)(is_undone ? -ERESTARTNOHAND : cases[i].result));
	}
}

static void a_write_that_came_back_short_may_have_been_cut(void **state)
{
	struct user_regs_struct regs = at_call(SYS_write, 99);

	(void)state;
	assert_true(ptrace_regs_is_cut(&regs));
	regs = at_call(SYS_write, 100);
	assert_false(ptrace_regs_is_cut(&regs));
	regs = at_call(SYS_write, -EAGAIN);
	assert_false(ptrace_regs_is_cut(&regs));
	regs = at_call(SYS_read, 99);
	assert_false(ptrace_regs_is_cut(&regs));
}

static void registers_go_to_their_dwarf_numbers(void **state)
{
	const struct user_regs_struct regs = { .rax = 1,
					       .rdx = 2,
					       .rcx = 3,
					       .rbx = 4,
					       .rsi = 5,
					       .rdi = 6,
					       .rbp = 7,
					       .rsp = 8,
					       .r8 = 9,
					       .r9 = 10,
					       .r10 = 11,
					       .r11 = 12,
					       .r12 = 13,
					       .r13 = 14,
					       .r14 = 15,
					       .r15 = 16,
					       .rip = 17,
					       .cs = CODE_64,
					       .orig_rax = UINT64_MAX };
	struct user_regs_struct narrow = regs;
	struct stack_copy copy = { .has_user = false };

	(void)state;
	ptrace_regs_copy(&regs, &copy);
	assert_true(copy.has_user);
	for (size_t i = 0; i < DWARF_REG_COUNT; i++)
		assert_int_equal(copy.regs[i], i + 1);
	assert_false(ptrace_regs_in_call(&regs));
	narrow.cs = CODE_32;
	narrow.orig_rax = SYS_read;
	ptrace_regs_copy(&narrow, &copy);
	assert_false(copy.has_user);
	assert_true(ptrace_regs_in_call(&narrow));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kernel_says_of_a_thread_is_read),
		cmocka_unit_test(only_a_wait_that_we_ended_is_begun_again),
		cmocka_unit_test(a_write_that_came_back_short_may_have_been_cut),
		cmocka_unit_test(registers_go_to_their_dwarf_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
