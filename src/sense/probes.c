/* probes.c - watch_source_probes: counts and times calls of any running program by uprobes and BPF. */
#include "sense/probes.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "core/gap.h"
#include "core/scoped.h"
#include "core/watchlist.h"
#include "sense/probes_parts.h"
#include "sense/procfs.h"

/* ---- open and close ---- */

static void probes_close(struct watch_source *s)
{
	if (s == NULL)
		return;
	probes_end_measures(s);
	probes_detach_all(s);
	probes_unload(s);
	for (uint32_t i = 0; s->points != NULL && i < s->point_count; i++) {
		exits_free(&s->points[i].exits);
		free(s->points[i].histogram); /* steps lie in it too */
	}
	free(s->points);
	free(s->held);
	free(s->waiting);
	free(s->switched_off);
	if (s->pid_fd >= 0)
		close(s->pid_fd);
	free(s);
}

static void close_source(struct watch_source **s)
{
	probes_close(*s);
}

static int take_points(struct watch_source *s, const struct watch_source_settings *settings)
{
	size_t room = (settings->places != NULL ? settings->places->count : 0) + 1;
	uint32_t count = 0;

	s->points = calloc(room, sizeof(*s->points));
	if (s->points == NULL)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < room && count < WATCHLIST_MOST; i++)
		if (settings->places->rows[i].why_not.len == 0)
			s->points[count++] = (struct probes_point){
				.place = &settings->places->rows[i],
				.is_counted = settings->only_counts,
				.mode = "counting: nothing is to be timed",
			};
	s->frame_point = WATCH_NO_POINT;
	if (settings->frame != NULL) {
		s->frame_point = count;
		s->points[count++] =
			(struct probes_point){ .place = settings->frame, .is_frame = true };
	}
	for (uint32_t i = 0; i < count; i++)
		s->points[i].link = NO_LINK;
	s->point_count = count;
	return 0;
}

/* What an exception may pass gets no return probe: its end is seen where it is left, or it is only counted. */
static int find_exits(struct watch_source *s, bool times_throwers)
{
	const struct place *places[WATCH_POINTS];
	struct exits exits[WATCH_POINTS];

	for (uint32_t i = 0; i < s->point_count && !times_throwers; i++) {
		struct probes_point *first = &s->points[i];
		uint32_t at[WATCH_POINTS];
		size_t count = 0;

		if (!first->place->may_throw || first->is_frame || first->is_counted ||
		    first->exits.count > 0)
			continue;
		for (uint32_t k = i; k < s->point_count; k++) {
			const struct probes_point *p = &s->points[k];

			if (!p->place->may_throw || p->is_frame ||
			    strcmp(p->place->path, first->place->path) != 0)
				continue;
			at[count] = k;
			places[count++] = p->place;
		}

		int status = exits_find(places, count, exits);

		if (status == -ENOMEM)
			return status;
		for (size_t k = 0; k < count; k++) {
			s->points[at[k]].exits = exits[k];
			s->points[at[k]].is_counted = exits[k].count == 0;
			s->points[at[k]].mode = "counting: an exception may pass it, and its exits "
						"cannot be told";
		}
	}
	return 0;
}

static uint64_t cost_ps(const struct pace_costs *costs)
{
	return costs->untimed_ps + costs->hook_ps;
}

/* Until the first order comes. */
static void order_first(struct watch_source *s, uint32_t interval)
{
	for (uint32_t i = 0; i < s->point_count; i++) {
		struct watch_costs costs = probes_assumed(s, i);
		uint64_t untimed_ps = cost_ps(&costs.assumed);

		s->orders[i].interval = interval == 0 ? PACE_GIVEN : interval;
		s->orders[i].untimed_ps = untimed_ps;
		s->orders[i].timed_ps = untimed_ps + costs.assumed.extra_ps;
		s->orders[i].floor_ns = costs.floor_ps / 1000;
	}
}

static int open_slow(struct watch_source *s);

/* Everything but the programs. */
static int prepare(struct watch_source *s, const struct watch_source_settings *settings)
{
	int cpus = libbpf_num_possible_cpus();

	if (cpus <= 0)
		return cpus < 0 ? cpus : -ENOTSUP;
	s->cpu_count = (uint32_t)cpus;
	s->pid = settings->pid;
	/* The kernel's programs read a clock that no time namespace moves. */
	s->start_ns = settings->start_ns - (uint64_t)procfs_clock_ahead_ns();
	s->pid_fd = (int)syscall(SYS_pidfd_open, settings->pid, 0);
	if (s->pid_fd < 0 && errno == ESRCH)
		return -ESRCH;
	if (settings->switched_off != NULL) {
		s->switched_off = strdup(settings->switched_off);
		if (s->switched_off == NULL)
			return -ENOMEM;
	}
	if (take_points(s, settings) < 0 || find_exits(s, settings->times_throwers) < 0)
		return -ENOMEM;
	if (s->point_count == 0)
		return -EINVAL;
	s->held = calloc((size_t)s->cpu_count * s->point_count, sizeof(*s->held));
	return s->held != NULL ? 0 : -ENOMEM;
}

