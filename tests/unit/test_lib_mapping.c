/* test_lib_mapping.c - the recorder's side of a mapping, over plain memory that says anything. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "core/gap.h"
#include "sense/mapping.h"

static struct mapping_shared *shared;
static struct mapping_reader *reader;

/* A mapping of two names and two slots, as libtare would make it. */
static int make(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(shared != MAP_FAILED);
	shared->magic = MAPPING_MAGIC;
	shared->version = MAPPING_VERSION;
	shared->bytes = sizeof(*shared);
	shared->host.name_count = 2;
	shared->host.slot_count = 2;
	strcpy(shared->names[0].text, "physics");
	strcpy(shared->names[1].text, "frame");
	shared->names[1].kind = MAPPING_FRAME;
	return mapping_reader_over(shared, sizeof(*shared), &reader, NULL);
}

static int drop(void **state)
{
	(void)state;
	mapping_reader_close(reader);
	munmap(shared, sizeof(*shared));
	return 0;
}

static void only_a_mapping_of_this_version_and_size_is_read(void **state)
{
	struct mapping_reader *other = NULL;
	struct err err = ERR_EMPTY;

	(void)state;
	assert_int_equal(mapping_reader_over(shared, sizeof(*shared) - 1, &other, &err), -EPROTO);
	shared->version++;
	assert_int_equal(mapping_reader_over(shared, sizeof(*shared), &other, &err), -EPROTO);
	assert_non_null(strstr(err.msg, "version 3"));
	shared->version--;
	shared->bytes--;
	assert_int_equal(mapping_reader_over(shared, sizeof(*shared), &other, &err), -EPROTO);
	shared->bytes++;
	shared->magic++;
	assert_int_equal(mapping_reader_over(shared, sizeof(*shared), &other, &err), -EPROTO);
	assert_null(other);
}

static void a_window_is_the_difference_of_two_readings_over_all_slots(void **state)
{
	const struct mapping_row *row;

	(void)state;
	shared->slots[0].paces[0].calls = 1000;
	mapping_reader_start(reader, 8, 0, 0);
	assert_int_equal(shared->orders.interval, 8);
	assert_int_equal(mapping_window_number(shared->orders.window), 1);
	shared->slots[0].paces[0].calls += 5;
	shared->slots[1].paces[0].calls += 7;
	shared->slots[0].entries[0].firsts = 1;
	shared->slots[0].entries[0].first_ns = 300;
	shared->slots[1].entries[0].others = 2;
	shared->slots[1].entries[0].weights = 6;
	shared->slots[1].entries[0].weights_squared = 20;
	shared->slots[1].entries[0].weighted_ns = 900;
	shared->slots[1].entries[0].max_window[1] = 1;
	shared->slots[1].entries[0].max_ns[1] = 222;
	shared->slots[0].entries[0].max_window[0] = 0;
	shared->slots[0].entries[0].max_ns[0] = 999; /* of another window */
	assert_int_equal(mapping_reader_turn(reader), 1);
	row = mapping_reader_row(reader, 0);
	assert_int_equal(row->calls, 12);
	assert_int_equal(row->firsts, 1);
	assert_int_equal(row->first_ns, 300);
	assert_int_equal(row->others, 2);
	assert_int_equal(row->weights, 6);
	assert_int_equal(row->weights_squared, 20);
	assert_int_equal(row->weighted_ns, 900);
	assert_int_equal(row->max_ns, 222);
	assert_int_equal(mapping_reader_turn(reader), 2);
	assert_int_equal(mapping_reader_row(reader, 0)->calls, 0);
	assert_int_equal(mapping_reader_row(reader, 0)->max_ns, 0);
	assert_int_equal(mapping_reader_loss(reader).torn, 0);
}

static void a_counter_that_goes_back_gains_nothing_and_is_counted(void **state)
{
	(void)state;
	shared->slots[0].paces[0].calls = 1000;
	mapping_reader_start(reader, 8, 0, 0);
	shared->slots[0].paces[0].calls = 10;
	mapping_reader_turn(reader);
	assert_int_equal(mapping_reader_row(reader, 0)->calls, 0);
	assert_int_equal(mapping_reader_loss(reader).torn, 1);
	shared->slots[0].paces[0].calls = 15;
	shared->slots[0].entries[0].others = 16; /* more than were ever called */
	mapping_reader_turn(reader);
	assert_int_equal(mapping_reader_row(reader, 0)->calls, 5);
	assert_int_equal(mapping_reader_row(reader, 0)->others, 0);
	assert_int_equal(mapping_reader_loss(reader).torn, 2);
}

static void a_call_that_ends_in_a_later_window_is_timed_there(void **state)
{
	(void)state;
	mapping_reader_start(reader, 8, 0, 0);
	shared->slots[0].paces[0].calls = 1;
	mapping_reader_turn(reader);
	assert_int_equal(mapping_reader_row(reader, 0)->calls, 1);
	shared->slots[0].entries[0].firsts = 1;
	shared->slots[0].entries[0].first_ns = 12000000000;
	mapping_reader_turn(reader);
	assert_int_equal(mapping_reader_row(reader, 0)->calls, 0);
	assert_int_equal(mapping_reader_row(reader, 0)->firsts, 1);
	assert_int_equal(mapping_reader_row(reader, 0)->first_ns, 12000000000);
	assert_int_equal(mapping_reader_loss(reader).torn, 0);
}

