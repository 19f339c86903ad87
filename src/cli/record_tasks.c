/* record_tasks.c - boundaries of tasks: from marks, lives and paths to core/tasks. */
#include "cli/record_tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/run.h"
#include "core/scoped.h"
#include "core/task_names.h"
#include "sense/clock.h"
#include "sense/procfs.h"

#define MARKS_AT_ONCE 64u
#define MARKS_SHARE   4u  /* marks may take a quarter of the price */
#define CLIMB_MOST    64u /* from a process up to one that is known */
#define MEMORY_MOST   32u /* more processes are too dear to ask each second */

/* ---- words ---- */

static int bad_words(const char *option, const char *value, const char *mend, struct err *err)
{
	err_set(err, -EINVAL, "cannot part the run by %s '%.100s'", option, value);
	return err_mend(err, "%s", mend);
}

static int keep_of(const char *word, enum tasks_keep *out, struct err *err)
{
	static const char *const words[] = { [TASKS_KEEP_SLOWEST] = "slowest",
					     [TASKS_KEEP_NEWEST] = "newest",
					     [TASKS_KEEP_ALL] = "all" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(word, words[i]) == 0) {
			*out = (enum tasks_keep)i;
			return 0;
		}
	}
	err_set(err, -EINVAL, "cannot keep the '%.100s' tasks", word);
	return err_mend(err, "--keep takes slowest, newest or all");
}

static int source_of(const struct task_opts *o, enum task_source *out, struct err *err)
{
	static const char mend[] = "--tasks takes marks or processes; --task-under FRAME parts by "
				   "a frame";

	if (o->source != NULL && o->under != NULL)
		return bad_words("--task-under", o->under, "leave --tasks out", err);
	if (o->under != NULL && o->under[0] == '\0')
		return bad_words("--task-under", "", mend, err);
	*out = o->under != NULL ? TASKS_BY_FRAME : TASKS_BY_NOTHING;
	if (o->source == NULL)
		return 0;
	if (strcmp(o->source, "marks") != 0 && strcmp(o->source, "processes") != 0)
		return bad_words("--tasks", o->source, mend, err);
	*out = o->source[0] == 'm' ? TASKS_BY_MARKS : TASKS_BY_PROCESS;
	return 0;
}

static int open_marks(struct record_tasks *rt, bool has_command, struct err *err)
{
	int code;

	if (!has_command) {
		err_set(err, -EINVAL,
			"cannot take marks of a process that runs already: it does "
			"not know where to send them");
		err_works(err, "--tasks processes, and --task-under FRAME");
		return err_mend(err, "start it by tare record --tasks marks -- CMD");
	}
	code = marks_open(&rt->marks, err);
	if (code == 0 && setenv(MARKS_ENV, rt->marks.path, 1) < 0)
		code = err_set(err, -ENOMEM, "cannot name the socket for marks: out of memory");
	return code;
}

int record_tasks_prepare(struct record_tasks *rt, const struct task_opts *opts, bool has_command,
			 struct err *err)
{
	enum tasks_keep ignored;
	int code = source_of(opts, &rt->source, err);

	rt->marks = MARKS_EMPTY;
	if (code == 0)
		code = keep_of(opts->keep, &ignored, err);
	if (code == 0 && (opts->per_name == 0 || opts->per_name > UINT32_MAX)) {
		err_set(err, -EINVAL, "cannot keep %llu tasks of a name",
			(unsigned long long)opts->per_name);
		code = err_mend(err, "--per-name takes a number from 1 on; 5 is the default");
	}
	if (code == 0 && rt->source == TASKS_BY_MARKS)
		code = open_marks(rt, has_command, err);
	return code;
}

static void name_source(struct record_tasks *rt)
{
	static const char *const words[] = { [TASKS_BY_NOTHING] = "",
					     [TASKS_BY_MARKS] = "marks",
					     [TASKS_BY_PROCESS] = "processes",
					     [TASKS_BY_FRAME] = "frame " };

	snprintf(rt->source_text, sizeof(rt->source_text), "%s%s", words[rt->source],
		 rt->source == TASKS_BY_FRAME ? rt->frame : "");
	rt->source_words = run_str(rt->source_text);
}

