/* fault_memory.c - memory that runs out at the n-th allocation, once or from then on, for every n until none is refused: a
 * recording's whole life, from its profile to the report's numbers, and a fleet's store with its spool. Nothing crashes or
 * leaks, what fails is said, and the file is valid.
 * Usage: fault_memory [STRIDE [FIRST]]: every STRIDE-th n only, from FIRST on; another one each second when none is given. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/analysis.h"
#include "core/ledger.h"
#include "core/profile.h"
#include "core/scoped.h"
#include "core/watch_analysis.h"
#include "fault/cycles.h"
#include "fault/here.h"
#include "fault/memory.h"
#include "fault/place.h"
#include "fault/writer.h"
#include "unit/made_paths.h"

#define LIMIT_BYTES (UINT64_C(832) << 10)
#define TICK_NS	    UINT64_C(10000000)
#define TICKS	    300
#define SAVES	    2
#define NAME	    "memory.tare"

static struct place place;
static uint64_t stride = 1, first = 1;

/* One life with memory that runs out somewhere: 0 or the failure, and how far it came. */
struct life {
	struct err err;
	uint64_t acked; /* saves or batches that were acknowledged */
	bool is_made;
};

/* A result of the code under test: everything it refuses is said, and is for lack of memory. */
static int told(int rc, const struct err *err)
{
	if (rc != 0 && (rc != -ENOMEM || err->code != rc || err->msg[0] == '\0')) {
		uint64_t n = memory_seen();

		memory_set(0, false);
		fail_msg("%d after %llu allocations: %d: '%s'", rc, (unsigned long long)n,
			 err->code, err->msg);
	}
	return rc;
}

/* ---- record ---- */

static void add_ticks(struct profile *p, uint64_t from)
{
	for (uint64_t i = from; i < from + TICKS; i++) {
		struct tick tick = { .from_ns = i * TICK_NS,
				     .at_ns = i * TICK_NS,
				     .weight_ns = TICK_NS,
				     .state = STATE_RUNNING };
		struct frame path[8];
		char text[64];

		snprintf(text, sizeof(text), "job;main;f%d;g%d", (int)(i % 7), (int)(i % 31));
		if (profile_wants(p, &tick))
			profile_add(p, &tick, path, made_path(text, path, ARRAY_LEN(path)));
		else
			profile_add(p, &tick, NULL, 0);
	}
}

static int save_profile(struct profile *p, struct ledger *l, void *db, struct life *life)
{
	struct changes changes = CHANGES_EMPTY;
	struct store_saved saved = { 0 };
	struct label label = { .instrument = STR_LITERAL("record"),
			       .tare_version = STR_LITERAL("0.1.0"),
			       .exit_status = -1,
			       .saves = life->acked + 1 };
	struct ledger_row window = { .window_ns = 1000, .ticks = TICKS };
	int rc;

	ledger_add(l, &window);
	profile_label(p, &label);
	rc = profile_changes(p, TASK_RUN, &changes);
	if (rc == 0)
		rc = ledger_changes(l, &changes);
	if (rc != 0) /* said by who calls */
		err_set(&life->err, rc, "out of memory");
	else
		rc = store_sqlite.save(db, &label, &changes, &saved, &life->err);
	changes_free(&changes);
	if (rc != 0)
		return told(rc, &life->err);
	profile_saved(p);
	ledger_saved(l);
	life->acked++;
	return 0;
}

