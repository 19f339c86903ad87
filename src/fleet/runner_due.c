/* runner_due.c - whose turn it is: visits fall due by each server's place in the cycle, wait for a place, and never overlap. */
#include <stdio.h>

#include "fleet/runner_own.h"

struct waiting *runner_queue(struct runner *r, enum queue queue)
{
	return queue == QUEUE_LANE ? &r->lane : &r->healthy;
}

void station_wait(struct station *s)
{
	loop_set(s->runner->loop, &s->due, loop_now().ns + beat_wait_ns(&s->beat, loop_wall()));
}

static void enqueue(struct station *s, enum queue queue)
{
	struct waiting *w = runner_queue(s->runner, queue);

	s->queue = queue;
	s->before = w->last;
	s->behind = NULL;
	if (w->last != NULL)
		w->last->behind = s;
	else
		w->first = s;
	w->last = s;
}

void station_unqueue(struct station *s)
{
	struct waiting *w = runner_queue(s->runner, s->queue);

	if (s->queue == QUEUE_NONE)
		return;
	if (s->before != NULL)
		s->before->behind = s->behind;
	else
		w->first = s->behind;
	if (s->behind != NULL)
		s->behind->before = s->before;
	else
		w->last = s->before;
	s->queue = QUEUE_NONE;
	s->before = s->behind = NULL;
}

/* Why a run that is due now cannot begin; NULL: it can, or waits for a place. */
static const char *why_not(const struct station *s, uint64_t now_ns, char *room, size_t size)
{
	if (s->visit != NULL)
		return "in flight: the run before has not ended";
	if (!lane_may_try(&s->lane, now_ns)) {
		snprintf(room, size, "failing: next try in %llu s",
			 (unsigned long long)((s->lane.until_mono_ns - now_ns) / NS_PER_S + 1));
		return room;
	}
	return NULL;
}

void station_is_due(void *owner)
{
	struct station *s = owner;
	uint64_t now_ns = loop_now().ns;
	int64_t cycle = beat_take(&s->beat, loop_wall());
	char room[80];
	const char *why = why_not(s, now_ns, room, sizeof(room));

	station_wait(s);
	if (why != NULL) {
		rows_skipped(s, cycle, why);
		return;
	}
	if (s->queue != QUEUE_NONE) {
		/* It keeps its place in the queue; the run that it waited for is lost. */
		rows_skipped(s, s->cycle,
			     s->queue == QUEUE_LANE ? "the lane of failing servers was full"
						    : "as many servers as may be were visited");
	} else {
		enqueue(s, lane_is_in(&s->lane) ? QUEUE_LANE : QUEUE_HEALTHY);
	}
	s->cycle = cycle;
	s->due_mono_ns = now_ns;
	runner_pump(s->runner);
}

static void start_some(struct runner *r, enum queue queue)
{
	struct waiting *w = runner_queue(r, queue);

	while (w->first != NULL && w->used < w->places) {
		struct station *s = w->first;

		station_unqueue(s);
		visit_start(s, queue);
	}
}

void runner_pump(struct runner *r)
{
	start_some(r, QUEUE_HEALTHY);
	start_some(r, QUEUE_LANE);
}
