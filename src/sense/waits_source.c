/* waits_source.c - watches waits beside an engine: opening, looks when they are due, facts. */
#include "sense/waits_source.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <bpf/libbpf.h>

#include "sense/clock.h"
#include "sense/waits_parts.h"

#define LOOK_EVERY_NS \
	(500 * NS_PER_MS) /* WAITS_VISIT_NS and two of these are less than a long wait twice over */
#define RATE_AT_FIRST 300u /* looks a second */

uint64_t waits_now_ns(const struct waits_source *s)
{
	return clock_read_ns(CLOCK_MONOTONIC) - (uint64_t)s->ahead_ns;
}

static int explain_engine(const struct sampler_ops *engine, struct err *err)
{
	err_set(err, -ENOTSUP, "cannot see waits beside engine %s", engine->name);
	err_works(err, "`--clock cpu` records what runs");
	return err_mend(err, "leave --engine out, or take --engine perf");
}

int waits_source_open(const struct waits_source_settings *settings, struct waits_source **out,
		      struct err *err)
{
	struct waits_source *s;
	int code;

	if (settings->engine->spaces == NULL || settings->engine->thread == NULL)
		return explain_engine(settings->engine, err);
	s = calloc(1, sizeof(*s));
	if (s != NULL)
		s->stats_fd = -1;
	if (s == NULL || waits_threads_open(s) < 0) {
		waits_source_close(s);
		return err_set(err, -ENOMEM, "cannot see waits: out of memory");
	}
	s->settings = *settings;
	s->looks = 1;
	s->ahead_ns = procfs_clock_ahead_ns();
	s->settings.start.ns -= (uint64_t)s->ahead_ns;
	s->spaces = settings->engine->spaces(settings->sampler);
	/* Without it long waits that were not looked at have no stack, which is counted. */
	if (remote_open(&s->remote) < 0)
		s->remote = NULL;
	code = waits_load(s, err);
	if (code < 0) {
		waits_source_close(s);
		return code;
	}
	s->settings.switched_off = NULL; /* borrowed during the call only */
	waits_source_set_rate(s, RATE_AT_FIRST);
	s->next_ns = waits_now_ns(s) + LOOK_EVERY_NS;
	*out = s;
	return 0;
}

void waits_source_close(struct waits_source *s)
{
	if (s == NULL)
		return;
	waits_unload(s);
	waits_threads_close(s);
	remote_close(s->remote);
	free(s);
}

struct mono waits_source_wakes_at(const struct waits_source *s)
{
	if (s->is_resting)
		return (struct mono){ UINT64_MAX };
	return (struct mono){ s->next_ns + (uint64_t)s->ahead_ns };
}

/* All that has come, and then the sums: a wait that was told is in them. */
static void look(struct waits_source *s, bool is_all)
{
	ring_buffer__consume(s->ring);
	waits_look(s, is_all, waits_take_line);
	s->looked_ns = s->now_ns = waits_now_ns(s);
}

void waits_source_take(struct waits_source *s, const struct sampler_sink *sink)
{
	s->now_ns = waits_now_ns(s);
	if (s->now_ns < s->next_ns || s->is_resting)
		return;
	s->next_ns = s->now_ns + LOOK_EVERY_NS;
	s->looks++;
	s->sink = sink;
	look(s, false);
	for (uint32_t i = 0; i < s->place_count; i++) {
		const struct waits_turn *turn = &s->turns[i];
		struct waits_thread *thread = &s->threads[i];

		if (turn->pid == 0 || (!turn->is_touched && s->now_ns < turn->due_ns) ||
		    thread->seen_ns == 0)
			continue;
		/* The engine may not have heard yet of one that lived between its looks: it tells when it forgets it. */
		if (thread->gone_look == 0)
			waits_settle(s, thread, false);
		else if (thread->gone_look < s->looks)
			waits_finish(s, thread);
	}
	s->sink = NULL;
}

void waits_source_peek(struct waits_source *s, const struct sampler_sink *sink)
{
	s->now_ns = waits_now_ns(s);
	s->sink = sink;
	ring_buffer__consume(s->ring);
	s->sink = NULL;
}

void waits_source_rest(struct waits_source *s, const struct sampler_sink *sink)
{
	s->sink = sink;
	ring_buffer__consume(s->ring);
	waits_look(s, true, waits_take_line);
	s->looked_ns = waits_now_ns(s);
	s->has_rested = true;
	for (uint32_t i = 0; i < s->place_count; i++) {
		struct waits_thread *thread = &s->threads[i];

		if (thread->pid == 0 || thread->seen_ns == 0)
			continue;
		waits_end_open(thread, thread->line.at_ns);
		waits_settle(s, thread, true);
	}
	waits_detach(s);
	s->is_resting = true;
	s->sink = NULL;
}

int waits_source_resume(struct waits_source *s, uint64_t scale_ppm)
{
	int code = waits_attach(s);

	if (code < 0)
		return code;
	s->control->resumes = 1;
	waits_look(s, true, waits_take_line);
	s->control->resumes = 0;
	s->scale_ppm = scale_ppm;
	s->is_resting = false;
	s->next_ns = waits_now_ns(s) + LOOK_EVERY_NS;
	return 0;
}

void waits_source_forget(struct waits_source *s, uint32_t pid, const struct sampler_sink *sink)
{
	s->now_ns = waits_now_ns(s);
	s->sink = sink;
	ring_buffer__consume(s->ring);
	for (uint32_t i = 0; i < s->place_count; i++)
		if (s->turns[i].pid == pid && s->threads[i].gone_look != 0)
			waits_finish(s, &s->threads[i]);
	s->sink = NULL;
}

void waits_source_end(struct waits_source *s, const struct sampler_sink *sink)
{
	s->sink = sink;
	look(s, true);
	for (uint32_t i = 0; i < s->place_count; i++)
		if (s->threads[i].pid != 0)
			waits_finish(s, &s->threads[i]);
	s->sink = NULL;
}

/* Shared out among all threads: each is watched at the same rate, and most are quiet. */
void waits_source_set_rate(struct waits_source *s, uint32_t looks_a_second)
{
	s->control->rate = looks_a_second;
}

/* Of all threads that live, as of the last look. */
static uint64_t live_ns(const struct waits_source *s, enum state state)
{
	const struct waits_sums *sums = &s->live;
	unsigned __int128 until_ns = (unsigned __int128)sums->count[state] * s->looked_ns;

	return sums->exact_ns[state] + (until_ns > sums->since_ns[state]
						? (uint64_t)(until_ns - sums->since_ns[state])
						: 0);
}

void waits_source_facts(struct waits_source *s, struct waits_facts *out)
{
	*out = (struct waits_facts){
		.switches = s->control->switches,
		.looks = s->control->taken,
		.visits = s->visits,
		.lost = s->lost + s->control->lost,
		.unread = s->unread + s->control->unread,
		.walk_ns = s->control->walk_ns,
		.rest_ns = s->gone_rest_ns,
	};
	out->is_kernel_told = waits_kernel_ns(s, &out->kernel_ns);
	for (int state = 0; state < STATE_COUNT; state++)
		out->exact_ns[state] = s->gone_ns[state] + live_ns(s, (enum state)state);
}
