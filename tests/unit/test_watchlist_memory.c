/* test_watchlist_memory.c - a watchlist while memory runs out: what fails counts nothing, and the next try makes it good. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "core/steps.h"
#include "core/units.h"
#include "core/watchlist.h"

/* The program is linked with --wrap for these: the n-th one fails, or all from one on. */
static long allocations, fails_at = -1, fails_from = -1;

static bool fails(void)
{
	long n = allocations++;

	return n == fails_at || (fails_from >= 0 && n >= fails_from);
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's --wrap asks for these names */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return fails() ? NULL : __real_reallocarray(old, count, size);
}
/* NOLINTEND(bugprone-reserved-identifier) */

#define WINDOW_NS (10 * NS_PER_S)
#define ROWS	  20u
#define WINDOWS	  12u
#define STEPS	  30u
#define CALLS	  (STEPS * 8)

static struct watchlist_settings settings(void)
{
	/* So little room that neighbours merge all the time, and histograms become coarse. */
	return (struct watchlist_settings){ .limits = { 10000, 8, 4096 },
					    .window_ns = WINDOW_NS,
					    .room_bytes = 40000,
					    .slow_ns = 5,
					    .seed = 1 };
}

static int add_row(struct watchlist *w)
{
	const struct watched_row row = { .name = STR_LITERAL("f"), .extra_ps = 1000 };
	uint32_t id;

	return watchlist_add(w, &row, &id);
}

static struct histogram times_of(uint32_t window)
{
	struct histogram times = HISTOGRAM_EMPTY;
	long failing = fails_at;

	fails_at = -1; /* it is the caller's */
	for (uint32_t i = 0; i < STEPS; i++)
		assert_int_equal(histogram_add(&times, window * 7 + i * 40, 8), 0);
	fails_at = failing;
	return times;
}

static int see(struct watchlist *w, uint32_t id, const struct histogram *times)
{
	const struct calls_seen seen = { .calls = CALLS,
					 .span_ns = WINDOW_NS,
					 .covered_ns = WINDOW_NS,
					 .others = STEPS,
					 .weight = CALLS,
					 .weight_squared = STEPS * 64 };

	return watchlist_seen(w, id, &seen, times, NULL);
}

static int slow(struct watchlist *w, uint64_t number)
{
	const struct frames_frame frame = { .duration_ns = 50 + number, .other_ns = 50 + number };

	return watchlist_slow(w, &frame, 41, number);
}

/* What a store that got all changes would have counted. */
struct kept {
	uint64_t calls[ROWS][512], weight[ROWS][512];
};

static void keep(struct kept *kept, const struct changes *c)
{
	if (c->windows_merged)
		memset(kept, 0, sizeof(*kept));
	for (uint32_t i = 0; i < c->window_count; i++) {
		kept->calls[c->windows[i].watched][c->windows[i].at] = c->windows[i].calls;
		kept->weight[c->windows[i].watched][c->windows[i].at] =
			c->windows[i].histogram.weight;
	}
}

static void assert_whole(const struct kept *kept, uint64_t windows)
{
	for (uint32_t id = 0; id < ROWS; id++) {
		uint64_t calls = 0, weight = 0;

		for (size_t at = 0; at < ARRAY_LEN(kept->calls[id]); at++) {
			calls += kept->calls[id][at];
			weight += kept->weight[id][at];
		}
		assert_int_equal(calls, windows * CALLS);
		assert_int_equal(weight, windows * CALLS);
	}
}

static long failures, tries;

/* Does `step` until it has memory; the n-th allocation from now on fails. */
#define UNTIL_IT_WORKS(n, step)                                \
	do {                                                   \
		fails_at = allocations + (n);                  \
		tries++;                                       \
		int status = (step);                           \
                                                               \
		fails_at = -1;                                 \
		assert_true(status == 0 || status == -ENOMEM); \
		failures += status != 0;                       \
		if (status != 0)                               \
			assert_int_equal((step), 0);           \
	} while (0)

static void save(struct watchlist *w, struct kept *kept, long n)
{
	struct changes changes = CHANGES_EMPTY;

	UNTIL_IT_WORKS(n, watchlist_changes(w, &changes));
	keep(kept, &changes);
	watchlist_saved(w);
	changes_free(&changes);
}

