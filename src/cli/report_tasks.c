/* report_tasks.c - tasks in the terminal. */
#include "cli/report_tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_json.h"
#include "core/scoped.h"
#include "core/task_names.h"
#include "core/units.h"

/* Columns of the list at 80; names take what is more. */
enum {
	NUMBER_END = 6,
	NAME_AT = 8,
	RUNS_END = 35,
	DURATION_END = 47,
	RUNNING_END = 58,
	TOP_AT = 60
};

const char *task_state_word(uint32_t state)
{
	static const char *const words[TASK_STATE_COUNT] = { "running", "ended", "cut off" };

	return state < TASK_STATE_COUNT ? words[state] : "unknown";
}

const char *task_kind_word(uint32_t kind)
{
	static const char *const words[TASK_KIND_COUNT] = { "mark", "process", "frame" };

	return kind < TASK_KIND_COUNT ? words[kind] : "unknown";
}

/* ---- what there is to say ---- */

static uint64_t runs_of(const struct recording *r, struct str name)
{
	for (uint32_t i = 0; i < r->task_name_count; i++)
		if (str_compare(r->task_names[i].name, name) == 0)
			return r->task_names[i].begun;
	return 0; /* it is among the others */
}

static struct task_view view_of(const struct recording *r, const struct task_row *row)
{
	bool is_exact = IS_MEASURED(row->cpu_ns);

	return (struct task_view){ .row = row,
				   .duration_ns = row->end_ns - row->begin_ns,
				   .ran_ns = is_exact ? row->cpu_ns.value : row->weight_ns,
				   .is_estimated = !is_exact,
				   .runs = runs_of(r, row->name),
				   .kept = row->kept };
}

static int compare_views(const void *x, const void *y)
{
	const struct task_view *a = x, *b = y;

	if (a->duration_ns != b->duration_ns)
		return a->duration_ns > b->duration_ns ? -1 : 1;
	return (a->row->id > b->row->id) - (a->row->id < b->row->id);
}

/* What its own samples say, by the same reckoning as of a whole run. */
static int find_top(const struct recording *r, struct task_view *view, struct err *err)
{
	SCOPED(analysis_free) struct analysis analysis = ANALYSIS_EMPTY;
	struct recording part;
	int code;

	recording_of_task(r, view->row, &part);
	code = analysis_open(&part, &analysis, err);
	if (code != 0 || analysis.function_count == 0 || analysis.functions[0].own.ns == 0)
		return code;
	view->top = analysis.functions[0].name;
	view->top_share = analysis.functions[0].own.share;
	view->kept = analysis.kept;
	return 0;
}

int task_views_open(const struct recording *r, const struct task_row *only, uint32_t tops,
		    struct task_views *out, struct err *err)
{
	const struct task_row *rows = only != NULL ? only : r->tasks;
	struct task_views all = { .views = calloc((size_t)r->task_count + 1, sizeof(*all.views)),
				  .count = only != NULL ? 1 : r->task_count };
	int code = 0;

	if (all.views == NULL)
		return err_set(err, -ENOMEM, "cannot list tasks: out of memory");
	for (uint32_t i = 0; i < all.count; i++)
		all.views[i] = view_of(r, &rows[i]);
	qsort(all.views, all.count, sizeof(*all.views), compare_views);
	for (uint32_t i = 0; i < all.count && i < tops && code == 0; i++)
		code = find_top(r, &all.views[i], err);
	if (code != 0)
		task_views_free(&all);
	else
		*out = all;
	return code;
}

void task_views_free(struct task_views *v)
{
	free(v->views);
	*v = TASK_VIEWS_EMPTY;
}

/* ---- the list ---- */

static size_t extra_columns(const struct screen *s)
{
	size_t extra = s->columns > 80 ? s->columns - 80 : 0;

	return extra > 60 ? 60 : extra;
}

static void put_top(struct screen *s, const struct task_view *view, size_t column)
{
	SCOPED(text_free) struct text share = TEXT_EMPTY;
	size_t room = s->columns > column ? s->columns - column : 0, width;

	screen_to(s, column);
	if (view->top.len == 0) {
		screen_put(s, view->row->ticks == 0 ? "no samples" : "—");
		return;
	}
	text_put_share(&share, view->top_share, view->kept);
	width = text_columns(text_chars(&share), share.len) + 1 + (s->is_ascii ? 1 : 0);
	screen_put_name(s, text_without_arguments(view->top), room > width + 4 ? room - width : 4,
			true);
	screen_put(s, " ");
	screen_put(s, text_chars(&share));
	s->has_failed |= share.has_failed;
}

