/* test_marks.c - datagrams of a job: their words, who sent them, and floods. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/marks.h"
#include "core/scoped.h"

static bool parses(const char *text, struct mark *out)
{
	return mark_parse(text, strlen(text), out);
}

static bool names(const struct mark *m, const char *name)
{
	return m->name.len == strlen(name) && memcmp(m->name.bytes, name, m->name.len) == 0;
}

static void a_mark_is_a_word_and_a_name(void **state)
{
	struct mark m;

	(void)state;
	assert_true(parses("begin import of things", &m));
	assert_true(names(&m, "import of things") && !m.is_end && !m.is_of_parent);
	assert_true(parses("begin x\n", &m) && names(&m, "x"));
	assert_true(parses("begin x\n\n", &m) && names(&m, "x"));
	assert_true(parses("parent begin begin", &m));
	assert_true(names(&m, "begin") && m.is_of_parent);
	assert_true(parses("end", &m) && m.is_end && !m.is_of_parent);
	assert_true(parses("parent end\n", &m) && m.is_end && m.is_of_parent);
}

static void what_is_no_mark_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",	 "begin",   "begin ", "begin \n",	  "begin \n\n",
		"end x", "ends",    "import", "parent ",	  "parent",
		"\n",	 "BEGIN x", " end",   "parent parent end"
	};
	struct mark m;
	char large[MARKS_MOST_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (parses(wrong[i], &m))
			fail_msg("'%s' was taken for a mark", wrong[i]);
	assert_false(mark_parse("begin a\0b", 9, &m));
	memset(large, 'x', sizeof(large));
	memcpy(large, "begin ", 6);
	assert_true(mark_parse(large, MARKS_MOST_BYTES, &m));
	assert_false(mark_parse(large, sizeof(large), &m));
}

static void what_is_written_is_what_is_read(void **state)
{
	const struct mark all[] = {
		{ .name = STR_LITERAL("a b") },
		{ .name = STR_LITERAL("\x01\xff"), .is_of_parent = true },
		{ .is_end = true },
		{ .is_end = true, .is_of_parent = true },
	};
	char bytes[64];
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct mark m;

		assert_int_equal(mark_format(&all[i], bytes, sizeof(bytes), &len), 0);
		assert_true(mark_parse(bytes, len, &m));
		assert_int_equal(m.is_end, all[i].is_end);
		assert_int_equal(m.is_of_parent, all[i].is_of_parent);
		assert_int_equal(m.name.len, all[i].name.len);
		if (m.name.len > 0)
			assert_memory_equal(m.name.bytes, all[i].name.bytes, m.name.len);
	}
	assert_int_equal(mark_format(&all[0], bytes, 5, &len), -ENAMETOOLONG);
}

static void the_socket_is_ours_alone_and_says_who_sends(void **state)
{
	const struct mark mark = { .name = STR_LITERAL("import") };
	struct marks m = MARKS_EMPTY;
	struct marks_got got;
	struct stat st;
	char path[sizeof(m.path)];

	(void)state;
	assert_int_equal(marks_open(&m, NULL), 0);
	memcpy(path, m.path, sizeof(path));
	assert_int_equal(stat(m.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(m.folder, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_false(marks_peek(&m, &got));
	setenv(MARKS_ENV, m.path, 1);
	assert_int_equal(marks_send(&mark, 0, NULL), 0);
	assert_true(marks_peek(&m, &got));
	assert_true(marks_peek(&m, &got)); /* looking does not take */
	assert_int_equal(got.len, strlen("begin import"));
	assert_memory_equal(got.bytes, "begin import", got.len);
	assert_int_equal(got.sender, getpid());
	assert_true(got.sent_wall_ns > 0);
	marks_take(&m);
	assert_false(marks_peek(&m, &got));
	marks_close(&m);
	marks_close(&m);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(marks_send(&mark, 0, NULL), -ENOENT);
	unsetenv(MARKS_ENV);
	assert_int_equal(marks_send(&mark, 0, NULL), -ENOENT);
}

/* A flood fills the queue and is refused there; shut, the kernel takes it and throws it away, and the sender never waits. */
static void a_flood_costs_nothing(void **state)
{
	const struct mark mark = { .name = STR_LITERAL("import") };
	struct marks m = MARKS_EMPTY;
	struct marks_got got;
	int sent = 0;

	(void)state;
	assert_int_equal(marks_open(&m, NULL), 0);
	setenv(MARKS_ENV, m.path, 1);
	while (sent < 100000 && marks_send(&mark, 0, NULL) == 0)
		sent++;
	assert_in_range(sent, 1, 99999);
	assert_int_equal(marks_send(&mark, 0, NULL), -EAGAIN);
	marks_shut(&m, true);
	while (marks_peek(&m, &got))
		marks_take(&m);
	for (int i = 0; i < 10 * sent; i++)
		assert_int_equal(marks_send(&mark, 0, NULL), 0);
	assert_false(marks_peek(&m, &got));
	marks_shut(&m, false);
	assert_int_equal(marks_send(&mark, 0, NULL), 0);
	assert_true(marks_peek(&m, &got));
	marks_close(&m);
	unsetenv(MARKS_ENV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mark_is_a_word_and_a_name),
		cmocka_unit_test(what_is_no_mark_is_refused),
		cmocka_unit_test(what_is_written_is_what_is_read),
		cmocka_unit_test(the_socket_is_ours_alone_and_says_who_sends),
		cmocka_unit_test(a_flood_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
