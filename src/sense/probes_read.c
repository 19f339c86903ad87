/* probes_read.c - makes windows of what the programs count: the difference of two readings of memory, no system call. A
 * reading that a change was under way in is not used: what it had more comes with the next window. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sense/probes_parts.h"

#define TRIES 64

static uint64_t peek_word(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static const struct watch_counter *counter_at(const struct watch_source *s, uint32_t cpu,
					      uint32_t point)
{
	return &s->counters[(size_t)cpu * s->point_count + point];
}

/* Copies a counter between two changes, `before` being the last copy. False: there was always one under way. Where a call
 * is being timed `started` is ahead of `calls`, and untimed ones seem to have become fewer. */
static bool read_counter(const struct watch_counter *from, const struct watch_counter *before,
			 struct watch_counter *out)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t done = peek_word(&from->done);
		bool is_whole = peek_word(&from->begun) == done;

		for (size_t word = 0; word < sizeof(*out) / sizeof(uint64_t); word++)
			((uint64_t *)out)[word] = peek_word((const uint64_t *)from + word);
		if (is_whole && peek_word(&from->begun) == done &&
		    (int64_t)(out->calls - out->started - before->calls + before->started) >= 0)
			return true;
	}
	return false;
}

void probes_read_begun(const struct watch_source *s, uint32_t point, uint64_t *out_calls,
		       uint64_t *out_timed)
{
	uint64_t calls = 0, timed = 0;

	for (uint32_t cpu = 0; cpu < s->cpu_count; cpu++) {
		calls += peek_word(&counter_at(s, cpu, point)->calls);
		timed += peek_word(&counter_at(s, cpu, point)->started);
	}
	*out_calls = calls;
	*out_timed = timed;
}

uint64_t probes_read_open(const struct watch_source *s, uint32_t point)
{
	uint64_t started = 0, ended = s->points[point].given_up;

	for (uint32_t cpu = 0; cpu < s->cpu_count; cpu++) {
		const struct watch_counter *c = counter_at(s, cpu, point);

		ended += peek_word(&c->firsts) + peek_word(&c->others) + peek_word(&c->abandoned) +
			 peek_word(&c->backwards);
		started += peek_word(&c->started);
	}
	return started > ended ? started - ended : 0;
}

/* ---- a window ---- */

/* Adds one CPU's counter. Calls that go on do not count yet: they do where they end, so that no window has more timed
 * calls than calls. */
static void sum_add(struct probes_sum *sum, const struct watch_counter *c)
{
	uint64_t ended = c->firsts + c->others + c->abandoned + c->backwards;

	sum->calls += c->calls - c->started + ended;
	sum->firsts += c->firsts;
	sum->first_ns += c->first_ns;
	sum->first_nested_ns += c->first_nested_ns;
	sum->others += c->others;
	sum->weights += c->weights;
	sum->weights_squared += c->weights_squared;
	sum->weighted_ns += c->weighted_ns;
	sum->nested_ns += c->nested_ns;
	sum->squares.low += c->squares_low;
	sum->squares.high += c->squares_high;
	sum->probe_ns += c->probe_ns;
	sum->abandoned += c->abandoned;
	sum->backwards += c->backwards;
	sum->clamped += c->clamped;
}

static struct probes_sum sum_less(const struct probes_sum *now, const struct probes_sum *before)
{
	const uint64_t *a = (const uint64_t *)now, *b = (const uint64_t *)before;
	struct probes_sum less;
	uint64_t *out = (uint64_t *)&less;

	_Static_assert(sizeof(less) % sizeof(uint64_t) == 0, "words only");
	for (size_t i = 0; i < sizeof(less) / sizeof(uint64_t); i++)
		out[i] = a[i] - b[i];
	return less;
}

/* Own time is what watched calls directly inside leave. They are a sample, and may stand for more than the whole: what is too
 * much is taken off the next windows, so that windows together are right. True: it came out below 0. */
static bool own_next(struct probes_own *own, uint64_t ns, uint64_t nested_ns)
{
	int64_t left_ns = (int64_t)(ns - nested_ns) - (int64_t)own->debt_ns;

	own->debt_ns = left_ns < 0 ? (uint64_t)-left_ns : 0;
	own->window_ns = left_ns < 0 ? 0 : (uint64_t)left_ns;
	if (own->window_ns > ns)
		own->window_ns = ns;
	return left_ns < 0;
}

/* Of the calls that go on those of which the point was detached count already. */
static void count_open(struct probes_sum *sum, const struct watch_source *s, uint32_t point)
{
	uint64_t open = 0;

	for (uint32_t cpu = 0; cpu < s->cpu_count; cpu++) {
		const struct watch_counter *c = &s->held[(size_t)cpu * s->point_count + point];

		open += c->started - c->firsts - c->others - c->abandoned - c->backwards;
	}
	open -= s->points[point].given_up;
	if (open > INT64_MAX) /* some were read when they had ended and not begun */
		return;
	sum->calls += open;
	sum->still_open = open;
}

/* The longest call of those that this reading has. One that ended after the window had been changed is in it, under the next one's
 * number. */
