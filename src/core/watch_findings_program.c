/* watch_findings_program.c - what stands out of what the program did. */
#include <math.h>

#include "core/measured.h"
#include "core/units.h"
#include "core/watch_rules.h"
#include "core/watch_verdict.h"
#include "core/watch_words.h"

#define MOST		0.5 /* of a slow frame */
#define COLD		5.0 /* first calls so many times the others */
#define COLD_LEAST	10u /* of them */
#define ABANDONED_MOST	0.05
#define COARSE_AT_LEAST 0.01 /* of the run: a coarse row below is only a row */

bool watch_rule_no_frame(const struct watch_facts *f, struct finding *out)
{
	const struct watch_analysis *a = f->a;

	if (!a->has_frames || a->frames > 0)
		return false;
	text_put(&out->title, "No frame was seen");
	text_put(&out->evidence, "A frame is the time between two marks of ");
	watch_put_name(&out->evidence, a->rows[a->frame].row);
	text_put(&out->evidence, ". Two did not come.");
	text_put(&out->look_next,
		 "Look next at the function that runs once a frame: --frame FUNC.");
	return true;
}

bool watch_rule_slow_part(const struct watch_facts *f, struct finding *out)
{
	const struct watched_answer *largest = watch_slow_largest(f->a);

	if (largest == NULL || f->a->slow.kept < 2 || !watch_stands_out(largest->slow_share))
		return false;
	watch_put_name(&out->title, largest->row);
	text_put(&out->title, " is the largest part of ");
	if (f->a->slow.is_estimate) {
		text_put(&out->title, "slow frames"); /* in most its calls were not timed */
	} else {
		text_put_exact(&out->title, largest->frames_largest);
		text_put(&out->title, " of ");
		text_put_counted(&out->title, f->a->slow.kept, "slow frame");
	}
	text_put(&out->evidence, f->a->slow.is_at_least ? "Of a slow frame it takes at least "
							: "Of a slow frame it takes ");
	watch_put_share(&out->evidence, largest->slow_share);
	if (largest->share_of_frame.is_known) {
		text_put(&out->evidence, ", of all frames ");
		watch_put_share(&out->evidence, largest->share_of_frame);
	}
	text_put(&out->evidence, ".");
	if (f->a->slow.count.value > (double)f->a->slow.kept)
		text_put(&out->evidence, " The frames kept stand for all slow ones.");
	text_put(&out->look_next, "Look next at what it calls: watch its callees, or tare record.");
	return true;
}

bool watch_rule_slow_untimed(const struct watch_facts *f, struct finding *out)
{
	if (!f->a->slow.is_estimate)
		return false;
	text_put(&out->title, "Not every call in slow frames was timed");
	text_put(&out->evidence, "Shares of slow frames stand for all calls; of one frame the "
				 "calls that were not timed are in its other.");
	if (f->a->slow.is_at_least)
		text_put(&out->evidence, " What was estimated beyond a frame's length was cut, so "
					 "shares are at least.");
	text_put(&out->look_next, "Look next at tare watch --interval 1, which times every call "
				  "while the price allows it.");
	return true;
}

bool watch_rule_slow_elsewhere(const struct watch_facts *f, struct finding *out)
{
	struct estimate other = f->a->slow.unnamed;

	if (!other.is_known || !other.has_error || f->a->slow.is_at_least ||
	    other.value - other.error <= MOST)
		return false;
	text_put(&out->title, "Most of a slow frame is in no watched function");
	watch_put_share(&out->evidence, other);
	text_put(&out->evidence, " of the time of slow frames is outside of what is watched.");
	text_put(&out->look_next,
		 "Look next at all of the program: tare record, and watch what it names.");
	return true;
}

