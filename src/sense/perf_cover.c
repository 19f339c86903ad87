/* perf_cover.c - events on every thread there is, and the change of their period. An event's period can only be changed
 * by opening another: PERF_EVENT_IOC_PERIOD does not reach all threads that inherited it. */
#include <errno.h>

#include "sense/perf.h"

static int cover_thread(struct sampler *s, struct perf_events *events, pid_t pid, pid_t tid)
{
	struct perf_thread *thread;
	int error;

	thread = perf_follow_thread(s, (uint32_t)pid, (uint32_t)tid, NULL);
	if (thread == NULL || thread->covered_in == s->generation)
		return 0; /* without a place it still inherits, and its samples are counted as lost */
	error = perf_events_add(events, &s->means, &s->rings, tid);
	if (error == 0) {
		thread->covered_in = s->generation;
		thread->has_execed = false; /* these counters begin at 0 */
	}
	return error == -ESRCH ? 0 : error;
}

/* One pass over all threads in /proc. */
static int cover_once(struct sampler *s, struct perf_events *events)
{
	int error = perf_threads_pids(s->threads, &s->pids);

	for (size_t p = 0; p < s->pids.count && error == 0; p++) {
		pid_t pid = s->pids.items[p];

		if (procfs_threads(pid, &s->list) != 0)
			continue; /* it has just ended */
		for (size_t i = 0; i < s->list.count && error == 0; i++)
			error = cover_thread(s, events, pid, s->list.items[i]);
	}
	return error;
}

int perf_cover(struct sampler *s, struct perf_events *events)
{
	size_t before;
	int error;

	do {
		before = events->count;
		error = cover_once(s, events);
	} while (error == 0 && events->count > before);
	if (error == 0 && events->count == 0)
		error = -ESRCH;
	return error;
}

int perf_cover_again(struct sampler *s, pid_t tid)
{
	struct perf_thread *thread = perf_threads_find(s->threads, (uint32_t)tid);
	int error = perf_events_add(&s->events, &s->means, &s->rings, tid);

	if (error != 0 || thread == NULL)
		return error;
	thread->covered_in = s->generation;
	thread->has_execed = false; /* these counters begin at 0 */
	perf_events_enable(&s->events);
	return 0;
}

/* Old and new events are open at the same time, so that no thread is born unseen between them. */
static int check_files(struct sampler *s, struct err *err)
{
	size_t threads = 0;

	if (perf_threads_pids(s->threads, &s->pids) != 0)
		return -ENOMEM;
	for (size_t p = 0; p < s->pids.count; p++)
		if (procfs_threads(s->pids.items[p], &s->list) == 0)
			threads += s->list.count;
	if (perf_has_room_for_files(threads * s->rings.count, s->events.count + 64))
		return 0;
	err_set(err, -EMFILE,
		"cannot change the period: %zu threads on %u CPUs need more files than the limit "
		"allows",
		threads, s->rings.count);
	err_works(err, "recording goes on at the period it has");
	return err_mend(err, "raise the limit of open files (ulimit -n) to %zu",
			2 * threads * s->rings.count + 128);
}

static void change_over(struct sampler *s, struct perf_events *fresh)
{
	uint64_t clock_ns, lost;

	perf_events_disable(&s->events);
	if (!fresh->starts_at_exec)
		perf_events_enable(fresh);
	perf_events_count(&s->events, &clock_ns, &lost);
	s->closed_ns += clock_ns;
	s->closed_lost += lost;
	s->next_count_ns = 0;
	s->old_period_ns = s->events.period_ns;
	s->first_id = fresh->items[0].id;
	perf_events_close(&s->events);
	s->events = *fresh;
}

int perf_reopen(struct sampler *s, uint64_t period_ns, const struct sampler_sink *sink,
		struct err *err)
{
	struct perf_events fresh = { .period_ns = period_ns };
	size_t before;
	int error = check_files(s, err);

	if (error != 0)
		return error;
	fresh.starts_at_exec = s->settings.starts_at_exec && !s->has_execed;
	s->generation++;
	do { /* children forked meanwhile are told by the old events' records */
		before = fresh.count;
		error = perf_cover(s, &fresh);
		if (error == 0)
			error = perf_drain(s, sink, err);
	} while (error == 0 && fresh.count > before);
	if (error == -ESRCH) { /* all have ended: nothing is left to change */
		perf_events_close(&fresh);
		return 0;
	}
	if (error != 0) {
		perf_events_close(&fresh);
		return perf_explain_event(error, s->settings.pid, err);
	}
	change_over(s, &fresh);
	error = perf_drain(s, sink, err);
	if (s->events.starts_at_exec && s->has_execed)
		perf_events_enable(&s->events); /* it executed during the change */
	return error;
}