static int explain(int status, pid_t pid, struct err *err)
{
	switch (status) {
	case -ESRCH:
		return err_set(err, status, "cannot watch process %d: it has ended", (int)pid);
	case -EINVAL:
		return err_set(err, status, "cannot set up probes: there is nothing to watch");
	default:
		return err_set(err, status, "cannot set up probes: %s", strerror(-status));
	}
}

/* Without sessions every call gets a return probe, timed or not. */
static void count_switchers(struct watch_source *s, const struct stacks_program *program)
{
	char shown[128];

	if (s->mode == PROBES_SESSION || program == NULL ||
	    !stacks_find(program, shown, sizeof(shown)))
		return;
	snprintf(s->switches, sizeof(s->switches), "counting: it can switch stacks (%s)", shown);
	for (uint32_t i = 0; i < s->point_count; i++) {
		struct probes_point *p = &s->points[i];

		if (probes_end_of(p) != PROBES_END_RETURN)
			continue;
		p->is_counted = true;
		p->mode = s->switches;
	}
}

static int open_with(const struct watch_source_settings *settings, bool is_empty,
		     struct watch_source **out, struct err *err)
{
	SCOPED(close_source) struct watch_source *s = calloc(1, sizeof(*s));
	int status;

	if (s == NULL)
		return explain(-ENOMEM, settings->pid, err);
	s->pid_fd = -1;
	status = prepare(s, settings);
	if (status < 0)
		return explain(status, settings->pid, err);
	status = probes_load(s, settings, is_empty, err);
	if (status < 0)
		return status;
	if (s->frame_point != WATCH_NO_POINT && open_slow(s) < 0)
		return explain(-ENOMEM, settings->pid, err);
	s->control->slow_ns = settings->slow_ns;
	count_switchers(s, settings->stacks);
	order_first(s, settings->interval);
	*out = s;
	s = NULL;
	return 0;
}

static int probes_open(const struct watch_source_settings *settings, struct watch_source **out,
		       struct err *err)
{
	return open_with(settings, false, out, err);
}

int probes_open_empty(const struct watch_source_settings *settings, struct watch_source **out,
		      struct err *err)
{
	return open_with(settings, true, out, err);
}

static int nothing_attached(const struct watch_source *s, struct err *err)
{
	const struct probes_point *first = &s->points[0];

	err_set(err, -ENOENT, "cannot watch '%.*s'%s: %s", (int)first->place->name.len,
		first->place->name.bytes, s->point_count > 1 ? " or any other" : "",
		first->why_not);
	return err->code;
}

static int probes_start(struct watch_source *s, struct err *err)
{
	int status;

	s->control->window = 1;
	status = probes_attach_all(s);
	if (status < 0)
		return err_set(err, status, "cannot attach probes: out of memory");
	return s->link_count == 0 ? nothing_attached(s, err) : 0;
}

/* ---- points ---- */

static uint32_t probes_points(struct watch_source *s)
{
	return s->point_count;
}

static struct str text(const char *bytes)
{
	return (struct str){ bytes, (uint32_t)strlen(bytes) };
}

static const char *mode_of(const struct watch_source *s, const struct probes_point *p)
{
	if (p->is_counted)
		return p->mode;
	if (p->exits.count > 0)
		return "entry+exits";
	return s->mode == PROBES_SESSION ? "session" : "entry+return";
}

static void probes_describe(struct watch_source *s, uint32_t point, struct watched_row *out)
{
	const struct probes_point *p = &s->points[point];
	bool is_watched = p->why_not[0] == '\0';

	out->kind = p->is_frame ? WATCHED_FRAME : WATCHED_PROBE;
	out->name = p->place->name;
	out->symbol = p->place->symbol;
	out->module = p->place->module;
	out->pattern = p->place->pattern;
	out->offset = p->place->offset;
	out->mode = is_watched ? text(mode_of(s, p)) : STR_EMPTY;
	out->first = text(place_first_name(p->place->first));
	out->why_not = is_watched ? STR_EMPTY : text(p->why_not);
}

