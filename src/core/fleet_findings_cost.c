/* fleet_findings_cost.c - the rules about collecting: what it cost, and what it did not get. */
#include <inttypes.h>

#include "core/fleet_findings.h"
#include "core/fleet_words.h"
#include "core/units.h"

#define TEXT_COLUMNS 60u

static void put_reason(struct text *t, const struct fleet_reading *r)
{
	if (r->last_reason.len > 0) {
		text_put(t, ": ");
		text_put_cut(t, r->last_reason, 2 * TEXT_COLUMNS);
	}
	if (r->last_sqlstate.len > 0) {
		text_put(t, " (");
		text_put_cut(t, r->last_sqlstate, 5);
		text_put(t, ")");
	}
}

/* The visits of a server as a whole; NULL: there is no row of them. */
static const struct fleet_reading *visits_of(const struct fleet_analysis *a, uint32_t server)
{
	for (size_t i = 0; i < a->reading_count; i++)
		if (a->readings[i].server == server && a->readings[i].reading == READING_VISIT)
			return &a->readings[i];
	return NULL;
}

bool fleet_rule_unreached(const struct fleet_analysis *a, struct finding *out)
{
	const struct fleet_server_sum *first = NULL;
	const struct fleet_reading *visits;
	uint32_t count = 0;

	for (size_t i = 0; i < a->server_count; i++) {
		if (a->servers[i].visits == 0 || a->servers[i].well > 0)
			continue;
		if (count++ == 0)
			first = &a->servers[i];
	}
	if (first == NULL)
		return false;
	text_put(&out->title, "Nothing is known of ");
	fleet_put_server(&out->title, a, first->server);
	if (count > 1)
		text_printf(&out->title, " and %" PRIu32 " more", count - 1);
	text_put(&out->evidence, "None of ");
	text_put_counted(&out->evidence, first->visits, "visit");
	text_put(&out->evidence, " went well");
	visits = visits_of(a, first->server);
	if (visits != NULL)
		put_reason(&out->evidence, visits);
	text_put(&out->evidence, ".");
	text_put(&out->look_next, "Look next at: tare collect --check");
	return true;
}

bool fleet_rule_failing(const struct fleet_analysis *a, struct finding *out)
{
	const struct fleet_server_sum *worst = NULL;
	const struct fleet_reading *visits;

	for (size_t i = 0; i < a->server_count; i++) {
		const struct fleet_server_sum *s = &a->servers[i];

		if (s->well == 0 || (s->visits - s->well) * 20 <= s->visits)
			continue;
		if (worst == NULL || s->visits - s->well > worst->visits - worst->well)
			worst = s;
	}
	if (worst == NULL)
		return false;
	text_put(&out->title, "Visits fail on ");
	fleet_put_server(&out->title, a, worst->server);
	text_put_exact(&out->evidence, worst->visits - worst->well);
	text_put(&out->evidence, " of ");
	text_put_counted(&out->evidence, worst->visits, "visit");
	text_put(&out->evidence, " did not go well");
	visits = visits_of(a, worst->server);
	if (visits != NULL)
		put_reason(&out->evidence, visits);
	text_put(&out->evidence, ".");
	text_put(&out->look_next, "Look next at: tare collect status");
	return true;
}

bool fleet_rule_permissions(const struct fleet_analysis *a, struct finding *out)
{
	const struct fleet_reading *first = NULL;
	uint32_t count = 0;

	for (size_t i = 0; i < a->reading_count; i++) {
		if (a->readings[i].permissions == 0 || a->readings[i].reading == READING_VISIT)
			continue;
		if (count++ == 0)
			first = &a->readings[i];
	}
	if (first == NULL)
		return false;
	text_printf(&out->title, "Not allowed: %s on ", reading_name(first->reading));
	fleet_put_server(&out->title, a, first->server);
	if (count > 1)
		text_printf(&out->title, " and %" PRIu32 " more", count - 1);
	text_put_exact(&out->evidence, first->permissions);
	text_put(&out->evidence, " of ");
	text_put_counted(&out->evidence, first->runs, "run");
	text_put(&out->evidence, " were refused");
	put_reason(&out->evidence, first);
	text_put(&out->evidence, ".");
	text_put(&out->look_next, "Look next at: tare collect --grants");
	return true;
}

bool fleet_rule_hidden(const struct fleet_analysis *a, struct finding *out)
{
	const struct fleet_server_sum *worst = NULL;

	for (size_t i = 0; i < a->server_count; i++)
		if (a->servers[i].hidden_calls > 0 &&
		    (worst == NULL || a->servers[i].hidden_exec_ns > worst->hidden_exec_ns))
			worst = &a->servers[i];
	if (worst == NULL)
		return false;
	text_put(&out->title, "Statements of other roles are hidden on ");
	fleet_put_server(&out->title, a, worst->server);
	text_put_exact_share(&out->evidence, worst->hidden_exec_ns, worst->exec_ns);
	text_put(&out->evidence, " of its statement time is one sum, [no privilege]: the role may "
				 "not see whose it is.");
	text_put(&out->look_next, "Look next at pg_read_all_stats: tare collect --grants");
	return true;
}

bool fleet_rule_missed(const struct fleet_analysis *a, struct finding *out)
{
	uint64_t missed = 0, captures = 0;
	const struct fleet_reading *worst = NULL;

	for (size_t i = 0; i < a->reading_count; i++) {
		missed += a->readings[i].missed;
		captures += a->readings[i].captures;
		if (a->readings[i].missed > 0 &&
		    (worst == NULL || a->readings[i].missed > worst->missed))
			worst = &a->readings[i];
	}
	if (worst == NULL)
		return false;
	text_put(&out->title, "Captures were due and not done");
	text_put_exact(&out->evidence, missed);
	text_put(&out->evidence, " of ");
	text_put_exact(&out->evidence, missed + captures);
	text_put(&out->evidence, " tries; most of them on ");
	fleet_put_server(&out->evidence, a, worst->server);
	put_reason(&out->evidence, worst);
	text_put(&out->evidence, ".");
	text_put(&out->look_next, "Look next at: tare collect status");
	return true;
}

bool fleet_rule_dear(const struct fleet_analysis *a, struct finding *out)
{
	uint64_t elapsed_ns = (uint64_t)(a->last_wall_ns - a->first_wall_ns);
	const struct fleet_server_sum *worst = NULL;
	double ppm;

	for (size_t i = 0; i < a->server_count; i++)
		if (worst == NULL || a->servers[i].server_ns > worst->server_ns)
			worst = &a->servers[i];
	if (worst == NULL || elapsed_ns == 0)
		return false;
	ppm = (double)worst->server_ns / (double)elapsed_ns * (double)PPM;
	if (ppm <= FLEET_DEAR_PPM)
		return false;
	text_put(&out->title, "Collecting takes over 1 % of one CPU of ");
	fleet_put_server(&out->title, a, worst->server);
	text_put_duration(&out->evidence, worst->server_ns);
	text_put(&out->evidence, " of its time in ");
	text_put_duration(&out->evidence, elapsed_ns);
	text_put(&out->evidence, ": ");
	text_put_price(&out->evidence, (uint64_t)ppm);
	text_put(&out->evidence, ".");
	text_put(&out->look_next, "Look next at: tare collect cost. A longer cycle, a larger N and "
				  "fewer candidates cost less.");
	return true;
}
