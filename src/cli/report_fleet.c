/* report_fleet.c - the report of a fleet's store: what is said, and in which order. */
#include "cli/report_fleet.h"

#include <errno.h>
#include <string.h>

#include "cli/app.h"
#include "cli/report_page.h"
#include "core/fleet_findings.h"
#include "core/fleet_words.h"
#include "core/scoped.h"

static void heading(struct screen *s, const char *words)
{
	screen_end(s);
	screen_put(s, words);
	screen_end(s);
}

static void put_more(struct screen *s, uint32_t left)
{
	char line[64];

	if (left == 0)
		return;
	snprintf(line, sizeof(line), "%u more: tare report --all", left);
	screen_put(s, line);
	screen_end(s);
}

static int print_report(struct screen *s, struct fleet_report *r, bool shows_all, struct err *err)
{
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;
	int rc;

	fleet_verdict_put(&verdict, &r->a);
	s->has_failed |= verdict.has_failed;
	screen_wrap(s, text_chars(&verdict), 0);
	screen_end(s);
	fleet_head(s, r);
	if (r->a.server_count > 0) {
		heading(s, "servers");
		put_more(s, fleet_servers(s, r, shows_all));
	}
	if (r->a.statement_count > 0) {
		heading(s, "statements by time");
		put_more(s, fleet_statements(s, r, shows_all));
	}
	if (r->a.function_count > 0) {
		heading(s, "functions and procedures by own time");
		put_more(s, fleet_functions(s, r, shows_all));
	}
	fleet_waits(s, r, shows_all);
	rc = fleet_plan_change(s, r, err);
	if (rc != 0)
		return rc;
	if (r->a.reading_count > 0) {
		heading(s, "the cost of collecting");
		fleet_costs(s, r, shows_all);
	}
	heading(s, "findings");
	report_findings(s, &r->findings);
	return 0;
}

static int print_words(struct screen *s, struct fleet_report *r, const struct report_opts *opts,
		       struct err *err)
{
	if (!report_has_parts(opts))
		return print_report(s, r, opts->shows_all, err);
	if (opts->only_slow || opts->function != NULL) {
		err_set(err, -EINVAL,
			"cannot report slow frames or one function of a fleet: only a watch has "
			"them");
		return err_mend(err, "leave --slow and --function out");
	}
	if (opts->only_findings)
		report_findings(s, &r->findings);
	if (opts->only_label) {
		fleet_head(s, r);
		fleet_costs(s, r, true);
	}
	return 0;
}

bool report_is_fleet(const char *path)
{
	return strncmp(path, "postgresql://", 13) == 0 || strncmp(path, "postgres://", 11) == 0 ||
	       fleet_store_is(path);
}

int report_fleet_show(struct app *app, const char *path, const struct report_opts *opts,
		      struct err *err)
{
	SCOPED(fleet_report_close) struct fleet_report r = FLEET_REPORT_EMPTY;
	SCOPED(screen_free) struct screen s = report_screen(app);
	int rc = fleet_report_open(path, opts->last_ns, &r, err);

	if (rc == 0)
		rc = fleet_findings_open(&r.a, &r.findings, err);
	if (rc != 0)
		return rc;
	if (opts->html != NULL)
		return fleet_page(app, &r, opts, err);
	if (opts->is_json) {
		rc = fleet_json(app->out, &r, err);
		return err->code != 0 ? rc : report_failed(rc, err);
	}
	rc = print_words(&s, &r, opts, err);
	if (rc == 0 && s.has_failed)
		rc = report_failed(-ENOMEM, err);
	return rc;
}
