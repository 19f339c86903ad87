/* test_report.c - lines, whiskers and tables of `tare report`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_recording.h"
#include "cli/report.h"
#include "core/scoped.h"
#include "core/units.h"

static const struct {
	const char *name;
	struct share share;
	double axis;
	const char *want;
} whiskers[] = {
	{ "bar, interval, estimate", { .value = 0.6, .error = 0.2 }, 1, "━━━━├─┼─┤" },
	{ "the interval may begin at 0", { .value = 0.2, .error = 0.2 }, 1, "├─┼─┤" },
	{ "an interval under three cells has no ends",
	  { .value = 0.5, .error = 0.01 },
	  1,
	  "━━━━━━" },
	{ "the largest fills the axis", { .value = 0.44, .error = 0.001 }, 0.441, "━━━━━━━━━━" },
	{ "a giant is broken off", { .value = 0.7, .error = 0.02 }, 0.1, "━━━━━━━━//" },
	{ "coarse is dashed", { .value = 0.6, .error = 0.2, .is_coarse = true }, 1, "━━━━├┄┼┄┤" },
	{ "a small one still shows", { .value = 0.001, .error = 0.0001 }, 1, "━" },
	{ "nothing seen has no bar", { .value = 0, .error = 0.01 }, 1, "" },
	{ "no error has no bar", { .value = 0.5, .error = 1 }, 1, "" },
	{ "no axis has no bar", { .value = 0.5, .error = 0.1 }, 0, "" },
};

static void a_whisker_is_true_to_its_axis(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(whiskers); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		print_message("%s\n", whiskers[i].name);
		table_whisker(&t, whiskers[i].share, whiskers[i].axis, 10);
		assert_string_equal(text_chars(&t), whiskers[i].want);
	}
}

/* A screen whose lines can be read. */
struct paper {
	struct screen screen;
	char *bytes;
	size_t len;
};

static void paper_open(struct paper *p, unsigned columns, bool is_ascii)
{
	*p = (struct paper){ .screen = { .columns = columns, .is_ascii = is_ascii } };
	p->screen.out = open_memstream(&p->bytes, &p->len);
	assert_non_null(p->screen.out);
}

static const char *paper_read(struct paper *p)
{
	fflush(p->screen.out);
	return p->bytes;
}

static void paper_free(struct paper *p)
{
	fclose(p->screen.out);
	free(p->bytes);
	screen_free(&p->screen);
}

static void a_sentence_breaks_at_blanks_and_never_inside_a_number(void **state)
{
	static const char sentence[] = "one two 12" TEXT_NBSP "%" TEXT_NBSP "±" TEXT_NBSP "3 four";

	(void)state;
	for (int is_ascii = 0; is_ascii < 2; is_ascii++) {
		SCOPED(paper_free) struct paper p;

		paper_open(&p, 14, is_ascii);
		screen_to(&p.screen, 2);
		screen_wrap(&p.screen, sentence, 2);
		assert_string_equal(paper_read(&p), is_ascii ? "  one two\n  12 % +- 3\n  four\n"
							     : "  one two\n  12" TEXT_NBSP
							       "%" TEXT_NBSP "±" TEXT_NBSP
							       "3\n  four\n");
	}
}

