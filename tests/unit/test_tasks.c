/* test_tasks.c - named parts of a run: each its own profile, which ones stay, and how they fit. */
#include "tasks_stage.h"

#include "core/task_names.h"

static void a_task_after_ten_hours_starts_at_the_base(void **state)
{
	struct tasks_settings settings = tasks_roomy();
	struct tasks_stage s;
	const struct task_row *row;
	uint32_t task;

	(void)state;
	tasks_stage_open(&s, &settings);
	stage_task(&s, "long", 200000, "t;main;long");
	task = stage_task(&s, "short", 500, "t;main;short");
	row = tasks_row(s.tasks, task);
	assert_non_null(row);
	assert_int_equal(row->one_in, 1);
	assert_int_equal(row->slot_ns, BASE_NS);
	assert_int_equal(row->kept, 500);
	assert_int_equal(row->weight_ns, 500 * BASE_NS);
	assert_int_equal(row->end_ns - row->begin_ns, 500 * BASE_NS);
	tasks_stage_close(&s);
}

static void the_same_name_twice_in_a_row_is_two_tasks(void **state)
{
	struct tasks_settings settings = tasks_roomy();
	struct tasks_stage s;
	uint32_t first, second;

	(void)state;
	tasks_stage_open(&s, &settings);
	first = stage_task(&s, "import", 10, "t;main;a");
	second = stage_task(&s, "import", 20, "t;main;b");
	assert_int_not_equal(first, second);
	assert_int_equal(tasks_row(s.tasks, first)->ticks, 10);
	assert_int_equal(tasks_row(s.tasks, second)->ticks, 20);
	tasks_stage_close(&s);
}

static void a_task_shorter_than_a_period_has_its_row(void **state)
{
	struct tasks_settings settings = tasks_roomy();
	struct tasks_stage s;
	struct changes c = CHANGES_EMPTY;
	uint32_t task;

	(void)state;
	tasks_stage_open(&s, &settings);
	s.clock_ns = 5 * NS_PER_S;
	task = stage_begin(&s, "blink");
	s.clock_ns += NS_PER_MS;
	stage_end(&s, task);
	assert_int_equal(tasks_changes(s.tasks, &c), 0);
	assert_int_equal(c.task_count, 1);
	assert_int_equal(c.tasks[0].end_ns - c.tasks[0].begin_ns, NS_PER_MS);
	assert_int_equal(c.tasks[0].cpu_ns.value, NS_PER_MS);
	assert_int_equal(c.tasks[0].ticks, 0);
	assert_int_equal(c.tasks[0].slot_count, 0);
	assert_int_equal(c.slot_count + c.context_count, 0);
	changes_free(&c);
	tasks_stage_close(&s);
}

/* Twenty tasks of one name, of 1 to 20 ticks in a mixed order; the durations that are left, summed as bits. */
static uint32_t left_of_twenty(const struct tasks_settings *settings)
{
	struct tasks_stage s;
	uint32_t left = 0, first = 0;

	tasks_stage_open(&s, settings);
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t task = stage_task(&s, "import", 1 + i * 7 % 20, "t;main;a");

		first = i == 0 ? task : first;
	}
	for (uint32_t id = first; id < first + 20; id++) {
		const struct task_row *row = tasks_row(s.tasks, id);

		if (row != NULL)
			left |= UINT32_C(1) << row->ticks;
	}
	tasks_stage_close(&s);
	return left;
}

static void of_a_name_the_slowest_stay(void **state)
{
	struct tasks_settings settings = tasks_roomy();

	(void)state;
	/* 16 to 20 ticks */
	assert_int_equal(left_of_twenty(&settings), UINT32_C(0x1f) << 16);
	settings.per_name = 2;
	assert_int_equal(left_of_twenty(&settings), UINT32_C(0x3) << 19);
}

static void the_newest_stay_when_asked_for(void **state)
{
	struct tasks_settings settings = tasks_roomy();
	uint32_t want = 0;

	(void)state;
	settings.keep = TASKS_KEEP_NEWEST;
	for (uint32_t i = 15; i < 20; i++)
		want |= UINT32_C(1) << (1 + i * 7 % 20);
	assert_int_equal(left_of_twenty(&settings), want);
}

static void all_of_a_name_stay_when_asked_for(void **state)
{
	struct tasks_settings settings = tasks_roomy();

	(void)state;
	settings.keep = TASKS_KEEP_ALL;
	assert_int_equal(left_of_twenty(&settings), UINT32_C(0xfffff) << 1);
}

