/* sim_tasks.c - tasks of known shares. Eight of them in one run: the 95 % interval of each must hold the truth in at least 90 of
 * 100 runs. One of eight minutes right after one of ten hours must be as sure as if it were alone. And 100,000 tasks of 2,500 names
 * go through the store: the recording never grows over its limit, and no task goes uncounted.
 * Usage: sim_tasks [RUNS]; with RUNS under 100 at least 7 of 10 must hold, and the long ones are left out. Exit status 1
 * when it is not so. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/analysis.h"
#include "core/scoped.h"
#include "core/tasks.h"
#include "core/units.h"
#include "fault/place.h"
#include "sim/drive.h"
#include "store/store.h"

#define PARTS	    3
#define TASKS	    8
#define LIMIT_BYTES (UINT64_C(4) << 20)

/* A job in simulation. */
struct job {
	struct profile *run;
	struct tasks *tasks;
	struct rng world;
	uint64_t at_ns;
	struct frame thread, functions[PARTS];
};

static bool job_open(struct job *j, const struct tasks_settings *settings, uint64_t seed)
{
	static const char names[PARTS] = { 'a', 'b', 'c' };

	*j = (struct job){ .thread = { .kind = FRAME_THREAD, .name = STR_LITERAL("job") } };
	j->thread.key = frame_key(&j->thread, 0);
	for (int i = 0; i < PARTS; i++) {
		j->functions[i] = (struct frame){ .kind = FRAME_NATIVE, .name = { &names[i], 1 } };
		j->functions[i].key = frame_key(&j->functions[i], 0);
	}
	rng_seed(&j->world, ~seed);
	return profile_open(&settings->profile, &j->run, NULL) == 0 &&
	       tasks_open(settings, j->run, &j->tasks, NULL) == 0;
}

static void job_close(struct job *j)
{
	tasks_close(j->tasks);
	profile_close(j->run);
}

static uint32_t begin(struct job *j, const char *name, size_t len)
{
	const struct task_begin b = { .name = { name, (uint32_t)len },
				      .pid = 1,
				      .parent_pid = NO_ID,
				      .at_ns = j->at_ns,
				      .cpu_ns = COUNTER(j->at_ns) };

	return tasks_begin(j->tasks, &b);
}

static void end(struct job *j, uint32_t task)
{
	const struct task_end e = { j->at_ns, TASK_ENDED, COUNTER(j->at_ns) };

	tasks_end(j->tasks, task, &e);
}

/* A tick of the task: in function `a` with a chance of `percent` in 100, in `b` with half of the rest. */
static void tick(struct job *j, uint32_t task, uint64_t percent)
{
	uint64_t coin = rng_below(&j->world, 100);
	int part = coin < percent ? 0 : coin < percent + (100 - percent) / 2 ? 1 : 2;
	const struct frame path[2] = { j->thread, j->functions[part] };
	struct tick t = { .weight_ns = 9 * NS_PER_MS + rng_below(&j->world, 2 * NS_PER_MS + 1) };
	bool is_wanted;

	j->at_ns += t.weight_ns;
	t.from_ns = t.at_ns = j->at_ns;
	is_wanted = profile_wants(j->run, &t);
	is_wanted |= tasks_wants(j->tasks, task, &t);
	profile_add(j->run, &t, is_wanted ? path : NULL, is_wanted ? 2 : 0);
	tasks_add(j->tasks, task, &t, is_wanted ? path : NULL, is_wanted ? 2 : 0);
}

/* All rows as a reader would have them. */
static bool as_recording(struct job *j, struct changes *c, struct recording *out)
{
	uint32_t slots, contexts;

	if (tasks_changes(j->tasks, c) < 0) /* makes all fit */
		return false;
	changes_reset(c);
	if (profile_changes(j->run, TASK_RUN, c) < 0)
		return false;
	slots = c->slot_count;
	contexts = c->context_count;
	if (tasks_changes(j->tasks, c) < 0)
		return false;
	*out = (struct recording){ .nodes = c->nodes,
				   .frames = c->frames,
				   .slots = c->slots,
				   .contexts = c->contexts,
				   .tasks = c->tasks,
				   .node_count = c->node_count,
				   .frame_count = c->frame_count,
				   .slot_count = slots,
				   .context_count = contexts,
				   .task_count = c->task_count,
				   .task_slot_count = c->slot_count - slots,
				   .task_context_count = c->context_count - contexts };
	profile_label(j->run, &out->label);
	return true;
}

