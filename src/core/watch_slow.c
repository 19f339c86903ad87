/* watch_slow.c - what slow frames are made of. A part of a scope is what was timed of it, so it stands for as many calls as
 * the window has to timed ones; a probe's part is weighted in the kernel already, and cut to the frame. The ten worst were kept because they are the worst: each stands for itself.
 * The others are a uniform sample: each stands for as many slow frames as there are to one of them. The share of a part is
 * the ratio of two such sums; its error comes from how kept frames differ (Cochran, 6.4), so it is that of a slow frame to
 * come, also where every slow frame was kept. */
#include "core/watch_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define Z95	 1.959963984540054
#define ROUNDING 1e-12

/* Sums over kept frames; w is what a frame stands for, d its duration, p the part of it. */
struct part_sums {
	double wp, wwpp, wwpd;
	double hidden; /* sum of w x the most that the part could be where it was not named: less this */
};

struct slow_sums {
	struct part_sums *parts; /* owned: by answer; the one behind the last is `other` */
	double wd, wwdd;
	double rest;   /* sum of w x what functions have that are not named */
	double hidden; /* sum of w x the most that a part can be that is not named */
	double kept;
	double others_stand_for; /* w of those that are not among the worst */
	bool is_estimate, is_at_least;
};

static void add_part(struct part_sums *sums, double w, double d, double p)
{
	sums->wp += w * p;
	sums->wwpp += w * w * p * p;
	sums->wwpd += w * w * p * d;
}

/* The first part of a slow frame among parts that are sorted by frame; advances `*at`. */
static uint32_t find_parts(const struct recording *r, uint32_t slow, uint32_t *at)
{
	while (*at < r->slow_part_count && r->slow_parts[*at].slow < slow)
		(*at)++;
	return *at;
}

/* The window of a row in which an elapsed time lies, or NULL. */
static const struct window_row *window_at(const struct recording *r, uint32_t id, uint64_t at_ns)
{
	uint32_t from = 0, to = r->window_count;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		const struct window_row *w = &r->windows[middle];

		if (w->watched < id || (w->watched == id && watch_window_starts_ns(r, w) <= at_ns))
			from = middle + 1;
		else
			to = middle;
	}
	return from > 0 && r->windows[from - 1].watched == id ? &r->windows[from - 1] : NULL;
}

/* How many calls stood beside one that was timed when the frame began. */
static double calls_a_timed_one(const struct recording *r, uint32_t id, uint64_t at_ns)
{
	const struct window_row *w = window_at(r, id, at_ns);
	double timed;

	if (w == NULL)
		return 1;
	timed = (double)w->firsts + (double)w->others;
	return timed > 0 ? fmax((double)w->calls / timed, 1) : 1;
}

/* The time that a part stands for. */
static double weigh_part(const struct recording *r, const struct slow_row *frame,
			 const struct slow_part_row *part, const struct watched_row *row,
			 struct slow_sums *sums)
{
	double each = calls_a_timed_one(r, row->id, frame->start_ns);

	sums->is_estimate |= each > 1;
	return (double)part->own_ns * (row->kind == WATCHED_PROBE ? 1 : each);
}

static void add_frame(const struct recording *r, const struct slow_row *frame, uint32_t at,
		      const uint32_t *place_of, struct watch_analysis *a, struct slow_sums *sums)
{
	double w = frame->is_worst ? 1 : sums->others_stand_for, d = (double)frame->duration_ns;
	double hidden = (double)frame->rest_ns;
	uint32_t end = at;

	for (; end < r->slow_part_count && r->slow_parts[end].slow == frame->id; end++)
		hidden = fmin(hidden, (double)r->slow_parts[end].own_ns);
	for (uint32_t i = at; i < end; i++) {
		const struct watched_row *row = recording_watched(r, r->slow_parts[i].watched);

		if (row == NULL)
			continue;

		uint32_t answer = place_of[row - r->watched];

		add_part(&sums->parts[answer], w, d,
			 weigh_part(r, frame, &r->slow_parts[i], row, sums));
		sums->parts[answer].hidden += w * hidden;
		a->rows[answer].frames_largest += r->slow_parts[i].place == 0;
	}
	add_part(&sums->parts[a->count], w, d, (double)frame->other_ns);
	sums->parts[a->count].hidden += w * hidden;
	sums->is_at_least |= frame->is_scaled;
	sums->hidden += w * hidden;
	sums->rest += w * (double)frame->rest_ns;
	sums->wd += w * d;
	sums->wwdd += w * w * d * d;
	sums->kept++;
}

