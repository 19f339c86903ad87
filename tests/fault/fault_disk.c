/* fault_disk.c - a disk whose n-th operation fails, once or from then on, for every n until none is met: making, saving, ending
 * and reading a recording. The file is whole, nothing is called saved that is not, and what failed is said. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fault/disk.h"
#include "fault/here.h"
#include "fault/place.h"
#include "fault/writer.h"

#define LIMIT_BYTES (UINT64_C(832) << 10)
#define NAME	    "disk.tare"
#define CHANGES	    80

static struct place place;

static void ok(int rc, const struct err *err)
{
	if (rc != 0)
		fail_msg("%d: %s | %s | %s", rc, err->msg, err->works, err->mend);
}

static const struct {
	const char *name;
	int error;
	bool is_sticky, is_short;
} faults[] = {
	{ "EIO once", EIO, false, false },
	{ "EIO for good", EIO, true, false },
	{ "ENOSPC once", ENOSPC, false, false },
	{ "ENOSPC for good, half a write before it", ENOSPC, true, true },
	{ "EDQUOT for good", EDQUOT, true, false },
};

/* Calls `try` with the n-th operation failing, for every n until none is met, for each fault. */
static void at_every_n(unsigned kinds, bool (*try)(const struct disk_fault *fault), uint64_t least)
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		struct disk_fault fault = { .at = 1,
					    .kinds = kinds,
					    .error = faults[i].error,
					    .is_sticky = faults[i].is_sticky,
					    .is_short = faults[i].is_short };

		while (try(&fault))
			fault.at++;
		print_message("%s: %llu operations\n", faults[i].name,
			      (unsigned long long)fault.at - 1);
		assert_true(fault.at > least);
	}
}

/* A failure says what, and the mend. Why a file could not be opened that can be opened now, nobody knows any more. */
static void is_told(int rc, const struct err *err, const struct disk_fault *fault)
{
	if (rc != err->code || err->msg[0] == '\0' || err->mend[0] == '\0' ||
	    (rc != -fault->error && (fault->is_sticky || rc != -EIO)))
		fail_msg("operation %llu, errno %d: %d: '%s' '%s' '%s'",
			 (unsigned long long)fault->at, fault->error, rc, err->msg, err->works,
			 err->mend);
}

/* How many saves are in the file; if it is the newest, it is what the shadow is. */
static uint64_t loaded(const struct here *h, uint64_t newest)
{
	struct recording r = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	uint64_t saves;

	ok(store_sqlite.load(place_file(&place, NAME), &r, &err), &err);
	saves = r.label.saves;
	if (saves == newest)
		assert_string_equal(shadow_differs(h->shadow, &r), "");
	recording_free(&r);
	return saves;
}

static void begin(struct here *h, uint64_t saves)
{
	struct store_saved saved;
	struct err err = ERR_EMPTY;

	ok(here_create(h, place_file(&place, NAME), 21, LIMIT_BYTES, &err), &err);
	while (h->saves < saves)
		ok(here_save(h, CHANGES, &saved, &err), &err);
}

/* Closes, and what is left is whole. */
static void finish(struct here *h)
{
	uint64_t saves = h->saves;

	here_close(h);
	if (saves > 0)
		assert_int_equal(loaded(h, saves), saves);
	assert_string_equal(writer_integrity(place_file(&place, NAME)), "ok");
	here_end(h);
	unlink(place_file(&place, NAME));
}

static bool create(const struct disk_fault *fault)
{
	struct store_saved saved;
	struct err err = ERR_EMPTY;
	struct here h;
	bool is_met;
	int rc;

	disk_set(fault);
	rc = here_create(&h, place_file(&place, NAME), 21, LIMIT_BYTES, &err);
	is_met = disk_fired() > 0;
	disk_heal();
	if (rc != 0) {
		is_told(rc, &err, fault);
		assert_null(h.db);
		assert_int_equal(place_files(&place), 0);
		here_end(&h);
		return is_met;
	}
	ok(here_save(&h, CHANGES, &saved, &err), &err);
	assert_int_equal(loaded(&h, 1), 1);
	finish(&h);
	return is_met;
}

static void a_recording_is_made_whole_or_not_at_all(void **state)
{
	(void)state;
	at_every_n(DISK_ANY & ~(1u << DISK_READ | 1u << DISK_REMOVE), create, 20);
}