/* ---- opening ---- */

static void follow_process(struct record_tasks *rt, const struct life *event);

/* What a process alone has taken up to now. */
static struct counter own_account(uint32_t pid)
{
	uint64_t ns;

	return procfs_cpu_ns((pid_t)pid, &ns) == 0 ? COUNTER(ns) : NOT_MEASURED;
}

int record_tasks_open(struct record_tasks *rt, const struct record_tasks_settings *settings,
		      struct profile *run, struct err *err)
{
	struct tasks_settings own = { .profile = settings->profile,
				      .room_bytes = settings->room_bytes,
				      .per_name = (uint32_t)settings->opts->per_name,
				      .min_duration_ns = settings->opts->min_duration_ns };
	int code;

	if (rt->source == TASKS_BY_NOTHING)
		return 0;
	rt->frame = settings->opts->under;
	rt->first_pid = settings->pid;
	rt->first_cpu_ns = own_account(settings->pid);
	rt->allowed_ns = settings->price_ppm * (NS_PER_S / 1000000) / MARKS_SHARE;
	name_source(rt);
	code = keep_of(settings->opts->keep, &own.keep, err);
	if (code == 0)
		code = tasks_open(&own, run, &rt->tasks, err);
	if (code < 0)
		return code;
	if (task_tree_open(&rt->tree) < 0 || !task_tree_add(rt->tree, settings->pid, 0))
		return err_set(err, -ENOMEM, "cannot follow processes: out of memory");
	if (settings->comm != NULL && rt->source == TASKS_BY_PROCESS) {
		const struct life there = { .kind = LIFE_EXEC,
					    .pid = settings->pid,
					    .comm = run_str(settings->comm) };

		follow_process(rt, &there);
	}
	return 0;
}

void record_tasks_close(struct record_tasks *rt)
{
	tasks_close(rt->tasks);
	task_tree_close(rt->tree);
	rt->tasks = NULL;
	rt->tree = NULL;
}

void record_tasks_end(struct record_tasks *rt)
{
	marks_close(&rt->marks);
}

/* ---- boundaries ---- */

/* What the processes of a task have taken up to now: one process, and the children that it waited for. */
static struct counter cpu_now(uint32_t pid)
{
	struct counter own = own_account(pid);
	uint64_t children_ns;

	if (!IS_MEASURED(own) || procfs_children_cpu_ns((pid_t)pid, &children_ns) < 0)
		return NOT_MEASURED;
	return COUNTER(own.value + children_ns);
}

static void end_task(struct record_tasks *rt, uint32_t owner, const struct task_end *end)
{
	uint32_t task = task_tree_set(rt->tree, owner, TASKS_NONE);

	if (task != TASKS_NONE)
		tasks_end(rt->tasks, task, end);
}

/* Ends what the owner works on, and begins another. */
static void begin_task(struct record_tasks *rt, uint32_t owner, const struct task_begin *begin)
{
	const struct task_end end = { .at_ns = begin->at_ns,
				      .state = TASK_ENDED,
				      .cpu_ns = begin->cpu_ns };

	uint32_t task;

	end_task(rt, owner, &end);
	task = tasks_begin(rt->tasks, begin);
	if (task_tree_has(rt->tree, owner))
		task_tree_set(rt->tree, owner, task);
	else if (task != TASKS_NONE) /* nobody would end it: it counts by its name */
		tasks_end(rt->tasks, task, &end);
}

static void make(struct record_tasks *rt, const struct boundary *b)
{
	const struct task_begin begin = { .name = { b->name, b->name_len },
					  .kind = TASK_MARK,
					  .pid = b->pid,
					  .parent_pid = b->parent_pid,
					  .at_ns = b->at_ns,
					  .cpu_ns = b->cpu_ns };
	const struct task_end end = { .at_ns = b->at_ns, .state = TASK_ENDED, .cpu_ns = b->cpu_ns };

	if (b->is_end)
		end_task(rt, b->pid, &end);
	else
		begin_task(rt, b->pid, &begin);
}