static void put_number(struct screen *s, uint64_t number, size_t end)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;

	text_put_exact(&t, number);
	screen_put_right(s, text_chars(&t), end);
	s->has_failed |= t.has_failed;
}

void task_put_running(struct text *t, const struct task_view *view)
{
	if (view->is_estimated && view->row->ticks == 0)
		text_put(t, "—");
	else
		text_put_exact_share(t, view->ran_ns, view->duration_ns);
}

static void task_row(struct screen *s, const struct task_view *view)
{
	SCOPED(text_free) struct text duration = TEXT_EMPTY;
	SCOPED(text_free) struct text running = TEXT_EMPTY;
	size_t extra = extra_columns(s) / 2;

	text_put_duration(&duration, view->duration_ns);
	if (view->row->state != TASK_ENDED)
		text_put(&duration, view->row->state == TASK_CUT ? "✗" : "…");
	task_put_running(&running, view);
	put_number(s, view->row->id, NUMBER_END);
	screen_to(s, NAME_AT);
	screen_put_name(s, view->row->name, RUNS_END - NAME_AT - 7 + extra, false);
	if (view->runs > 0)
		put_number(s, view->runs, RUNS_END + extra);
	screen_put_right(s, text_chars(&duration), DURATION_END + extra);
	screen_put_right(s, text_chars(&running), RUNNING_END + extra);
	put_top(s, view, TOP_AT + extra);
	screen_end(s);
	s->has_failed |= duration.has_failed || running.has_failed;
}

static void put_line(struct screen *s, const struct text *line)
{
	screen_wrap(s, text_chars(line), 0);
	s->has_failed |= line->has_failed;
}

void task_put_left_out(struct text *t, const struct label *l, uint32_t rows, uint32_t shown)
{
	text_put_counted(t, l->tasks, "task");
	text_put(t, " by ");
	text_put_cut(t, l->task_source, 60);
	if (shown < rows)
		text_printf(t, "; %u more: tare report --all", rows - shown);
	if (l->tasks_dropped > 0) {
		text_put(t, "; ");
		text_put_exact(t, l->tasks_dropped);
		text_put(t, " that ended are only counted");
	}
	if (l->tasks_unfollowed > 0) {
		text_put(t, "; ");
		text_put_exact(t, l->tasks_unfollowed);
		text_put(t, " began while too many ran");
	}
	if (l->mark_floods > 0) {
		text_put(t, "; marks came too fast in ");
		text_put_counted(t, l->mark_floods, "second");
		text_put(t, ", the rest was not read");
	}
	if (l->marks_refused > 0) {
		text_put(t, "; ");
		text_put_counted(t, l->marks_refused, "datagram");
		text_put(t, " refused, no mark or not from the job");
	}
	text_put(t, "; one of them: tare report --task N");
}

void table_tasks(struct screen *s, const struct recording *r, const struct task_views *tasks,
		 bool shows_all)
{
	SCOPED(text_free) struct text rest = TEXT_EMPTY;
	uint32_t count = tasks->count;
	size_t extra = extra_columns(s) / 2;

	if (r->label.task_source.len == 0)
		return;
	if (!shows_all && count > REPORT_FIRST_TASKS)
		count = REPORT_FIRST_TASKS;
	screen_put(s, "by task");
	screen_put_right(s, "runs", RUNS_END + extra);
	screen_put_right(s, "took", DURATION_END + extra);
	screen_put_right(s, "running", RUNNING_END + extra);
	screen_to(s, TOP_AT + extra);
	screen_put(s, "most in");
	screen_end(s);
	for (uint32_t i = 0; i < count; i++)
		task_row(s, &tasks->views[i]);
	task_put_left_out(&rest, &r->label, tasks->count, count);
	put_line(s, &rest);
	screen_end(s);
}

/* ---- one of them ---- */

static void put_state(struct text *t, const struct task_row *task)
{
	if (task->state == TASK_ENDED)
		text_put(t, "ended");
	else if (task->state == TASK_CUT)
		text_put(t, "cut off by the end of its process");
	else
		text_put(t, "not ended when the recording was last saved");
}

