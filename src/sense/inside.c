/* inside.c - libtare's counters as a source of watched calls: one point for each name that the process has. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/scoped.h"
#include "core/units.h"
#include "sense/clock.h"
#include "sense/mapping.h"
#include "sense/perf_open.h"
#include "sense/watch_calibrate.h"
#include "sense/watch_source.h"

/* Until a new name has orders of its own it is timed so often in a window before its interval doubles: it may be hot, and it
 * may have come in the middle of a window. */
#define BUDGET_OF_NEW 1000u

#define LOOK_NS (NS_PER_S / 2) /* between two looks through a process's mappings */

/* One name. */
struct point {
	bool is_known; /* `kind` and `text` were read: they stay */
	uint32_t kind; /* enum watched_kind */
	uint32_t interval;
	struct str name;
	char text[MAPPING_NAME_BYTES];
};

struct watch_source {
	struct mapping_reader *reader;
	char *switched_off; /* NULL: nothing is */
	int pidfd;	    /* -1: the kernel has none */
	uint32_t interval;
	uint64_t slow_ns, start_ns;
	uint64_t looked_ns; /* when it was last looked whether the process still has its mapping */
	bool is_over, is_calibrated;
	struct watch_calibrated calibrated;
	struct point points[MAPPING_NAMES];
};

static void inside_close(struct watch_source *s)
{
	if (s == NULL)
		return;
	mapping_reader_close(s->reader);
	if (s->pidfd >= 0)
		close(s->pidfd);
	free(s->switched_off);
	free(s);
}

static void close_source(struct watch_source **s)
{
	inside_close(*s);
}

static int inside_open(const struct watch_source_settings *settings, struct watch_source **out,
		       struct err *err)
{
	SCOPED(close_source) struct watch_source *s = calloc(1, sizeof(*s));
	int status;

	if (s == NULL)
		return err_set(err, -ENOMEM, "cannot watch process %d: out of memory",
			       (int)settings->pid);
	s->pidfd = (int)syscall(SYS_pidfd_open, settings->pid, 0);
	if (settings->switched_off != NULL)
		s->switched_off = strdup(settings->switched_off);
	if (settings->switched_off != NULL && s->switched_off == NULL)
		return err_set(err, -ENOMEM, "cannot watch process %d: out of memory",
			       (int)settings->pid);
	status = mapping_reader_open(settings->pid, &s->reader, err);
	if (status != 0)
		return status;
	if (perf_is_switched_off(s->switched_off, "rdtsc"))
		mapping_reader_use_clock(s->reader);
	s->interval = settings->interval;
	s->slow_ns = settings->slow_ns;
	s->start_ns = settings->start_ns;
	*out = s;
	s = NULL;
	return 0;
}

static uint32_t inside_points(struct watch_source *s)
{
	return mapping_reader_names(s->reader);
}

/* Reads what a name is, once: the process may write over it. NULL: there is no such point. */
static struct point *point_of(struct watch_source *s, uint32_t number)
{
	static const uint32_t kinds[] = { [MAPPING_SCOPE] = WATCHED_SCOPE,
					  [MAPPING_TASK] = WATCHED_TASK,
					  [MAPPING_FRAME] = WATCHED_FRAME };
	struct point *point = &s->points[number % MAPPING_NAMES];
	enum mapping_kind kind;

	if (number >= MAPPING_NAMES)
		return NULL;
	if (point->is_known)
		return point;
	if (!mapping_reader_name(s->reader, number, &kind, point->text))
		return NULL;
	point->is_known = true;
	point->kind = kinds[kind];
	point->name = (struct str){ point->text, (uint32_t)strlen(point->text) };
	point->interval = kind == MAPPING_SCOPE ? s->interval : 1;
	return point;
}

static void inside_describe(struct watch_source *s, uint32_t number, struct watched_row *out)
{
	const struct point *point = point_of(s, number);

	if (point == NULL) {
		out->why_not = STR_LITERAL("not found");
		return;
	}
	out->kind = point->kind;
	out->name = point->name;
	out->symbol = out->module = out->pattern = out->first = out->why_not = STR_EMPTY;
	out->mode = STR_LITERAL("in process");
	out->offset = 0;
}

static int inside_costs(struct watch_source *s, uint32_t number, bool again,
			struct watch_costs *out)
{
	const struct point *point = point_of(s, number);
	enum mapping_kind kind = MAPPING_SCOPE;
	int status = 0;

	if (point == NULL)
		return -ENOENT;
	if (point->kind != WATCHED_SCOPE)
		kind = point->kind == WATCHED_TASK ? MAPPING_TASK : MAPPING_FRAME;
	if (!s->is_calibrated || again) {
		mapping_reader_beat(s->reader); /* it takes a while */
		status = watch_calibrate_inside(s->switched_off, mapping_reader_names(s->reader),
						&s->calibrated);
		mapping_reader_beat(s->reader);
	}
	s->is_calibrated = true;
	*out = s->calibrated.of[kind];
	for (int i = 0; i < 3; i++)
		s->calibrated.of[i].cpu_ns = 0;
	return status;
}

static int inside_start(struct watch_source *s, struct err *err)
{
	(void)err;
	mapping_reader_start(s->reader, s->interval, BUDGET_OF_NEW, s->slow_ns);
	return 0;
}