/* What the report of one task says of function `a`. */
static bool share_of_a(const struct recording *r, uint32_t task, struct share *out)
{
	const struct task_row *row = recording_task(r, task);
	struct analysis analysis = ANALYSIS_EMPTY;
	struct recording part;
	bool has = false;

	if (row == NULL)
		return false;
	recording_of_task(r, row, &part);
	if (analysis_open(&part, &analysis, NULL) != 0)
		return false;
	for (uint32_t i = 0; i < analysis.function_count && !has; i++) {
		has = analysis.functions[i].name.len == 1 &&
		      analysis.functions[i].name.bytes[0] == 'a';
		if (has)
			*out = analysis.functions[i].own.share;
	}
	analysis_free(&analysis);
	return has;
}

static struct tasks_settings settings_of(uint64_t seed)
{
	struct tasks_settings s = { .profile = sim_settings(seed), .room_bytes = 500000 };

	return s;
}

/* ---- eight tasks ---- */

static bool eight_tasks(uint64_t seed, unsigned long holds[TASKS])
{
	static const char name[] = "12345678";
	struct tasks_settings settings = settings_of(seed);
	struct changes c = CHANGES_EMPTY;
	struct recording r;
	uint32_t ids[TASKS];
	struct job j;
	bool is_good = job_open(&j, &settings, seed);

	/* Task i takes 1,500 (i + 1) ticks, and is in `a` for 10 (i + 1) % of them. */
	for (uint64_t i = 0; i < TASKS && is_good; i++) {
		ids[i] = begin(&j, &name[i], 1);
		for (uint64_t n = 0; n < 1500 * (i + 1); n++)
			tick(&j, ids[i], 10 * (i + 1));
		end(&j, ids[i]);
	}
	is_good = is_good && as_recording(&j, &c, &r);
	for (uint32_t i = 0; i < TASKS && is_good; i++) {
		struct share share;

		is_good = share_of_a(&r, ids[i], &share);
		if (is_good)
			holds[i] += fabs(share.value - 0.1 * (i + 1)) <= share.error;
	}
	changes_free(&c);
	job_close(&j);
	return is_good;
}

static bool many_times_eight(unsigned long runs)
{
	unsigned long holds[TASKS] = { 0 }, least = runs >= 100 ? runs * 9 / 10 : runs * 7 / 10;
	bool is_good = true;

	for (unsigned long n = 0; n < runs && is_good; n++)
		is_good = eight_tasks(n + 1, holds);
	printf("eight tasks, %lu runs: intervals hold the truth in", runs);
	for (int i = 0; i < TASKS; i++) {
		printf(" %lu", holds[i]);
		is_good = is_good && holds[i] >= least;
	}
	printf(" (at least %lu)\n", least);
	return is_good;
}

/* ---- a short one after a long one ---- */

static bool short_after_long(unsigned long runs)
{
	enum { LONG_TICKS = 3600000, SHORT_TICKS = 48000 };
	unsigned long holds = 0, same = 0;

	for (unsigned long n = 0; n < runs; n++) {
		struct tasks_settings settings = settings_of(n + 1);
		struct changes c = CHANGES_EMPTY;
		struct recording r;
		struct share share = { .error = 0 };
		struct job j;
		uint32_t task;

		if (!job_open(&j, &settings, n + 1))
			return false;
		task = begin(&j, "ten hours", 9);
		for (int i = 0; i < LONG_TICKS; i++)
			tick(&j, task, 80);
		end(&j, task);
		task = begin(&j, "eight minutes", 13);
		for (int i = 0; i < SHORT_TICKS; i++)
			tick(&j, task, 30);
		end(&j, task);
		if (!as_recording(&j, &c, &r) || !share_of_a(&r, task, &share))
			return false;
		holds += fabs(share.value - 0.3) <= share.error;
		/* So many as a run of its own keeps: 19,788 in ten minutes. */
		same += tasks_row(j.tasks, task)->kept > 17500 && share.error < 0.01;
		changes_free(&c);
		job_close(&j);
	}
	printf("eight minutes after ten hours, %lu runs: %lu hold the truth, %lu are as sure as "
	       "alone\n",
	       runs, holds, same);
	return holds >= runs * 9 / 10 && same == runs;
}