/* Makes those that came up to `at_ns`. */
static void make_until(struct record_tasks *rt, uint64_t at_ns)
{
	uint32_t made = 0;

	while (made < rt->waiting_count && rt->waiting[made].at_ns <= at_ns)
		make(rt, &rt->waiting[made++]);
	if (made == 0)
		return;
	rt->waiting_count -= made;
	memmove(rt->waiting, rt->waiting + made, rt->waiting_count * sizeof(rt->waiting[0]));
}

void record_tasks_settle(struct record_tasks *rt)
{
	make_until(rt, UINT64_MAX);
}

/* ---- marks ---- */

/* The process that made it, or took it over; 0: it is gone. */
static pid_t parent_of(pid_t pid)
{
	struct procfs_process facts;

	return procfs_process(pid, &facts) == 0 ? facts.parent : 0;
}

/* Enters a process that no event has told of yet, with those between it and one that is known. False: it is none of the job. */
static bool is_of_job(struct record_tasks *rt, pid_t pid)
{
	uint32_t way[CLIMB_MOST];
	uint32_t steps = 0;
	pid_t above = pid;

	while (above > 0 && !task_tree_has(rt->tree, (uint32_t)above)) {
		if (steps == CLIMB_MOST)
			return false;
		way[steps++] = (uint32_t)above;
		above = parent_of(above);
	}
	while (above > 0 && steps > 0) {
		steps--;
		if (!task_tree_add(rt->tree, way[steps], (uint32_t)above))
			return false;
		above = (pid_t)way[steps];
	}
	return above > 0;
}

/* When it was sent, as elapsed time; a clock that was set meanwhile does not put it into the future, or before the start. */
static uint64_t elapsed_of(const struct marks_got *got, struct mono start)
{
	struct mono now = mono_now();
	int64_t ago_ns = got->sent_wall_ns > 0 ? wall_now().ns - got->sent_wall_ns : 0;
	uint64_t elapsed_ns = mono_elapsed_ns(start, now);

	if (ago_ns < 0 || ago_ns > (int64_t)NS_PER_S)
		ago_ns = 0;
	return elapsed_ns > (uint64_t)ago_ns ? elapsed_ns - (uint64_t)ago_ns : 0;
}

/* In order of time; the newest of equals comes last. */
static void wait_for_ticks(struct record_tasks *rt, const struct boundary *b)
{
	uint32_t at;

	if (rt->waiting_count == BOUNDARIES_MOST)
		make_until(rt, rt->waiting[0].at_ns);
	at = rt->waiting_count++;
	for (; at > 0 && rt->waiting[at - 1].at_ns > b->at_ns; at--)
		rt->waiting[at] = rt->waiting[at - 1];
	rt->waiting[at] = *b;
}

static bool take_mark(struct record_tasks *rt, const struct marks_got *got, struct mono start)
{
	struct boundary b = { .is_end = false };
	struct mark mark;
	pid_t pid = got->sender, parent;
	struct str name;

	if (pid <= 0 || !mark_parse(got->bytes, got->len, &mark) || !is_of_job(rt, pid))
		return false;
	if (mark.is_of_parent)
		pid = parent_of(pid);
	if (pid <= 0 || (mark.is_of_parent && !is_of_job(rt, pid)))
		return false;
	parent = parent_of(pid);
	name = task_name_cut(mark.name);
	b.at_ns = elapsed_of(got, start);
	b.pid = (uint32_t)pid;
	b.parent_pid = parent > 0 ? (uint32_t)parent : NO_ID;
	b.cpu_ns = cpu_now((uint32_t)pid);
	b.is_end = mark.is_end;
	b.name_len = name.len;
	if (name.len > 0)
		memcpy(b.name, name.bytes, name.len);
	wait_for_ticks(rt, &b);
	return true;
}

