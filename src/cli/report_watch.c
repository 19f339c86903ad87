/* report_watch.c - the report of a recording that tare watch made: what is said, and in which order. */
#include <errno.h>

#include "cli/app.h"
#include "cli/report_page.h"
#include "cli/report_watch.h"
#include "core/scoped.h"
#include "core/watch_findings.h"
#include "core/watch_verdict.h"

static void print_report(struct screen *s, const struct report *r, bool shows_all)
{
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;

	watch_verdict_put(&verdict, r->recording, r->watch);
	s->has_failed |= verdict.has_failed;
	screen_wrap(s, text_chars(&verdict), 0);
	screen_end(s);
	watch_head(s, r);
	screen_end(s);
	report_more(s, r->findings->count, watch_table(s, r, shows_all));
	screen_end(s);
	if (r->watch->has_frames) {
		watch_frames(s, r, false);
		screen_end(s);
	}
	watch_grown(s, r);
	screen_put(s, "findings");
	screen_end(s);
	report_findings(s, r->findings);
	screen_end(s);
	watch_label(s, r);
}

static int print_slow(struct screen *s, const struct report *r, struct err *err)
{
	if (!r->watch->has_frames) {
		err_set(err, -ENOENT, "cannot show slow frames: no frame was marked");
		return err_mend(err, "say what a frame is: tare watch --frame FUNC --slow 50ms");
	}
	watch_frames(s, r, true);
	return 0;
}

/* The parts that were asked for, one after another; without any, all of it. */
static int print_words(struct screen *s, const struct report *r, const struct report_opts *opts,
		       struct err *err)
{
	int code = 0;

	if (!report_has_parts(opts))
		print_report(s, r, opts->shows_all);
	if (opts->only_findings)
		report_findings(s, r->findings);
	if (opts->only_label)
		watch_label(s, r);
	if (opts->only_slow)
		code = print_slow(s, r, err);
	if (code == 0 && opts->function != NULL)
		code = watch_over_time(s, r, opts->function, err);
	return code;
}

static int show(struct app *app, const struct recording *recording, const char *path,
		const struct report_opts *opts, struct err *err)
{
	SCOPED(watch_analysis_free) struct watch_analysis analysis = WATCH_ANALYSIS_EMPTY;
	SCOPED(findings_free) struct findings findings = { .count = 0 };
	const struct report report = {
		.recording = recording, .watch = &analysis, .findings = &findings, .path = path
	};
	SCOPED(screen_free) struct screen s = report_screen(app);
	int code = watch_analysis_open(recording, 0, UINT64_MAX, &analysis, err);

	if (code == 0)
		code = watch_findings_open(recording, &analysis, &findings, err);
	if (code != 0)
		return code;
	if (opts->html != NULL)
		return watch_page(app, &report, opts, err);
	if (opts->is_json)
		return report_failed(watch_json(app->out, &report), err);
	code = print_words(&s, &report, opts, err);
	if (code == 0 && s.has_failed)
		code = report_failed(-ENOMEM, err);
	return code;
}

const struct report_kind report_watch = { "watch", show, watch_schema };
