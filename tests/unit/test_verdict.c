/* test_verdict.c - the answer in one sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "build_recording.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/verdict.h"

static void says(const struct build *b, const char *want)
{
	SCOPED(analysis_free) struct analysis a = ANALYSIS_EMPTY;
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	struct err err = ERR_EMPTY;

	assert_int_equal(analysis_open(&b->r, &a, &err), 0);
	verdict_put(&t, &b->r, &a);
	for (char *c = t.bytes; c != NULL && (c = strstr(c, TEXT_NBSP)) != NULL;) {
		*c = ' ';
		memmove(c + 1, c + 2, strlen(c + 1));
	}
	assert_string_equal(text_chars(&t), want);
}

static void a_place_that_stands_out_is_named_with_share_state_and_line(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > Parser::parse(char const*)@src/parser.cpp:310", 44000,
		      4400);
	build_context(&b, "job/1/1 > main > f", 26000, 2600);
	build_context(&b, "job/1/1 > main > g", 30000, 3000);
	says(&b, "44.0 % ± 1.0 running in Parser::parse, parser.cpp:310");
}

static void a_place_without_a_file_is_named_alone(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > crc32", 44000, 4400);
	build_context(&b, "job/1/1 > main", 56000, 5600);
	b.r.contexts[1].running_ns = 0;
	b.r.contexts[1].waiting_ns = 56000;
	says(&b, "56.0 % ± 1.0 waiting in main");
}

static void a_job_that_mostly_waits_says_for_what_and_where(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > fetch@orders.c:88 > [waits for a socket]", 61000, 6100);
	build_context(&b, "job/1/1 > main > fetch@orders.c:88 > [waits for a timer]", 4000, 400);
	build_context(&b, "job/1/1 > main > sort", 35000, 3500);
	for (int i = 0; i < 2; i++) {
		b.r.contexts[i].waiting_ns = b.r.contexts[i].running_ns;
		b.r.contexts[i].running_ns = 0;
	}
	says(&b, "65.0 % ± 1.0 waiting for a socket in fetch, orders.c:88");
}

/* A shell that waits for what it started: the children are where the time goes, when they are in the recording. */
static void who_waits_for_a_child_that_is_watched_is_no_answer(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	build_context(&b, "sh/1/1 > main > waitpid > [waits for a child]", 56000, 5600);
	build_context(&b, "job/2/2 > main > sort", 44000, 4400);
	b.r.contexts[0].waiting_ns = b.r.contexts[0].running_ns;
	b.r.contexts[0].running_ns = 0;
	says(&b, "56.0 % ± 1.0 waiting for a child in waitpid");
	b.r.label.processes = 2;
	says(&b, "44.0 % ± 1.0 running in sort");
}

/* There is nothing else to be said. */
static void a_job_that_only_waits_for_children_says_so(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	build_context(&b, "sh/1/1 > main > waitpid > [waits for a child]", 56000, 5600);
	b.r.contexts[0].waiting_ns = b.r.contexts[0].running_ns;
	b.r.contexts[0].running_ns = 0;
	b.r.label.processes = 2;
	says(&b, "over 99.94 % waiting for a child in waitpid");
}

static void being_runnable_is_no_reason_to_wait(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > fetch > [waits for a lock]", 25000, 2500);
	build_context(&b, "job/1/1 > main > fetch > [waits for a socket]", 24000, 2400);
	build_context(&b, "job/1/1 > main > fetch > [runnable]", 40000, 4000);
	build_context(&b, "job/1/1 > main > sort", 11000, 1100);
	b.r.contexts[0].waiting_ns = 25000;
	b.r.contexts[1].waiting_ns = 24000;
	b.r.contexts[2].runnable_ns = 40000;
	for (int i = 0; i < 3; i++)
		b.r.contexts[i].running_ns = 0;
	says(&b, "89.0 % ± 0.6 waiting for a lock in fetch");
}

static void a_wait_for_what_is_not_known_is_only_a_wait(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > [waits]", 56000, 5600);
	build_context(&b, "job/1/1 > main > sort", 44000, 4400);
	b.r.contexts[0].running_ns = 0;
	b.r.contexts[0].waiting_ns = 56000;
	says(&b, "56.0 % ± 1.0 waiting in main");
}

