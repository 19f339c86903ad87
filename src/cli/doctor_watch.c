/* doctor_watch.c - what `tare doctor` says of `tare watch`: may probes be used, in which way, and what a call then costs. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/report_json.h"
#include "cli/watch.h"
#include "core/scoped.h"
#include "sense/watch_calibrate.h"

/* ---- trying ---- */

/* Loads the programs for a place that is never attached. */
static void try_mode(const char *switched_off, struct doctor_watch *w)
{
	struct place place = { .path = "/proc/self/exe", .first = PLACE_OTHER };
	struct places places = { .rows = &place, .count = 1 };
	struct watch_source_settings settings = { .pid = getpid(),
						  .places = &places,
						  .interval = PACE_GIVEN,
						  .switched_off = switched_off };
	struct watch_source_facts facts = { .name = NULL };
	struct watch_source *source = NULL;
	struct err err = ERR_EMPTY;

	if (watch_source_probes.open(&settings, &source, &err) < 0) {
		snprintf(w->why, sizeof(w->why), "%.250s", err.msg);
		snprintf(w->mend, sizeof(w->mend), "%.250s", err.mend);
		return;
	}
	watch_source_probes.facts(source, &facts);
	snprintf(w->mode, sizeof(w->mode), "%s", facts.hook);
	snprintf(w->why, sizeof(w->why), "%s", facts.hook_why);
	watch_source_probes.close(source);
}

static enum watch_hooked hooked_of(const struct doctor_watch *w)
{
	bool is_session = w->mode[0] == '\0' || strcmp(w->mode, "session") == 0;

	return is_session ? WATCH_HOOKED_SESSION : WATCH_HOOKED_PAIR;
}

static bool is_measured(const struct watch_costs *costs)
{
	return costs->measured.untimed_ps + costs->measured.hook_ps > 0;
}

void doctor_look_at_watch(const char *switched_off, struct doctor_watch *out)
{
	static const bool all[PLACE_FIRSTS] = { true, true, true };
	struct watch_calibrated inside = { .of = { { .floor_ps = 0 } } };
	struct doctor_watch w = { .mode = "" };

	try_mode(switched_off, &w);
	if (w.mode[0] != '\0')
		watch_calibrate_probes(all, switched_off, w.probes);
	for (size_t i = 0; i < PLACE_FIRSTS; i++)
		w.probes[i].assumed = watch_assumed_probes[hooked_of(&w)][i];
	w.has_scope = watch_calibrate_inside(switched_off, 1, &inside) >= 0;
	w.scope = inside.of[0];
	w.scope.assumed = watch_assumed_inside[0];
	*out = w;
}

/* ---- lines ---- */

/* What a call costs that is counted, or timed as well; measured, or assumed. */
static uint64_t cost_ps(const struct watch_costs *costs, bool is_timed)
{
	struct pace_costs c = pace_costs_in_force(&costs->measured, &costs->assumed);

	return pace_charge_ps(&c, 1, is_timed ? 1 : 0);
}

static void append_cost(char *out, size_t size, const struct watch_costs *costs, bool is_timed,
			bool has_measured)
{
	size_t used = strlen(out);
	char cost[32];

	watch_format_cost(cost_ps(costs, is_timed), cost, sizeof(cost));
	if (has_measured)
		snprintf(out + used, size - used, "%s", cost);
	else
		snprintf(out + used, size - used, "unmeasured (%s assumed)", cost);
}

struct check doctor_check_probes(const struct doctor_watch *w)
{
	struct check c = { w->why[0] == '\0' ? WORKS : PARTLY, "", "" };

