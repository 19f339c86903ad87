/* test_store_tasks.c - tasks through the store: what changed is what comes back, within the limit; foreign rows are checked. */
#include <errno.h>

#include "tasks_stage.h"

#include <sqlite3.h>
#include <unistd.h>

#include "fault/place.h"
#include "store/store.h"

#define LIMIT_BYTES (1u << 20)
#define MOST_OPEN   6u

static struct place place;

static void ok(int rc, const struct err *err)
{
	if (rc != 0)
		fail_msg("%d: %s | %s | %s", rc, err->msg, err->works, err->mend);
}

/* A run with tasks that goes into a recording. */
struct kept_run {
	struct tasks_stage stage;
	struct rng coins;
	void *db;
	const char *path;
	uint32_t open[MOST_OPEN];
	uint64_t saves;
};

static void run_open(struct kept_run *k, const char *file)
{
	const struct store_limits limits = { .bytes = LIMIT_BYTES };
	struct tasks_settings settings = tasks_roomy();
	struct err err = ERR_EMPTY;

	*k = (struct kept_run){ .path = place_file(&place, file) };
	rng_seed(&k->coins, 11);
	ok(store_sqlite.fit_tasks(LIMIT_BYTES, 64, &settings.profile.limits, &settings.room_bytes,
				  &err),
	   &err);
	tasks_stage_open(&k->stage, &settings);
	ok(store_sqlite.create(k->path, &limits, &k->db, &err), &err);
}

static void run_close(struct kept_run *k)
{
	store_sqlite.close(k->db);
	tasks_stage_close(&k->stage);
}

static void save(struct kept_run *k)
{
	struct label label = { .instrument = STR_LITERAL("record"),
			       .task_source = STR_LITERAL("marks"),
			       .saves = ++k->saves };
	struct changes changes = CHANGES_EMPTY;
	struct store_saved saved;
	struct err err = ERR_EMPTY;

	assert_int_equal(tasks_changes(k->stage.tasks, &changes), 0);
	assert_int_equal(profile_changes(k->stage.run, TASK_RUN, &changes), 0);
	profile_label(k->stage.run, &label);
	tasks_label(k->stage.tasks, &label);
	ok(store_sqlite.save(k->db, &label, &changes, &saved, &err), &err);
	assert_true(saved.bytes <= LIMIT_BYTES);
	profile_saved(k->stage.run);
	tasks_saved(k->stage.tasks);
	changes_free(&changes);
}

/* Something that a job does: begins, ends or works on a task of one of many names. */
static void step(struct kept_run *k)
{
	uint32_t which = (uint32_t)rng_below(&k->coins, MOST_OPEN);
	uint32_t *task = &k->open[which];
	char text[48];

	if (*task == TASKS_NONE) {
		snprintf(text, sizeof(text), "name %u", (unsigned)rng_below(&k->coins, 40));
		*task = stage_begin(&k->stage, text);
	}
	for (uint64_t i = rng_below(&k->coins, 60); i > 0; i--) {
		snprintf(text, sizeof(text), "t;main;w%u;f%u", which,
			 (unsigned)rng_below(&k->coins, 50));
		stage_tick(&k->stage, *task, text);
	}
	tasks_memory(k->stage.tasks, *task, k->stage.clock_ns, 1 + rng_below(&k->coins, 1 << 30));
	if (rng_below(&k->coins, 3) == 0) {
		stage_end(&k->stage, *task);
		*task = TASKS_NONE;
	}
}

static void row_is_true(const struct recording *r, const struct task_row *truth)
{
	const struct task_row *row = recording_task(r, truth->id);
	struct recording part;
	uint64_t slots_ns = 0, contexts_ns = 0, pending_ns = 0, kept = 0;

	assert_non_null(row);
	assert_int_equal(row->name.len, truth->name.len);
	assert_memory_equal(row->name.bytes, truth->name.bytes, truth->name.len);
	assert_int_equal(row->ticks, truth->ticks);
	assert_int_equal(row->weight_ns, truth->weight_ns);
	assert_int_equal(row->state, truth->state);
	assert_int_equal(row->end_ns, truth->end_ns);
	assert_int_equal(row->rss_bytes.value, truth->rss_bytes.value);
	assert_memory_equal(row->rss_batch, truth->rss_batch, sizeof(row->rss_batch));
	recording_of_task(r, row, &part);
	for (uint32_t i = 0; i < part.slot_count; i++) {
		slots_ns += part.slots[i].running_ns;
		pending_ns += part.slots[i].unsampled_ns;
		kept += part.slots[i].kept;
		assert_int_equal(part.slots[i].task, row->id);
		assert_int_equal(part.slots[i].id, i);
	}
	for (uint32_t i = 0; i < part.context_count; i++)
		contexts_ns += part.contexts[i].certain_ns + part.contexts[i].uncertain_ns;
	if (row->slot_count == 0) {
		assert_int_equal(part.slot_count + part.context_count, 0);
		return;
	}
	assert_true(slots_ns == contexts_ns);
	assert_true(slots_ns + pending_ns == row->weight_ns);
	assert_int_equal(kept, row->kept);
	assert_int_equal(part.label.kept, row->kept);
}