/* ---- very many ---- */

struct saver {
	struct place place;
	void *db;
	struct changes changes;
	struct err err;
	uint64_t saves, most_bytes;
};

static bool save(struct saver *s, struct job *j)
{
	struct label label = { .instrument = STR_LITERAL("record"), .saves = ++s->saves };
	struct store_saved saved;
	int code;

	changes_reset(&s->changes);
	code = tasks_changes(j->tasks, &s->changes);
	if (code == 0)
		code = profile_changes(j->run, TASK_RUN, &s->changes);
	profile_label(j->run, &label);
	tasks_label(j->tasks, &label);
	if (code == 0)
		code = store_sqlite.save(s->db, &label, &s->changes, &saved, &s->err);
	if (code != 0 || saved.is_paused) {
		printf("save %" PRIu64 ": %d %s\n", s->saves, code, s->err.msg);
		return false;
	}
	profile_saved(j->run);
	tasks_saved(j->tasks);
	if (saved.bytes > s->most_bytes)
		s->most_bytes = saved.bytes;
	return true;
}

/* Does the file tell of every task, and are rows and counts of one mind? */
static bool is_told(const struct recording *r, uint64_t begun)
{
	uint64_t counted = 0, ended = 0;

	for (uint32_t i = 0; i < r->task_name_count; i++) {
		counted += r->task_names[i].begun;
		ended += r->task_names[i].ended;
	}
	printf("100,000 tasks: %u rows, %u names, %" PRIu64 " counted, %" PRIu64 " only counted\n",
	       r->task_count, r->task_name_count, counted, r->label.tasks_dropped);
	return counted == begun && ended == begun && r->label.tasks == begun &&
	       r->task_count + r->label.tasks_dropped == begun && r->task_count > 100 &&
	       r->task_name_count <= 1001;
}

static bool very_many(void)
{
	enum { MANY = 100000, NAMES = 2500 };
	const struct store_limits limits = { .bytes = LIMIT_BYTES };
	struct tasks_settings settings = settings_of(1);
	struct recording r = RECORDING_EMPTY;
	struct saver s = { .saves = 0 };
	struct job j;
	bool is_good;

	if (!place_make(&s.place) ||
	    store_sqlite.fit_tasks(LIMIT_BYTES, 1024, &settings.profile.limits,
				   &settings.room_bytes, &s.err) != 0 ||
	    !job_open(&j, &settings, 1) ||
	    store_sqlite.create(place_file(&s.place, "many.tare"), &limits, &s.db, &s.err) != 0)
		return false;
	is_good = save(&s, &j);
	for (uint32_t n = 0; n < MANY && is_good; n++) {
		char name[32];
		int len = snprintf(name, sizeof(name), "job %u",
				   (unsigned)rng_below(&j.world, NAMES));
		uint32_t task = begin(&j, name, (size_t)len);
		/* Most are short, few are long. */
		uint64_t ticks = UINT64_C(1) << rng_below(&j.world, rng_below(&j.world, 10) + 1);

		for (; ticks > 1; ticks--)
			tick(&j, task, 50);
		j.at_ns += rng_below(&j.world, NS_PER_MS);
		end(&j, task);
		if (n % 500 == 499 || n == MANY - 1)
			is_good = save(&s, &j);
	}
	is_good = is_good && store_sqlite.load(place_file(&s.place, "many.tare"), &r, &s.err) == 0;
	is_good = is_good && is_told(&r, MANY);
	printf("the largest file had %" PRIu64 " of %" PRIu64 " bytes; %s\n", s.most_bytes,
	       LIMIT_BYTES, s.err.msg);
	is_good = is_good && s.most_bytes <= LIMIT_BYTES;
	recording_free(&r);
	store_sqlite.close(s.db);
	changes_free(&s.changes);
	job_close(&j);
	place_remove(&s.place);
	return is_good;
}

int main(int argc, char **argv)
{
	unsigned long runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	bool is_good = many_times_eight(runs);

	if (runs >= 100) {
		is_good &= short_after_long(10);
		is_good &= very_many();
	}
	return is_good ? 0 : 1;
}
