/* test_analysis.c - from paths to functions and threads. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "build_recording.h"
#include "core/analysis.h"
#include "core/scoped.h"
#include "core/units.h"

static const struct function *find(const struct analysis *a, const char *name)
{
	for (uint32_t i = 0; i < a->function_count; i++)
		if (a->functions[i].name.len == strlen(name) &&
		    memcmp(a->functions[i].name.bytes, name, strlen(name)) == 0)
			return &a->functions[i];
	return NULL;
}

static struct analysis open_analysis(const struct build *b)
{
	struct analysis a = ANALYSIS_EMPTY;
	struct err err = ERR_EMPTY;

	assert_int_equal(analysis_open(&b->r, &a, &err), 0);
	return a;
}

static void own_is_the_leaf_and_callees_count_for_all_above(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > parse > memcpy", 600, 60);
	build_context(&b, "job/1/1 > main > parse", 300, 30);
	build_context(&b, "job/1/1 > main > write", 100, 10);
	a = open_analysis(&b);
	assert_int_equal(a.function_count, 4);
	assert_int_equal(find(&a, "memcpy")->own.ns, 600);
	assert_int_equal(find(&a, "memcpy")->with_callees.ns, 600);
	assert_int_equal(find(&a, "parse")->own.ns, 300);
	assert_int_equal(find(&a, "parse")->with_callees.ns, 900);
	assert_int_equal(find(&a, "parse")->with_callees.kept, 90);
	assert_int_equal(find(&a, "main")->own.ns, 0);
	assert_int_equal(find(&a, "main")->with_callees.ns, 1000);
	assert_true(find(&a, "memcpy")->own.share.value == 0.6);
	assert_true(find(&a, "main")->with_callees.share.value == 1);
	assert_int_equal(a.sampled_ns, 1000);
	assert_int_equal(a.kept, 100);
}

static void a_wait_is_its_functions_own_and_says_for_what(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;
	const struct function *read, *why;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > read > [runnable]", 900, 90);
	build_context(&b, "job/1/1 > main > read > [waits for input]", 600, 60);
	build_context(&b, "job/1/1 > main > read", 50, 5);
	build_context(&b, "job/1/1 > [waits for input]", 30, 3);
	b.r.contexts[0].runnable_ns = 900;
	b.r.contexts[1].waiting_ns = 600;
	b.r.contexts[3].waiting_ns = 30;
	b.r.contexts[0].running_ns = b.r.contexts[1].running_ns = b.r.contexts[3].running_ns = 0;
	a = open_analysis(&b);
	read = find(&a, "read");
	why = find(&a, "[waits for input]");
	assert_int_equal(read->own.ns, 1550);
	assert_int_equal(read->with_callees.ns, 1550);
	assert_int_equal(read->why.len, 17); /* being runnable weighs more, and is no wait */
	assert_memory_equal(read->why.bytes, "[waits for input]", 17);
	assert_int_equal(why->with_callees.ns, 630);
	assert_int_equal(why->own.ns, 30); /* nobody is above it */
	assert_int_equal(find(&a, "main")->why.len, 0);
}

static void one_state_alone_has_shares_of_its_own(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a = ANALYSIS_EMPTY;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > work", 300, 30);
	build_context(&b, "job/1/1 > main > merged", 200, 20);
	build_context(&b, "job/1/1 > main > read > [waits for input]", 9000, 900);
	b.r.contexts[1].running_ns = 100; /* of two that merged */
	b.r.contexts[1].waiting_ns = 100;
	b.r.contexts[2].running_ns = 0;
	b.r.contexts[2].waiting_ns = 9000;
	assert_int_equal(analysis_open_state(&b.r, STATE_RUNNING, &a, NULL), 0);
	assert_int_equal(a.sampled_ns, 400);
	assert_int_equal(a.kept, 40);
	assert_int_equal(find(&a, "work")->own.ns, 300);
	assert_true(find(&a, "work")->own.share.value == 0.75);
	assert_int_equal(find(&a, "merged")->own.ns, 100);
	assert_int_equal(find(&a, "read")->with_callees.ns, 0);
	analysis_free(&a);
	assert_int_equal(analysis_open_state(&b.r, STATE_WAITING, &a, NULL), 0);
	assert_int_equal(a.sampled_ns, 9100);
	assert_int_equal(a.unsampled_ns, 0);
	assert_int_equal(find(&a, "read")->own.ns, 9000);
	assert_int_equal(find(&a, "work")->own.ns, 0);
}

