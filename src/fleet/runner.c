/* runner.c - the runner as a whole: servers come and go, settings change, and one turn of its loop. */
#include "fleet/runner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/plans.h"
#include "fleet/runner_own.h"
#include "fleet/settings_copy.h"
#include "fleet/settings_parts.h"

#define NAMES_MOST 8  /* threads that look up names */
#define STEPS_MOST 16 /* threads that make connections */

static void take_settings(struct runner *r, const struct collect_settings *s, bool is_first)
{
	r->cycle_ns = s->cycle_ns;
	r->budget_ns = s->budget_ns;
	r->limits = LINK_LIMITS_DEFAULT;
	r->limits.connect_ns = s->connect_ns;
	r->limits.tls_ns = s->tls_ns;
	r->limits.query_ns = s->query_ns;
	r->limits.drain_ns = s->drain_ns;
	r->limits.rows = s->visit.rows;
	r->pauses = (struct lane_pauses){ s->backoff_ns, s->backoff_most_ns };
	r->visit_limits = s->visit;
	r->at_once = s->at_once > 0 ? s->at_once : 1;
	r->healthy.places = r->at_once;
	r->lane.places = lane_places(r->at_once);
	gate_init(r, s, is_first);
}

int runner_open_with(const struct collect_settings *settings, const struct runner_owner *owner,
		     const struct visit_ops *ops, struct runner **out, struct err *err)
{
	struct runner *r = calloc(1, sizeof(*r));
	int code;

	if (r == NULL)
		return err_set(err, -ENOMEM, "cannot visit servers: out of memory");
	link_forget_environment();
	r->ops = ops;
	r->owner = *owner;
	if ((code = loop_open(&r->loop, err)) != 0 ||
	    (code = workers_open(r->loop, NAMES_MOST, &r->hall.names, err)) != 0 ||
	    (code = workers_open(r->loop, STEPS_MOST, &r->hall.steps, err)) != 0) {
		runner_close(r);
		return code;
	}
	if (payload_press_open(&r->press) != 0) {
		runner_close(r);
		return err_set(err, -ENOMEM, "cannot visit servers: out of memory");
	}
	r->hall.loop = r->loop;
	/* Only pauses are drawn by it: collectors that start together must not draw the same. */
	rng_seed(&r->jitter, (uint64_t)loop_wall().ns ^ ((uint64_t)getpid() << 32));
	take_settings(r, settings, true);
	*out = r;
	return 0;
}

static void station_free(struct station *s)
{
	struct runner *r = s->runner;

	if (s->visit != NULL)
		visit_drop(s->visit);
	station_unqueue(s);
	loop_put_off(r->loop, &s->due);
	link_close(s->link);
	r->ops->server_close(s->memory);
	settings_server_free(&s->settings);
	free(s);
}

void runner_close(struct runner *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->count; i++)
		station_free(r->stations[i]);
	free(r->stations);
	workers_close(r->hall.names);
	workers_close(r->hall.steps);
	loop_close(r->loop);
	payload_press_close(r->press);
	free(r);
}

/* Where `id` is, or would be. */
static size_t find(const struct runner *r, uint32_t id)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->stations[middle]->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct station *station_of(const struct runner *r, uint32_t id)
{
	size_t at = find(r, id);

	return at < r->count && r->stations[at]->id == id ? r->stations[at] : NULL;
}

static int make_room(struct runner *r)
{
	size_t room = r->room == 0 ? 64 : r->room * 2;
	struct station **stations;

	if (r->count < r->room)
		return 0;
	stations = reallocarray(r->stations, room, sizeof(struct station *));
	if (stations == NULL)
		return -ENOMEM;
	r->stations = stations;
	r->room = room;
	return 0;
}

static bool has_plans(const struct server_settings *settings)
{
	return settings->plans && (settings->readings & (1u << READING_STATEMENTS)) != 0;
}

static void set_seat(struct station *s, uint32_t seat)
{
	s->gate.seat = seat;
	s->beat.offset_ns = beat_offset_ns(seat, s->runner->cycle_ns);
	s->beat.cycle_ns = s->runner->cycle_ns;
}

