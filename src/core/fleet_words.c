/* fleet_words.c - names, reasons and the verdict of a fleet. */
#include "core/fleet_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "core/units.h"

static const struct fleet_server_sum *server_sum(const struct fleet_analysis *a, uint32_t server)
{
	for (size_t i = 0; i < a->server_count; i++)
		if (a->servers[i].server == server)
			return &a->servers[i];
	return NULL;
}

void fleet_put_server(struct text *t, const struct fleet_analysis *a, uint32_t server)
{
	const struct fleet_server_sum *s = server_sum(a, server);

	if (s != NULL && s->row != NULL && s->row->name.len > 0)
		text_put_cut(t, s->row->name, FLEET_VERDICT_COLUMNS);
	else
		text_printf(t, "server %" PRIu32, server);
}

/* White space of any length is one blank. */
static void put_on_one_line(struct text *t, struct str text, size_t columns)
{
	/* Enough bytes for the columns, whatever the characters are. */
	uint32_t most = text.len < columns * 8 ? text.len : (uint32_t)columns * 8, used = 0;
	char *line = malloc(most + 1);
	bool was_blank = true;

	if (line == NULL) {
		t->has_failed = true;
		return;
	}
	for (uint32_t i = 0; i < most; i++) {
		bool is_blank =
			text.bytes[i] == ' ' || (text.bytes[i] >= '\t' && text.bytes[i] <= '\r');

		if (!is_blank || !was_blank)
			line[used++] = is_blank ? ' ' : text.bytes[i];
		was_blank = is_blank;
	}
	while (used > 0 && (line[used - 1] == ' ' || line[used - 1] == ';'))
		used--;
	text_put_cut(t, (struct str){ line, used }, columns);
	free(line);
}

void fleet_put_statement(struct text *t, const struct fleet_statement *s, size_t columns)
{
	if (s->key.queryid == 0)
		text_put(t, "[no privilege]");
	else if (s->text.len > 0)
		put_on_one_line(t, s->text, columns);
	else if (s->query != NULL && s->query->command.len > 0) {
		text_put_cut(t, s->query->command, columns);
		text_printf(t, " [%" PRId64 "]", s->key.queryid);
	} else
		text_printf(t, "[%" PRId64 "]", s->key.queryid);
}

static const struct {
	const char *word, *sentence;
} reasons[] = {
	[PLAN_OK] = { "plan", "it has a plan" },
	[PLAN_UTILITY] = { "utility", "a utility statement has no plan" },
	[PLAN_PERMISSION] = { "permission", "the role may not plan it" },
	[PLAN_LOCK] = { "lock", "a table of it was locked" },
	[PLAN_TIMEOUT] = { "timeout", "planning took longer than allowed" },
	[PLAN_PRUNED] = { "pruned", "without values only an empty plan comes out" },
	[PLAN_AMBIGUOUS] = { "ambiguous",
			     "tables of that name in two schemas give different plans" },
	[PLAN_NO_TEXT] = { "no text", "its whole text is not known" },
	[PLAN_PARSE] = { "parse", "its normalised text does not parse again" },
	[PLAN_GONE] = { "gone", "a table or function that it names is not there" },
	[PLAN_MANY] = { "many", "its text holds more than one statement" },
	[PLAN_DATABASE] = { "database", "its database cannot be entered" },
	[PLAN_OTHER] = { "other", "the server refused it" },
	[PLAN_LARGE] = { "large", "its plan is over the size that is kept" },
};

const char *fleet_reason_word(uint32_t plan_reason)
{
	return plan_reason < ARRAY_LEN(reasons) ? reasons[plan_reason].word : "unknown";
}

const char *fleet_reason_sentence(uint32_t plan_reason)
{
	return plan_reason < ARRAY_LEN(reasons) ? reasons[plan_reason].sentence
						: "for a reason that this version does not know";
}

const char *fleet_plan_word(const struct fleet_analysis *a, const struct fleet_statement *s)
{
	if (s->changed_wall_ns != 0 && s->changed_wall_ns >= a->from_wall_ns)
		return "changed";
	if (s->plan != NULL)
		return "yes";
	return s->no_plan != NULL ? fleet_reason_word(s->no_plan->reason) : "not yet";
}

const char *fleet_life_words(uint32_t life)
{
	static const char *const words[] = {
		[DELTA_SAME] = "it goes on",
		[DELTA_FIRST] = "it was seen for the first time",
		[DELTA_BEGAN] = "it began since the last visit",
		[DELTA_SHRUNK] = "its counters began anew",
		[DELTA_RESET] = "its statistics were reset",
		[DELTA_RESTARTED] = "the server was started again",
		[DELTA_OTHER] = "another system answers under this name",
		[DELTA_EVICTED] = "it fell out of the server's memory and came back",
		[DELTA_GAP] = "the visit before was over an hour ago",
		[DELTA_CLOCK] = "the server's clock did not go forward",
	};

	return life < ARRAY_LEN(words) ? words[life]
				       : "for a reason that this version does not know";
}

