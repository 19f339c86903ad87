/* report_record.c - the report of a recording that samples made. */
#include <errno.h>

#include "cli/app.h"
#include "cli/report.h"
#include "cli/report_page.h"
#include "cli/report_tasks.h"
#include "core/scoped.h"
#include "core/verdict.h"

/* Shares of what ran and of what waited are two tables: of the whole, a thread that only waits would hide all work. Returns how many
 * functions are left out of the first. */
static uint32_t print_states(struct screen *s, const struct report *r, bool shows_all)
{
	static const struct {
		enum state state;
		const char *title;
	} tables[] = { { STATE_RUNNING, "where it runs" }, { STATE_WAITING, "where it waits" } };
	uint32_t left = 0;

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		SCOPED(analysis_free) struct analysis part = ANALYSIS_EMPTY;
		struct report of_state = *r;
		uint32_t more;

		of_state.analysis = &part;
		if (analysis_open_state(r->recording, tables[i].state, &part, NULL) < 0) {
			s->has_failed = true;
			return 0;
		}
		if (part.sampled_ns == 0)
			continue;
		more = table_functions(s, &of_state, tables[i].title, shows_all);
		left = more > left ? more : left;
		screen_end(s);
	}
	return left;
}

/* Returns how many are left out. */
static uint32_t print_functions(struct screen *s, const struct report *r, bool shows_all)
{
	if (label_has_waiting(&r->recording->label))
		return print_states(s, r, shows_all);
	return table_functions(s, r, "where the time goes", shows_all);
}

static void print_report(struct screen *s, const struct report *r, bool shows_all)
{
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;

	verdict_put(&verdict, r->recording, r->analysis);
	s->has_failed |= verdict.has_failed;
	screen_wrap(s, text_chars(&verdict), 0);
	screen_end(s);
	label_head(s, r);
	screen_end(s);
	if (r->analysis->kept > 0) {
		report_more(s, r->findings->count, print_functions(s, r, shows_all));
		screen_end(s);
		table_threads(s, r, shows_all);
		screen_end(s);
	}
	table_tasks(s, r->recording, r->tasks, shows_all);
	screen_put(s, "findings");
	screen_end(s);
	report_findings(s, r->findings);
	screen_end(s);
	label_whole(s, r);
}

static void print_words(struct screen *s, const struct report *r, const struct report_opts *opts)
{
	if (!report_has_parts(opts))
		print_report(s, r, opts->shows_all);
	if (opts->only_findings)
		report_findings(s, r->findings);
	if (opts->only_label)
		label_whole(s, r);
}

/* One task as if it were the whole run; what measuring took is of the run, and not said here. */
static int show_task(struct app *app, const struct recording *whole, const char *path,
		     const struct report_opts *opts, struct err *err)
{
	SCOPED(analysis_free) struct analysis analysis = ANALYSIS_EMPTY;
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;
	SCOPED(screen_free) struct screen s = report_screen(app);
	const struct findings findings = { .count = 0 };
	const struct task_row *task;
	struct recording part;
	SCOPED(task_views_free) struct task_views tasks = TASK_VIEWS_EMPTY;
	struct report report = { .recording = &part,
				 .analysis = &analysis,
				 .findings = &findings,
				 .tasks = &tasks,
				 .path = path };
	int code = task_find(whole, opts->task, &task, err);

	if (code != 0)
		return code;
	recording_of_task(whole, task, &part);
	code = analysis_open(&part, &analysis, err);
	if (code == 0)
		code = task_views_open(whole, task, 1, &tasks, err);
	if (code != 0)
		return code;
	if (opts->is_json)
		return report_failed(report_json(app->out, &report), err);
	verdict_put(&verdict, &part, &analysis);
	s.has_failed |= verdict.has_failed;
	screen_wrap(&s, text_chars(&verdict), 0);
	screen_end(&s);
	head_task(&s, whole, task);
	screen_end(&s);
	if (analysis.kept > 0) {
		print_functions(&s, &report, opts->shows_all);
		screen_end(&s);
		table_threads(&s, &report, opts->shows_all);
	}
	return s.has_failed ? report_failed(-ENOMEM, err) : 0;
}

static int refuse(const char *what, struct err *err)
{
	err_set(err, -EINVAL, "cannot show %s: this is a recording of samples", what);
	return err_mend(err, "functions are watched, and frames told apart, by tare watch");
}

static int refuse_with_task(struct err *err)
{
	err_set(err, -EINVAL, "cannot show only a part of one task, or a page of it");
	err_works(err, "tare report --html FILE has all tasks in one page");
	return err_mend(err, "--task goes with --json and --all only");
}

/* How many tasks are shown with their largest function, each of which is an analysis of its own. */
static uint32_t tops_of(const struct report_opts *opts)
{
	if (opts->html != NULL)
		return PAGE_PLAIN_ROWS;
	if (opts->shows_all)
		return UINT32_MAX;
	if (opts->is_json)
		return REPORT_MOST_TOPS;
	return report_has_parts(opts) ? 0 : REPORT_FIRST_TASKS;
}

static int show(struct app *app, const struct recording *recording, const char *path,
		const struct report_opts *opts, struct err *err)
{
	SCOPED(analysis_free) struct analysis analysis = ANALYSIS_EMPTY;
	SCOPED(findings_free) struct findings findings = { .count = 0 };
	SCOPED(task_views_free) struct task_views tasks = TASK_VIEWS_EMPTY;
	const struct report report = { .recording = recording,
				       .analysis = &analysis,
				       .findings = &findings,
				       .tasks = &tasks,
				       .path = path };
	SCOPED(screen_free) struct screen s = report_screen(app);
	int code;

	if (opts->only_slow)
		return refuse("slow frames", err);
	if (opts->function != NULL)
		return refuse("a function's windows", err);
	if (opts->task != NULL && (opts->html != NULL || report_has_parts(opts)))
		return refuse_with_task(err);
	if (opts->task != NULL)
		return show_task(app, recording, path, opts, err);
	code = analysis_open(recording, &analysis, err);
	if (code == 0)
		code = findings_open(recording, &analysis, &findings, err);
	if (code == 0)
		code = task_views_open(recording, NULL, tops_of(opts), &tasks, err);
	if (code != 0)
		return code;
	if (opts->html != NULL)
		return record_page(app, &report, opts, err);
	if (opts->is_json)
		return report_failed(report_json(app->out, &report), err);
	print_words(&s, &report, opts);
	return s.has_failed ? report_failed(-ENOMEM, err) : 0;
}

const struct report_kind report_record = { "record", show, report_schema };