	if (w->mode[0] == '\0')
		snprintf(c.found, sizeof(c.found), "%.255s", w->why);
	else if (w->why[0] == '\0')
		snprintf(c.found, sizeof(c.found), "%s: entry and return by one link a file",
			 w->mode);
	else
		snprintf(c.found, sizeof(c.found), "%s: %.200s", w->mode, w->why);
	snprintf(c.mend, sizeof(c.mend), "%s", w->mend);
	if (w->mode[0] != '\0' && w->why[0] != '\0')
		snprintf(c.mend, sizeof(c.mend), "%s",
			 "Linux 6.13 or later has sessions: a counted call costs less, and calls "
			 "are "
			 "timed in programs that switch stacks too");
	return c;
}

struct check doctor_check_prices(const struct doctor_watch *w)
{
	struct check c = { WORKS, "a call counted", "" };
	bool has_all = true;

	for (size_t i = 0; i < PLACE_FIRSTS; i++) {
		bool has_one = is_measured(&w->probes[i]);
		size_t used = strlen(c.found);

		snprintf(c.found + used, sizeof(c.found) - used, "%s %s ", i > 0 ? "," : "",
			 place_first_name((enum place_first)i));
		append_cost(c.found, sizeof(c.found), &w->probes[i], false, has_one);
		has_all = has_all && has_one;
	}
	if (has_all)
		return c;
	c.health = PARTLY;
	if (w->mode[0] != '\0')
		snprintf(c.mend, sizeof(c.mend), "%s",
			 "let a child of tare run for half a second: it was killed, or kept "
			 "waiting");
	return c;
}

struct check doctor_check_libtare(const struct doctor_watch *w)
{
	struct check c = { w->has_scope ? WORKS : FAILS, "a scope counted ", "" };
	const struct pace_costs *measured = &w->scope.measured;

	append_cost(c.found, sizeof(c.found), &w->scope, false, measured->untimed_ps > 0);
	strncat(c.found, ", timed ", sizeof(c.found) - strlen(c.found) - 1);
	append_cost(c.found, sizeof(c.found), &w->scope, true, measured->extra_ps > 0);
	if (!w->has_scope)
		snprintf(c.mend, sizeof(c.mend), "%s",
			 "memfd_create and running what it holds must be permitted");
	return c;
}

const char *doctor_watch_verdict(const struct doctor_watch *w)
{
	if (w->mode[0] != '\0')
		return "tare watch works here";
	if (w->has_scope)
		return "tare watch works here for programs that link libtare only";
	return "tare watch does not work here yet";
}

/* ---- JSON ---- */

static void put_cost(struct json *j, const char *key, const struct watch_costs *costs,
		     bool is_timed, bool has_measured)
{
	char why[64];

	snprintf(why, sizeof(why), "not measured: %llu assumed",
		 (unsigned long long)cost_ps(costs, is_timed));
	if (has_measured)
		json_put_u64(j, key, cost_ps(costs, is_timed));
	else
		report_put_null(j, key, why);
}

static void put_costs(struct json *j, const char *of, const struct watch_costs *costs)
{
	bool has_extra = costs->measured.extra_ps > 0;

	json_open_object(j);
	json_put_chars(j, "of", of);
	put_cost(j, "counted_ps", costs, false, is_measured(costs));
	put_cost(j, "timed_ps", costs, true, is_measured(costs) && has_extra);
	json_close(j);
}

void doctor_put_watch(struct json *j, const struct doctor_watch *w)
{
	bool has_probes = w->mode[0] != '\0';

	json_key(j, "has_probes");
	json_bool(j, has_probes);
	if (has_probes)
		json_put_chars(j, "mode", w->mode);
	else
		report_put_null(j, "mode", w->why);
	json_put_chars(j, "mode_why", has_probes ? w->why : "");
	json_key(j, "has_libtare");
	json_bool(j, w->has_scope);
	json_key(j, "prices");
	json_open_array(j);
	for (size_t i = 0; i < PLACE_FIRSTS; i++)
		put_costs(j, place_first_name((enum place_first)i), &w->probes[i]);
	put_costs(j, "libtare", &w->scope);
	json_close(j);
}
