/* watch_verdict.c - a watch's answer in one sentence: a table of rules, the first that holds speaks. */
#include "core/watch_verdict.h"

#include <math.h>

#include "core/measured.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/verdict.h"
#include "core/watch_words.h"

#define DASH	    "\xe2\x80\x94"
#define MOST	    0.5 /* of a slow frame: surely more is most of it */
#define DOUBLED	    2.0 /* growth that is an answer by itself */
#define WHY_COLUMNS 100u

/* What a rule speaks about. */
struct spoken {
	struct text *t;
	const struct recording *r;
	const struct watch_analysis *a;
	struct watch_said *said;
};

static void about(const struct spoken *s, const struct watched_answer *place, struct estimate share)
{
	*s->said = (struct watch_said){ place, share };
}

bool watch_stands_out(struct estimate share)
{
	return share.is_known && share.has_error && share.value >= VERDICT_LEAST_SHARE &&
	       share.value - share.error > VERDICT_LEAST_LOWER;
}

/* "3 times", "once". */
static void put_times(struct text *t, uint64_t count)
{
	if (count == 1) {
		text_put(t, "once");
		return;
	}
	text_put_exact(t, count);
	text_put(t, TEXT_NBSP "times");
}

static bool says_nothing_watched(const struct spoken *s)
{
	const struct watch_analysis *a = s->a;

	if (a->watched > 0)
		return false;
	text_put(s->t, "Nothing was watched: ");
	if (a->count == 0) {
		text_put(s->t, "no function was found");
	} else if (a->count == 1) {
		watch_put_name(s->t, a->rows[0].row);
		text_put(s->t, " " DASH " ");
		text_put_cut(s->t, a->rows[0].row->why_not, WHY_COLUMNS);
	} else {
		text_printf(s->t, "none of %u names could be", a->count);
	}
	return true;
}

static bool is_mostly(struct estimate share)
{
	return share.is_known && share.has_error && share.value - share.error > MOST;
}

static bool says_slow(const struct spoken *s)
{
	const struct watch_analysis *a = s->a;
	const struct watched_answer *largest = watch_slow_largest(a);
	struct estimate other = a->slow.unnamed;

	if (a->slow.kept == 0)
		return false;
	about(s, largest, largest != NULL ? largest->slow_share : other);
	if (a->slow.kept == 1 && largest != NULL && largest->slow_share.value > other.value) {
		text_put(s->t, "Of the only slow frame, ");
		measured_put_share(s->t, largest->slow_share.value, 0, true);
		text_put(s->t, " is ");
		watch_put_name(s->t, largest->row);
	} else if (a->slow.kept == 1) {
		about(s, NULL, other);
		text_put(s->t, "Of the only slow frame, ");
		measured_put_share(s->t, other.value, 0, true);
		text_put(s->t, " is in no watched function");
	} else if (largest != NULL && watch_stands_out(largest->slow_share)) {
		text_put(s->t,
			 a->slow.is_at_least ? "Of a slow frame, at least " : "Of a slow frame, ");
		watch_put_share(s->t, largest->slow_share);
		text_put(s->t, " is ");
		watch_put_name(s->t, largest->row);
	} else if (largest == NULL || (is_mostly(other) && !a->slow.is_at_least)) {
		about(s, NULL, other);
		text_put(s->t, "Of a slow frame, ");
		watch_put_share(s->t, other);
		text_put(s->t, " is in no watched function");
	} else {
		text_put(s->t, "No part of a slow frame stands out: the largest is ");
		watch_put_name(s->t, largest->row);
		text_put(s->t, ", ");
		watch_put_share(s->t, largest->slow_share);
	}
	return true;
}

static bool says_none_slow(const struct spoken *s)
{
	const struct watch_analysis *a = s->a;

	if (!a->has_frames || a->frames == 0 || s->r->watch.slow_ns == 0 || a->slow.count.value > 0)
		return false;
	text_put(s->t, "No frame over ");
	text_put_duration(s->t, s->r->watch.slow_ns);
	text_put(s->t, " in ");
	text_put_exact(s->t, a->frames);
	return true;
}