void head_task(struct screen *s, const struct recording *whole, const struct task_row *task)
{
	SCOPED(text_free) struct text line = TEXT_EMPTY;
	SCOPED(text_free) struct text times = TEXT_EMPTY;

	text_printf(&line, "task %u, ", task->id);
	text_put_name(&line, task->name);
	text_put(&line, ", of ");
	text_put_name(&line,
		      whole->label.command.len > 0 ? whole->label.command : whole->label.comm);
	put_line(s, &line);
	text_put(&times, "took ");
	text_put_duration(&times, task->end_ns - task->begin_ns);
	text_put(&times, " from ");
	text_put_duration(&times, task->begin_ns);
	text_put(&times, " on, ");
	put_state(&times, task);
	if (IS_MEASURED(task->cpu_ns)) {
		text_put(&times, "; CPU time ");
		text_put_duration(&times, task->cpu_ns.value);
	}
	text_put(&times, "; ");
	text_put_counted(&times, task->kept, "sample");
	if (IS_MEASURED(task->rss_bytes)) {
		text_put(&times, "; memory up to ");
		text_put_size(&times, task->rss_bytes.value);
	}
	put_line(s, &times);
}

/* Is it a number, and nothing else? */
static bool is_number(const char *what, uint32_t *out)
{
	char *end;
	unsigned long value;

	if (what[0] < '0' || what[0] > '9')
		return false;
	errno = 0;
	value = strtoul(what, &end, 10);
	if (*end != '\0' || errno != 0 || value >= NO_ID)
		return false;
	*out = (uint32_t)value;
	return true;
}

static int no_task(const struct recording *r, const char *what, struct err *err)
{
	SCOPED(text_free) struct text name = TEXT_EMPTY;

	text_put_cut(&name, (struct str){ what, (uint32_t)strlen(what) }, 60);
	if (r->label.task_source.len == 0) {
		err_set(err, -ENOENT, "cannot show task '%s': this run was not parted into tasks",
			text_chars(&name));
		return err_mend(err,
				"record it by tare record --tasks marks, or --task-under FRAME");
	}
	err_set(err, -ENOENT, "cannot show task '%s': there is none with this name or number",
		text_chars(&name));
	err_works(err, "names of tasks that were not kept are counted: task_names of --json");
	return err_mend(err, "tare report --all lists the tasks");
}

int task_find(const struct recording *r, const char *what, const struct task_row **out,
	      struct err *err)
{
	struct str name = { what, (uint32_t)strlen(what) };
	const struct task_row *slowest = NULL;
	uint32_t id;

	for (uint32_t i = 0; i < r->task_count; i++) {
		const struct task_row *t = &r->tasks[i];

		if (str_compare(t->name, name) == 0 &&
		    (slowest == NULL ||
		     t->end_ns - t->begin_ns > slowest->end_ns - slowest->begin_ns))
			slowest = t;
	}
	if (slowest == NULL && is_number(what, &id))
		slowest = recording_task(r, id);
	if (slowest == NULL)
		return no_task(r, what, err);
	*out = slowest;
	return 0;
}

/* ---- JSON ---- */

static void json_task(struct json *j, const struct recording *r, const struct task_view *view)
{
	json_open_object(j);
	report_put_row(j, &table_task, view->row, &r->label);
	json_put_u64(j, "duration_ns", view->duration_ns);
	json_put_chars(j, "state_word", task_state_word(view->row->state));
	json_put_chars(j, "kind_word", task_kind_word(view->row->kind));
	if (view->top.len > 0) {
		json_put_str(j, "top_function", view->top);
		report_put_share(j, "top_share", view->top_share, view->kept);
	} else {
		const char *why =
			view->row->kept == 0 ? "no samples" : "only the slowest tasks have it";

		report_put_null(j, "top_function", why);
		report_put_null(j, "top_share", why);
	}
	json_close(j);
}

void tasks_json(struct json *j, const struct recording *r, const struct task_views *tasks)
{
	json_key(j, "tasks");
	json_open_array(j);
	for (uint32_t i = 0; i < tasks->count; i++)
		json_task(j, r, &tasks->views[i]);
	json_close(j);
	json_key(j, "task_names");
	json_open_array(j);
	for (uint32_t i = 0; i < r->task_name_count; i++) {
		json_open_object(j);
		report_put_row(j, &table_task_name, &r->task_names[i], &r->label);
		json_close(j);
	}
	json_close(j);
}
