/* runner_visit.c - one visit: connect, a look, the body, another look, and what it came to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/runner_own.h"

#define USUAL_EVERY_NS NS_PER_S
#define USUAL_PERCENT  75
#define CROWDED_NS     (250 * NS_PER_MS) /* a slow visit keeps its place so long while nobody waits */
#define SAMPLED	       (1u << READING_ACTIVITY | 1u << READING_BLOCKING)

static void begin_body(struct visit *v);
static void connect_anew(struct visit *v);

static void close_scripts(struct visit *v)
{
	const struct visit_ops *ops = v->runner->ops;

	if (v->has_body)
		ops->body_close(&v->body);
	if (v->has_sampler)
		ops->sampler_close(&v->sampler);
	v->has_body = v->has_sampler = v->has_looked = false;
}

/* Takes a visit away from its server; its batch stays. */
static void detach(struct visit *v)
{
	struct runner *r = v->runner;

	beside_end(v);
	loop_put_off(r->loop, &v->budget);
	loop_put_off(r->loop, &v->patience);
	link_on_answer(v->station->link, NULL, NULL);
	close_scripts(v);
	runner_queue(r, v->place)->used--;
	v->station->visit = NULL;
}

void visit_drop(struct visit *v)
{
	link_stop(v->station->link);
	detach(v);
	fleet_batch_free(&v->batch);
	free(v);
}

static void judge_server(struct visit *v, const struct visit_end *end)
{
	struct station *s = v->station;
	struct runner *r = v->runner;

	if (end->outcome != RUN_SUCCESS) {
		r->failures++;
		snprintf(s->last_error, sizeof(s->last_error), "%.5s%s%.150s", end->sqlstate,
			 end->sqlstate[0] != '\0' ? ": " : "", end->reason);
	}
	if (end->is_failing) {
		s->began_mono_ns = 0; /* pauses are not the fleet's pace */
		if (lane_failed(&s->lane, &r->pauses, loop_now().ns, &r->jitter))
			runner_say(r, s, "failing, visited with pauses from now on", end->reason);
	} else if (lane_recovered(&s->lane)) {
		runner_say(r, s, "answers again", "");
	}
}

static void count(struct visit *v, const struct visit_end *end)
{
	struct station *s = v->station;
	struct runner *r = v->runner;
	struct mono now = loop_now();

	r->visits++;
	r->late += now.ns > s->due_mono_ns + r->cycle_ns;
	s->run_ns = now.ns - v->began_ns;
	if (end->outcome != RUN_SUCCESS)
		return;
	s->has_visited = true;
	s->last_error[0] = '\0';
	s->visited_wall_ns = v->settings.at.ns;
	spacing_add(&r->took[CADENCE_CAPTURES(v->settings.capture)], now, s->run_ns);
}

void visit_end(struct visit *v, const struct visit_end *end)
{
	struct station *s = v->station;
	struct runner *r = v->runner;
	struct fleet_batch batch;
	int code = 0;

	if (end->outcome != RUN_SUCCESS) {
		fleet_batch_free(&v->batch);
		v->batch = (struct fleet_batch){ .server = s->id, .cycle = v->settings.cycle };
	}
	gate_tried(v, v->has_captured && end->outcome == RUN_SUCCESS);
	if (end->outcome != RUN_ABANDONED)
		code = rows_mark(s, &v->batch);
	if (rows_visit(v, end) != 0 || code != 0)
		runner_say(r, s, "its run is not written down", "out of memory");
	count(v, end);
	judge_server(v, end);
	detach(v);
	batch = v->batch;
	free(v);
	r->owner.visited(r->owner.owner, &batch);
	runner_pump(r);
}

/* The connection failed: in the words of the answer. */
static void end_by(struct visit *v, const struct answer *answer)
{
	struct visit_end end = { .outcome = RUN_ERROR, .is_failing = true };

	if (strncmp(answer->sqlstate, "28", 2) == 0 || strncmp(answer->sqlstate, "42501", 5) == 0)
		end.outcome = RUN_PERMISSIONS;
	memcpy(end.sqlstate, answer->sqlstate, sizeof(end.sqlstate));
	snprintf(end.reason, sizeof(end.reason), "%.*s", ERROR_BYTES - 1, answer->message);
	visit_end(v, &end);
}

/* A script failed: a server that gives nothing is failing, whatever it answers. What was our own want of memory, or a
 * right that we lack, is not its fault. */