static bool save(const struct disk_fault *fault)
{
	struct store_saved saved;
	struct err err = ERR_EMPTY;
	uint64_t in_file;
	struct here h;
	bool is_met;
	int rc;

	begin(&h, 2);
	disk_set(fault);
	rc = here_save(&h, CHANGES, &saved, &err);
	is_met = disk_fired() > 0;
	disk_heal();
	in_file = loaded(&h, 3);
	/* Never a false "saved"; what failed left the last good save, or is there whole. */
	assert_int_equal(h.saves, rc == 0 ? 3 : 2);
	assert_in_range(in_file, h.saves, 3);
	if (rc != 0) {
		is_told(rc, &err, fault);
		assert_true(err.works[0] != '\0');
	}
	/* The same changes again, and the recording is as if nothing had been. */
	ok(here_save(&h, CHANGES, &saved, &err), &err);
	assert_false(saved.is_paused);
	assert_true(place_bytes(&place, NAME) <= LIMIT_BYTES);
	assert_int_equal(loaded(&h, h.saves), h.saves);
	finish(&h);
	return is_met;
}

static void a_save_is_whole_or_said_to_have_failed(void **state)
{
	(void)state;
	at_every_n(DISK_ANY, save, 20);
}

static void a_save_that_could_not_be_synced_is_no_save(void **state)
{
	struct store_saved saved;
	struct err err = ERR_EMPTY;
	struct here h;

	(void)state;
	for (uint64_t n = 1; n <= 2; n++) {
		struct disk_fault fault = {
			.at = n, .kinds = 1u << DISK_SYNC, .error = EIO, .is_sticky = true
		};

		begin(&h, 1);
		/* First that of -wal, then that of the database. */
		disk_set(&fault);
		assert_int_equal(here_save(&h, CHANGES, &saved, &err), -EIO);
		assert_int_equal(disk_fired(), 1);
		disk_heal();
		ok(here_save(&h, CHANGES, &saved, &err), &err);
		finish(&h);
	}
}

static bool end(const struct disk_fault *fault)
{
	struct here h;
	bool is_met;

	begin(&h, 2);
	disk_set(fault);
	here_close(&h);
	is_met = disk_fired() > 0;
	disk_heal();
	finish(&h);
	unlink(place_file(&place, NAME "-wal"));
	unlink(place_file(&place, NAME "-shm"));
	unlink(place_file(&place, NAME "-journal"));
	return is_met;
}

static void the_end_of_a_recording_loses_nothing_of_it(void **state)
{
	(void)state;
	at_every_n(DISK_ANY, end, 20);
}

/* Reads a file of two saves, one that was closed or one whose writer still holds it. */
static bool read_it(const struct here *h, const struct disk_fault *fault)
{
	struct recording r = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	int files = place_files(&place), rc;

	disk_set(fault);
	rc = store_sqlite.load(place_file(&place, NAME), &r, &err);
	disk_heal();
	if (rc == 0) {
		assert_int_equal(r.label.saves, 2);
		assert_string_equal(shadow_differs(h->shadow, &r), "");
	} else if (rc != err.code || err.msg[0] == '\0') {
		fail_msg("%d: '%s'", rc, err.msg);
	}
	recording_free(&r);
	assert_int_equal(place_files(&place), files);
	return disk_fired() > 0;
}

static bool read_closed(const struct disk_fault *fault)
{
	struct here h;
	bool is_met;

	begin(&h, 2);
	here_close(&h);
	is_met = read_it(&h, fault);
	finish(&h);
	return is_met;
}

static bool read_live(const struct disk_fault *fault)
{
	struct store_saved saved;
	struct err err = ERR_EMPTY;
	struct here h;
	bool is_met;

	begin(&h, 2);
	is_met = read_it(&h, fault);
	ok(here_save(&h, CHANGES, &saved, &err), &err);
	finish(&h);
	return is_met;
}

static void what_is_read_is_whole_or_said_to_be_unreadable(void **state)
{
	(void)state;
	at_every_n(DISK_ANY, read_closed, 5);
	at_every_n(DISK_ANY, read_live, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_is_made_whole_or_not_at_all),
		cmocka_unit_test(a_save_is_whole_or_said_to_have_failed),
		cmocka_unit_test(a_save_that_could_not_be_synced_is_no_save),
		cmocka_unit_test(the_end_of_a_recording_loses_nothing_of_it),
		cmocka_unit_test(what_is_read_is_whole_or_said_to_be_unreadable),
	};
	int failed;

	if (!place_make(&place))
		return 1;
	disk_watch(place.folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	disk_watch(NULL);
	place_remove(&place);
	return failed;
}
