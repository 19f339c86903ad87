/* fleet_findings.c - the rules about what the servers did. */
#include "core/fleet_findings.h"

#include <inttypes.h>

#include "core/fleet_words.h"
#include "core/scoped.h"
#include "core/units.h"

#define TEXT_COLUMNS 60u

static bool rule_plan_changed(const struct fleet_analysis *a, struct finding *out)
{
	const struct fleet_statement *worst = fleet_worst_change(a);
	uint32_t others = 0;
	char at[64];

	if (worst == NULL)
		return false;
	for (size_t i = 0; i < a->statement_count; i++)
		others += &a->statements[i] != worst && fleet_change_is_told(a, &a->statements[i]);
	units_format_wall((struct wall){ worst->changed_wall_ns }, at, sizeof(at));
	text_put(&out->title, "Slower since its plan changed: ");
	fleet_put_statement(&out->title, worst, TEXT_COLUMNS);
	text_put(&out->evidence, "On ");
	fleet_put_server(&out->evidence, a, worst->server);
	text_put(&out->evidence, " a call took ");
	text_put_duration(&out->evidence,
			  fleet_mean_ns(worst->before.exec_ns, worst->before.calls));
	text_put(&out->evidence, " in the mean of ");
	text_put_exact(&out->evidence, worst->before.calls);
	text_put(&out->evidence, " calls, and ");
	text_put_duration(&out->evidence, fleet_mean_ns(worst->after.exec_ns, worst->after.calls));
	text_put(&out->evidence, " in the mean of ");
	text_put_exact(&out->evidence, worst->after.calls);
	text_printf(&out->evidence, " calls since %s.", at);
	if (others > 0) {
		text_put(&out->evidence, " So did ");
		text_put_counted(&out->evidence, others, "other statement");
		text_put(&out->evidence, ".");
	}
	text_put(&out->look_next,
		 "Look next at both plans, and at indexes and statistics of its tables.");
	return true;
}

static bool rule_blocking(const struct fleet_analysis *a, struct finding *out)
{
	const struct fleet_block *block = fleet_batch_block(&a->rows, &table_blocking, BLOCK_PUT);
	const struct blocking_row *longest = NULL;

	for (size_t i = 0; block != NULL && i < block->count; i++) {
		const struct blocking_row *row = fleet_block_row(block, i);

		if (longest == NULL || row->waited_ns > longest->waited_ns)
			longest = row;
	}
	if (longest == NULL)
		return false;
	text_put(&out->title, "Backends wait for one another's locks");
	text_put_counted(&out->evidence, block->count, "wait");
	text_put(&out->evidence, block->count == 1 ? " was seen. It had lasted "
						   : " were seen. The longest had lasted ");
	text_put_duration(&out->evidence, longest->waited_ns);
	text_put(&out->evidence, ", on ");
	fleet_put_server(&out->evidence, a, longest->server);
	if (longest->relation.len > 0) {
		text_put(&out->evidence, ", for ");
		text_put_cut(&out->evidence, longest->relation, TEXT_COLUMNS);
	}
	text_printf(&out->evidence, ": backend %" PRIu32 " waits for %" PRIu32 ", which is ",
		    longest->pid, longest->blocker_pid);
	text_put_cut(&out->evidence,
		     longest->blocker_state.len > 0 ? longest->blocker_state : STR_LITERAL("gone"),
		     TEXT_COLUMNS);
	text_put(&out->evidence, ".");
	text_put(&out->look_next, "Look next at the transactions that hold their locks long.");
	return true;
}

