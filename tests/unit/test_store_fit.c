/* test_store_fit.c - a size limit becomes limits of rows, and they fit: proven by filling every one of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "core/scoped.h"
#include "fault/place.h"
#include "fault/shadow.h"
#include "store/budget.h"
#include "store/store.h"

static struct place place;

static void ok(int rc, const struct err *err)
{
	if (rc != 0)
		fail_msg("%d: %s | %s | %s", rc, err->msg, err->works, err->mend);
}

static void the_shares_of_a_limit_never_exceed_it(void **state)
{
	(void)state;
	for (uint64_t bytes = 0; bytes < (UINT64_C(1) << 42); bytes = bytes * 9 / 8 + 4099) {
		struct budget b = budget_of(bytes);

		assert_true(b.pages * UINT64_C(4096) + b.wal_bytes + b.shm_bytes <= bytes);
		/* Nearly nothing is left over. */
		if (b.pages > 0 && b.pages < (1u << 30))
			assert_true(b.pages * UINT64_C(4096) + b.wal_bytes + b.shm_bytes +
					    2 * 8216 + 32768 >
				    bytes);
		/* A save that touches every page fits into -wal. */
		assert_true(b.pages == 0 || b.wal_bytes >= 32 + b.pages * UINT64_C(4120));
	}
}

static void the_default_has_room_for_a_thousand_contexts(void **state)
{
	struct profile_limits limits;
	struct err err = ERR_EMPTY;

	(void)state;
	ok(store_sqlite.fit(4u << 20, 1024, &limits, &err), &err);
	assert_int_equal(limits.slots, 1024);
	assert_in_range(limits.contexts, 1024, 1100);
	assert_in_range(limits.paths.nodes, 12000, 16384);
	assert_in_range(limits.paths.frames, 4096, 8192);
	assert_in_range(limits.paths.name_bytes, 256 * 1024, 512 * 1024);
}

static void more_bytes_never_mean_less_of_anything(void **state)
{
	struct profile_limits before = { 0 };

	(void)state;
	for (uint64_t bytes = 1u << 19; bytes < (UINT64_C(1) << 36); bytes += bytes / 7) {
		struct profile_limits now = { 0 };

		if (store_sqlite.fit(bytes, 256, &now, NULL) != 0) {
			assert_int_equal(before.contexts, 0);
			continue;
		}
		assert_true(now.contexts >= before.contexts);
		assert_true(now.paths.nodes >= before.paths.nodes);
		assert_true(now.paths.frames >= before.paths.frames);
		assert_true(now.paths.name_bytes >= before.paths.name_bytes);
		before = now;
	}
	assert_true(before.contexts > 0);
}

static void slots_that_do_not_fit_are_refused_with_the_number_that_does(void **state)
{
	struct profile_limits limits = { .slots = 7 };
	struct err err = ERR_EMPTY;

	(void)state;
	assert_int_equal(store_sqlite.fit(4u << 20, 65536, &limits, &err), -ENOSPC);
	assert_int_equal(limits.slots, 7);
	assert_string_equal(err.msg, "cannot fit 65536 slots into 4.0 MB: 8192 fit");
	assert_non_null(strstr(err.mend, "--slots 8192"));
	ok(store_sqlite.fit(4u << 20, 8192, &limits, &err), &err);
	assert_int_equal(store_sqlite.fit(4u << 20, 16384, &limits, &err), -ENOSPC);
	ok(store_sqlite.fit(64u << 20, 65536, &limits, &err), &err);
}

static void slots_that_are_no_power_of_two_are_refused(void **state)
{
	static const uint32_t bad[] = { 0, 7, 8, 17, 1000, 131072, UINT32_MAX };
	struct profile_limits limits;
	struct err err = ERR_EMPTY;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(store_sqlite.fit(4u << 20, bad[i], &limits, &err), -EINVAL);
}

static void a_size_too_small_for_anything_names_the_smallest(void **state)
{
	struct profile_limits limits;
	struct err err = ERR_EMPTY;
	unsigned kilobytes = 0;

	(void)state;
	assert_int_equal(store_sqlite.fit(1000, 16, &limits, &err), -ENOSPC);
	assert_int_equal(sscanf(err.mend, "--max-size %uKB", &kilobytes), 1);
	ok(store_sqlite.fit(kilobytes * UINT64_C(1024), 16, &limits, &err), &err);
	assert_int_equal(store_sqlite.fit((kilobytes - 64) * UINT64_C(1024), 16, &limits, &err),
			 -ENOSPC);
}