static void what_is_under_the_least_duration_is_only_counted(void **state)
{
	struct tasks_settings settings = tasks_roomy();
	struct tasks_stage s;
	struct changes c = CHANGES_EMPTY;
	struct label label = { .pid = 0 };
	uint32_t task;

	(void)state;
	settings.min_duration_ns = 5 * BASE_NS;
	tasks_stage_open(&s, &settings);
	assert_null(tasks_row(s.tasks, stage_task(&s, "import", 4, "t;main;a")));
	task = stage_task(&s, "import", 5, "t;main;a");
	assert_non_null(tasks_row(s.tasks, task));
	assert_int_equal(tasks_changes(s.tasks, &c), 0);
	assert_int_equal(c.task_name_count, 1);
	assert_int_equal(c.task_names[0].begun, 2);
	assert_int_equal(c.task_names[0].ended, 2);
	assert_int_equal(c.task_names[0].total_ns, 9 * BASE_NS);
	assert_int_equal(c.task_names[0].longest_ns, 5 * BASE_NS);
	tasks_label(s.tasks, &label);
	assert_int_equal(label.tasks, 2);
	assert_int_equal(label.tasks_dropped, 1);
	changes_free(&c);
	tasks_stage_close(&s);
}

static void what_is_not_measured_is_not_zero(void **state)
{
	struct tasks_settings settings = tasks_roomy();
	struct tasks_stage s;
	struct task_begin begin = { .name = STR_LITERAL("a"), .cpu_ns = NOT_MEASURED };
	struct task_end end = { .at_ns = 5, .state = TASK_CUT, .cpu_ns = COUNTER(5) };
	uint32_t task;

	(void)state;
	tasks_stage_open(&s, &settings);
	task = tasks_begin(s.tasks, &begin);
	tasks_end(s.tasks, task, &end);
	assert_false(IS_MEASURED(tasks_row(s.tasks, task)->cpu_ns));
	assert_false(IS_MEASURED(tasks_row(s.tasks, task)->rss_bytes));
	assert_int_equal(tasks_row(s.tasks, task)->state, TASK_CUT);
	begin.cpu_ns = COUNTER(9); /* a number that is used again */
	task = tasks_begin(s.tasks, &begin);
	tasks_end(s.tasks, task, &end);
	assert_false(IS_MEASURED(tasks_row(s.tasks, task)->cpu_ns));
	tasks_stage_close(&s);
}

static void memory_is_the_most_of_each_span(void **state)
{
	struct tasks_settings settings = tasks_roomy();
	struct tasks_stage s;
	const struct task_row *row;
	uint32_t task;

	(void)state;
	tasks_stage_open(&s, &settings);
	s.clock_ns = 77 * BASE_NS;
	task = stage_begin(&s, "a");
	for (uint64_t i = 0; i < 64; i++)
		tasks_memory(s.tasks, task, s.clock_ns + i * BASE_NS, 1000 + (i == 9 ? 500 : i));
	row = tasks_row(s.tasks, task);
	assert_int_equal(row->rss_bytes.value, 1500);
	assert_int_equal(row->rss_batch_ns, 2 * BASE_NS);
	assert_int_equal(row->rss_batch[3], 1007);
	assert_int_equal(row->rss_batch[4], 1500);
	assert_int_equal(row->rss_batch[31], 1063);
	tasks_stage_close(&s);
}

/* ---- room ---- */

static uint64_t weight_of(const struct profile *p)
{
	const struct contexts *c = profile_contexts(p);
	const struct timeline *t = profile_timeline(p);
	uint64_t contexts_ns = 0, pending_ns = 0;

	for (uint32_t i = 0; i < c->capacity; i++)
		contexts_ns += c->entries[i].certain_ns + c->entries[i].uncertain_ns;
	for (uint32_t i = 0; i < t->used; i++)
		for (int k = 0; k < STATE_COUNT; k++)
			pending_ns += t->slots[i].pending_ns[k];
	return contexts_ns + pending_ns;
}

static void ended_ones_lose_detail_before_any_goes(void **state)
{
	enum { TASKS = 60, TICKS = 2000 };
	struct tasks_settings settings = tasks_roomy();
	struct tasks_stage s;
	struct label label = { .pid = 0 };
	char name[16], path[32];
	uint32_t ids[TASKS], smallest = UINT32_MAX;

	(void)state;
	settings.room_bytes = 400000; /* 60 of 1,024 slots do not fit, 60 of 16 do */
	tasks_stage_open(&s, &settings);
	for (uint32_t i = 0; i < TASKS; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		ids[i] = stage_begin(&s, name);
		for (uint32_t k = 0; k < TICKS; k++) {
			snprintf(path, sizeof(path), "t;main;f%u", k % 20);
			stage_tick(&s, ids[i], path);
		}
		stage_end(&s, ids[i]);
		assert_true(tasks_bytes(s.tasks) <= settings.room_bytes);
	}
	tasks_label(s.tasks, &label);
	assert_int_equal(label.tasks_dropped, 0);
	for (uint32_t i = 0; i < TASKS; i++) {
		const struct profile *p = tasks_profile(s.tasks, ids[i]);

		assert_non_null(p);
		assert_true(weight_of(p) == TICKS * BASE_NS);
		if (profile_timeline(p)->count < smallest)
			smallest = profile_timeline(p)->count;
		assert_true(profile_timeline(p)->count >= TIMELINE_MIN_SLOTS);
	}
	assert_true(smallest < 1024);
	tasks_stage_close(&s);
}