static void a_path_counts_once_for_a_function_that_calls_itself(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > walk > each > walk > each > walk", 70, 7);
	build_context(&b, "job/1/1 > main > walk", 30, 3);
	a = open_analysis(&b);
	assert_int_equal(find(&a, "walk")->with_callees.ns, 100);
	assert_int_equal(find(&a, "walk")->with_callees.kept, 10);
	assert_int_equal(find(&a, "walk")->own.ns, 100);
	assert_int_equal(find(&a, "each")->with_callees.ns, 70);
}

static void the_same_function_in_several_threads_is_one(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "worker/1/2 > run > crc32", 30, 3);
	build_context(&b, "worker/1/3 > run > crc32", 50, 5);
	build_context(&b, "job/1/1 > main", 20, 2);
	a = open_analysis(&b);
	assert_int_equal(find(&a, "crc32")->own.ns, 80);
	assert_int_equal(a.thread_count, 3);
	assert_int_equal(a.threads[0].tid, 3);
	assert_int_equal(a.threads[0].all.ns, 50);
	assert_int_equal(a.threads[1].tid, 2);
	assert_int_equal(a.threads[2].all.kept, 2);
	assert_true(a.threads[0].all.share.value == 0.5);
}

static void functions_of_one_name_in_two_modules_are_two(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > init+liba.so", 30, 3);
	build_context(&b, "job/1/1 > init+libb.so", 70, 7);
	a = open_analysis(&b);
	assert_int_equal(a.function_count, 2);
	assert_memory_equal(a.functions[0].module.bytes, "libb.so", 7);
}

static void lines_of_one_function_are_one_row_with_the_heaviest_line(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > parse@parser.cpp:300", 20, 2);
	build_context(&b, "job/1/1 > parse@parser.cpp:310", 50, 5);
	build_context(&b, "job/1/1 > parse@parser.cpp:320 > memcpy", 90, 9);
	a = open_analysis(&b);
	assert_int_equal(a.function_count, 2);
	assert_int_equal(find(&a, "parse")->own.ns, 70);
	assert_int_equal(find(&a, "parse")->with_callees.ns, 160);
	assert_int_equal(find(&a, "parse")->line, 310);
}

static void markers_are_rows_and_every_cut_is_one(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > [cut 12]", 10, 1);
	build_context(&b, "job/1/1 > [cut] > walk", 10, 1);
	build_context(&b, "job/1/1 > main > [cut 7]", 10, 1);
	build_context(&b, "job/1/1 > [broken] > inflate+libz.so.1", 40, 4);
	build_context(&b, "job/1/1 > main > [kernel]", 30, 3);
	a = open_analysis(&b);
	assert_int_equal(find(&a, "[cut]")->own.ns, 20);
	assert_int_equal(find(&a, "[cut]")->with_callees.ns, 30);
	assert_int_equal(find(&a, "[broken]")->own.ns, 0);
	assert_int_equal(analysis_marker(&a, (struct str)STR_LITERAL("[broken]"))->with_callees.ns,
			 40);
	assert_int_equal(find(&a, "inflate")->below_broken_ns, 40);
	assert_int_equal(find(&a, "main")->below_broken_ns, 0);
	assert_int_equal(find(&a, "[kernel]")->kind, FRAME_MARKER);
	assert_null(analysis_marker(&a, (struct str)STR_LITERAL("[torn]")));
}

static void time_without_a_stack_or_a_thread_keeps_its_weight(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1", 10, 1);
	build_context(&b, "job/1/1 > [no stack]", 20, 2);
	build_context(&b, "- > main", 70, 7);
	a = open_analysis(&b);
	assert_int_equal(find(&a, "[no stack]")->own.ns, 30);
	assert_int_equal(find(&a, "[no stack]")->with_callees.ns, 30);
	assert_int_equal(a.thread_count, 2);
	assert_memory_equal(a.threads[0].name.bytes, "[no thread]", 11);
	assert_int_equal(a.threads[0].all.ns, 70);
}

