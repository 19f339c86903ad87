/* test_walk.c - stacks of real programs, stopped in known places and at every instruction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "traced.h"

static struct traced target;
static struct frame frames[SPACE_MAX_FRAMES];

/* The stack as "root;...;innermost", in `out`. */
static enum stack_end walk(struct spaces *s, char *out, size_t size)
{
	enum stack_end end;
	size_t count, len = 0;

	traced_sample(&target);
	count = spaces_walk(s, target.pid, &target.copy, frames, SPACE_MAX_FRAMES, &end);
	out[0] = '\0';
	for (size_t i = 0; i < count && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%.*s", i ? ";" : "",
					(int)frames[i].name.len, frames[i].name.bytes);
	return end;
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

#define FROM_START "_start;"

static const struct {
	const char *sentence, *program, *mode;
	enum stack_end end;
	const char *start, *inside, *last;
} cases[] = {
	{ "without frame pointers, to the start of the program", "walker", "chain", STACK_WHOLE,
	  FROM_START, ";main;", ";main;outer;middle;inner" },
	{ "through the frame of a signal", "walker", "signal", STACK_WHOLE, FROM_START, ";main;",
	  ";on_signal" },
	{ "through a library without frame pointers", "walker", "qsort", STACK_WHOLE, FROM_START,
	  ";main;qsort", ";compare" },
	{ "through a realigned stack", "walker", "realign", STACK_WHOLE, FROM_START, ";main;",
	  ";main;realigned;inner" },
	{ "from the start of a thread", "walker", "thread", STACK_WHOLE, "", "",
	  ";in_thread;outer;middle;inner" },
	{ "deeper than the copy is cut", "walker", "deep", STACK_CUT, "[cut];deep;deep;", "",
	  ";deep;deep" },
	{ "a frame larger than the copy is cut", "walker", "wide", STACK_CUT, "[cut];", "",
	  "[cut];wide" },
	{ "by frame pointers where nothing is described", "walker_fp", "chain", STACK_WHOLE,
	  FROM_START, ";main;", ";main;outer;middle;inner" },
	{ "by frame pointers through a library without", "walker_fp", "qsort", STACK_WHOLE,
	  FROM_START, ";main;qsort", ";compare" },
	{ "by frame pointers deeper than the copy is cut", "walker_fp", "deep", STACK_CUT,
	  "[cut];deep;deep;", "", ";deep;deep" },
	{ "blind, without frame pointers, is broken", "walker_blind", "chain", STACK_BROKEN,
	  "[broken];", "", ";inner" },
	{ "blind, behind a library, is broken", "walker_blind", "qsort", STACK_BROKEN, "[broken];",
	  "", ";compare" },
	{ "blind, in a thread, is broken", "walker_blind", "thread", STACK_BROKEN, "[broken];", "",
	  ";inner" },
	{ "stripped, by the starts of its functions", "walker_stripped", "chain", STACK_WHOLE,
	  FROM_START, ";[walker_stripped+0x", "]" },
};

static void stacks_are_walked_as_far_as_they_are_described(void **state)
{
	static char text[65536];
	char path[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct spaces *s;
		enum stack_end end;

		traced_path(cases[i].program, path);
		assert_true(traced_start(&target, path, cases[i].mode));
		assert_int_equal(spaces_open(&s, NULL), 0);
		end = walk(s, text, sizeof(text));
		print_message("%s: %.300s%s\n", cases[i].sentence, text,
			      strlen(text) > 300 ? "..." : "");
		assert_int_equal(end, cases[i].end);
		assert_true(starts_with(text, cases[i].start));
		assert_non_null(strstr(text, cases[i].inside));
		assert_true(ends_with(text, cases[i].last));
		spaces_close(s);
		traced_end(&target);
	}
}

/* Through prologues, epilogues, PLT stubs, the lazy resolver, malloc, printf, a signal and its return. */
static void every_instruction_has_a_whole_stack(void **state)
{
	static char text[65536];
	char path[PATH_MAX];
	struct spaces *s;
	size_t count = 0, broken = 0, in_stubs = 0;

	(void)state;
	traced_path("walker", path);
	assert_true(traced_start(&target, path, "steps"));
	assert_int_equal(spaces_open(&s, NULL), 0);
	do {
		enum stack_end end = walk(s, text, sizeof(text));

		if (end != STACK_WHOLE || !starts_with(text, FROM_START) ||
		    strstr(text, ";main;steps") == NULL) {
			broken++;
			print_message("step %zu: %s\n", count, text);
		}
		in_stubs += ends_with(text, "@plt") || ends_with(text, ";[plt]");
		count++;
	} while (!ends_with(text, ";inner") && traced_step(&target, 0) && count < 50000);
	print_message("%zu instructions, %zu in stubs\n", count, in_stubs);
	assert_true(count > 3000);
	assert_true(in_stubs > 10);
	assert_int_equal(broken, 0);
	spaces_close(s);
	traced_end(&target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_walked_as_far_as_they_are_described),
		cmocka_unit_test(every_instruction_has_a_whole_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