static void an_order_changes_the_windows_word_and_not_its_number(void **state)
{
	uint64_t word;

	(void)state;
	mapping_reader_start(reader, 8, 50, 0);
	assert_int_equal(shared->orders.budget, 50);
	word = shared->orders.window;
	mapping_reader_set(reader, 0, 8, 7);
	assert_int_equal(shared->orders.window, word + 1);
	mapping_reader_set(reader, 0, 8, 9); /* a budget is read when it is needed */
	assert_int_equal(shared->orders.window, word + 1);
	assert_int_equal(shared->controls[0].budget, 9);
	for (uint32_t i = 0; i < 2u << MAPPING_ORDER_BITS; i++)
		mapping_reader_set(reader, 0, 8 + i % 2, 9);
	assert_int_equal(mapping_window_number(shared->orders.window), mapping_window_number(word));
	assert_int_equal(mapping_reader_turn(reader), 1);
	assert_int_equal(mapping_window_number(shared->orders.window), 2);
	shared->orders.window = 0; /* switched off: an order does not switch on */
	mapping_reader_set(reader, 0, 100, 9);
	assert_int_equal(shared->orders.window, 0);
}

static void a_look_does_not_end_the_window(void **state)
{
	uint64_t calls, timed;

	(void)state;
	mapping_reader_start(reader, 8, 0, 0);
	shared->slots[0].paces[0].calls = 5;
	shared->slots[1].paces[0].calls = 2;
	shared->slots[1].entries[0].firsts = 1;
	shared->slots[1].entries[0].others = 1;
	for (int i = 0; i < 2; i++) {
		mapping_reader_peek(reader, 0, &calls, &timed);
		assert_int_equal(calls, 7);
		assert_int_equal(timed, 2);
	}
	mapping_reader_turn(reader);
	assert_int_equal(mapping_reader_row(reader, 0)->calls, 7);
	shared->slots[0].paces[0].calls = 0; /* a counter that went back */
	shared->slots[1].entries[0].others = 90;
	mapping_reader_peek(reader, 0, &calls, &timed);
	assert_int_equal(calls, 0);
	assert_int_equal(timed, 0);
	mapping_reader_peek(reader, 2, &calls, &timed);
	assert_int_equal(calls + timed, 0);
}

static void names_are_cut_and_their_kinds_are_known_ones(void **state)
{
	char text[MAPPING_NAME_BYTES];
	enum mapping_kind kind;

	(void)state;
	assert_true(mapping_reader_name(reader, 1, &kind, text));
	assert_string_equal(text, "frame");
	assert_int_equal(kind, MAPPING_FRAME);
	memset(&shared->names[1], 0xff, sizeof(shared->names[1]));
	assert_true(mapping_reader_name(reader, 1, &kind, text));
	assert_int_equal(strlen(text), MAPPING_NAME_BYTES - 1);
	assert_int_equal(kind, MAPPING_SCOPE);
	assert_false(mapping_reader_name(reader, 2, &kind, text));
	shared->host.name_count = UINT32_MAX;
	assert_int_equal(mapping_reader_names(reader), MAPPING_NAMES);
	assert_false(mapping_reader_name(reader, MAPPING_NAMES, &kind, text));
	assert_null(mapping_reader_row(reader, MAPPING_NAMES));
	mapping_reader_set(reader, MAPPING_NAMES, 1, 1); /* let pass */
	mapping_reader_set(reader, 3, 77, 5);
	assert_int_equal(shared->controls[3].interval, 77);
	assert_int_equal(shared->controls[3].budget, 5);
}

static void a_slow_frame_never_has_more_than_its_time(void **state)
{
	struct mapping_slow *slow = &shared->slots[1].slow[0], taken;
	uint32_t tid;

	(void)state;
	mapping_reader_start(reader, 8, 0, 1);
	shared->slots[1].tid = 42;
	slow->ns = 100;
	slow->others_ns = UINT64_MAX;
	slow->part_count = UINT32_MAX;
	for (uint32_t i = 0; i < MAPPING_PARTS; i++)
		slow->parts[i] = (struct mapping_part){ .id = i, .own_ns = 70 };
	shared->slots[1].slow_count = 1;
	assert_true(mapping_reader_take_slow(reader, &taken, &tid));
	assert_int_equal(tid, 42);
	assert_int_equal(taken.part_count, 2); /* two names there are */
	assert_int_equal(taken.parts[0].own_ns, 70);
	assert_int_equal(taken.parts[1].own_ns, 30);
	assert_int_equal(taken.others_ns, 0);
	assert_int_equal(shared->slots[1].read_count, 1);
	assert_false(mapping_reader_take_slow(reader, &taken, &tid));
	shared->slots[1].slow_count = 1 + MAPPING_SLOW + 1;
	assert_false(mapping_reader_take_slow(reader, &taken, &tid));
	assert_int_equal(mapping_reader_loss(reader).torn, 1);
}