static void a_row_for_no_stack_is_made_when_none_was_stored(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1", 10, 1);
	a = open_analysis(&b);
	assert_int_equal(a.function_count, 1);
	assert_int_equal(find(&a, "[no stack]")->own.ns, 10);
}

static void what_no_sample_covers_is_a_share_of_the_clock(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main", 900, 9);
	b.r.label.clock_ns = 1000;
	a = open_analysis(&b);
	assert_int_equal(a.unsampled_ns, 100);
	assert_true(find(&a, "main")->own.share.value == 1);
}

static void own_time_comes_before_time_with_callees(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main", 10, 1);
	build_context(&b, "job/1/1 > main > f", 90, 9);
	a = open_analysis(&b);
	assert_string_equal(a.functions[0].name.bytes, "f");
	assert_string_equal(a.functions[1].name.bytes, "main");
}

static void the_order_is_the_same_for_rows_in_any_order(void **state)
{
	static const char *const paths[] = { "a/1/1 > f", "a/1/1 > g", "a/1/1 > h > f", "b/2/2 > g",
					     "b/2/2 > e" };
	static const char *const want[] = { "f", "g", "e", "h" };

	(void)state;
	for (size_t turn = 0; turn < ARRAY_LEN(paths); turn++) {
		SCOPED(build_free) struct build b;
		SCOPED(analysis_free) struct analysis a;

		build_begin(&b);
		for (size_t i = 0; i < ARRAY_LEN(paths); i++)
			build_context(&b, paths[(i + turn) % ARRAY_LEN(paths)], 10, 1);
		a = open_analysis(&b);
		assert_int_equal(a.function_count, ARRAY_LEN(want));
		for (uint32_t i = 0; i < ARRAY_LEN(want); i++)
			assert_string_equal(a.functions[i].name.bytes, want[i]);
	}
}

static void nodes_know_their_function_after_sorting(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > aaa", 10, 1);
	build_context(&b, "job/1/1 > zzz", 90, 9);
	a = open_analysis(&b);
	assert_int_equal(a.function_of_node[0], NO_ID);
	assert_memory_equal(a.functions[a.function_of_node[1]].name.bytes, "aaa", 3);
	assert_memory_equal(a.functions[a.function_of_node[2]].name.bytes, "zzz", 3);
	assert_int_equal(a.function_of_node[2], 0);
}

static void functions_without_a_symbol_are_summed(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > [libfoo.so+0x1a2b0]+libfoo.so", 30, 3);
	build_context(&b, "job/1/1 > main > [libfoo.so+0x1b000]+libfoo.so", 10, 1);
	build_context(&b, "job/1/1 > main", 60, 6);
	a = open_analysis(&b);
	assert_int_equal(a.unnamed.ns, 40);
	assert_true(a.unnamed.share.value == 0.4);
	assert_true(find(&a, "[libfoo.so+0x1a2b0]")->is_unnamed);
}

static void the_price_is_exact_and_its_spread_leaves_out_the_start(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main", 1000, 100);
	for (int i = 0; i < 100; i++)
		build_window(&b, 2 * NS_PER_MS, 0);
	b.r.ledger[0].start_ns = NS_PER_S;
	b.r.label.elapsed_ns = 100 * NS_PER_S;
	b.r.label.own_cpu_ns = 1200 * NS_PER_MS;
	b.r.label.kernel_ns = 100 * NS_PER_MS;
	a = open_analysis(&b);
	assert_int_equal(a.spent_ns, 1300 * NS_PER_MS);
	assert_true(a.price.value > 0.0129999 && a.price.value < 0.0130001);
	assert_true(a.price.error < 0.0001);
}

static void too_few_windows_tell_no_spread(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_window(&b, 2 * NS_PER_MS, 0);
	a = open_analysis(&b);
	assert_true(a.price.error == 1);
}

static void a_hole_is_where_samples_were_lost_and_none_was_kept(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_slot(&b, NO_ID, 0, 0, 0);
	build_slot(&b, NO_ID, 0, 0, 9);
	build_slot(&b, NO_ID, 0, 3, 1);
	a = open_analysis(&b);
	assert_int_equal(a.slots_lost, 2);
	assert_int_equal(a.hole_ns, b.r.label.slot_ns);
}