static struct estimate share_of(const struct slow_sums *sums, const struct part_sums *part,
				bool was_called)
{
	struct estimate e = { .is_known = sums->wd > 0, .has_error = sums->kept >= 2 };

	if (!e.is_known)
		return (struct estimate){ 0 };
	e.value = fmin(part->wp / sums->wd, 1);
	if (!e.has_error)
		return e;

	double squares = part->wwpp - 2 * e.value * part->wwpd + e.value * e.value * sums->wwdd;

	if (squares < ROUNDING * part->wwpp)
		squares = 0; /* all frames have the same share */
	e.error = stats_t95((size_t)sums->kept - 1) *
		  sqrt(squares * sums->kept / (sums->kept - 1)) / sums->wd;
	if (e.value <= 0 && was_called) /* none seen in so many */
		e.error = 3 / sums->kept;
	e.error = fmin(e.error + fmax(sums->hidden - part->hidden, 0) / sums->wd, 1);
	return watch_sound(e);
}

/* Of the frame's `other` a part is calls that were not timed: what all functions leave of it is in none. */
static struct estimate what_is_left(const struct slow_sums *sums, const struct watch_analysis *a)
{
	struct estimate left = a->slow.unnamed;

	if (!left.is_known)
		return left;
	left.value = 1 - sums->rest / sums->wd;
	left.error = 0;
	for (uint32_t i = 0; i < a->functions; i++) {
		left.value -= a->rows[i].slow_share.value;
		left.error = watch_together(left.error, a->rows[i].slow_share.error);
	}
	left.value = fmax(left.value, 0);
	left.error = fmin(left.error, 1);
	return left;
}

/* How many slow frames the range has. */
static struct estimate count_slow(const struct recording *r, const struct slow_sums *sums,
				  uint64_t worst, uint64_t all_others, bool is_whole)
{
	double others = sums->kept - (double)worst;
	struct estimate e = { .is_known = true, .has_error = true };

	e.value = (double)worst + others * sums->others_stand_for;
	if (is_whole)
		e.value = fmax((double)r->watch.slow, (double)r->slow_count);
	else if (sums->others_stand_for > 1 && all_others > 0) {
		double part = others / (double)all_others;

		e.error = Z95 * (double)all_others * sums->others_stand_for *
			  sqrt(part * (1 - part) / (double)all_others *
			       (1 - 1 / sums->others_stand_for));
	}
	return e;
}

static bool is_in(const struct watch_analysis *a, const struct slow_row *frame)
{
	return frame->start_ns >= a->from_ns && frame->start_ns < a->to_ns;
}

/* Adds up the kept frames of the range; returns how many of them are among the worst. */
static uint64_t add_frames(const struct recording *r, const uint32_t *place_of, bool is_whole,
			   struct watch_analysis *a, struct slow_sums *sums)
{
	uint64_t worst = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < r->slow_count; i++) {
		const struct slow_row *frame = &r->slow[i];

		if (!is_whole && !is_in(a, frame))
			continue;
		add_frame(r, frame, find_parts(r, frame->id, &at), place_of, a, sums);
		worst += frame->is_worst;
	}
	return worst;
}

static int judge_rhythm(const struct recording *r, bool is_whole, struct watch_analysis *a)
{
	struct watch_mark *marks = calloc((size_t)r->slow_count + 1, sizeof(*marks));
	uint32_t count = 0;
	int status;

	if (marks == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->slow_count; i++)
		if (is_whole || is_in(a, &r->slow[i]))
			marks[count++] = (struct watch_mark){ r->slow[i].tid, r->slow[i].number };
	status = watch_find_rhythm(marks, count, &a->slow.rhythm);
	free(marks);
	return status;
}

int watch_judge_slow(const struct recording *r, const uint32_t *place_of, bool is_whole,
		     struct watch_analysis *a)
{
	struct slow_sums sums = { .parts = calloc((size_t)a->count + 1, sizeof(*sums.parts)) };
	uint64_t all_worst = 0, all_others;

	if (sums.parts == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->slow_count; i++)
		all_worst += r->slow[i].is_worst;
	all_others = r->slow_count - all_worst;
	sums.others_stand_for = 1;
	if (all_others > 0 && r->watch.slow > r->slow_count)
		sums.others_stand_for = (double)(r->watch.slow - all_worst) / (double)all_others;

	uint64_t worst = add_frames(r, place_of, is_whole, a, &sums);

	a->slow.kept = (uint64_t)sums.kept;
	a->slow.count = count_slow(r, &sums, worst, all_others, is_whole);
	for (uint32_t i = 0; i < a->count; i++)
		a->rows[i].slow_share = share_of(&sums, &sums.parts[i], a->rows[i].count.value > 0);
	a->slow.unnamed = share_of(&sums, &sums.parts[a->count], true);
	a->slow.is_estimate = sums.is_estimate;
	a->slow.is_at_least = sums.is_at_least;
	if (sums.is_estimate)
		a->slow.unnamed = what_is_left(&sums, a);
	free(sums.parts);
	return judge_rhythm(r, is_whole, a);
}