/* Rows arrive in no order at all. */
static void shuffle(void *rows, uint32_t count, size_t row_bytes, struct rng *rng)
{
	unsigned char swap[sizeof(struct context_row)];

	for (uint32_t i = 1; i < count; i++) {
		unsigned char *a = (unsigned char *)rows + i * row_bytes;
		unsigned char *b = (unsigned char *)rows + rng_below(rng, i + 1) * row_bytes;

		memcpy(swap, a, row_bytes);
		memcpy(a, b, row_bytes);
		memcpy(b, swap, row_bytes);
	}
}

static uint32_t part(uint32_t count, uint32_t i, uint32_t parts)
{
	return (uint32_t)((uint64_t)count * i / parts);
}

/* The i-th of `parts` parts of all rows. */
static struct changes nth_part(const struct changes *c, uint32_t i, uint32_t parts)
{
	struct changes out = CHANGES_EMPTY;

#define PART(rows, count)                              \
	out.rows = c->rows + part(c->count, i, parts); \
	out.count = part(c->count, i + 1, parts) - part(c->count, i, parts)
	PART(nodes, node_count);
	PART(frames, frame_count);
	PART(slots, slot_count);
	PART(contexts, context_count);
	PART(ledger, ledger_count);
#undef PART
	return out;
}

static uint32_t pages_of(const char *path)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	uint32_t pages;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_string_equal(sqlite3_column_text(stmt, 0), "ok");
	sqlite3_finalize(stmt);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA page_count", -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	pages = (uint32_t)sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return pages;
}

static struct label longest_label(const struct shadow *shadow)
{
	static char text[STR_MAX_BYTES];
	const struct str longest = { text, sizeof(text) };
	struct label label = shadow_label(shadow, 1);

	memset(text, 'x', sizeof(text));
	label.instrument = label.command = label.comm = label.host = label.kernel = longest;
	label.tare_version = label.ended_by = label.engine = label.clock = longest;
	label.children = label.kernel_stacks = longest;
	return label;
}

/* What to fill, and how. */
struct filling {
	uint64_t bytes;	    /* the limit */
	uint64_t fit_bytes; /* the limits of rows are those of so many bytes */
	uint32_t slots, name_bytes, parts;
};

/* Fills everything, in `parts` saves, and returns the pages of the database while it is open. */
static uint32_t fill(const struct filling *f)
{
	struct shadow_settings settings = { .seed = 7, .name_bytes = f->name_bytes };
	uint64_t bytes = f->bytes;
	uint32_t parts = f->parts;
	struct store_limits limits = { .bytes = bytes, .may_overwrite = true };
	struct changes all = CHANGES_EMPTY;
	struct store_saved saved;
	struct err err = ERR_EMPTY;
	struct shadow *shadow;
	struct label label;
	struct rng rng;
	uint32_t pages;
	void *db;

	ok(store_sqlite.fit(f->fit_bytes, f->slots, &settings.limits, &err), &err);
	shadow = shadow_open(&settings);
	assert_non_null(shadow);
	shadow_fill(shadow);
	assert_true(shadow_changes(shadow, &all));
	rng_seed(&rng, 11);
	shuffle(all.nodes, all.node_count, sizeof(*all.nodes), &rng);
	shuffle(all.frames, all.frame_count, sizeof(*all.frames), &rng);
	shuffle(all.slots, all.slot_count, sizeof(*all.slots), &rng);
	shuffle(all.contexts, all.context_count, sizeof(*all.contexts), &rng);
	shuffle(all.ledger, all.ledger_count, sizeof(*all.ledger), &rng);
	label = longest_label(shadow);
	ok(store_sqlite.create(place_file(&place, "fit.tare"), &limits, &db, &err), &err);
	for (uint32_t i = 0; i < parts; i++) {
		struct changes some = nth_part(&all, i, parts);

		ok(store_sqlite.save(db, &label, &some, &saved, &err), &err);
		assert_false(saved.is_paused);
		assert_true(saved.bytes <= bytes);
		assert_true(place_bytes(&place, "fit.tare") <= bytes);
	}
	pages = pages_of(place_file(&place, "fit.tare"));
	store_sqlite.close(db);
	changes_free(&all);
	shadow_close(shadow);
	return pages;
}

