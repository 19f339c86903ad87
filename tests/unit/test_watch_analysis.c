/* test_watch_analysis.c - what a watch's rows say of each function and of all. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "build_watch.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_analysis.h"

static void open_range(struct build_watch *b, uint64_t from_ns, uint64_t to_ns,
		       struct watch_analysis *a)
{
	struct err err = ERR_EMPTY;

	build_watch_sort(b);
	assert_int_equal(watch_analysis_open(&b->r, from_ns, to_ns, a, &err), 0);
}

static void open_all(struct build_watch *b, struct watch_analysis *a)
{
	open_range(b, 0, UINT64_MAX, a);
}

static const struct watched_answer *answer_of(const struct watch_analysis *a, const char *name)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->rows[i].row->name.len == strlen(name) &&
		    memcmp(a->rows[i].row->name.bytes, name, strlen(name)) == 0)
			return &a->rows[i];
	fail_msg("there is no %s", name);
	return NULL;
}

static bool is_near(double value, double want, double part)
{
	if (fabs(value - want) <= part * fabs(want))
		return true;
	print_message("%.9g is not %.9g\n", value, want);
	return false;
}

static void a_function_has_its_own_time_as_share_of_the_run(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls busy = {
		.calls = 1000001, .ns = 2300, .spread_ns = 500, .interval = 800, .own_part = 0.5
	};

	(void)state;
	build_watch_begin(&b);
	build_watched(&b, "busy");
	build_same(&b, 0, 0, 360, &busy);
	open_all(&b, &a);

	const struct watched_answer *f = answer_of(&a, "busy");

	/* 2,300 ns less a floor of 100: 2,200 in all, 1,050 of its own. */
	assert_true(is_near(f->count.value, 360000360, 0));
	assert_true(f->count.error == 0 && f->count.has_error);
	assert_true(is_near(f->total_of_run.value, 0.22, 0.001));
	assert_true(is_near(f->share_of_run.value, 0.105, 0.001));
	assert_true(f->share_of_run.error > 0 && f->share_of_run.error < 0.001);
	assert_true(is_near(a.all_of_run.value, 0.105, 0.001));
	assert_true(is_near(f->calls.mean_ns, 2200, 0.001));
	assert_int_equal(f->interval_least, 800);
	assert_int_equal(f->interval_largest, 800);
	assert_int_equal(a.functions, 1);
	assert_false(f->mean_growth.has_grown || f->p99_growth.has_grown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_has_its_own_time_as_share_of_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