static void a_name_keeps_to_its_columns_in_letters_too(void **state)
{
	static const struct str names[] = {
		STR_LITERAL("na\xc3\xafve_function_of_some_length"),
		STR_LITERAL("std::map<std::string, long>::find_or_insert_default(int)"),
		STR_LITERAL("\x1b[2J\xe2\x80\xae\xff\xff\xff\xff\xff\xff\xff"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		for (size_t columns = 6; columns < 60; columns++)
			for (int turn = 0; turn < 4; turn++) {
				SCOPED(paper_free) struct paper p;

				paper_open(&p, 80, turn & 1);
				screen_put_name(&p.screen, names[i], columns, turn & 2);
				assert_true(screen_column(&p.screen) <= columns);
				assert_true(screen_column(&p.screen) > 0);
			}
}

static void blanks_at_the_end_of_a_line_are_not_written(void **state)
{
	SCOPED(paper_free) struct paper p;

	(void)state;
	paper_open(&p, 80, false);
	screen_put(&p.screen, "x");
	screen_to(&p.screen, 40);
	screen_end(&p.screen);
	screen_put_right(&p.screen, "12", 4);
	screen_end(&p.screen);
	assert_string_equal(paper_read(&p), "x\n  12\n");
}

struct tables {
	struct build b;
	struct analysis a;
	struct report report;
};

static void tables_begin(struct tables *t)
{
	build_begin(&t->b);
	build_context(&t->b, "job/1/1 > main > a_function_with_a_rather_long_name_indeed",
		      70 * NS_PER_S, 7000);
	build_context(&t->b, "job/1/1 > main > b", 3 * NS_PER_S, 300);
	for (char c = 'c'; c < 'r'; c++) {
		char path[] = "job/1/1 > main > x";

		path[sizeof(path) - 2] = c;
		build_context(&t->b, path, NS_PER_S, 100);
	}
}

static void tables_open(struct tables *t)
{
	struct err err = ERR_EMPTY;

	t->a = ANALYSIS_EMPTY;
	assert_int_equal(analysis_open(&t->b.r, &t->a, &err), 0);
	t->report = (struct report){ .recording = &t->b.r, .analysis = &t->a };
}

static void tables_free(struct tables *t)
{
	analysis_free(&t->a);
	build_free(&t->b);
}

static size_t lines_of(const char *text)
{
	size_t lines = 0;

	for (; *text != '\0'; text++)
		lines += *text == '\n';
	return lines;
}

static void ten_functions_are_shown_and_the_rest_is_counted(void **state)
{
	SCOPED(tables_free) struct tables t;
	SCOPED(paper_free) struct paper p;

	(void)state;
	tables_begin(&t);
	tables_open(&t);
	paper_open(&p, 80, false);
	assert_int_equal(table_functions(&p.screen, &t.report, "where the time goes", false), 8);
	assert_int_equal(lines_of(paper_read(&p)), 1 + 10);
	assert_int_equal(table_functions(&p.screen, &t.report, "where the time goes", true), 0);
	assert_int_equal(lines_of(paper_read(&p)), 11 + 1 + 18);
}

static void every_marker_is_a_row_however_light(void **state)
{
	SCOPED(tables_free) struct tables t;
	SCOPED(paper_free) struct paper p;

	(void)state;
	tables_begin(&t);
	build_context(&t.b, "job/1/1 > [broken] > f", NS_PER_S / 100, 1);
	build_context(&t.b, "job/1/1 > [no stack]", NS_PER_S / 100, 1);
	t.b.r.label.clock_ns += NS_PER_S;
	tables_open(&t);
	paper_open(&p, 80, true);
	table_functions(&p.screen, &t.report, "where the time goes", false);
	assert_non_null(strstr(paper_read(&p), "\n[broken] "));
	assert_non_null(strstr(paper_read(&p), "\n[no stack] "));
	assert_non_null(strstr(paper_read(&p), "\n(unsampled)                 1.1 %\n"));
	assert_string_equal(strstr(paper_read(&p), "\n(unsampled)") + 1,
			    "(unsampled)                 1.1 %\n");
}

static void a_wide_terminal_gives_its_columns_to_names(void **state)
{
	SCOPED(tables_free) struct tables t;
	SCOPED(paper_free) struct paper p;

	(void)state;
	tables_begin(&t);
	tables_open(&t);
	paper_open(&p, 100, true);
	table_functions(&p.screen, &t.report, "where the time goes", false);
	assert_non_null(strstr(paper_read(&p),
			       "a_function_with_a_rather_long_name_indeed      79.5 % +- 0.9"));
	assert_non_null(strstr(paper_read(&p), "========//"));
}

static void a_narrow_terminal_goes_without_whiskers(void **state)
{
	SCOPED(tables_free) struct tables t;
	SCOPED(paper_free) struct paper p;

	(void)state;
	tables_begin(&t);
	tables_open(&t);
	paper_open(&p, 70, true);
	table_functions(&p.screen, &t.report, "where the time goes", false);
	assert_non_null(strstr(paper_read(&p), "a_function_with_a_rath..."));
	assert_null(strchr(paper_read(&p), '='));
}

static void threads_that_were_never_sampled_are_one_line(void **state)
{
	SCOPED(tables_free) struct tables t;
	SCOPED(paper_free) struct paper p;

	(void)state;
	tables_begin(&t);
	t.b.r.label.threads = 13;
	tables_open(&t);
	paper_open(&p, 80, true);
	table_threads(&p.screen, &t.report, false);
	assert_non_null(strstr(paper_read(&p), "\njob (1/1) "));
	assert_non_null(strstr(paper_read(&p), "\n12 more never sampled\n"));
}

static void eight_threads_are_shown_and_the_rest_is_counted(void **state)
{
	SCOPED(tables_free) struct tables t;
	SCOPED(paper_free) struct paper p;

	(void)state;
	tables_begin(&t);
	for (int i = 2; i < 12; i++) {
		char path[64];

		snprintf(path, sizeof(path), "worker/1/%d > run", i);
		build_context(&t.b, path, NS_PER_S, 100);
	}
	tables_open(&t);
	paper_open(&p, 80, true);
	table_threads(&p.screen, &t.report, false);
	assert_int_equal(lines_of(paper_read(&p)), 1 + 8 + 1);
	assert_non_null(strstr(paper_read(&p), "\n3 more: tare report --all\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whisker_is_true_to_its_axis),
		cmocka_unit_test(a_sentence_breaks_at_blanks_and_never_inside_a_number),
		cmocka_unit_test(a_name_keeps_to_its_columns_in_letters_too),
		cmocka_unit_test(blanks_at_the_end_of_a_line_are_not_written),
		cmocka_unit_test(ten_functions_are_shown_and_the_rest_is_counted),
		cmocka_unit_test(every_marker_is_a_row_however_light),
		cmocka_unit_test(a_wide_terminal_gives_its_columns_to_names),
		cmocka_unit_test(a_narrow_terminal_goes_without_whiskers),
		cmocka_unit_test(threads_that_were_never_sampled_are_one_line),
		cmocka_unit_test(eight_threads_are_shown_and_the_rest_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