static void probes_order(struct watch_source *s, uint32_t point, const struct watch_order *order)
{
	struct watch_point *to = &s->orders[point];
	uint32_t interval = order->interval;

	if (interval == 0 || interval > GAP_MAX_INTERVAL)
		interval = interval == 0 ? 1 : GAP_MAX_INTERVAL;
	__atomic_store_n(&to->untimed_ps, order->untimed_ps, __ATOMIC_RELAXED);
	__atomic_store_n(&to->timed_ps, order->timed_ps, __ATOMIC_RELAXED);
	__atomic_store_n(&to->budget, order->budget, __ATOMIC_RELAXED);
	__atomic_store_n(&to->interval, interval, __ATOMIC_RELEASE);
}

static int probes_attach(struct watch_source *s, uint32_t point, bool is_on, struct err *err)
{
	return is_on ? probes_attach_one(s, point, err) : probes_detach_one(s, point, err);
}

/* ---- windows ---- */

static void probes_peek(struct watch_source *s, uint32_t point, uint64_t *out_calls,
			uint64_t *out_timed)
{
	const struct probes_point *p = &s->points[point];
	uint64_t calls, timed;

	probes_read_begun(s, point, &calls, &timed);
	*out_calls = calls - p->peek_calls;
	*out_timed = timed - p->peek_timed;
}

/* ---- slow frames ---- */

/* Keeps one frame of the ring; more stay there. */
static int take_one(void *owner, void *record, size_t bytes)
{
	struct watch_source *s = owner;

	memset(s->waiting, 0, sizeof(*s->waiting));
	memcpy(s->waiting, record, bytes < sizeof(*s->waiting) ? bytes : sizeof(*s->waiting));
	s->has_waiting = true;
	return -EAGAIN; /* ends the reading here; this record is read */
}

static int open_slow(struct watch_source *s)
{
	s->waiting = calloc(1, sizeof(*s->waiting));
	s->slow = s->waiting != NULL ? probes_open_ring(s, take_one) : NULL;
	return s->slow != NULL ? 0 : -ENOMEM;
}

static bool probes_take_slow(struct watch_source *s, struct frames_frame *out, uint32_t *out_tid,
			     uint64_t *out_number)
{
	uint64_t own_ns[WATCH_POINTS];

	if (s->slow == NULL)
		return false;
	s->has_waiting = false;
	ring_buffer__consume(s->slow);
	if (!s->has_waiting)
		return false;
	for (uint32_t i = 0; i < s->point_count; i++)
		own_ns[i] = s->waiting->own_ns[i] > 0 ? (uint64_t)s->waiting->own_ns[i] : 0;
	*out = frames_make(s->waiting->start_ns - s->start_ns, s->waiting->duration_ns, own_ns,
			   s->point_count);
	*out_tid = (uint32_t)s->waiting->tid;
	*out_number = s->waiting->number;
	return true;
}

/* ---- facts ---- */

static bool has_ended(const struct watch_source *s)
{
	struct pollfd process = { .fd = s->pid_fd, .events = POLLIN };

	return s->pid_fd >= 0 && poll(&process, 1, 0) > 0;
}

/* What is left out. */
static const char *scope_of(const struct watch_source *s)
{
	if (s->switches[0] != '\0')
		return "children are not watched; calls are counted, not timed: the program can "
		       "switch stacks, and this kernel has no uprobe sessions";
	for (uint32_t i = 0; i < s->point_count; i++)
		if (s->points[i].is_counted)
			return "children are not watched; functions that an exception may pass, "
			       "and "
			       "of which the exits cannot be told, are counted, not timed";
	return "children are not watched";
}

static void probes_facts(struct watch_source *s, struct watch_source_facts *out)
{
	*out = (struct watch_source_facts){
		.name = "probes",
		.hook = probes_mode_name(s->mode),
		.hook_why = s->hook_why,
		.clock = "CLOCK_MONOTONIC",
		.scope = scope_of(s),
		.attach_ns = s->attach_ns,
		.detach_ns = s->detach_ns,
		.lost_places = s->control->lost_places,
		.lost_slow = s->control->lost_slow,
		.lost_returns = s->control->lost_returns,
		.torn = s->torn,
		.is_over = has_ended(s),
	};
}

const struct watch_source_ops watch_source_probes = {
	.name = "probes",
	.open = probes_open,
	.points = probes_points,
	.describe = probes_describe,
	.costs = probes_costs,
	.measure = probes_measure,
	.start = probes_start,
	.order = probes_order,
	.attach = probes_attach,
	.peek = probes_peek,
	.turn = probes_read_window,
	.seen = probes_seen,
	.take_slow = probes_take_slow,
	.facts = probes_facts,
	.close = probes_close,
};