static void frames_are_numbered_from_the_start(void **state)
{
	struct mapping_slow taken;
	uint32_t tid;

	(void)state;
	shared->slots[0].frame_serial = 41;
	mapping_reader_start(reader, 8, 0, 1);
	shared->slots[0].slow[0] = (struct mapping_slow){ .serial = 43, .ns = 100 };
	shared->slots[0].slow_count = 1;
	assert_true(mapping_reader_take_slow(reader, &taken, &tid));
	assert_int_equal(taken.serial, 2);
}

static void what_was_switched_off_is_told_and_is_another_epoch(void **state)
{
	uint64_t epoch;

	(void)state;
	mapping_reader_start(reader, 8, 0, 0);
	epoch = shared->orders.epoch;
	assert_int_equal(mapping_reader_turn(reader), 1);
	assert_int_equal(shared->orders.epoch, epoch);
	shared->orders.window = 0;
	assert_int_equal(mapping_reader_turn(reader), 0);
	assert_int_equal(shared->orders.epoch, epoch + 1);
	assert_int_equal(mapping_window_number(shared->orders.window), 3);
}

static void a_row_is_told_to_core_with_its_own_time_never_below_zero(void **state)
{
	struct mapping_row row = { .calls = 10,
				   .firsts = 1,
				   .first_ns = 50,
				   .first_nested_ns = 60,
				   .others = 2,
				   .weights = 8,
				   .weighted_ns = 800,
				   .nested_ns = 300 };
	uint64_t clamped = 0;
	struct calls_seen seen = mapping_row_seen(&row, 1000, 4, &clamped);

	(void)state;
	assert_int_equal(seen.calls, 10);
	assert_int_equal(seen.covered_ns, 1000);
	assert_int_equal(seen.first_own_ns, 0);
	assert_int_equal(seen.weighted_own_ns, 500);
	assert_int_equal(seen.interval, 4);
	assert_int_equal(clamped, 1);
}

static void random_bytes_are_read_within_bounds(void **state)
{
	uint64_t random = 7;
	static uint32_t steps[BUCKET_COUNT];

	(void)state;
	mapping_reader_start(reader, 8, 0, 0);
	for (int round = 0; round < 50; round++) {
		struct mapping_slow slow;
		uint32_t tid;

		for (int i = 0; i < 4000; i++) {
			uint64_t *word = (uint64_t *)shared->slots +
					 gap_random(&random) % (2 * sizeof(shared->slots[0]) / 8);

			*word = (uint64_t)gap_random(&random) << 32 | gap_random(&random);
		}
		shared->host.slot_count = gap_random(&random) % 4;
		mapping_reader_turn(reader);
		for (uint32_t id = 0; id < 2; id++) {
			uint64_t clamped = 0;
			struct calls_seen seen =
				mapping_row_seen(mapping_reader_row(reader, id), 1000, 8, &clamped);

			assert_true(seen.first_own_ns <= seen.first_ns);
			assert_true(seen.weighted_own_ns <= seen.weighted_ns);
			assert_in_range(seen.interval, 8, MAPPING_MAX_INTERVAL);
			assert_true(mapping_reader_histogram(reader, id, steps));
		}
		for (int i = 0; i < 20 && mapping_reader_take_slow(reader, &slow, &tid); i++)
			assert_true(slow.part_count <= 2 && slow.others_ns <= slow.ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_a_mapping_of_this_version_and_size_is_read,
						make, drop),
		cmocka_unit_test_setup_teardown(
			a_window_is_the_difference_of_two_readings_over_all_slots, make, drop),
		cmocka_unit_test_setup_teardown(
			a_counter_that_goes_back_gains_nothing_and_is_counted, make, drop),
		cmocka_unit_test_setup_teardown(a_call_that_ends_in_a_later_window_is_timed_there,
						make, drop),
		cmocka_unit_test_setup_teardown(
			an_order_changes_the_windows_word_and_not_its_number, make, drop),
		cmocka_unit_test_setup_teardown(a_look_does_not_end_the_window, make, drop),
		cmocka_unit_test_setup_teardown(names_are_cut_and_their_kinds_are_known_ones, make,
						drop),
		cmocka_unit_test_setup_teardown(a_slow_frame_never_has_more_than_its_time, make,
						drop),
		cmocka_unit_test_setup_teardown(frames_are_numbered_from_the_start, make, drop),
		cmocka_unit_test_setup_teardown(what_was_switched_off_is_told_and_is_another_epoch,
						make, drop),
		cmocka_unit_test_setup_teardown(
			a_row_is_told_to_core_with_its_own_time_never_below_zero, make, drop),
		cmocka_unit_test_setup_teardown(random_bytes_are_read_within_bounds, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