static void whatever_fails_is_made_good_by_the_next_try(void **state)
{
	static struct kept kept;

	(void)state;
	failures = tries = 0;
	for (long n = 0; n < 30; n++) {
		const struct watchlist_settings tight = settings();
		struct watchlist_turned turned;
		struct watch_row label = { 0 };
		struct watchlist *w = NULL;

		memset(&kept, 0, sizeof(kept));
		UNTIL_IT_WORKS(n, watchlist_open(&tight, &w, NULL));
		for (uint32_t i = 0; i < ROWS; i++)
			UNTIL_IT_WORKS(n, add_row(w));
		assert_int_equal(watchlist_count(w), ROWS);
		UNTIL_IT_WORKS(n, watchlist_set_why_not(w, 3, (struct str)STR_LITERAL("gone")));
		UNTIL_IT_WORKS(n, watchlist_set_why_not(w, 3, STR_EMPTY));
		for (uint32_t window = 0; window < WINDOWS; window++) {
			struct histogram times = times_of(window);

			for (uint32_t id = 0; id < ROWS; id++)
				UNTIL_IT_WORKS(n, see(w, id, &times));
			histogram_free(&times);
			UNTIL_IT_WORKS(n, slow(w, window));
			fails_at = allocations + n;
			assert_int_equal(watchlist_turn(w, WINDOW_NS, &turned), 0);
			fails_at = -1;
			assert_int_equal(turned.calls, ROWS * CALLS);
			save(w, &kept, n);
			assert_whole(&kept, window + 1);
		}
		watchlist_label(w, &label);
		assert_int_equal(label.calls, ROWS * WINDOWS * CALLS);
		assert_int_equal(label.slow, WINDOWS);
		assert_int_equal(label.lost_calls, 0); /* all were seen in time */
		assert_true(label.windows_in_row > 1);
		watchlist_close(w);
	}
	print_message("%ld of %ld failed\n", failures, tries);
	assert_true(failures > 300 && failures < tries);
}

static void rows_that_could_not_merge_are_not_saved_beside_merged_ones(void **state)
{
	static struct kept kept;
	const struct watchlist_settings tight = settings();
	long refused = 0;

	(void)state;
	for (long n = 0; n < 40; n++) {
		struct changes changes = CHANGES_EMPTY;
		struct histogram times = HISTOGRAM_EMPTY;
		struct watchlist_turned turned;
		struct watchlist *w = NULL;
		uint64_t seen = 0, lost = 0;
		struct watch_row label = { 0 };
		int status;

		assert_int_equal(watchlist_open(&tight, &w, NULL), 0);
		for (uint32_t i = 0; i < ROWS; i++)
			assert_int_equal(add_row(w), 0);
		for (uint32_t window = 0; window < 6; window++) {
			histogram_free(&times);
			times = times_of(window);
			for (uint32_t id = 0; id < ROWS; id++)
				assert_int_equal(see(w, id, &times), 0);
			assert_int_equal(watchlist_turn(w, WINDOW_NS, &turned), 0);
		}
		/* There is no memory any more, however long it goes on. */
		fails_from = allocations + n;
		for (uint32_t window = 6; window < 400; window++) {
			for (uint32_t id = 0; id < ROWS; id++) {
				bool is_seen = see(w, id, &times) == 0;

				seen += is_seen;
				lost += !is_seen;
			}
			assert_int_equal(watchlist_turn(w, WINDOW_NS, &turned), 0);
		}
		fails_from = -1;
		status = watchlist_changes(w, &changes);
		assert_true(status == 0 || status == -ENOMEM);
		refused += status != 0;
		assert_true(status == 0 || changes.window_count == 0);
		/* Then there is again. */
		changes_reset(&changes);
		assert_int_equal(watchlist_turn(w, WINDOW_NS, &turned), 0);
		assert_int_equal(watchlist_changes(w, &changes), 0);
		memset(&kept, 0, sizeof(kept));
		keep(&kept, &changes);
		for (uint32_t id = 0; id < ROWS; id++)
			for (size_t at = 0; at < ARRAY_LEN(kept.calls[id]); at++)
				seen -= kept.calls[id][at] / CALLS;
		assert_int_equal(seen + 6 * ROWS, 0);
		watchlist_label(w, &label);
		assert_int_equal(label.lost_calls, lost * CALLS);
		histogram_free(&times);
		changes_free(&changes);
		watchlist_close(w);
	}
	print_message("%ld refused\n", refused);
	assert_true(refused > 0);
}

static void bytes_with_more_steps_than_there_are_take_no_memory(void **state)
{
	static uint8_t bytes[40000];
	struct histogram out = HISTOGRAM_EMPTY;
	long before = allocations;

	(void)state;
	memset(bytes, 1, sizeof(bytes));
	bytes[0] = 0;
	assert_int_equal(steps_decode(bytes, 2 * BUCKET_COUNT + 3, &out), -EBADMSG);
	assert_int_equal(steps_decode(bytes, sizeof(bytes), &out), -EBADMSG);
	assert_int_equal(allocations, before);
	fails_at = allocations;
	assert_int_equal(steps_decode(bytes, 5, &out), -ENOMEM);
	fails_at = -1;
	assert_null(out.steps);
	assert_int_equal(steps_decode(bytes, 5, &out), 0);
	assert_int_equal(out.count, 2);
	histogram_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_fails_is_made_good_by_the_next_try),
		cmocka_unit_test(bytes_with_more_steps_than_there_are_take_no_memory),
		cmocka_unit_test(rows_that_could_not_merge_are_not_saved_beside_merged_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
