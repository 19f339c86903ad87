/* runner_status.c - how the fleet stands: the model beside what is measured. */
#include <stdio.h>
#include <string.h>

#include "fleet/runner_own.h"

static uint64_t age_ns(const struct station *s, int64_t now_ns)
{
	int64_t captured_ns = s->gate.mark.captured_wall_ns;

	return now_ns > captured_ns ? (uint64_t)(now_ns - captured_ns) : 0;
}

static bool is_owed(const struct station *s)
{
	const struct runner *r = s->runner;

	return s->is_on &&
	       cadence_is_due(&r->pace, r->slot, s->gate.seat, READING_STATEMENTS, &s->gate.mark) &&
	       !cadence_is_scheduled(&r->pace, r->slot, s->gate.seat, READING_STATEMENTS);
}

/* By phase: the servers whose slot is now, one slot ago, two ago ... */
static void add_load(struct runner_status *out, const struct station *s)
{
	const struct runner *r = s->runner;

	for (uint32_t back = 0; back < r->pace.n && back < 60; back++)
		if (cadence_is_scheduled(&r->pace, r->slot - back, s->gate.seat,
					 READING_STATEMENTS))
			out->slot_scheduled[back]++;
}

void runner_status(const struct runner *r, struct runner_status *out)
{
	struct runner_status made = { .at = loop_wall(), .cycle_ns = r->cycle_ns };
	uint64_t run_sum_ns = 0, runs = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct station *s = r->stations[i];

		made.in_lane += lane_is_in(&s->lane);
		made.visiting += s->visit != NULL;
		made.owed += is_owed(s);
		if (!lane_is_in(&s->lane) && s->run_ns > 0) {
			runs++;
			run_sum_ns += s->run_ns;
		}
		add_load(&made, s);
		if (s->is_on && !lane_is_in(&s->lane) && age_ns(s, made.at.ns) > made.worst_age_ns)
			made.worst_age_ns = age_ns(s, made.at.ns);
	}
	made.servers = (uint32_t)r->count;
	made.n_given = r->pace.n_given;
	made.n = r->pace.n;
	made.k = r->pace.k;
	made.p95_ns = spacing_ns(&r->spacing, loop_now(), 95);
	made.run_ns = runs > 0 ? run_sum_ns / runs : 0;
	made.model_ns =
		cadence_model_ns(made.servers - made.in_lane, made.run_ns, r->at_once, r->cycle_ns);
	made.slot = r->slot;
	made.slot_captures = r->captures;
	made.last_captures = r->captures_before;
	made.visits = r->visits;
	made.late = r->late;
	made.skipped = r->skipped;
	made.failures = r->failures;
	made.longest_turn_ns = loop_longest_ns(r->loop);
	*out = made;
}

size_t runner_servers(const struct runner *r, struct runner_server *out, size_t room)
{
	for (size_t i = 0; i < r->count && i < room; i++) {
		const struct station *s = r->stations[i];

		out[i] = (struct runner_server){
			.server = s->id,
			.seat = s->gate.seat,
			.name = s->settings.name,
			.is_in_lane = lane_is_in(&s->lane),
			.failures = s->lane.failures,
			.visited_wall_ns = s->visited_wall_ns,
			.captured_wall_ns = s->gate.mark.captured_wall_ns,
			.is_captured = !s->is_first_sight,
			.is_owed = is_owed(s),
			.is_scheduled =
				s->is_on && cadence_is_scheduled(&r->pace, r->slot, s->gate.seat,
								 READING_STATEMENTS),
			.run_ns = s->run_ns,
			.memory_bytes = r->ops->server_bytes(s->memory),
		};
		snprintf(out[i].last_error, sizeof(out[i].last_error), "%s", s->last_error);
	}
	return r->count;
}