void record_tasks_read(struct record_tasks *rt, struct mono start)
{
	uint64_t began_ns;
	struct marks_got got;

	if (rt->tasks == NULL || rt->marks.fd < 0 || rt->marks.is_shut)
		return;
	began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	for (uint32_t i = 0; i < MARKS_AT_ONCE && marks_peek(&rt->marks, &got); i++) {
		rt->refused += !take_mark(rt, &got, start);
		marks_take(&rt->marks);
	}
	rt->spent_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	if (rt->spent_ns <= rt->allowed_ns)
		return;
	marks_shut(&rt->marks, true);
	rt->floods++;
}

/* ---- ticks, paths and lives ---- */

uint32_t record_tasks_of(struct record_tasks *rt, const struct tick *tick)
{
	if (rt->tasks == NULL)
		return TASKS_NONE;
	make_until(rt, tick->at_ns);
	return rt->source == TASKS_BY_FRAME ? task_tree_own(rt->tree, tick->tid)
					    : task_tree_task(rt->tree, tick->pid);
}

static bool is_named(const struct frame *f, const char *name)
{
	size_t len = strlen(name);

	return f->kind != FRAME_THREAD && f->name.len == len &&
	       memcmp(f->name.bytes, name, len) == 0;
}

/* The callee of the named frame: the outermost, where it calls itself. */
static const struct frame *callee(const struct record_tasks *rt, const struct frame *path,
				  size_t depth)
{
	for (size_t i = 1; i + 1 < depth; i++)
		if (is_named(&path[i], rt->frame))
			return &path[i + 1];
	return NULL;
}

static bool is_same_name(const struct task_row *row, struct str name)
{
	struct str cut = task_name_cut(name);

	return row != NULL && row->name.len == cut.len &&
	       (cut.len == 0 || memcmp(row->name.bytes, cut.bytes, cut.len) == 0);
}

uint32_t record_tasks_by_path(struct record_tasks *rt, const struct tick *tick,
			      const struct frame *path, size_t depth, uint32_t task)
{
	const struct task_end end = { .at_ns = tick->at_ns,
				      .state = TASK_ENDED,
				      .cpu_ns = NOT_MEASURED };
	struct task_begin begin = { .kind = TASK_FRAME,
				    .pid = tick->pid,
				    .parent_pid = NO_ID,
				    .at_ns = tick->from_ns,
				    .cpu_ns = NOT_MEASURED };
	const struct frame *work;

	/* A stack that is not whole does not say what it is under. */
	if (rt->source != TASKS_BY_FRAME || path == NULL || tick->tid == 0 || depth < 2 ||
	    path[1].kind == FRAME_MARKER)
		return task;
	work = callee(rt, path, depth);
	if (work == NULL) {
		end_task(rt, tick->tid, &end);
		return TASKS_NONE;
	}
	if (task != TASKS_NONE && is_same_name(tasks_row(rt->tasks, task), work->name))
		return task;
	if (!task_tree_has(rt->tree, tick->tid) && !task_tree_add(rt->tree, tick->tid, 0))
		return TASKS_NONE;
	begin.name = work->name;
	begin_task(rt, tick->tid, &begin);
	return task_tree_own(rt->tree, tick->tid);
}

/* What a process had taken when a task of its own began: nothing at its fork; at an exec, only the first one's is known. */
static struct counter account_at_begin(struct record_tasks *rt, const struct life *event)
{
	if (event->kind == LIFE_FORK)
		return COUNTER(0);
	if (event->pid != rt->first_pid)
		return NOT_MEASURED;
	rt->first_pid = 0;
	return rt->first_cpu_ns;
}

static void follow_process(struct record_tasks *rt, const struct life *event)
{
	struct task_begin begin = { .name = event->comm,
				    .kind = TASK_PROCESS,
				    .pid = event->pid,
				    .parent_pid = NO_ID,
				    .at_ns = event->at_ns,
				    .cpu_ns = account_at_begin(rt, event) };
	uint32_t parent = task_tree_parent(rt->tree, event->pid);

	if (parent != 0)
		begin.parent_pid = parent;
	begin_task(rt, event->pid, &begin);
}