static void every_limit_can_be_filled_with_the_worst_rows_in_any_order(void **state)
{
	static const struct {
		const char *name;
		uint32_t kilobytes, slots, name_bytes, parts;
	} cases[] = {
		{ "names of average length, in one save", 4096, 1024, 75, 1 },
		{ "names of average length, bit by bit", 4096, 1024, 75, 40 },
		{ "names just over half a page", 4096, 1024, 2040, 20 },
		{ "names of a third of a page", 4096, 1024, 1350, 20 },
		{ "the longest names", 4096, 1024, 4096, 20 },
		{ "a small recording", 1024, 256, 60, 20 },
		{ "many slots", 4096, 8192, 200, 20 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct budget b = budget_of(cases[i].kilobytes * UINT64_C(1024));
		struct filling f = { cases[i].kilobytes * UINT64_C(1024),
				     cases[i].kilobytes * UINT64_C(1024), cases[i].slots,
				     cases[i].name_bytes, cases[i].parts };
		uint32_t pages = fill(&f);

		print_message("%s: %u of %u pages\n", cases[i].name, pages, b.pages);
		assert_true(pages <= b.pages);
	}
}

static void add_nodes(struct changes *c, uint32_t from, uint32_t to)
{
	for (uint32_t id = from; id < to; id++)
		*changes_node(c) = (struct node_row){ id, id, id };
}

/* Rows that went leave pages half empty, and rows elsewhere cannot use them. */
static void a_database_that_meets_its_pages_is_packed_and_the_save_goes_on(void **state)
{
	const struct store_limits limits = { 1u << 20, true };
	const struct label label = { .saves = 1 };
	struct changes changes = CHANGES_EMPTY;
	struct store_saved saved;
	struct err err = ERR_EMPTY;
	uint32_t full, packed;
	struct stat st;
	struct rng rng;
	off_t reserved;
	void *db;

	(void)state;
	rng_seed(&rng, 3);
	ok(store_sqlite.create(place_file(&place, "pack.tare"), &limits, &db, &err), &err);
	assert_int_equal(stat(place_file(&place, "pack.tare"), &st), 0);
	reserved = st.st_size;
	add_nodes(&changes, 1, 22000);
	shuffle(changes.nodes, changes.node_count, sizeof(*changes.nodes), &rng);
	ok(store_sqlite.save(db, &label, &changes, &saved, &err), &err);
	changes_reset(&changes);
	for (uint32_t id = 1; id < 22000; id++)
		if (id % 5 < 3)
			*changes_gone_node(&changes) = id;
	ok(store_sqlite.save(db, &label, &changes, &saved, &err), &err);
	full = pages_of(place_file(&place, "pack.tare"));
	changes_reset(&changes);
	add_nodes(&changes, 22000, 42000);
	ok(store_sqlite.save(db, &label, &changes, &saved, &err), &err);
	assert_false(saved.is_paused);
	assert_true(place_bytes(&place, "pack.tare") <= limits.bytes);
	packed = pages_of(place_file(&place, "pack.tare"));
	print_message("%u pages, and with %u rows more %u\n", full, changes.node_count, packed);
	assert_true(packed <= budget_of(limits.bytes).pages);
	/* All rows together were more than there is room for unless pages are full. */
	assert_true(packed < full + changes.node_count / 320);
	/* The room on the disk is kept for what comes. */
	assert_int_equal(stat(place_file(&place, "pack.tare"), &st), 0);
	assert_int_equal(st.st_size, reserved);
	/* What cannot be is told, and what was saved stays. */
	changes_reset(&changes);
	add_nodes(&changes, 42000, 80000);
	assert_int_equal(store_sqlite.save(db, &label, &changes, &saved, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "it is full"));
	assert_true(pages_of(place_file(&place, "pack.tare")) <= packed);
	assert_true(place_bytes(&place, "pack.tare") <= limits.bytes);
	store_sqlite.close(db);
	changes_free(&changes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shares_of_a_limit_never_exceed_it),
		cmocka_unit_test(the_default_has_room_for_a_thousand_contexts),
		cmocka_unit_test(more_bytes_never_mean_less_of_anything),
		cmocka_unit_test(slots_that_do_not_fit_are_refused_with_the_number_that_does),
		cmocka_unit_test(slots_that_are_no_power_of_two_are_refused),
		cmocka_unit_test(a_size_too_small_for_anything_names_the_smallest),
		cmocka_unit_test(every_limit_can_be_filled_with_the_worst_rows_in_any_order),
		cmocka_unit_test(a_database_that_meets_its_pages_is_packed_and_the_save_goes_on),
	};
	int failed;

	if (!place_make(&place))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_remove(&place);
	return failed;
}
