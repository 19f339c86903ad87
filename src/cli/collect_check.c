/* collect_check.c - `tare collect --check`: a whole visit to every server, as the collector would make it, and what came of it. */
#include <errno.h>
#include <string.h>

#include "cli/collect_pass.h"
#include "core/scoped.h"
#include "fleet/visit.h"

static void put_str(struct text *out, struct str s)
{
	text_put_name(out, s);
}

static void put_chars(struct text *out, const char *chars)
{
	text_put_name(out, (struct str){ chars, (uint32_t)strlen(chars) });
}

static bool has_applied(const struct run_row *run)
{
	return run != NULL && run->outcome == RUN_SUCCESS;
}

static bool is_switched_on(const struct server_settings *s, uint32_t reading)
{
	if (reading == READING_PLANS)
		return s->plans && (s->readings & (1u << READING_STATEMENTS)) != 0;
	return (s->readings & (1u << reading)) != 0;
}

/* Plans run one cycle in N only: what they would need is known from the facts. */
static const char *why_no_plans(const struct server_facts *facts)
{
	return facts->statements_schema[0] == '\0' ? "needs pg_stat_statements" : NULL;
}

/* Why a reading does not apply; empty: it does. */
static void why_not(const struct collect_pass *p, const struct fleet_member *m, uint32_t reading,
		    struct text *out)
{
	const struct run_row *run = collect_pass_run_row(p, m->id, reading);
	const struct server_facts *facts = server_facts_of(m->memory);

	if (reading == READING_PLANS && run == NULL) {
		const char *why = facts != NULL ? why_no_plans(facts) : "not visited";

		if (why != NULL)
			text_put(out, why);
	} else if (run == NULL) {
		text_put(out, "not run");
	} else if (!has_applied(run)) {
		if (run->reason.len > 0)
			put_str(out, run->reason);
		else
			text_put(out, run->outcome == RUN_PERMISSIONS ? "permission" : "failed");
		if (run->sqlstate.len > 0) {
			text_put(out, ", ");
			put_str(out, run->sqlstate);
		}
	}
}

static void put_readings(const struct collect_pass *p, const struct fleet_member *m,
			 const struct server_settings *s, struct text *out)
{
	SCOPED(text_free) struct text skipped = TEXT_EMPTY;
	uint32_t applied = 0, wanted = 0;

	for (uint32_t reading = 0; reading < READING_COUNT; reading++) {
		SCOPED(text_free) struct text why = TEXT_EMPTY;

		if (!is_switched_on(s, reading))
			continue;
		wanted++;
		why_not(p, m, reading, &why);
		if (why.len == 0) {
			applied++;
			continue;
		}
		text_printf(&skipped, "%s%s: ", skipped.len > 0 ? "; " : "",
			    reading_name((enum reading_id)reading));
		text_add(&skipped, why.bytes, why.len);
	}
	text_printf(out, "      %u of %u readings apply", applied, wanted);
	if (skipped.len > 0) {
		text_put(out, " (skipped: ");
		text_add(out, skipped.bytes, skipped.len);
		text_put(out, ")");
	}
	text_put(out, "\n");
}

static void put_rights(const struct server_facts *facts, struct text *out)
{
	text_put(out, "      PostgreSQL ");
	put_chars(out, facts->version_text);
	text_put(out, facts->is_standby ? ", a standby" : "");
	text_put(out, ", as ");
	put_chars(out, facts->role);
	text_put(out, " in ");
	put_chars(out, facts->database);
	if (facts->is_superuser)
		text_put(out, ": superuser, which is more than it needs (tare collect --grants)");
	else
		text_put(out, facts->sees_all
				      ? ": sees all roles' statements"
				      : ": sees its own statements only (tare collect --grants)");
	if (facts->statements_schema[0] != '\0') {
		text_put(out, "; pg_stat_statements ");
		put_chars(out, facts->statements_version);
	}
	text_put(out, "\n");
}

/* One server. Returns whether it passes. */
static bool put_server(const struct collect_pass *p, size_t at, struct text *out)
{
	const struct fleet_member *m = &p->fleet.members[at];
	const struct server_settings *s = &p->fleet.settings.servers[at];
	const struct run_row *visit = collect_pass_run_row(p, m->id, READING_VISIT);
	const struct server_facts *facts = server_facts_of(m->memory);
	bool is_well = collect_pass_is_well(p, m->id);
	char address[512];

	settings_address(s, address, sizeof(address));
	text_put(out, is_well ? "PASS  " : "FAIL  ");
	put_chars(out, m->name);
	text_put(out, " (");
	put_chars(out, address);
	text_put(out, ")\n");
	if (!is_well) {
		text_put(out, "      ");
		if (visit != NULL && visit->reason.len > 0)
			put_str(out, visit->reason);
		else
			text_put(out, "it was not visited in time");
		if (visit != NULL && visit->sqlstate.len > 0) {
			text_put(out, " (");
			put_str(out, visit->sqlstate);
			text_put(out, ")");
		}
		text_put(out, "\n");
		return false;
	}
	if (facts != NULL)
		put_rights(facts, out);
	put_readings(p, m, s, out);
	return true;
}

int collect_check(struct app *app, const struct collect_opts *o, struct err *err)
{
	SCOPED(settings_free) struct collect_settings settings = { .store = NULL };
	SCOPED(text_free) struct text out = TEXT_EMPTY;
	struct collect_pass p;
	size_t failed = 0;
	int rc = collect_load(app, o, &settings, err);

	if (rc < 0)
		return rc;
	rc = collect_pass_open(&p, app, &settings, NULL, err);
	p.fleet.is_quiet = true;
	if (rc == 0)
		rc = collect_pass_run(&p, err);
	for (size_t i = 0; i < p.fleet.member_count && rc == 0; i++)
		failed += !put_server(&p, i, &out);
	if (rc == 0) {
		text_printf(&out, "%zu of %zu servers pass\n", p.fleet.member_count - failed,
			    p.fleet.member_count);
		fputs(text_chars(&out), app->out);
	}
	collect_pass_close(&p);
	if (rc < 0)
		return rc;
	return failed == 0 ? EXIT_OK : EXIT_NO;
}