static void end_with(struct visit *v, int code, const struct err *err)
{
	struct visit_end end = { .outcome = RUN_ERROR, .is_failing = code != -ENOMEM };

	if (code == -EACCES || code == -EPERM)
		end = (struct visit_end){ .outcome = RUN_PERMISSIONS };
	snprintf(end.reason, sizeof(end.reason), "%.*s", ERROR_BYTES - 1, err->msg);
	visit_end(v, &end);
}

/* The body is done, and so are the looks: what it learnt becomes memory. */
static void finish(struct visit *v)
{
	const struct visit_ops *ops = v->runner->ops;
	struct visit_end end = { .outcome = RUN_SUCCESS };
	struct err err = ERR_EMPTY;
	uint64_t cpu_ns = loop_cpu_ns();
	int code = ops->body_commit(&v->body, &err);

	v->has_captured = code == 0 && ops->body_has_captured(&v->body);
	if (code == 0 && v->has_sampler && ops->sampler_end(&v->sampler, &v->batch, &err) != 0)
		runner_say(v->runner, v->station, "its looks are lost", err.msg);
	v->own_ns += loop_cpu_ns() - cpu_ns;
	if (code != 0)
		end_with(v, code, &err);
	else
		visit_end(v, &end);
}

static void look_is_done(void *owner, int code, const struct err *err)
{
	struct visit *v = owner;
	const struct answer *lost = link_lost(v->station->link);

	(void)code; /* the body counts */
	(void)err;
	if (v->phase == PHASE_LOOK_AFTER)
		finish(v);
	else if (lost == NULL)
		begin_body(v);
	else if (v->was_used)
		connect_anew(v);
	else
		end_by(v, lost);
}

static void look(struct visit *v)
{
	if (v->has_looked)
		v->runner->ops->sampler_again(&v->sampler);
	v->has_looked = true;
	link_run(v->station->link, &v->sampler, look_is_done, v);
}

static void body_is_done(void *owner, int code, const struct err *err)
{
	struct visit *v = owner;
	const struct answer *lost = link_lost(v->station->link);

	beside_end(v);
	if (lost != NULL && v->was_used) {
		connect_anew(v);
	} else if (lost != NULL) {
		end_by(v, lost);
	} else if (code < 0) {
		end_with(v, code, err);
	} else if (v->has_sampler && link_is_ready(v->station->link)) {
		v->phase = PHASE_LOOK_AFTER;
		look(v);
	} else {
		finish(v);
	}
}

static void begin_body(struct visit *v)
{
	struct station *s = v->station;
	struct err err = ERR_EMPTY;
	uint64_t cpu_ns = loop_cpu_ns();
	int code = v->runner->ops->body_open(s->memory, &v->settings, link_take_is_new(s->link),
					     &v->batch, &v->body, &err);

	v->own_ns += loop_cpu_ns() - cpu_ns;
	v->has_body = code == 0;
	v->phase = PHASE_BODY;
	if (code != 0) {
		end_with(v, code, &err);
		return;
	}
	link_run(s->link, &v->body, body_is_done, v);
	beside_wait(v);
}

/* Connected: a look first, where it is known what to look at. */
static void begin(struct visit *v)
{
	struct station *s = v->station;
	struct err err = ERR_EMPTY;

	if ((s->settings.readings & SAMPLED) != 0)
		v->has_sampler = v->runner->ops->sampler_open(s->memory, &v->settings, &v->sampler,
							      &err) == 0;
	if (!v->has_sampler || !s->has_visited) {
		begin_body(v);
		return;
	}
	v->phase = PHASE_LOOK_BEFORE;
	look(v);
}

static void is_connected(void *owner, const struct answer *answer)
{
	struct visit *v = owner;

	if (answer->is_ok)
		begin(v);
	else
		end_by(v, answer);
}

/* The connection that was kept is gone since the last visit: the server was started again, or a firewall forgot it. Once. */
static void connect_anew(struct visit *v)
{
	struct station *s = v->station;

	beside_end(v);
	close_scripts(v);
	fleet_batch_free(&v->batch);
	v->batch = (struct fleet_batch){ .server = s->id, .cycle = v->settings.cycle };
	v->was_used = false;
	v->phase = PHASE_CONNECT;
	link_connect(s->link, is_connected, v);
}