bool watch_rule_rhythm(const struct watch_facts *f, struct finding *out)
{
	const struct rhythm *rhythm = &f->a->slow.rhythm;
	const struct watched_answer *largest = watch_slow_largest(f->a);

	if (!rhythm->is_known)
		return false;
	text_put(&out->title, "Slow frames come every ");
	text_put_exact(&out->title, rhythm->every);
	text_put(&out->title, rhythm->every % 10 == 1 && rhythm->every % 100 != 11   ? "st"
			      : rhythm->every % 10 == 2 && rhythm->every % 100 != 12 ? "nd"
			      : rhythm->every % 10 == 3 && rhythm->every % 100 != 13 ? "rd"
										     : "th");
	text_put(&out->title, " frame");
	text_put_exact(&out->evidence, rhythm->hits);
	text_put(&out->evidence, " of ");
	text_put_counted(&out->evidence, rhythm->of, "gap");
	text_put(&out->evidence, " between slow frames are a multiple of it.");
	if (largest != NULL && watch_stands_out(largest->slow_share)) {
		text_put(&out->evidence, " The largest part of them is ");
		watch_put_name(&out->evidence, largest->row);
		text_put(&out->evidence, ", ");
		watch_put_share(&out->evidence, largest->slow_share);
		text_put(&out->evidence, ".");
	}
	text_put(&out->look_next, "Look next at what runs every ");
	text_put_exact(&out->look_next, rhythm->every);
	text_put(&out->look_next, " frames, and whether it can be spread over several.");
	return true;
}

static double grown_by(const struct growth *growth)
{
	return growth->has_grown ? growth->to_ns / fmax(growth->from_ns, 1) : 0;
}

static void put_one_growth(struct text *t, const struct watch_facts *f, const char *what,
			   const struct growth *growth)
{
	if (!growth->has_grown)
		return;
	text_printf(t, "%s%s went ", t->len > 0 ? " " : "", what);
	watch_put_growth(t, f->r, growth);
	text_put(t, ".");
}

bool watch_rule_grown(const struct watch_facts *f, struct finding *out)
{
	const struct watched_answer *most = NULL;
	double by = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < f->a->timed; i++) {
		const struct watched_answer *answer = &f->a->rows[i];
		double its = fmax(grown_by(&answer->mean_growth), grown_by(&answer->p99_growth));

		count += its > 0;
		if (its <= by)
			continue;
		by = its;
		most = answer;
	}
	if (most == NULL)
		return false;
	text_put(&out->title, "Calls grow longer: ");
	watch_put_name(&out->title, most->row);
	watch_put_more(&out->title, count);
	put_one_growth(&out->evidence, f, "Its mean", &most->mean_growth);
	put_one_growth(&out->evidence, f, "Its p99", &most->p99_growth);
	text_put(&out->look_next,
		 most->mean_growth.is_step || most->p99_growth.is_step
			 ? "Look next at what changed then: load, other processes, a cache."
			 : "Look next at what it walks through: something grows with the run.");
	return true;
}

/* Own time of all but the first. */
static struct estimate others_of_run(const struct watch_analysis *a)
{
	struct estimate all = a->all_of_run, first = a->rows[0].share_of_run;

	all.value = fmax(all.value - first.value, 0);
	all.error = sqrt(fmax(all.error * all.error - first.error * first.error, 0));
	return all;
}

bool watch_rule_one_share(const struct watch_facts *f, struct finding *out)
{
	const struct watch_analysis *a = f->a;
	const struct watched_answer *first = &a->rows[0];
	struct estimate others;

	if (a->timed < 2 || a->all_is_at_least || first->cannot_rank ||
	    !watch_stands_out(first->share_of_run))
		return false;
	others = others_of_run(a);
	if (first->share_of_run.value - first->share_of_run.error <= others.value + others.error)
		return false;
	watch_put_name(&out->title, first->row);
	text_put(&out->title, " takes more than all others together");
	watch_put_share(&out->evidence, first->share_of_run);
	text_put(&out->evidence, " of the run against ");
	watch_put_share(&out->evidence, others);
	text_put(&out->evidence, " for ");
	text_put_counted(&out->evidence, a->timed - 1, "other");
	text_put(&out->evidence, ", each by its own time.");
	text_put(&out->look_next, "Look next at what it calls: watch its callees, or tare record.");
	return true;
}