/* Frames or tasks alone. */
static bool says_no_function(const struct spoken *s)
{
	const struct watch_analysis *a = s->a;
	const struct watched_answer *row = &a->rows[a->has_frames ? a->frame : 0];

	if (a->functions > 0)
		return false;
	if (row->own_ns.is_known) {
		text_put(s->t, a->has_frames ? "A frame takes " : "A task takes ");
		measured_put_duration(s->t, row->calls.mean_ns,
				      row->calls.mean_error_ns > 0 ? row->calls.mean_error_ns
								   : MEASURED_NO_ERROR);
		text_put(s->t, ": no function was watched");
	} else {
		text_put(s->t, a->has_frames ? "No frame was seen, and no function was watched"
					     : "No task was seen, and no function was watched");
	}
	return true;
}

static bool says_nothing_called(const struct spoken *s)
{
	const struct watch_analysis *a = s->a;

	if (a->called > 0)
		return false;
	if (a->functions == 1) {
		watch_put_name(s->t, a->rows[0].row);
		text_put(s->t, " was not called in ");
	} else {
		text_printf(s->t, "None of the %u functions was called in ", a->functions);
	}
	text_put_duration(s->t, a->range_ns);
	return true;
}

static bool says_never_timed(const struct spoken *s)
{
	const struct watch_analysis *a = s->a;
	uint64_t calls = 0, timed = 0;

	if (a->timed > 0)
		return false;
	for (uint32_t i = 0; i < a->called; i++) {
		calls += a->rows[i].pooled.calls + a->rows[i].pooled.never_timed;
		timed += a->rows[i].pooled.firsts + a->rows[i].pooled.others;
	}
	if (a->called == 1) {
		watch_put_name(s->t, a->rows[0].row);
		text_put(s->t, " was called ");
	} else {
		text_printf(s->t, "%u functions were called ", a->called);
	}
	put_times(s->t, calls);
	text_put(s->t, timed == 0 ? " and never timed" : ", too few of them timed for a total");
	return true;
}

/* "Script::onMovement takes 13.1 % ± 0.1 of the run, 2.2 µs a call" */
static void put_takes(const struct spoken *s, const struct watched_answer *answer)
{
	double calls = answer->calls.calls;
	bool has_callees = answer->own_ns.value < 0.99 * answer->calls.total_ns;

	about(s, answer,
	      answer->calls.is_below_floor ? (struct estimate){ 0 } : answer->share_of_run);
	watch_put_name(s->t, answer->row);
	if (has_callees)
		text_put(s->t, " itself");
	text_put(s->t, " takes ");
	if (answer->calls.is_below_floor) {
		watch_put_at_most(s->t, answer->at_most_of_run);
		text_put(s->t, " of the run: a call is under the timing floor");
		return;
	}
	if (answer->share_of_run.has_error) {
		watch_put_share(s->t, answer->share_of_run);
		text_put(s->t, " of the run, ");
	}
	measured_put_duration(s->t, calls > 0 ? answer->own_ns.value / calls : 0,
			      MEASURED_NO_ERROR);
	text_put(s->t, " a call");
	if (!answer->share_of_run.has_error)
		text_put(s->t, "; its share of the run cannot be told");
}

static bool says_one_takes(const struct spoken *s)
{
	for (uint32_t i = 0; i < s->a->timed; i++) {
		const struct watched_answer *answer = &s->a->rows[i];

		if (answer->cannot_rank || !watch_stands_out(answer->share_of_run))
			continue;
		put_takes(s, answer);
		return true;
	}
	return false;
}