static int add_server(struct runner *r, uint32_t id, uint32_t seat,
		      const struct server_settings *settings, const struct cadence_mark *mark)
{
	struct station *s = calloc(1, sizeof(*s));
	size_t at = find(r, id);

	if (s == NULL || make_room(r) != 0 || settings_server_copy(settings, &s->settings) != 0) {
		free(s);
		return -ENOMEM;
	}
	s->runner = r;
	s->id = id;
	s->due = (struct loop_alarm){ .ring = station_is_due, .owner = s };
	s->beat.cycle = BEAT_NONE;
	s->seat_slot = r->slot - 1;
	set_seat(s, seat);
	s->gate.mark = *mark;
	if (mark->captured_wall_ns == 0)
		gate_switch(s, true); /* first sight */
	s->is_on = has_plans(settings);
	if (link_open(&r->hall, &s->settings, &r->limits, &s->link) != 0) {
		settings_server_free(&s->settings);
		free(s);
		return -ENOMEM;
	}
	memmove(r->stations + at + 1, r->stations + at, (r->count - at) * sizeof(*r->stations));
	r->stations[at] = s;
	r->count++;
	station_wait(s);
	return 0;
}

/* A server that is there: another seat, other settings, or both. Its connection stays while it leads to the same place. */
static int change_server(struct station *s, uint32_t seat, const struct server_settings *settings)
{
	struct runner *r = s->runner;
	bool is_same = settings_same_place(&s->settings, settings);
	struct server_settings copy;
	struct link *link = NULL;

	if (settings_server_copy(settings, &copy) != 0)
		return -ENOMEM;
	if (!is_same && link_open(&r->hall, &copy, &r->limits, &link) != 0) {
		settings_server_free(&copy);
		return -ENOMEM;
	}
	if (!is_same) {
		if (s->visit != NULL)
			visit_drop(s->visit);
		link_close(s->link);
		s->link = link;
		lane_recovered(&s->lane); /* what failed is another place now */
	}
	settings_server_free(&s->settings);
	s->settings = copy;
	if (s->gate.seat != seat) {
		set_seat(s, seat);
		s->seat_slot = r->slot;
		if (s->queue == QUEUE_NONE && s->visit == NULL)
			station_wait(s);
	}
	gate_switch(s, has_plans(settings));
	return 0;
}

int runner_put_server(struct runner *r, uint32_t id, uint32_t seat,
		      const struct server_settings *settings, struct server *memory,
		      const struct cadence_mark *mark, struct err *err)
{
	struct station *s = station_of(r, id);
	int code = s != NULL ? change_server(s, seat, settings)
			     : add_server(r, id, seat, settings, mark);

	if (code != 0)
		return err_set(err, code, "cannot visit '%s': out of memory", settings->name);
	s = station_of(r, id);
	if (memory != NULL && memory != s->memory) {
		if (s->visit != NULL)
			visit_drop(s->visit);
		r->ops->server_close(s->memory);
		s->memory = memory;
	}
	return 0;
}

void runner_drop_server(struct runner *r, uint32_t id)
{
	size_t at = find(r, id);

	if (station_of(r, id) == NULL)
		return;
	station_free(r->stations[at]);
	r->count--;
	memmove(r->stations + at, r->stations + at + 1, (r->count - at) * sizeof(*r->stations));
	runner_pump(r);
}

int runner_set(struct runner *r, const struct collect_settings *settings, struct err *err)
{
	bool is_other_cycle = r->cycle_ns != settings->cycle_ns;

	(void)err;
	take_settings(r, settings, false);
	for (size_t i = 0; i < r->count; i++) {
		struct station *s = r->stations[i];

		link_set_limits(s->link, &r->limits);
		if (!is_other_cycle)
			continue;
		set_seat(s, s->gate.seat);
		s->beat.cycle = BEAT_NONE; /* cycles are numbered anew */
		station_wait(s);
	}
	runner_pump(r);
	return 0;
}

int runner_turn(struct runner *r, uint64_t most_ns, struct err *err)
{
	return loop_turn(r->loop, most_ns, err);
}

int runner_fd(const struct runner *r)
{
	return loop_fd(r->loop);
}

void runner_start_now(struct runner *r)
{
	for (size_t i = 0; i < r->count; i++) {
		loop_put_off(r->loop, &r->stations[i]->due);
		station_is_due(r->stations[i]);
	}
}

bool runner_is_busy(const struct runner *r)
{
	uint64_t now_ns = loop_now().ns;

	for (size_t i = 0; i < r->count; i++) {
		const struct station *s = r->stations[i];

		if (s->visit != NULL || s->queue != QUEUE_NONE ||
		    (s->due.place != 0 && s->due.at_mono_ns <= now_ns))
			return true;
	}
	return false;
}