static bool is_cold(const struct watched_answer *answer)
{
	return answer->pooled.firsts >= COLD_LEAST && answer->later_mean_ns.is_known &&
	       answer->later_mean_ns.has_error && !answer->calls.is_below_floor &&
	       answer->first_mean_ns.value >
		       COLD * (answer->later_mean_ns.value + answer->later_mean_ns.error);
}

bool watch_rule_cold_firsts(const struct watch_facts *f, struct finding *out)
{
	const struct watched_answer *first = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < f->a->timed; i++) {
		if (!is_cold(&f->a->rows[i]))
			continue;
		if (count++ == 0)
			first = &f->a->rows[i];
	}
	if (first == NULL)
		return false;
	text_put(&out->title, "First calls are cold: ");
	watch_put_name(&out->title, first->row);
	watch_put_more(&out->title, count);
	text_put(&out->evidence, "The first call of a window takes ");
	measured_put_duration(&out->evidence, first->first_mean_ns.value, MEASURED_NO_ERROR);
	text_put(&out->evidence, " on average, a later one ");
	measured_put_duration(&out->evidence, first->later_mean_ns.value,
			      first->later_mean_ns.error);
	text_put(&out->evidence, ". Totals allow for it.");
	text_put(&out->look_next,
		 "Look next at what it has to fetch anew: caches, pages, connections.");
	return true;
}

/* It runs so seldom that only the first call of a window is ever timed; its total is then not known. */
bool watch_rule_only_firsts(const struct watch_facts *f, struct finding *out)
{
	const struct watched_answer *first = NULL;
	uint32_t count = 0;

	for (uint32_t i = f->a->timed; i < f->a->called; i++) {
		const struct watched_answer *answer = &f->a->rows[i];

		if (answer->calls.timed == 0 || answer->interval_least <= 1)
			continue;
		if (count++ == 0)
			first = answer;
	}
	if (first == NULL)
		return false;
	text_put(&out->title, "Only first calls were timed: ");
	watch_put_name(&out->title, first->row);
	watch_put_more(&out->title, count);
	text_put_counted(&out->evidence, first->pooled.calls, "call");
	text_put(&out->evidence, " of it, of which ");
	text_put_exact(&out->evidence, first->pooled.firsts);
	text_put(&out->evidence,
		 ", the first of their windows, were timed: its total cannot be known.");
	text_put(&out->look_next,
		 "Look next at tare watch --interval 1: calls as rare as these can "
		 "all be timed.");
	return true;
}

/* Why calls of this row have no time. */
static void put_why_not_timed(struct text *t, const struct watch_facts *f,
			      const struct watched_answer *answer)
{
	const struct watched_row *row = answer->row;
	struct str counted = watch_counted_why(row);

	if (counted.len > 0) {
		text_put(t, "It is counted only: ");
		text_put_cut(t, counted, WATCH_WHY_COLUMNS);
		text_put(t, ".");
	} else if (row->abandoned > 0) {
		text_put_counted(t, row->abandoned, "call");
		text_put(t, row->abandoned == 1 ? " was" : " were");
		text_put(t, " to be timed and did not return: an exception, longjmp, or the end "
			    "of a thread.");
	} else if (row->still_open > 0) {
		text_put_counted(t, row->still_open, "call");
		text_put(t, " still ran when the recording ended.");
	} else if (row->backwards > 0) {
		text_put(t, "The clock went back in ");
		text_put_counted(t, row->backwards, "call");
		text_put(t, ", which were dropped.");
	} else if (f->watch->lost_returns > 0) {
		text_put_counted(t, f->watch->lost_returns, "return");
		text_put(t, " of all functions found no place.");
	} else {
		text_put(t, "No call that was to be timed came to its return.");
	}
}