static void is_answered(void *owner, const struct ask *ask, const struct answer *answer)
{
	struct visit *v = owner;

	v->was_used = v->was_used && !answer->is_ok;
	if (ask->reading >= READING_COUNT) { /* on no reading's account */
		v->rows += answer->rows;
		v->bytes += answer->bytes;
		v->own_ns += answer->own_ns;
		v->server_ns += answer->elapsed_ns > answer->trip_ns
					? answer->elapsed_ns - answer->trip_ns
					: 0;
	}
	if (v->phase == PHASE_BODY)
		beside_wait(v);
}

void visit_abandon(struct visit *v, const char *why)
{
	struct visit_end end = { .outcome = RUN_ABANDONED, .is_failing = true };

	if (v->phase == PHASE_LOOK_AFTER) { /* the body was in time */
		link_cut(v->station->link);
		finish(v);
		return;
	}
	snprintf(end.reason, sizeof(end.reason), "%s", why);
	link_stop(v->station->link);
	visit_end(v, &end);
}

static void is_over_budget(void *owner)
{
	struct visit *v = owner;
	char why[80];

	snprintf(why, sizeof(why), "over its budget of %llu s",
		 (unsigned long long)(v->runner->budget_ns / NS_PER_S));
	visit_abandon(v, why);
}

/* It takes longer than visits do: into the lane, so that its place is free; where that is full, it is cut when others wait. */
static void is_slow(void *owner)
{
	struct visit *v = owner;
	struct runner *r = v->runner;

	if (r->lane.used < r->lane.places) {
		r->healthy.used--;
		r->lane.used++;
		v->place = QUEUE_LANE;
		runner_pump(r);
	} else if (r->healthy.first == NULL) {
		loop_set(r->loop, &v->patience, loop_now().ns + CROWDED_NS);
	} else {
		visit_abandon(v, "slower than others, who wait for its place");
	}
}

static uint64_t patience_ns(struct runner *r, bool captures)
{
	struct mono now = loop_now();

	if (now.ns - r->usual_at_ns > USUAL_EVERY_NS) {
		r->usual_at_ns = now.ns;
		for (int kind = 0; kind < 2; kind++)
			r->usual_ns[kind] = spacing_ns(&r->took[kind], now, USUAL_PERCENT);
	}
	return lane_patience_ns(r->usual_ns[captures], captures);
}

static void set_alarms(struct visit *v)
{
	struct runner *r = v->runner;

	v->budget = (struct loop_alarm){ .ring = is_over_budget, .owner = v };
	v->patience = (struct loop_alarm){ .ring = is_slow, .owner = v };
	loop_set(r->loop, &v->budget, v->began_ns + r->budget_ns);
	if (v->place == QUEUE_HEALTHY)
		loop_set(r->loop, &v->patience,
			 v->began_ns + patience_ns(r, CADENCE_CAPTURES(v->settings.capture)));
}

/* What this visit is to do. */
static void settle(struct visit *v)
{
	struct station *s = v->station;
	struct runner *r = v->runner;

	v->due = beat_at(&s->beat, s->cycle);
	v->slot = gate_slot_of(r, v->due);
	if (v->slot > r->slot)
		gate_turn(r, v->slot);
	v->settings = (struct visit_settings){ .at = loop_wall(),
					       .cycle = (uint64_t)s->cycle,
					       .capture = gate_answer(s, v->slot),
					       .readings = s->settings.readings,
					       .limits = r->visit_limits,
					       .press = r->press };
	v->batch = (struct fleet_batch){ .server = s->id, .cycle = (uint64_t)s->cycle };
}

void visit_start(struct station *s, enum queue place)
{
	struct runner *r = s->runner;
	struct visit *v = calloc(1, sizeof(*v));
	struct mono now = loop_now();

	if (v == NULL) {
		rows_skipped(s, s->cycle, "out of memory");
		return;
	}
	v->runner = r;
	v->station = s;
	v->place = place;
	v->began_ns = now.ns;
	settle(v);
	if (s->began_mono_ns != 0)
		spacing_add(&r->spacing, now, now.ns - s->began_mono_ns);
	s->began_mono_ns = now.ns;
	runner_queue(r, place)->used++;
	s->visit = v;
	set_alarms(v);
	link_on_answer(s->link, is_answered, v);
	v->was_used = link_is_ready(s->link);
	if (v->was_used)
		begin(v);
	else
		link_connect(s->link, is_connected, v);
}