static uint64_t longest_ns(const struct watch_counter *c, uint64_t window)
{
	uint64_t ns = 0;

	for (uint64_t at = window; at <= window + 1; at++)
		if (c->max_window[at & 1] == at && c->max_ns[at & 1] > ns)
			ns = c->max_ns[at & 1];
	return ns;
}

/* Keeps the newest whole reading of every CPU's counter, and adds them up. */
static void read_point(struct watch_source *s, uint32_t point, uint64_t window, bool is_last)
{
	struct probes_point *p = &s->points[point];
	struct probes_sum sum = { .calls = p->given_up, .abandoned = p->given_up };

	p->interval = (uint32_t)s->orders[point].interval;
	p->max_ns = 0;
	for (uint32_t cpu = 0; cpu < s->cpu_count; cpu++) {
		struct watch_counter *held = &s->held[(size_t)cpu * s->point_count + point];
		struct watch_counter now;

		if (read_counter(counter_at(s, cpu, point), held, &now))
			*held = now;
		else
			s->torn++;
		sum_add(&sum, held);
		if (held->window == window && held->weight > p->interval)
			p->interval = held->weight;
		if (longest_ns(held, window) > p->max_ns)
			p->max_ns = longest_ns(held, window);
	}
	if (is_last)
		count_open(&sum, s, point);
	p->window = sum_less(&sum, &p->last);
	p->last = sum;
	if (p->window.firsts + p->window.others == 0)
		p->max_ns = 0; /* of a call that the window before has */
	p->clamped = own_next(&p->first_own, p->window.first_ns, p->window.first_nested_ns) +
		     own_next(&p->own, p->window.weighted_ns, p->window.nested_ns);
}

/* What the histogram gained. It is as large as a point's timed calls are many, so it is not touched before the first. */
static int read_steps(struct watch_source *s, uint32_t point)
{
	struct probes_point *p = &s->points[point];
	const uint64_t *from = s->histograms[point].weight;

	/* A call may be here already whose counters come with a later window: its step waits for them. */
	if (p->window.firsts + p->window.others == 0) {
		if (p->steps != NULL)
			memset(p->steps, 0, BUCKET_COUNT * sizeof(*p->steps));
		return 0;
	}
	if (p->steps == NULL) {
		p->histogram = calloc(2 * (size_t)BUCKET_COUNT, sizeof(*p->histogram));
		if (p->histogram == NULL)
			return -ENOMEM;
		p->steps = p->histogram + BUCKET_COUNT;
	}
	for (uint32_t i = 0; i < BUCKET_COUNT; i++) {
		uint64_t now = peek_word(&from[i]);

		p->steps[i] = now - p->histogram[i];
		p->histogram[i] = now;
	}
	return 0;
}

/* The next window's first calls and budgets count from here. */
static void begin_window(struct watch_source *s, uint32_t point)
{
	struct watch_point *order = &s->orders[point];
	struct probes_point *p = &s->points[point];

	__atomic_store_n(&order->firsts_base, peek_word(&order->firsts), __ATOMIC_RELEASE);
	__atomic_store_n(&order->timed_base, peek_word(&order->timed), __ATOMIC_RELEASE);
	probes_read_begun(s, point, &p->peek_calls, &p->peek_timed);
}

int probes_read_window(struct watch_source *s, bool is_last)
{
	uint64_t window = s->control->window;
	int status = 0;

	for (uint32_t i = 0; i < s->point_count; i++)
		begin_window(s, i);
	__atomic_store_n(&s->control->window, window + 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < s->point_count; i++) {
		read_point(s, i, window, is_last);
		if (read_steps(s, i) < 0)
			status = -ENOMEM;
	}
	return status;
}

/* ---- as core counts it ---- */

int probes_seen(struct watch_source *s, uint32_t point, uint64_t span_ns, struct calls_seen *out,
		struct histogram *histogram, struct watchlist_losses *losses)
{
	const struct probes_point *p = &s->points[point];
	const struct probes_sum *w = &p->window;
	struct calls_seen seen = {
		.calls = w->calls,
		.still_open = w->still_open,
		.span_ns = span_ns,
		.covered_ns = span_ns,
		.firsts = w->firsts,
		.first_ns = w->first_ns,
		.first_own_ns = p->first_own.window_ns,
		.others = w->others,
		.weight = w->weights,
		.weight_squared = w->weights_squared,
		.weighted_ns = w->weighted_ns,
		.weighted_own_ns = p->own.window_ns,
		.squares = w->squares,
		.probe_ns = w->probe_ns,
		.max_ns = p->max_ns,
		.interval = p->interval,
	};

	for (uint32_t i = 0; p->steps != NULL && i < BUCKET_COUNT; i++) {
		int status = histogram_add(histogram, i, p->steps[i]);

		if (status < 0)
			return status;
	}
	*out = seen;
	*losses = (struct watchlist_losses){ .abandoned = w->abandoned,
					     .backwards = w->backwards,
					     .clamped = w->clamped + p->clamped };
	return 0;
}
