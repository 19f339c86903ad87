/* test_watch_no_memory.c - a watch's way from rows to words with the n-th allocation failing, n = 1 … all: no crash, no leak, and
 * a failure is said. Linked with --wrap, so that only our own calls fail. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_watch.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_findings.h"
#include "core/watch_verdict.h"
#include "few_blocks.h"

static int go(const struct build_watch *b)
{
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	SCOPED(findings_free) struct findings f = { .count = 0 };
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	struct err err = ERR_EMPTY;
	int status = watch_analysis_open(&b->r, 0, UINT64_MAX, &a, &err);

	if (status == 0)
		status = watch_findings_open(&b->r, &a, &f, &err);
	if (status != 0) {
		assert_non_null(strstr(err.msg, "out of memory"));
		return status;
	}
	watch_verdict_put(&t, &b->r, &a);
	return t.has_failed ? -ENOMEM : 0;
}

static void build(struct build_watch *b)
{
	struct build_calls did = { .calls = 801, .ns = 10100, .spread_ns = 2000, .interval = 8 };

	build_watch_begin(b);
	build_watched(b, "grows");
	build_watched(b, "stays");
	build_same(b, 0, 0, 6, &did);
	build_same(b, 1, 0, 12, &did);
	did.ns = 90100;
	build_same(b, 0, 6, 12, &did);
	build_unwatched(b, "gone", "not found");
	for (uint64_t i = 0; i < 6; i++) {
		build_slow(b, 97 * i, 60 * NS_PER_MS);
		build_part(b, 0, 40 * NS_PER_MS);
	}
	build_watch_sort(b);
}

static void every_allocation_may_fail(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	int status = -ENOMEM;
	long n = 0;

	(void)state;
	build(&b);
	for (; status == -ENOMEM && n < 10000; n++) {
		long before = blocks;

		left = n;
		status = go(&b);
		left = -1;
		assert_int_equal(blocks, before);
	}
	assert_int_equal(status, 0);
	assert_in_range(n, 20, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation_may_fail) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