static void what_was_saved_of_tasks_comes_back(void **state)
{
	struct kept_run k;
	struct recording r = RECORDING_EMPTY;
	struct label label = { .pid = 0 };
	struct err err = ERR_EMPTY;

	(void)state;
	run_open(&k, "tasks.tare");
	for (uint32_t i = 1; i <= 900; i++) {
		step(&k);
		if (i % 15 == 0)
			save(&k);
		if (i % 90 != 0)
			continue;
		ok(store_sqlite.load(k.path, &r, &err), &err);
		assert_int_equal(r.task_count, tasks_count(k.stage.tasks));
		for (uint32_t t = 0; t < r.task_count; t++)
			row_is_true(&r, tasks_row(k.stage.tasks, r.tasks[t].id));
		for (uint32_t s = 0; s < r.slot_count; s++)
			assert_int_equal(r.slots[s].task, TASK_RUN);
		recording_free(&r);
	}
	tasks_label(k.stage.tasks, &label);
	assert_true(label.tasks_dropped > 0);
	run_close(&k);
}

/* Long names, heavy ticks, all batches, memory of terabytes, paths that never come again: every save still finds its room. */
static void the_worst_rows_fit(void **state)
{
	struct kept_run k;
	char name[256], path[64];

	(void)state;
	run_open(&k, "worst.tare");
	for (uint32_t i = 0; i < 400; i++) {
		uint32_t task;

		for (size_t b = 0; b < sizeof(name) - 1; b++)
			name[b] = (char)('a' + rng_below(&k.coins, 26));
		name[255] = '\0';
		task = stage_begin(&k.stage, name);
		for (uint32_t n = 0; n < 200; n++) {
			k.stage.clock_ns += 1 + rng_below(&k.coins, UINT64_C(1) << 40);
			snprintf(path, sizeof(path), "t;main;%08x%08x",
				 (unsigned)rng_next(&k.coins), (unsigned)rng_next(&k.coins));
			stage_tick(&k.stage, task, path);
			tasks_memory(k.stage.tasks, task, k.stage.clock_ns,
				     rng_below(&k.coins, UINT64_C(1) << 41) + 1);
		}
		if (i % 3 != 0)
			stage_end(&k.stage, task);
		if (i % 20 == 0)
			save(&k);
	}
	save(&k);
	run_close(&k);
}

static void corrupt(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void foreign_rows_of_tasks_are_refused(void **state)
{
	static const char *const wrong[] = {
		"UPDATE task SET kind = 3",
		"UPDATE task SET state = 3",
		"UPDATE task SET end_ns = begin_ns - 1 WHERE begin_ns > 0",
		"UPDATE task SET batches = 33",
		"UPDATE task SET kept = ticks + 1",
		"UPDATE task SET weight_ns = 9223372036854775807",
		"UPDATE task SET name = printf('%.*c', 256, 'x')",
		"UPDATE task SET id = 1 WHERE id = (SELECT min(id) FROM task)",
		"DELETE FROM task WHERE id = (SELECT max(task) FROM slot)",
		"DELETE FROM task WHERE id = (SELECT max(task) FROM context)",
		"UPDATE task_name SET ended = ended + 1",
		"UPDATE task_name SET begun = 0 WHERE ended > 0",
		"UPDATE task_name SET longest_ns = total_ns + 1",
		"UPDATE task_name SET total_ns = 9223372036854775807, begun = begun",
		("INSERT INTO slot SELECT 0, id, node, 0, 0, 0, 0, 0, 0 FROM slot WHERE task = 1 "
		 "LIMIT 1"),
	};
	char copy[4200];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct recording r = RECORDING_EMPTY;
		struct err err = ERR_EMPTY;
		struct kept_run k;

		snprintf(copy, sizeof(copy), "foreign%zu.tare", i);
		run_open(&k, copy);
		for (uint32_t n = 0; n < 30; n++)
			step(&k);
		save(&k);
		run_close(&k);
		corrupt(k.path, wrong[i]);
		print_message("%s\n", wrong[i]);
		assert_int_equal(store_sqlite.load(k.path, &r, &err), -EBADMSG);
		assert_non_null(strstr(err.msg, "damaged"));
		recording_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_saved_of_tasks_comes_back),
		cmocka_unit_test(the_worst_rows_fit),
		cmocka_unit_test(foreign_rows_of_tasks_are_refused),
	};
	int failed;

	if (!place_make(&place))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_remove(&place);
	return failed;
}