static void inside_order(struct watch_source *s, uint32_t number, const struct watch_order *order)
{
	struct point *point = point_of(s, number);

	if (point == NULL)
		return;
	if (point->kind == WATCHED_SCOPE)
		point->interval = order->interval;
	mapping_reader_set(s->reader, number, order->interval,
			   order->budget != 0 ? order->budget : UINT32_MAX);
}

static int inside_attach(struct watch_source *s, uint32_t number, bool is_on, struct err *err)
{
	const struct point *point = point_of(s, number);

	(void)is_on;
	return err_set(err, -ENOTSUP,
		       "cannot detach '%s' for a while: what libtare counts is part of the program",
		       point != NULL ? point->text : "");
}

static void inside_peek(struct watch_source *s, uint32_t number, uint64_t *out_calls,
			uint64_t *out_timed)
{
	mapping_reader_beat(s->reader);
	mapping_reader_peek(s->reader, number, out_calls, out_timed);
}

/* Scopes are counted where they begin: those that are open are in it each time. */
static int inside_turn(struct watch_source *s, bool is_last)
{
	(void)is_last;
	(void)mapping_reader_turn(s->reader);
	return 0;
}

static int inside_seen(struct watch_source *s, uint32_t number, uint64_t span_ns,
		       struct calls_seen *out, struct histogram *histogram,
		       struct watchlist_losses *losses)
{
	const struct mapping_row *row = mapping_reader_row(s->reader, number);
	const struct point *point = point_of(s, number);
	uint64_t covered_ns = mapping_reader_covered_ns(s->reader);

	if (row == NULL || point == NULL)
		return -ENOENT;
	*losses = (struct watchlist_losses){ .abandoned = row->abandoned,
					     .backwards = row->backwards };
	*out = mapping_row_seen(row, span_ns, point->interval, &losses->clamped);
	if (covered_ns < span_ns)
		out->covered_ns = covered_ns;
	if (row->firsts + row->others == 0)
		return 0;
	return mapping_reader_add_histogram(s->reader, number, histogram);
}

/* When a slow frame began, as elapsed time: by its age, so that two clocks need only agree for so long. */
static uint64_t elapsed_at(const struct watch_source *s, const struct mapping_slow *slow)
{
	uint64_t host_ns = mapping_reader_now_ns(s->reader),
		 mono_ns = clock_read_ns(CLOCK_MONOTONIC);
	uint64_t age_ns = host_ns > slow->start_ns ? host_ns - slow->start_ns : 0;
	uint64_t elapsed_ns = mono_ns > s->start_ns ? mono_ns - s->start_ns : 0;

	return elapsed_ns > age_ns ? elapsed_ns - age_ns : 0;
}

static bool inside_take_slow(struct watch_source *s, struct frames_frame *out, uint32_t *out_tid,
			     uint64_t *out_number)
{
	struct mapping_slow slow;
	uint64_t parts_ns;

	if (!mapping_reader_take_slow(s->reader, &slow, out_tid))
		return false;
	parts_ns = slow.others_ns;
	*out = (struct frames_frame){ .start_ns = elapsed_at(s, &slow),
				      .duration_ns = slow.ns,
				      .part_count = slow.part_count,
				      .rest_ns = slow.others_ns };
	for (uint32_t i = 0; i < slow.part_count; i++) {
		out->parts[i] = (struct frames_part){ slow.parts[i].own_ns, slow.parts[i].id };
		parts_ns += slow.parts[i].own_ns;
	}
	out->other_ns = slow.ns - parts_ns; /* not less: the reader has cut them to it */
	*out_number = slow.serial > 0 ? slow.serial - 1 : 0;
	return true;
}

/* The process has ended, or run another program. What it counted before can still be read. */
static bool is_over(struct watch_source *s)
{
	struct pollfd ended = { .fd = s->pidfd, .events = POLLIN };

	if (s->is_over)
		return true;
	if (s->pidfd >= 0 && poll(&ended, 1, 0) > 0 && (ended.revents & POLLIN) != 0)
		return true;
	if (clock_read_ns(CLOCK_MONOTONIC) - s->looked_ns < LOOK_NS)
		return false;
	s->looked_ns = clock_read_ns(CLOCK_MONOTONIC);
	return !mapping_reader_is_there(s->reader);
}

static void inside_facts(struct watch_source *s, struct watch_source_facts *out)
{
	struct mapping_loss loss = mapping_reader_loss(s->reader);

	s->is_over = is_over(s);
	*out = (struct watch_source_facts){
		.name = "in process",
		.hook = "",
		.hook_why = "",
		.clock = mapping_reader_has_ticks(s->reader) ? "rdtsc, trusted by the kernel"
							     : "clock_gettime",
		.scope = mapping_reader_has_forked(s->reader) ? "forked processes are not watched"
							      : "",
		.lost_names = loss.names,
		.lost_places = loss.places,
		.lost_calls = loss.calls,
		.lost_slow = loss.slow,
		.torn = loss.torn,
		.expired = loss.expired,
		.is_over = s->is_over,
	};
}

const struct watch_source_ops watch_source_inside = {
	.name = "in process",
	.open = inside_open,
	.points = inside_points,
	.describe = inside_describe,
	.costs = inside_costs,
	.start = inside_start,
	.order = inside_order,
	.attach = inside_attach,
	.peek = inside_peek,
	.turn = inside_turn,
	.seen = inside_seen,
	.take_slow = inside_take_slow,
	.facts = inside_facts,
	.close = inside_close,
};