const char *fleet_outcome_word(uint32_t outcome)
{
	static const char *const words[] = {
		[RUN_SUCCESS] = "success", [RUN_PERMISSIONS] = "permissions",
		[RUN_ERROR] = "error",	   [RUN_ABANDONED] = "abandoned",
		[RUN_SKIPPED] = "skipped",
	};

	return outcome < ARRAY_LEN(words) ? words[outcome] : "unknown";
}

static uint64_t exec_of(const struct fleet_statement *s)
{
	return IS_MEASURED(s->sums[STATEMENT_EXEC_NS]) ? s->sums[STATEMENT_EXEC_NS].value : 0;
}

double fleet_change_factor(const struct fleet_statement *s)
{
	uint64_t before_ns = fleet_mean_ns(s->before.exec_ns, s->before.calls);
	uint64_t after_ns = fleet_mean_ns(s->after.exec_ns, s->after.calls);

	return before_ns > 0 ? (double)after_ns / (double)before_ns : 0;
}

bool fleet_change_is_told(const struct fleet_analysis *a, const struct fleet_statement *s)
{
	const struct fleet_server_sum *server = server_sum(a, s->server);

	return s->changed_wall_ns != 0 && s->before.calls >= FLEET_CHANGE_LEAST_CALLS &&
	       s->after.calls >= FLEET_CHANGE_LEAST_CALLS &&
	       fleet_change_factor(s) >= FLEET_CHANGE_LEAST && server != NULL &&
	       (double)s->after.exec_ns >= FLEET_CHANGE_LEAST_SHARE * (double)server->exec_ns;
}

/* Time that would not have been spent with the plan before. */
static double lost_ns(const struct fleet_statement *s)
{
	return (double)s->after.exec_ns -
	       (double)s->before.exec_ns / (double)s->before.calls * (double)s->after.calls;
}

const struct fleet_statement *fleet_worst_change(const struct fleet_analysis *a)
{
	const struct fleet_statement *worst = NULL;

	for (size_t i = 0; i < a->statement_count; i++) {
		const struct fleet_statement *s = &a->statements[i];

		if (fleet_change_is_told(a, s) && (worst == NULL || lost_ns(s) > lost_ns(worst)))
			worst = s;
	}
	return worst;
}

static void put_where(struct text *t, const struct fleet_analysis *a,
		      const struct fleet_statement *s)
{
	fleet_put_statement(t, s, FLEET_VERDICT_COLUMNS);
	text_put(t, " on ");
	fleet_put_server(t, a, s->server);
}

static void put_change(struct text *t, const struct fleet_analysis *a,
		       const struct fleet_statement *s)
{
	double factor = fleet_change_factor(s);

	text_printf(t,
		    factor < 10 ? "A call takes %.1f times as long since its plan changed: "
				: "A call takes %.0f times as long since its plan changed: ",
		    factor);
	put_where(t, a, s);
	text_put(t, ", ");
	text_put_duration(t, fleet_mean_ns(s->after.exec_ns, s->after.calls));
	text_put(t, " for ");
	text_put_duration(t, fleet_mean_ns(s->before.exec_ns, s->before.calls));
}

static void put_largest(struct text *t, const struct fleet_analysis *a)
{
	const struct fleet_statement *s = &a->statements[0];
	uint64_t calls = IS_MEASURED(s->sums[STATEMENT_CALLS]) ? s->sums[STATEMENT_CALLS].value : 0;

	if ((double)exec_of(s) < FLEET_LEAST_SHARE * (double)a->exec_ns) {
		text_put(t, "No statement stands out: the largest is ");
		put_where(t, a, s);
		text_put(t, ", ");
		text_put_exact_share(t, exec_of(s), a->exec_ns);
		return;
	}
	text_put_exact_share(t, exec_of(s), a->exec_ns);
	text_put(t, " of ");
	text_put_duration(t, a->exec_ns);
	text_put(t, " of statement time is ");
	put_where(t, a, s);
	text_put(t, ", ");
	text_put_duration(t, fleet_mean_ns(exec_of(s), calls));
	text_put(t, " a call");
}

void fleet_verdict_put(struct text *t, const struct fleet_analysis *a)
{
	const struct fleet_statement *changed = fleet_worst_change(a);
	uint64_t well = 0;

	for (size_t i = 0; i < a->server_count; i++)
		well += a->servers[i].well;
	if (changed != NULL)
		put_change(t, a, changed);
	else if (a->exec_ns > 0)
		put_largest(t, a);
	else if (well == 0)
		text_put(t, "Nothing was measured: no visit went well");
	else {
		text_put(t, "Nothing ran on ");
		text_put_counted(t, a->server_count, "server");
		text_put(t, " in ");
		text_put_duration(t, (uint64_t)(a->last_wall_ns - a->first_wall_ns));
	}
}
