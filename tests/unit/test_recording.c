/* test_recording.c - rows on their way into and out of a recording. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/recording.h"

static void appended_rows_are_zeroed_and_keep_their_values(void **state)
{
	struct changes c = CHANGES_EMPTY;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		struct context_row *row = changes_context(&c);

		assert_non_null(row);
		assert_int_equal(row->kept, 0);
		assert_int_equal(row->batch_ns[BATCH_COUNT - 1], 0);
		row->id = i;
		row->batch_ns[BATCH_COUNT - 1] = i;
	}
	assert_int_equal(c.context_count, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(c.contexts[i].id, i);
		assert_int_equal(c.contexts[i].batch_ns[BATCH_COUNT - 1], i);
	}
	changes_free(&c);
	changes_free(&c);
}

static void every_kind_of_row_has_its_own_place(void **state)
{
	struct changes c = CHANGES_EMPTY;

	(void)state;
	changes_node(&c)->id = 1;
	changes_frame(&c)->id = 2;
	changes_slot(&c)->id = 3;
	changes_context(&c)->id = 4;
	changes_ledger(&c)->id = 5;
	*changes_gone_node(&c) = 6;
	*changes_gone_frame(&c) = 7;
	*changes_gone_context(&c) = 8;
	assert_int_equal(c.nodes[0].id, 1);
	assert_int_equal(c.frames[0].id, 2);
	assert_int_equal(c.slots[0].id, 3);
	assert_int_equal(c.contexts[0].id, 4);
	assert_int_equal(c.ledger[0].id, 5);
	assert_int_equal(c.gone_nodes[0], 6);
	assert_int_equal(c.gone_frames[0], 7);
	assert_int_equal(c.gone_contexts[0], 8);
	changes_free(&c);
}

static void what_was_appended_can_be_taken_back(void **state)
{
	struct changes c = CHANGES_EMPTY, before;

	(void)state;
	changes_node(&c)->id = 1;
	before = c;
	for (int i = 0; i < 500; i++) {
		changes_node(&c);
		changes_slot(&c);
		changes_gone_frame(&c);
	}
	c.slots_from = 4;
	changes_rewind(&c, &before);
	assert_int_equal(c.node_count, 1);
	assert_int_equal(c.nodes[0].id, 1);
	assert_int_equal(c.slot_count, 0);
	assert_int_equal(c.gone_frame_count, 0);
	assert_int_equal(c.slots_from, NO_ID);
	changes_free(&c);
}

static void a_reset_empties_and_keeps_the_memory(void **state)
{
	struct changes c = CHANGES_EMPTY;

	(void)state;
	changes_ledger(&c);
	c.ledger_from = 3;
	changes_reset(&c);
	assert_int_equal(c.ledger_count, 0);
	assert_int_equal(c.ledger_from, NO_ID);
	assert_true(c.ledger_room > 0);
	changes_free(&c);
}

static void no_more_rows_than_can_be_counted(void **state)
{
	struct changes c = CHANGES_EMPTY;

	(void)state;
	c.slot_count = c.slot_room = UINT32_MAX;
	assert_null(changes_slot(&c));
	assert_int_equal(c.slot_count, UINT32_MAX);
	c.slot_count = c.slot_room = 0;
	changes_free(&c);
}

static void a_row_is_found_by_its_id(void **state)
{
	struct recording r = RECORDING_EMPTY;
	static const uint32_t ids[] = { 0, 3, 4, 900, NO_ID - 1 };

	(void)state;
	assert_null(recording_node(&r, 0));
	r.node_count = r.frame_count = 5;
	r.nodes = calloc(5, sizeof(*r.nodes));
	r.frames = calloc(5, sizeof(*r.frames));
	assert_non_null(r.nodes);
	assert_non_null(r.frames);
	for (int i = 0; i < 5; i++)
		r.nodes[i].id = r.frames[i].id = ids[i];
	for (int i = 0; i < 5; i++) {
		assert_ptr_equal(recording_node(&r, ids[i]), &r.nodes[i]);
		assert_ptr_equal(recording_frame(&r, ids[i]), &r.frames[i]);
	}
	assert_null(recording_node(&r, 5));
	assert_null(recording_frame(&r, NO_ID));
	recording_free(&r);
	recording_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appended_rows_are_zeroed_and_keep_their_values),
		cmocka_unit_test(every_kind_of_row_has_its_own_place),
		cmocka_unit_test(what_was_appended_can_be_taken_back),
		cmocka_unit_test(a_reset_empties_and_keeps_the_memory),
		cmocka_unit_test(no_more_rows_than_can_be_counted),
		cmocka_unit_test(a_row_is_found_by_its_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