static void the_fastest_go_when_detail_is_not_enough(void **state)
{
	enum { TASKS = 400 };
	struct tasks_settings settings = tasks_roomy();
	struct tasks_stage s;
	struct label label = { .pid = 0 };
	char name[16];
	uint32_t ids[TASKS], longest_gone = 0, shortest_left = UINT32_MAX;

	(void)state;
	settings.room_bytes = TASKS_LEAST_ROOM;
	tasks_stage_open(&s, &settings);
	for (uint32_t i = 0; i < TASKS; i++) {
		snprintf(name, sizeof(name), "n%u", i % 100);
		ids[i] = stage_task(&s, name, 20 + i * 37 % TASKS, "t;main;a");
		assert_true(tasks_bytes(s.tasks) <= settings.room_bytes);
	}
	tasks_label(s.tasks, &label);
	assert_true(label.tasks_dropped > 100);
	assert_int_equal(label.tasks_dropped + tasks_count(s.tasks), TASKS);
	/* Room frees in steps, and what went early went by what was known then: but no slow one is gone for a fast one. */
	for (uint32_t i = 0; i < TASKS; i++) {
		uint32_t ticks = 20 + i * 37 % TASKS;

		if (tasks_row(s.tasks, ids[i]) == NULL)
			longest_gone = ticks > longest_gone ? ticks : longest_gone;
		else if (i < TASKS / 2)
			shortest_left = ticks < shortest_left ? ticks : shortest_left;
	}
	assert_true(longest_gone < TASKS - 20);
	assert_true(shortest_left > 60);
	tasks_stage_close(&s);
}

static void tasks_that_run_are_bounded_too(void **state)
{
	enum { TASKS = 2000 };
	struct tasks_settings settings = tasks_roomy();
	struct tasks_stage s;
	struct changes c = CHANGES_EMPTY;
	struct label label = { .pid = 0 };
	uint32_t ids[TASKS];

	(void)state;
	settings.room_bytes = TASKS_LEAST_ROOM;
	tasks_stage_open(&s, &settings);
	for (uint32_t i = 0; i < TASKS; i++) {
		ids[i] = stage_begin(&s, "worker");
		for (uint32_t k = 0; k < 5; k++)
			stage_tick(&s, ids[i], "t;main;a");
		changes_reset(&c);
		assert_int_equal(tasks_changes(s.tasks, &c), 0);
		assert_true(tasks_bytes(s.tasks) <= settings.room_bytes);
		tasks_saved(s.tasks);
	}
	tasks_label(s.tasks, &label);
	assert_int_equal(label.tasks, TASKS);
	assert_true(label.tasks_unfollowed > 0);
	assert_int_equal(label.tasks_unfollowed + tasks_count(s.tasks), TASKS);
	/* Those that are there have their exact counts, with a profile or without. */
	for (uint32_t i = 0; i < TASKS; i++)
		if (ids[i] != TASKS_NONE)
			assert_int_equal(tasks_row(s.tasks, ids[i])->ticks, 5);
	changes_free(&c);
	tasks_stage_close(&s);
}

static void tasks_that_run_lose_their_profiles_at_last(void **state)
{
	enum { TASKS = 50, TICKS = 100 };
	struct tasks_settings settings = tasks_roomy();
	struct tasks_stage s;
	struct changes c = CHANGES_EMPTY;
	uint32_t ids[TASKS], bare = 0;
	char path[32];

	(void)state;
	settings.room_bytes = TASKS_LEAST_ROOM;
	tasks_stage_open(&s, &settings);
	for (uint32_t i = 0; i < TASKS; i++)
		ids[i] = stage_begin(&s, "worker");
	for (uint32_t i = 0; i < TASKS; i++) {
		for (uint32_t k = 0; k < TICKS; k++) {
			snprintf(path, sizeof(path), "t;main;f%u", k % 40);
			stage_tick(&s, ids[i], path);
		}
		changes_reset(&c);
		assert_int_equal(tasks_changes(s.tasks, &c), 0);
		assert_true(tasks_bytes(s.tasks) <= settings.room_bytes);
		tasks_saved(s.tasks);
	}
	for (uint32_t i = 0; i < TASKS; i++) {
		assert_int_equal(tasks_row(s.tasks, ids[i])->ticks, TICKS);
		assert_true(tasks_row(s.tasks, ids[i])->weight_ns == TICKS * BASE_NS);
		bare += tasks_profile(s.tasks, ids[i]) == NULL;
	}
	assert_in_range(bare, 1, TASKS - 1);
	changes_free(&c);
	tasks_stage_close(&s);
}

