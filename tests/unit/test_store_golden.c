/* test_store_golden.c - recordings that older versions wrote open for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "core/scoped.h"
#include "store/schema.h"
#include "store/store.h"

/* Written by that version's own store, but for the first: its schema, and the same rows. What it had no column for is 0. */
static const struct {
	const char *file;
	unsigned version;
	uint64_t weight_ns, kept, calls;
	uint32_t contexts, frames, windows;
} golden[] = {
	{ "recording-1.tare", 1, 99999999998, 9998, 0, 17, 25, 0 },
	{ "recording-2.tare", 2, 99999999998, 9998, 0, 17, 25, 0 },
	{ "watch-2.tare", 2, 0, 0, 6000, 0, 0, 12 },
	{ "recording-3.tare", 3, 99999999998, 9998, 0, 17, 25, 0 },
};

static void load(const char *file, struct recording *out)
{
	char path[4096];
	struct err err = ERR_EMPTY;

	snprintf(path, sizeof(path), GOLDEN "/%s", file);
	if (store_sqlite.load(path, out, &err) != 0)
		fail_msg("%s: %s", err.msg, err.works);
}

static void every_released_version_opens_with_all_its_sums(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(golden); i++) {
		struct recording r = RECORDING_EMPTY;
		uint64_t weight_ns = 0, batches_ns = 0, calls = 0, steps = 0;

		print_message("%s\n", golden[i].file);
		load(golden[i].file, &r);
		assert_int_equal(r.context_count, golden[i].contexts);
		assert_int_equal(r.frame_count, golden[i].frames);
		assert_int_equal(r.window_count, golden[i].windows);
		for (uint32_t k = 0; k < r.context_count; k++) {
			weight_ns += r.contexts[k].certain_ns + r.contexts[k].uncertain_ns;
			for (size_t b = 0; b < BATCH_COUNT; b++)
				batches_ns += r.contexts[k].batch_ns[b];
		}
		for (uint32_t k = 0; k < r.window_count; k++) {
			calls += r.windows[k].calls;
			steps += r.windows[k].histogram.weight > 0;
		}
		assert_int_equal(weight_ns, golden[i].weight_ns);
		assert_int_equal(batches_ns, golden[i].weight_ns);
		assert_int_equal(r.label.kept, golden[i].kept);
		assert_int_equal(calls, golden[i].calls);
		assert_int_equal(steps, golden[i].windows);
		assert_int_equal(r.task_count + r.task_name_count + r.label.tasks, 0);
		assert_int_equal(r.label.clock_steps + r.label.suspended_ns + r.label.unread_files,
				 0);
		recording_free(&r);
	}
}

/* Whoever adds a version keeps a file of the one before. */
static void every_released_version_has_a_file(void **state)
{
	(void)state;
	for (unsigned version = 1; version < schema_newest; version++) {
		bool has_file = false;

		for (size_t i = 0; i < ARRAY_LEN(golden); i++)
			has_file = has_file || golden[i].version == version;
		if (!has_file)
			fail_msg("no golden file of schema version %u", version);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_released_version_opens_with_all_its_sums),
		cmocka_unit_test(every_released_version_has_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
