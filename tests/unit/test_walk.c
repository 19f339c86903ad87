/* test_walk.c - stacks of real programs, stopped in known places and at every instruction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "sense/walk.h"
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
	{ "from a call that is its function's last instruction", "walker", "last", STACK_WHOLE,
	  FROM_START, ";main;", ";main;ends_with_a_call;never_back" },
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

/* Through prologues, epilogues, PLT entries, the lazy resolver, malloc, printf, a signal and its return. */
static void every_instruction_has_a_whole_stack(void **state)
{
	static char text[65536];
	char path[PATH_MAX];
	struct spaces *s;
	size_t count = 0, broken = 0, in_plt = 0;

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
		in_plt += ends_with(text, "@plt") || ends_with(text, ";[plt]");
		count++;
	} while (!ends_with(text, ";inner") && traced_step(&target, 0) && count < 50000);
	print_message("%zu instructions, %zu in PLT entries\n", count, in_plt);
	assert_true(count > 3000);
	assert_true(in_plt > 10);
	assert_int_equal(broken, 0);
	spaces_close(s);
	traced_end(&target);
}

/* Code that nothing describes, from 0x1000 on; a program starts at 0x2000. */
static struct walk_code find_bare(void *owner, uint64_t pc)
{
	(void)owner;
	return (struct walk_code){ .is_code = pc >= 0x1000 && pc < 0x3000,
				   .is_start = pc >= 0x2000 && pc < 0x2080 };
}

#define TOP UINT64_C(0x7ffc00000000)

/* A stack of two words, pushed at rbp, in a copy of `len` bytes; then where the walk ends. */
static const struct {
	const char *sentence;
	uint64_t pc, rbp, saved, ret;
	size_t len;
	enum stack_end end;
	size_t frames;
} links[] = {
	{ "an empty frame pointer alone proves nothing", 0x1000, 0, 0, 0, SPACE_STACK_BYTES,
	  STACK_BROKEN, 1 },
	{ "but it is the root where a program starts", 0x2010, 0, 0, 0, SPACE_STACK_BYTES,
	  STACK_WHOLE, 1 },
	{ "and behind a good link", 0x1000, TOP + 64, 0, 0x1100, SPACE_STACK_BYTES, STACK_WHOLE,
	  2 },
	{ "a return to what is no code is no link", 0x1000, TOP + 64, 0, 0x9000, SPACE_STACK_BYTES,
	  STACK_BROKEN, 1 },
	{ "a frame below the stack pointer is no link", 0x1000, TOP - 64, 0, 0x1100,
	  SPACE_STACK_BYTES, STACK_BROKEN, 1 },
	{ "a frame that is not aligned is no link", 0x1000, TOP + 63, 0, 0x1100, SPACE_STACK_BYTES,
	  STACK_BROKEN, 1 },
	{ "a circle is left", 0x1000, TOP + 64, TOP + 64, 0x1100, SPACE_STACK_BYTES, STACK_BROKEN,
	  2 },
	{ "beyond a full copy it is cut", 0x1000, TOP + 64, TOP + SPACE_STACK_BYTES, 0x1100,
	  SPACE_STACK_BYTES, STACK_CUT, 2 },
	{ "beyond a short copy it is broken: the stack ends there", 0x1000, TOP + 64, TOP + 8192,
	  0x1100, 8192, STACK_BROKEN, 2 },
	{ "the first frame pointer beyond the copy may be anything", 0x1000,
	  TOP + SPACE_STACK_BYTES, 0, 0, SPACE_STACK_BYTES, STACK_BROKEN, 1 },
};

static void frame_pointers_are_believed_only_when_they_make_sense(void **state)
{
	static uint64_t stack[SPACE_STACK_BYTES / 8];
	uint64_t pcs[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		struct stack_copy copy = { .has_user = true,
					   .bytes = (const uint8_t *)stack,
					   .len = links[i].len };
		enum stack_end end;

		print_message("%s\n", links[i].sentence);
		memset(stack, 0, sizeof(stack));
		stack[8] = links[i].saved;
		stack[9] = links[i].ret;
		copy.regs[DWARF_RSP] = TOP;
		copy.regs[DWARF_RBP] = links[i].rbp;
		copy.regs[DWARF_RIP] = links[i].pc;
		assert_int_equal(walk_stack(&copy, find_bare, NULL, pcs, 16, &end),
				 links[i].frames);
		assert_int_equal(end, links[i].end);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_walked_as_far_as_they_are_described),
		cmocka_unit_test(frame_pointers_are_believed_only_when_they_make_sense),
		cmocka_unit_test(every_instruction_has_a_whole_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
