/* test_ledger.c - windows in, at most 256 rows out, and nothing missing from the sum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/ledger.h"

/* Every member differs, in every window, so that a mixed-up sum shows. */
static struct ledger_row window_at(uint64_t i)
{
	return (struct ledger_row){ .id = 99,
				    .window_ns = 1000000000 + i,
				    .sample_ns = 3 * i + 1,
				    .kernel_ns = 5 * i + 2,
				    .save_ns = 7 * i + 3,
				    .start_ns = 11 * i + 4,
				    .fixed_ns = 13 * i + 5,
				    .ticks = 17 * i + 6,
				    .kept = 19 * i + 7,
				    .lost = 23 * i + 8,
				    .period_ns = 10000000 + i };
}

static void assert_same_row(const struct ledger_row *a, const struct ledger_row *b)
{
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->window_ns, b->window_ns);
	assert_int_equal(a->sample_ns, b->sample_ns);
	assert_int_equal(a->kernel_ns, b->kernel_ns);
	assert_int_equal(a->save_ns, b->save_ns);
	assert_int_equal(a->start_ns, b->start_ns);
	assert_int_equal(a->fixed_ns, b->fixed_ns);
	assert_int_equal(a->ticks, b->ticks);
	assert_int_equal(a->kept, b->kept);
	assert_int_equal(a->lost, b->lost);
	assert_int_equal(a->period_ns, b->period_ns);
}

/* What windows [from, to) add up to. */
static struct ledger_row sum_of(uint64_t from, uint64_t to)
{
	struct ledger_row sum = { 0 };

	for (uint64_t i = from; i < to; i++) {
		struct ledger_row w = window_at(i);

		sum.window_ns += w.window_ns;
		sum.sample_ns += w.sample_ns;
		sum.kernel_ns += w.kernel_ns;
		sum.save_ns += w.save_ns;
		sum.start_ns += w.start_ns;
		sum.fixed_ns += w.fixed_ns;
		sum.ticks += w.ticks;
		sum.kept += w.kept;
		sum.lost += w.lost;
		sum.period_ns = w.period_ns;
	}
	return sum;
}

static void each_row_is_the_sum_of_its_windows_at_any_length(void **state)
{
	struct ledger l;

	(void)state;
	assert_int_equal(ledger_init(&l), 0);
	for (uint64_t n = 1; n <= 5000; n++) {
		struct ledger_row w = window_at(n - 1);

		ledger_add(&l, &w);
		assert_true(l.used <= LEDGER_WINDOWS);
		if (n % 97 != 0 && n != 256 && n != 257 && n != 512 && n != 513)
			continue;
		uint64_t a_row = UINT64_C(1) << l.halvings;

		assert_int_equal(l.used, (n + a_row - 1) / a_row);
		for (uint32_t i = 0; i < l.used; i++) {
			uint64_t to = (i + 1) * a_row;
			struct ledger_row want = sum_of(i * a_row, to < n ? to : n);

			want.id = i;
			assert_same_row(&l.rows[i], &want);
		}
	}
	assert_int_equal(l.halvings, 5); /* 5000 windows in rows of 32 */
	ledger_free(&l);
}

static void it_halves_only_when_it_is_full(void **state)
{
	struct ledger l;
	struct ledger_row w = window_at(1);

	(void)state;
	assert_int_equal(ledger_init(&l), 0);
	for (unsigned i = 0; i < 256; i++)
		ledger_add(&l, &w);
	assert_int_equal(l.used, 256);
	assert_int_equal(l.halvings, 0);
	ledger_add(&l, &w);
	assert_int_equal(l.used, 129);
	assert_int_equal(l.halvings, 1);
	ledger_free(&l);
}

static void the_total_is_exact_after_a_year(void **state)
{
	enum { WINDOWS = 365 * 24 * 60 };
	struct ledger_row want = { 0 };
	struct ledger l;

	(void)state;
	assert_int_equal(ledger_init(&l), 0);
	for (uint64_t i = 0; i < WINDOWS; i++) {
		struct ledger_row w = window_at(i);

		ledger_add(&l, &w);
	}
	want = sum_of(0, WINDOWS);
	struct ledger_row total = ledger_total(&l);
	assert_same_row(&total, &want);
	assert_true(l.used > LEDGER_WINDOWS / 2 && l.used <= LEDGER_WINDOWS);
	ledger_free(&l);
}

static void an_empty_ledger_took_nothing(void **state)
{
	struct ledger_row zero = { 0 };
	struct changes changes = CHANGES_EMPTY;
	struct ledger l;

	(void)state;
	assert_int_equal(ledger_init(&l), 0);
	struct ledger_row total = ledger_total(&l);
	assert_same_row(&total, &zero);
	assert_int_equal(ledger_changes(&l, &changes), 0);
	assert_int_equal(changes.ledger_count, 0);
	assert_int_equal(changes.ledger_from, NO_ID);
	ledger_free(&l);
	ledger_free(&l);
	changes_free(&changes);
}

static void a_save_gets_what_changed_until_it_is_known_to_be_good(void **state)
{
	struct changes changes = CHANGES_EMPTY;
	struct ledger_row w = window_at(1);
	struct ledger l;

	(void)state;
	assert_int_equal(ledger_init(&l), 0);
	ledger_add(&l, &w);
	ledger_add(&l, &w);
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		changes_reset(&changes);
		assert_int_equal(ledger_changes(&l, &changes), 0);
		assert_int_equal(changes.ledger_count, 2);
		assert_int_equal(changes.ledger_from, NO_ID);
	}
	ledger_saved(&l);
	ledger_add(&l, &w);
	changes_reset(&changes);
	assert_int_equal(ledger_changes(&l, &changes), 0);
	assert_int_equal(changes.ledger_count, 1);
	assert_int_equal(changes.ledger[0].id, 2);
	ledger_free(&l);
	changes_free(&changes);
}

/* A store that applies changes as store.h says; it must come out as the ledger at every save. */
static void a_store_that_applies_the_changes_has_the_same_rows(void **state)
{
	struct ledger_row stored[LEDGER_WINDOWS];
	struct changes changes = CHANGES_EMPTY;
	uint32_t stored_count = 0;
	struct ledger l;

	(void)state;
	assert_int_equal(ledger_init(&l), 0);
	for (uint64_t i = 0; i < 3000; i++) {
		struct ledger_row w = window_at(i);

		ledger_add(&l, &w);
		if (i % 7 != 0 && i != 256)
			continue;
		changes_reset(&changes);
		assert_int_equal(ledger_changes(&l, &changes), 0);
		if (changes.ledger_from != NO_ID && changes.ledger_from < stored_count)
			stored_count = changes.ledger_from;
		for (uint32_t j = 0; j < changes.ledger_count; j++) {
			stored[changes.ledger[j].id] = changes.ledger[j];
			if (changes.ledger[j].id >= stored_count)
				stored_count = changes.ledger[j].id + 1;
		}
		ledger_saved(&l);
		assert_int_equal(stored_count, l.used);
		for (uint32_t j = 0; j < l.used; j++)
			assert_same_row(&stored[j], &l.rows[j]);
	}
	ledger_free(&l);
	changes_free(&changes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_is_the_sum_of_its_windows_at_any_length),
		cmocka_unit_test(it_halves_only_when_it_is_full),
		cmocka_unit_test(the_total_is_exact_after_a_year),
		cmocka_unit_test(an_empty_ledger_took_nothing),
		cmocka_unit_test(a_save_gets_what_changed_until_it_is_known_to_be_good),
		cmocka_unit_test(a_store_that_applies_the_changes_has_the_same_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