/* An instrument's life. A save that fails is tried again, as the recorder does. */
static int record(struct life *life)
{
	struct profile_settings settings = { .base_ns = TICK_NS, .seed = 3 };
	struct store_limits limits = { LIMIT_BYTES, true };
	struct ledger ledger = { .used = 0 };
	struct profile *p = NULL;
	void *db = NULL;
	int rc = store_sqlite.fit(LIMIT_BYTES, 64, &settings.limits, &life->err), failed = 0;

	if (rc == 0)
		rc = told(profile_open(&settings, &p, &life->err), &life->err);
	if (rc == 0 && ledger_init(&ledger) != 0)
		rc = -ENOMEM;
	if (rc == 0)
		rc = told(store_sqlite.create(place_file(&place, NAME), &limits, &db, &life->err),
			  &life->err);
	life->is_made = rc == 0;
	for (uint64_t i = 0; i < SAVES && rc == 0; i++) {
		add_ticks(p, i * TICKS);
		if (save_profile(p, &ledger, db, life) != 0)
			failed = -ENOMEM;
	}
	store_sqlite.close(db);
	ledger_free(&ledger);
	profile_close(p);
	return rc != 0 ? rc : failed;
}

/* What the report does with it. */
static int report(struct life *life)
{
	struct recording r = RECORDING_EMPTY;
	struct analysis a = ANALYSIS_EMPTY;
	int rc = told(store_sqlite.load(place_file(&place, NAME), &r, &life->err), &life->err);

	if (rc == 0) {
		assert_int_equal(r.label.saves, life->acked);
		rc = told(analysis_open(&r, &a, &life->err), &life->err);
	}
	analysis_free(&a);
	recording_free(&r);
	return rc;
}

/* With memory again: the file holds what was acknowledged. */
static void is_valid(const struct life *life)
{
	struct life check = { .acked = life->acked };

	if (!life->is_made) {
		assert_int_equal(place_files(&place), 0);
		return;
	}
	assert_int_equal(report(&check), 0);
	assert_string_equal(writer_integrity(place_file(&place, NAME)), "ok");
	unlink(place_file(&place, NAME));
	unlink(place_file(&place, NAME "-wal"));
	unlink(place_file(&place, NAME "-shm"));
}

/* `try` at every n, once and for good, until nothing is refused. */
static void at_every_n(bool (*try)(uint64_t n, bool is_sticky), uint64_t least)
{
	int64_t held;

	try(0, false); /* what is made once and kept */
	held = memory_held();
	for (int sticky = 0; sticky < 2; sticky++) {
		uint64_t n = first;

		for (; try(n, sticky == 1); n += stride)
			assert_int_equal(memory_held(), held);
		print_message("%s: %llu allocations\n", sticky == 1 ? "for good" : "once",
			      (unsigned long long)n - 1);
		assert_true(n > least);
	}
	assert_int_equal(memory_held(), held);
}

static bool record_life(uint64_t n, bool is_sticky)
{
	struct life life = { .acked = 0 };
	bool is_met;
	int rc;

	memory_set(n, is_sticky);
	rc = record(&life);
	is_met = memory_fired() > 0;
	memory_set(0, false);
	if (!is_met)
		assert_int_equal(rc, 0);
	is_valid(&life);
	return is_met;
}

static void a_recording_outlives_memory_that_runs_out(void **state)
{
	(void)state;
	at_every_n(record_life, 200);
}

static bool report_life(uint64_t n, bool is_sticky)
{
	struct life life = { .acked = SAVES };
	bool is_met;

	memory_set(n, is_sticky);
	report(&life);
	is_met = memory_fired() > 0;
	memory_set(0, false);
	return is_met;
}

static void a_report_without_memory_says_so(void **state)
{
	struct life life = { .acked = 0 };

	(void)state;
	assert_int_equal(record(&life), 0);
	at_every_n(report_life, 100);
	is_valid(&life);
}

/* ---- watch: rows of all tables ---- */

static int read_watch(struct life *life)
{
	struct recording r = RECORDING_EMPTY;
	struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	int rc = told(store_sqlite.load(place_file(&place, NAME), &r, &life->err), &life->err);

	if (rc == 0)
		told(watch_analysis_open(&r, 0, UINT64_MAX, &a, &life->err), &life->err);
	watch_analysis_free(&a);
	recording_free(&r);
	return rc;
}