static bool rule_settings_changed(const struct fleet_analysis *a, struct finding *out)
{
	const struct fleet_block *block =
		fleet_batch_block(&a->rows, &table_setting_change, BLOCK_PUT);
	const struct setting_change_row *last;

	if (block == NULL || block->count == 0)
		return false;
	last = fleet_block_row(block, block->count - 1);
	text_put(&out->title, "Settings changed: ");
	text_put_cut(&out->title, last->name, TEXT_COLUMNS);
	if (block->count > 1)
		text_printf(&out->title, " and %zu more", block->count - 1);
	text_put(&out->evidence, "On ");
	fleet_put_server(&out->evidence, a, last->server);
	text_put(&out->evidence, " it was ");
	text_put_cut(&out->evidence, last->before.len > 0 ? last->before : STR_LITERAL("not there"),
		     TEXT_COLUMNS);
	text_put(&out->evidence, " and is ");
	text_put_cut(&out->evidence, last->after.len > 0 ? last->after : STR_LITERAL("gone"),
		     TEXT_COLUMNS);
	text_put(&out->evidence, ".");
	text_put(&out->look_next, "Look next at what got slower or faster since.");
	return true;
}

static bool rule_not_timed(const struct fleet_analysis *a, struct finding *out)
{
	for (size_t i = 0; i < a->database_count; i++) {
		const struct fleet_database *d = &a->databases[i];
		struct counter read = d->sums[DATABASE_READ], time = d->sums[DATABASE_READ_NS];

		if (!IS_MEASURED(read) || read.value < 1000 ||
		    (IS_MEASURED(time) && time.value > 0))
			continue;
		text_put(&out->title, "Reading is not timed on ");
		fleet_put_server(&out->title, a, d->server);
		text_put_exact(&out->evidence, read.value);
		text_put(&out->evidence, " blocks were read in ");
		text_put_cut(&out->evidence, d->name, TEXT_COLUMNS);
		text_put(&out->evidence,
			 ", and nobody knows how long that took: track_io_timing is off.");
		text_put(&out->look_next,
			 "Look next at pg_test_timing there, and switch track_io_timing on where "
			 "reading the clock is cheap.");
		return true;
	}
	return false;
}

static bool rule_no_difference(const struct fleet_analysis *a, struct finding *out)
{
	uint64_t unknown = 0, known = 0;
	uint32_t life = DELTA_SAME;

	for (size_t i = 0; i < a->statement_count; i++) {
		unknown += a->statements[i].unknown;
		known += a->statements[i].differences;
		life = a->statements[i].unknown > 0 ? a->statements[i].last_life : life;
	}
	if (unknown == 0)
		return false;
	text_put(&out->title, "Some differences could not be taken");
	text_put_exact(&out->evidence, unknown);
	text_put(&out->evidence, " of ");
	text_put_exact(&out->evidence, unknown + known);
	text_printf(&out->evidence, " rows of statements have none; the last because %s.",
		    fleet_life_words(life));
	text_put(&out->look_next,
		 "Look next at restarts, resets and pg_stat_statements.max of the server.");
	return true;
}

static const struct {
	const char *id;
	bool (*holds)(const struct fleet_analysis *a, struct finding *out);
} rules[] = {
	{ "plan_changed", rule_plan_changed },
	{ "unreached", fleet_rule_unreached },
	{ "failing", fleet_rule_failing },
	{ "blocking", rule_blocking },
	{ "permissions", fleet_rule_permissions },
	{ "hidden", fleet_rule_hidden },
	{ "missed", fleet_rule_missed },
	{ "dear", fleet_rule_dear },
	{ "settings_changed", rule_settings_changed },
	{ "not_timed", rule_not_timed },
	{ "no_difference", rule_no_difference },
};

_Static_assert(ARRAY_LEN(rules) <= FINDINGS_MAX, "every rule has a row");

int fleet_findings_open(const struct fleet_analysis *a, struct findings *out, struct err *err)
{
	out->count = 0;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		int rc;

		out->rows[out->count] = (struct finding){ .title = TEXT_EMPTY };
		if (!rules[i].holds(a, &out->rows[out->count]))
			continue;
		rc = findings_take(out, rules[i].id, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

const char *fleet_findings_id(size_t index)
{
	return index < ARRAY_LEN(rules) ? rules[index].id : NULL;
}