static bool says_cannot_rank(const struct spoken *s)
{
	const struct watched_answer *first = &s->a->rows[0];

	if (!first->cannot_rank || !watch_stands_out(first->share_of_run))
		return false;
	about(s, first, (struct estimate){ 0 });
	text_put(s->t, "No order can be told: probes inside ");
	watch_put_name(s->t, first->row);
	text_put(s->t, " took ");
	measured_put_duration(s->t, first->taken_off_ns, MEASURED_NO_ERROR);
	text_put(s->t, ", it ");
	measured_put_duration(s->t, first->own_ns.value, MEASURED_NO_ERROR);
	return true;
}

static double grown_by(const struct growth *growth)
{
	return growth->has_grown ? growth->to_ns / fmax(growth->from_ns, 1) : 0;
}

static bool is_worth_a_word(const struct watched_answer *answer)
{
	return answer->share_of_run.value >= VERDICT_LEAST_GROWN ||
	       (answer->share_of_frame.is_known &&
		answer->share_of_frame.value >= VERDICT_LEAST_GROWN);
}

static bool says_grown(const struct spoken *s)
{
	const struct growth *most = NULL;
	const struct watched_answer *grown = NULL;
	bool is_p99 = false;

	for (uint32_t i = 0; i < s->a->timed; i++) {
		const struct watched_answer *answer = &s->a->rows[i];
		bool has_p99 = grown_by(&answer->p99_growth) >= grown_by(&answer->mean_growth);
		const struct growth *growth = has_p99 ? &answer->p99_growth : &answer->mean_growth;

		if (grown_by(growth) < DOUBLED || !is_worth_a_word(answer))
			continue;
		if (most != NULL && grown_by(growth) <= grown_by(most))
			continue;
		most = growth;
		grown = answer;
		is_p99 = has_p99;
	}
	if (most == NULL)
		return false;
	about(s, grown, (struct estimate){ 0 });
	text_put(s->t, is_p99 ? "p99 of " : "A call of ");
	watch_put_name(s->t, grown->row);
	text_put(s->t, " went ");
	watch_put_growth(s->t, s->r, most);
	return true;
}

static bool says_elsewhere(const struct spoken *s)
{
	const struct watch_analysis *a = s->a;
	double upper = a->all_at_most_of_run;

	if (!a->all_of_run.has_error || a->all_is_at_least || upper >= VERDICT_ELSEWHERE)
		return false;
	if (a->functions == 1) {
		about(s, &a->rows[0], (struct estimate){ 0 });
		watch_put_name(s->t, a->rows[0].row);
		text_put(s->t, " takes ");
	} else {
		text_printf(s->t, "All %u functions take ", a->functions);
	}
	if (upper > a->all_of_run.value + a->all_of_run.error) {
		watch_put_at_most(s->t, upper);
	} else {
		about(s, a->functions == 1 ? &a->rows[0] : NULL, a->all_of_run);
		watch_put_share(s->t, a->all_of_run);
	}
	text_put(s->t, a->functions == 1 ? " of the run: the time is elsewhere"
					 : ": the time is elsewhere");
	return true;
}

static bool says_largest(const struct spoken *s)
{
	put_takes(s, &s->a->rows[0]);
	return true;
}

static bool (*const rules[])(const struct spoken *s) = {
	says_nothing_watched, says_slow,	says_none_slow, says_no_function,
	says_nothing_called,  says_never_timed, says_one_takes, says_cannot_rank,
	says_grown,	      says_elsewhere,	says_largest,
};

void watch_verdict_put(struct text *t, const struct recording *r, const struct watch_analysis *a)
{
	struct watch_said said;

	watch_verdict_tell(t, r, a, &said);
}

void watch_verdict_tell(struct text *t, const struct recording *r, const struct watch_analysis *a,
			struct watch_said *out_said)
{
	const struct spoken spoken = { t, r, a, out_said };

	*out_said = (struct watch_said){ .place = NULL };
	unfinished_put(t, &r->label, ": ");
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (rules[i](&spoken))
			return;
}