/* The shadow's own memory never fails: only what is under test does. */
static bool watch_life(uint64_t n, bool is_sticky)
{
	struct store_saved saved;
	struct life life = { .acked = 0 };
	bool is_met = false;
	struct here h;
	int rc;

	assert_int_equal(here_create(&h, place_file(&place, NAME), 5, LIMIT_BYTES, &life.err), 0);
	assert_int_equal(here_save(&h, 60, &saved, &life.err), 0);
	shadow_step(h.shadow, 60);
	h.is_unsaved = true; /* the changes are made: nothing of the shadow's is allocated below */
	changes_reset(&h.changes);
	assert_true(shadow_changes(h.shadow, &h.changes));
	memory_set(n, is_sticky);
	rc = told(here_save(&h, 60, &saved, &life.err), &life.err);
	if (rc == 0)
		read_watch(&life);
	here_close(&h);
	is_met = memory_fired() > 0;
	memory_set(0, false);
	assert_int_equal(read_watch(&life), 0);
	assert_string_equal(writer_integrity(place_file(&place, NAME)), "ok");
	here_end(&h);
	unlink(place_file(&place, NAME));
	return is_met;
}

static void rows_of_a_watch_outlive_memory_that_runs_out(void **state)
{
	(void)state;
	at_every_n(watch_life, 50);
}

/* ---- a fleet's store and its spool ---- */

static int collect(struct life *life)
{
	struct spool *s = NULL;
	void *db = NULL;
	int rc = told(
		fleet_store_sqlite.open(place_file(&place, NAME), FLEET_WRITE, &db, &life->err),
		&life->err);

	life->is_made = rc == 0;
	if (rc == 0)
		rc = told(spool_open(place.folder, SPOOL_BYTES_LEAST, &s, &life->err), &life->err);
	for (uint64_t cycle = 1; cycle <= 3 && rc == 0; cycle++) {
		struct fleet_tidied tidied;
		struct wall now = { cycles_wall_ns(cycle) };

		if (told(cycles_put(db, cycle, &life->err), &life->err) == 0 ||
		    told(cycles_spool(s, cycle, &life->err), &life->err) == 0)
			life->acked++;
		told(cycles_drain(db, s, &life->err), &life->err);
		told(fleet_store_sqlite.tidy(db, now, &cycles_limits, 3000000, &tidied, &life->err),
		     &life->err);
	}
	spool_close(s);
	fleet_store_sqlite.close(db);
	return rc;
}

static bool collect_life(uint64_t n, bool is_sticky)
{
	struct life life = { .acked = 0 };
	struct cycles_counted counted;
	struct err err = ERR_EMPTY;
	bool is_met;

	memory_set(n, is_sticky);
	collect(&life);
	is_met = memory_fired() > 0;
	memory_set(0, false);
	if (life.is_made) {
		assert_int_equal(
			cycles_count(place_file(&place, NAME), place.folder, &counted, &err), 0);
		assert_true(counted.runs >= life.acked);
		assert_int_equal(counted.calls, cycles_calls(&counted));
		assert_string_equal(writer_integrity(place_file(&place, NAME)), "ok");
	}
	place_empty(&place);
	return is_met;
}

static void a_fleets_store_outlives_memory_that_runs_out(void **state)
{
	(void)state;
	at_every_n(collect_life, 200);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_outlives_memory_that_runs_out),
		cmocka_unit_test(a_report_without_memory_says_so),
		cmocka_unit_test(rows_of_a_watch_outlive_memory_that_runs_out),
		cmocka_unit_test(a_fleets_store_outlives_memory_that_runs_out),
	};
	int failed;

	if (argc > 1)
		stride = strtoull(argv[1], NULL, 10);
	first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1 + (uint64_t)time(NULL) % stride;
	print_message("every %llu. allocation, from %llu on\n", (unsigned long long)stride,
		      (unsigned long long)first);
	if (!place_make(&place))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (failed == 0)
		place_remove(&place);
	return failed;
}