static void an_empty_recording_is_no_error(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	a = open_analysis(&b);
	assert_int_equal(a.function_count, 0);
	assert_int_equal(a.thread_count, 0);
	analysis_free(&a);
	analysis_free(&a);
}

static void damage(struct build *b, int how)
{
	if (how == 0)
		b->r.contexts[0].node = 77;
	else if (how == 1)
		b->r.contexts[0].node = NO_ID;
	else if (how == 2)
		b->r.nodes[1].frame = 77;
	else if (how == 3)
		b->r.nodes[1].parent = 77;
	else
		b->r.nodes[0].parent = 2;
}

static void a_damaged_recording_is_refused(void **state)
{
	static const char *const says[] = { "context 0 points to a node",
					    "context 0 points to a node",
					    "node 1 points to a frame", "node 1 points to a parent",
					    "path of context 0 has no end" };

	(void)state;
	for (int how = 0; how < (int)ARRAY_LEN(says); how++) {
		SCOPED(build_free) struct build b;
		struct analysis a = ANALYSIS_EMPTY;
		struct err err = ERR_EMPTY;

		print_message("%s\n", says[how]);
		build_begin(&b);
		build_context(&b, "job/1/1 > main > f", 10, 1);
		damage(&b, how);
		assert_int_equal(analysis_open(&b.r, &a, &err), -EBADMSG);
		assert_non_null(strstr(err.msg, says[how]));
		assert_null(a.functions);
	}
}

static void a_path_of_the_deepest_kind_is_walked_without_recursion(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > walk", 10, 1);
	for (uint32_t i = 2; i < 500; i++) {
		b.r.nodes[i] = (struct node_row){ .id = i, .parent = i - 1, .frame = 1 };
		b.r.node_count++;
	}
	b.r.contexts[0].node = 499;
	a = open_analysis(&b);
	assert_int_equal(a.function_count, 1);
	assert_int_equal(a.functions[0].with_callees.ns, 10);
}

static void sums_that_would_overflow_stop_at_the_top(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > f", UINT64_MAX - 1, 1);
	build_context(&b, "job/1/1 > main > f", UINT64_MAX - 1, 1);
	a = open_analysis(&b);
	assert_int_equal(a.functions[0].own.ns, UINT64_MAX);
	assert_int_equal(a.unsampled_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_is_the_leaf_and_callees_count_for_all_above),
		cmocka_unit_test(a_wait_is_its_functions_own_and_says_for_what),
		cmocka_unit_test(one_state_alone_has_shares_of_its_own),
		cmocka_unit_test(a_path_counts_once_for_a_function_that_calls_itself),
		cmocka_unit_test(the_same_function_in_several_threads_is_one),
		cmocka_unit_test(functions_of_one_name_in_two_modules_are_two),
		cmocka_unit_test(lines_of_one_function_are_one_row_with_the_heaviest_line),
		cmocka_unit_test(markers_are_rows_and_every_cut_is_one),
		cmocka_unit_test(time_without_a_stack_or_a_thread_keeps_its_weight),
		cmocka_unit_test(a_row_for_no_stack_is_made_when_none_was_stored),
		cmocka_unit_test(what_no_sample_covers_is_a_share_of_the_clock),
		cmocka_unit_test(own_time_comes_before_time_with_callees),
		cmocka_unit_test(the_order_is_the_same_for_rows_in_any_order),
		cmocka_unit_test(nodes_know_their_function_after_sorting),
		cmocka_unit_test(functions_without_a_symbol_are_summed),
		cmocka_unit_test(the_price_is_exact_and_its_spread_leaves_out_the_start),
		cmocka_unit_test(too_few_windows_tell_no_spread),
		cmocka_unit_test(a_hole_is_where_samples_were_lost_and_none_was_kept),
		cmocka_unit_test(an_empty_recording_is_no_error),
		cmocka_unit_test(a_damaged_recording_is_refused),
		cmocka_unit_test(a_path_of_the_deepest_kind_is_walked_without_recursion),
		cmocka_unit_test(sums_that_would_overflow_stop_at_the_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