bool watch_rule_never_timed(const struct watch_facts *f, struct finding *out)
{
	const struct watched_answer *first = NULL;
	uint32_t count = 0;

	for (uint32_t i = f->a->timed; i < f->a->called; i++) {
		const struct calls_row *pooled = &f->a->rows[i].pooled;

		if (pooled->firsts + pooled->others > 0)
			continue;
		if (count++ == 0)
			first = &f->a->rows[i];
	}
	if (first == NULL)
		return false;
	text_put(&out->title, "Called and never timed: ");
	watch_put_name(&out->title, first->row);
	watch_put_more(&out->title, count);
	text_put_counted(&out->evidence, first->pooled.calls + first->pooled.never_timed, "call");
	text_put(&out->evidence, " of it. ");
	put_why_not_timed(&out->evidence, f, first);
	text_put(&out->look_next,
		 watch_counted_why(first->row).len > 0
			 ? "Look next at TARE_WATCH of libtare, which times it from inside."
			 : "Look next at its caller, which returns: watch that one.");
	return true;
}

bool watch_rule_abandoned(const struct watch_facts *f, struct finding *out)
{
	for (uint32_t i = 0; i < f->a->timed; i++) {
		const struct watched_answer *answer = &f->a->rows[i];
		uint64_t abandoned = answer->row->abandoned;
		double all = (double)answer->calls.timed + (double)abandoned;

		if ((double)abandoned <= ABANDONED_MOST * all)
			continue;
		text_put(&out->title, "Calls do not return: ");
		watch_put_name(&out->title, answer->row);
		text_put_counted(&out->evidence, abandoned, "call");
		text_put(&out->evidence, " of it did not end against ");
		text_put_exact(&out->evidence, answer->calls.timed);
		text_put(&out->evidence, " that did. Its times are those of calls that return.");
		text_put(&out->look_next,
			 "Look next at exceptions, longjmp and threads that end inside.");
		return true;
	}
	return false;
}

bool watch_rule_below_floor(const struct watch_facts *f, struct finding *out)
{
	const struct watched_answer *first = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < f->a->timed; i++) {
		const struct watched_answer *answer = &f->a->rows[i];

		if (!answer->calls.is_below_floor || answer->calls.calls <= 0)
			continue;
		if (count++ == 0 || answer->at_most_of_run > first->at_most_of_run)
			first = answer;
	}
	if (first == NULL)
		return false;
	text_put(&out->title, "Too short to be timed: ");
	watch_put_name(&out->title, first->row);
	watch_put_more(&out->title, count);
	text_put(&out->evidence, "An empty function reads as ");
	measured_put_duration(&out->evidence, (double)first->row->floor_ps / (double)PS_PER_NS,
			      MEASURED_NO_ERROR);
	text_put(&out->evidence, ", a call of it as less than twice that. It takes ");
	watch_put_at_most(&out->evidence, first->at_most_of_run);
	text_put(&out->evidence, " of the run.");
	text_put(&out->look_next, first->row->kind == WATCHED_PROBE
					  ? "Look next at counting it from inside: TARE_WATCH of "
					    "libtare has a much lower floor."
					  : "Look next at its caller: times of that one hold its.");
	return true;
}

bool watch_rule_coarse(const struct watch_facts *f, struct finding *out)
{
	for (uint32_t i = 0; i < f->a->timed; i++) {
		const struct watched_answer *answer = &f->a->rows[i];

		if (answer->share_of_run.value < COARSE_AT_LEAST || !answer->calls.is_coarse)
			continue;
		text_put(&out->title, "Few calls were timed: ");
		watch_put_name(&out->title, answer->row);
		text_put_exact(&out->evidence, answer->calls.timed);
		text_put(&out->evidence, " of ");
		text_put_counted(&out->evidence, answer->pooled.calls, "call");
		text_printf(&out->evidence, ". With under %u, a few long calls may be missed.",
			    STATS_COARSE_BELOW);
		text_put(&out->look_next, "Look next at a longer run, or at a lower --interval.");
		return true;
	}
	return false;
}