static void paths_of_tasks_that_went_are_given_back(void **state)
{
	/* So many that one in two is kept, in whole groups; then one more that leaves its group open. */
	enum { LAST = 8392 };
	struct tasks_settings settings = tasks_roomy();
	struct tasks_stage s;
	struct paths_used before, after;
	uint32_t task;

	(void)state;
	tasks_stage_open(&s, &settings);
	stage_tick(&s, TASKS_NONE, "t;main;run");
	before = paths_used(profile_paths(s.run));
	task = stage_begin(&s, "a");
	for (uint32_t i = 0; i <= LAST; i++) {
		struct frame path[4];
		size_t depth =
			made_path(i < LAST ? "t;main;only" : "t;main;held", path, ARRAY_LEN(path));
		struct tick tick = { .from_ns = s.clock_ns,
				     .at_ns = s.clock_ns,
				     .weight_ns = i < LAST ? BASE_NS : 2 * BASE_NS - 1 };

		tasks_wants(s.tasks, task, &tick);
		tasks_add(s.tasks, task, &tick, path, depth);
		s.clock_ns += BASE_NS;
	}
	assert_true(paths_used(profile_paths(s.run)).nodes > before.nodes);
	tasks_close(s.tasks);
	s.tasks = NULL;
	after = paths_used(profile_paths(s.run));
	assert_int_equal(after.nodes, before.nodes);
	assert_int_equal(after.frames, before.frames);
	tasks_stage_close(&s);
}

/* The run's own paths fill the arena: what ended gives its detail up, and new paths still find room. */
static void ended_tasks_yield_to_new_paths(void **state)
{
	struct tasks_settings settings = tasks_roomy();
	struct tasks_stage s;
	char path[48];
	uint32_t task, cut = 0;

	(void)state;
	settings.profile.limits.paths = (struct paths_limits){ 600, 600, 32768 };
	tasks_stage_open(&s, &settings);
	task = stage_begin(&s, "many paths");
	for (uint32_t i = 0; i < 500; i++) {
		snprintf(path, sizeof(path), "t;main;old%u", i);
		stage_tick(&s, task, path);
	}
	stage_end(&s, task);
	for (uint32_t i = 0; i < 500; i++) {
		struct frame frames[4];
		size_t depth;

		snprintf(path, sizeof(path), "t;main;new%u", i);
		stage_tick(&s, TASKS_NONE, path);
		depth = made_path(path, frames, ARRAY_LEN(frames));
		cut += paths_find(profile_paths(s.run), frames, depth) == PATHS_NONE;
	}
	assert_int_equal(cut, 0);
	assert_true(weight_of(tasks_profile(s.tasks, task)) == 500 * BASE_NS);
	assert_true(weight_of(s.run) == 1000 * BASE_NS);
	assert_true(profile_contexts(tasks_profile(s.tasks, task))->capacity < 512);
	tasks_stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_after_ten_hours_starts_at_the_base),
		cmocka_unit_test(the_same_name_twice_in_a_row_is_two_tasks),
		cmocka_unit_test(a_task_shorter_than_a_period_has_its_row),
		cmocka_unit_test(of_a_name_the_slowest_stay),
		cmocka_unit_test(the_newest_stay_when_asked_for),
		cmocka_unit_test(all_of_a_name_stay_when_asked_for),
		cmocka_unit_test(what_is_under_the_least_duration_is_only_counted),
		cmocka_unit_test(what_is_not_measured_is_not_zero),
		cmocka_unit_test(memory_is_the_most_of_each_span),
		cmocka_unit_test(ended_ones_lose_detail_before_any_goes),
		cmocka_unit_test(the_fastest_go_when_detail_is_not_enough),
		cmocka_unit_test(tasks_that_run_are_bounded_too),
		cmocka_unit_test(tasks_that_run_lose_their_profiles_at_last),
		cmocka_unit_test(paths_of_tasks_that_went_are_given_back),
		cmocka_unit_test(ended_tasks_yield_to_new_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