static void a_share_under_ten_percent_does_not_stand_out(void **state)
{
	SCOPED(build_free) struct build b;
	char path[64];

	(void)state;
	build_begin(&b);
	for (char c = 'a'; c <= 'p'; c++) {
		strcpy(path, "job/1/1 > main > fx");
		path[strlen(path) - 1] = c;
		build_context(&b, path, 6200, 620);
	}
	says(&b, "No place stands out: the largest is fa, 6.2 % ± 0.5");
}

static void a_share_whose_lower_end_is_under_five_percent_does_not_stand_out(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > a", 110, 11);
	for (char c = 'b'; c <= 'j'; c++) {
		char path[] = "job/1/1 > main > x";

		path[sizeof(path) - 2] = c;
		build_context(&b, path, 98, 10);
	}
	says(&b, "No place stands out: the largest is a, 11 % ± 7");
}

static void few_samples_are_coarse(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > gzencode", 32000, 20);
	build_context(&b, "job/1/1 > main", 28800, 18);
	says(&b, "Coarse, 38 samples: 53 % ± 18 running in gzencode");
}

static void one_span_tells_no_error_so_no_number_is_said(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	b.r.label.batches = 1;
	build_context(&b, "job/1/1 > main > gzencode", 20, 2);
	build_context(&b, "job/1/1 > main", 10, 1);
	says(&b, "Coarse, 3 samples: most often running in gzencode");
}

static void an_unfinished_recording_says_until_when(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > Cache::get", 58000, 5800);
	build_context(&b, "job/1/1 > main", 42000, 4200);
	b.r.label.is_finished = false;
	b.r.label.saved_wall_ns =
		(int64_t)((UINT64_C(20420) * 86400 + 3 * 3600 + 11 * 60 + 40) * NS_PER_S);
	says(&b, "Unfinished, saved until 03:11:40: 58.0 % ± 1.0 running in Cache::get");
}

static void unfinished_and_coarse_are_both_said(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > f", 320, 32);
	build_context(&b, "job/1/1 > main", 80, 8);
	b.r.label.is_finished = false;
	b.r.label.saved_wall_ns = 0;
	says(&b, "Unfinished, saved until 00:00:00, coarse, 40 samples: 80 % ± 14 running in f");
}

static void a_hostile_name_is_harmless_in_the_sentence(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	build_hostile(&b, "job/1/1", (struct str)STR_LITERAL("\x1b[2J\xe2\x80\xaeh\0x"), 58000,
		      5800);
	build_context(&b, "job/1/1 > main", 42000, 4200);
	says(&b, "58.0 % ± 1.0 running in \\x1b[2J\\u{202e}h\\x00x");
}

static void no_samples_say_why(void **state)
{
	SCOPED(build_free) struct build b;

	(void)state;
	build_begin(&b);
	b.r.label.elapsed_ns = 4 * NS_PER_MS;
	says(&b, "No samples: it ran 4 ms, under one period");
	b.r.label.elapsed_ns = 30 * NS_PER_S;
	b.r.label.clock_ns = 3 * NS_PER_MS;
	says(&b, "No samples: it used 3 ms of CPU time in 30 s, under one period");
	b.r.label.lost = 1200;
	says(&b, "No samples: 1,200 were lost");
	b.r.label.lost = 0;
	b.r.label.clock_ns = 3 * NS_PER_S;
	says(&b, "No samples: it used 3 s of CPU time and none was kept");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_that_stands_out_is_named_with_share_state_and_line),
		cmocka_unit_test(a_place_without_a_file_is_named_alone),
		cmocka_unit_test(a_job_that_mostly_waits_says_for_what_and_where),
		cmocka_unit_test(who_waits_for_a_child_that_is_watched_is_no_answer),
		cmocka_unit_test(a_job_that_only_waits_for_children_says_so),
		cmocka_unit_test(being_runnable_is_no_reason_to_wait),
		cmocka_unit_test(a_wait_for_what_is_not_known_is_only_a_wait),
		cmocka_unit_test(a_share_under_ten_percent_does_not_stand_out),
		cmocka_unit_test(a_share_whose_lower_end_is_under_five_percent_does_not_stand_out),
		cmocka_unit_test(few_samples_are_coarse),
		cmocka_unit_test(one_span_tells_no_error_so_no_number_is_said),
		cmocka_unit_test(an_unfinished_recording_says_until_when),
		cmocka_unit_test(unfinished_and_coarse_are_both_said),
		cmocka_unit_test(a_hostile_name_is_harmless_in_the_sentence),
		cmocka_unit_test(no_samples_say_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