/* The last account of a process; for a mark its children belong to it. */
static struct counter last_account(const struct record_tasks *rt, const struct life *event)
{
	uint64_t children_ns;

	if (rt->source != TASKS_BY_MARKS || !IS_MEASURED(event->cpu_ns))
		return event->cpu_ns;
	if (procfs_children_cpu_ns((pid_t)event->pid, &children_ns) < 0)
		return NOT_MEASURED;
	return COUNTER(event->cpu_ns.value + children_ns);
}

static void follow_end(struct record_tasks *rt, const struct life *event)
{
	const struct task_end end = {
		.at_ns = event->at_ns,
		.state = rt->source == TASKS_BY_MARKS ? TASK_CUT : TASK_ENDED,
		.cpu_ns = last_account(rt, event),
	};
	uint32_t owner = rt->source == TASKS_BY_FRAME ? event->tid : event->pid;
	uint32_t task;

	if (!event->is_last && rt->source != TASKS_BY_FRAME)
		return;
	task = task_tree_remove(rt->tree, owner);
	if (task != TASKS_NONE)
		tasks_end(rt->tasks, task, &end);
}

void record_tasks_life(struct record_tasks *rt, const struct life *event)
{
	if (rt->tasks == NULL)
		return;
	make_until(rt, event->at_ns);
	if (event->kind == LIFE_EXIT) {
		follow_end(rt, event);
		return;
	}
	if (rt->source == TASKS_BY_FRAME || event->kind == LIFE_THREAD)
		return;
	/* One that a mark has entered already stays, with its task. */
	if (event->kind == LIFE_FORK &&
	    !(rt->source == TASKS_BY_MARKS && task_tree_has(rt->tree, event->pid))) {
		uint32_t parent =
			event->parent != 0 ? event->parent : (uint32_t)parent_of((pid_t)event->pid);

		task_tree_add(rt->tree, event->pid, parent);
	}
	if (rt->source == TASKS_BY_PROCESS)
		follow_process(rt, event);
}

/* ---- once a second ---- */

struct task_memory {
	uint32_t task;
	uint64_t rss_bytes;
};

static void add_memory(struct task_memory *all, size_t *count, uint32_t task, uint64_t rss_bytes)
{
	size_t at = 0;

	while (at < *count && all[at].task != task)
		at++;
	if (at == *count)
		all[(*count)++] = (struct task_memory){ .task = task };
	all[at].rss_bytes += rss_bytes;
}

static void look_at_memory(struct record_tasks *rt, uint64_t elapsed_ns)
{
	struct task_memory all[MEMORY_MOST];
	size_t count = 0, asked = 0;
	uint32_t at = 0, pid;

	while ((pid = task_tree_next(rt->tree, &at)) != 0) {
		uint32_t task = task_tree_task(rt->tree, pid);
		uint64_t rss_bytes;

		if (task == TASKS_NONE)
			continue;
		/* Some of a task's processes would be less than it has: then none is told. */
		if (asked++ == MEMORY_MOST)
			return;
		if (procfs_rss_bytes((pid_t)pid, &rss_bytes) == 0)
			add_memory(all, &count, task, rss_bytes);
	}
	for (size_t i = 0; i < count; i++)
		tasks_memory(rt->tasks, all[i].task, elapsed_ns, all[i].rss_bytes);
}

void record_tasks_turn(struct record_tasks *rt, uint64_t elapsed_ns)
{
	if (rt->tasks == NULL)
		return;
	rt->spent_ns = 0;
	marks_shut(&rt->marks, false);
	if (rt->source != TASKS_BY_FRAME)
		look_at_memory(rt, elapsed_ns);
}

void record_tasks_label(const struct record_tasks *rt, struct label *label)
{
	if (rt->tasks == NULL)
		return;
	tasks_label(rt->tasks, label);
	label->task_source = rt->source_words;
	label->marks_refused = rt->refused;
	label->mark_floods = rt->floods;
}
