/* watch_findings_cost.c - what watching did to the program, what it cost, and what it missed. */
#include <math.h>

#include "core/measured.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_rules.h"
#include "core/watch_words.h"

#define WHY_COLUMNS 100u
#define WHYS_SHOWN  3u

static uint64_t ppm_of_cpu(uint64_t ns, uint64_t elapsed_ns)
{
	double ppm = elapsed_ns == 0 ? 0 : (double)ns / (double)elapsed_ns * (double)PPM + 0.5;

	return ppm < 1e18 ? (uint64_t)ppm : UINT64_MAX;
}

/* The answer of a watched row, or NULL. */
static const struct watched_answer *answer_of(const struct watch_analysis *a, uint32_t id)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->rows[i].id == id)
			return &a->rows[i];
	return NULL;
}

bool watch_rule_refused(const struct watch_facts *f, struct finding *out)
{
	const struct watched_answer *answer = answer_of(f->a, f->watch->refused);

	if (f->watch->refused == NO_ID || answer == NULL)
		return false;
	watch_put_name(&out->title, answer->row);
	text_put(&out->title, " is called too often for the price");
	text_put(&out->evidence, "The price of ");
	text_put_price(&out->evidence, f->label->price_limit_ppm);
	text_put(&out->evidence, " allows ");
	text_put_exact(&out->evidence, f->watch->allowed_rate);
	text_put(&out->evidence, " calls a second of it");
	if (answer->counted_a_second > 0) {
		text_put(&out->evidence, ". It has ");
		measured_put_many(&out->evidence, watch_whole(answer->counted_a_second));
	}
	text_put(&out->evidence, ".");
	text_put(&out->look_next, "Look next at a caller that is called less often, or at a higher "
				  "--price.");
	return true;
}

static void put_rate_at_least(struct text *t, const struct watched_answer *answer)
{
	text_put(t, " Its probe takes ");
	measured_put_share(t, answer->slowed, 0, true);
	text_put(t, " of the time it covers, so it is called at least ");
	measured_put_many(t, watch_whole(answer->a_second));
	text_put(t, " times a second.");
}

bool watch_rule_sliced(const struct watch_facts *f, struct finding *out)
{
	const struct watched_answer *first = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < f->a->called; i++) {
		const struct watched_answer *answer = &f->a->rows[i];

		if (answer->covered >= 1)
			continue;
		if (count++ == 0 || answer->covered < first->covered)
			first = answer;
	}
	if (first == NULL)
		return false;
	text_put(&out->title, "Watched in slices: ");
	watch_put_name(&out->title, first->row);
	watch_put_more(&out->title, count);
	text_put(&out->evidence, "It was watched for ");
	measured_put_share(&out->evidence, first->covered, 0, true);
	text_put(&out->evidence, " of the time. Its calls and its total are estimates.");
	if (first->is_at_least)
		put_rate_at_least(&out->evidence, first);
	text_put(&out->look_next, "Look next at a caller that is called less often, or at "
				  "TARE_WATCH of libtare.");
	return true;
}

bool watch_rule_slowed(const struct watch_facts *f, struct finding *out)
{
	for (uint32_t i = 0; i < f->a->called; i++) {
		const struct watched_answer *answer = &f->a->rows[i];

		if (!answer->is_at_least || answer->covered < 1)
			continue;
		text_put(&out->title, "Its probe slows ");
		watch_put_name(&out->title, answer->row);
		text_put(&out->evidence, "It was watched all the time.");
		put_rate_at_least(&out->evidence, answer);
		text_put(&out->look_next, "Look next at a caller that is called less often.");
		return true;
	}
	return false;
}

bool watch_rule_probe_load(const struct watch_facts *f, struct finding *out)
{
	const struct watched_answer *first = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < f->a->timed; i++) {
		if (!f->a->rows[i].cannot_rank)
			continue;
		if (count++ == 0)
			first = &f->a->rows[i];
	}
	if (first == NULL)
		return false;
	text_put(&out->title, "The place in the order cannot be told: ");
	watch_put_name(&out->title, first->row);
	watch_put_more(&out->title, count);
	text_put(&out->evidence, "Probes inside its calls took ");
	measured_put_duration(&out->evidence, first->taken_off_ns, MEASURED_NO_ERROR);
	text_put(&out->evidence, ", which is taken off and known to a third. What is left is ");
	measured_put_duration(&out->evidence, first->own_ns.value, MEASURED_NO_ERROR);
	text_put(&out->evidence, ".");
	text_put(&out->look_next, "Look next at a watch of it without its callees.");
	return true;
}

bool watch_rule_over_price(const struct watch_facts *f, struct finding *out)
{
	const struct label *label = f->label;
	uint64_t charged_ns = f->a->spent_ns - label->own_cpu_ns;

	if (label->elapsed_ns == 0 ||
	    f->a->spent_ns <= units_ppm_of(label->elapsed_ns, label->price_limit_ppm))
		return false;
	text_put(&out->title, "Watching cost more than its price");
	text_put(&out->evidence, "It took ");
	text_put_price(&out->evidence, ppm_of_cpu(f->a->spent_ns, label->elapsed_ns));
	text_put(&out->evidence, " of one CPU: ");
	text_put_price(&out->evidence, ppm_of_cpu(charged_ns, label->elapsed_ns));
	text_put(&out->evidence, " in the program, ");
	text_put_price(&out->evidence, ppm_of_cpu(label->own_cpu_ns, label->elapsed_ns));
	text_put(&out->evidence, " in the recorder. The price is ");
	text_put_price(&out->evidence, label->price_limit_ppm);
	text_put(&out->evidence, ".");
	if (label->start_ns > f->a->spent_ns / 2)
		text_put(&out->look_next, "Look next at a longer run: start-up is paid once.");
	else if (charged_ns > label->own_cpu_ns)
		text_put(&out->look_next,
			 "Look next at fewer functions, or at callers that are called less often.");
	else
		text_put(&out->look_next,
			 "Look next at a higher --price: the recorder itself takes the most.");
	return true;
}

bool watch_rule_understated(const struct watch_facts *f, struct finding *out)
{
	if (known_charge(f->r) != KNOWN_PROVEN)
		return false;
	text_put(&out->title, "The cost on the label is too low");
	text_put(&out->evidence, "What was charged for calls of a function is less than its calls "
				 "cost, by the costs on the label.");
	text_put(&out->look_next, "Look next at tare prove, which measures what watching costs.");
	return true;
}

/* Does this row have a cost that had to be assumed? */
static bool is_assumed(const struct watched_row *row)
{
	bool is_timed = watch_counted_why(row).len == 0;

	return row->untimed_ps == 0 || (is_timed && row->extra_ps == 0) ||
	       (row->hook_ps == 0 && row->assumed_hook_ps > 0);
}

bool watch_rule_unmeasured(const struct watch_facts *f, struct finding *out)
{
	const struct watched_answer *first = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < f->a->watched; i++) {
		if (!is_assumed(f->a->rows[i].row))
			continue;
		if (count++ == 0)
			first = &f->a->rows[i];
	}
	if (first == NULL)
		return false;
	text_put(&out->title, "What a call costs was not measured");
	text_put_exact(&out->evidence, count);
	text_put(&out->evidence, " of ");
	text_put_counted(&out->evidence, f->a->watched, "row");
	text_put(&out->evidence, " are charged by a guess: counting a call of ");
	watch_put_name(&out->evidence, first->row);
	text_put(&out->evidence, " is ");
	measured_put_cost(&out->evidence, first->row->untimed_ps, first->row->assumed_untimed_ps);
	text_put(&out->evidence, ".");
	text_put(&out->look_next, "Look next at tare doctor: the calibration could not run here.");
	return true;
}

bool watch_rule_lost(const struct watch_facts *f, struct finding *out)
{
	const struct watch_row *w = f->watch;
	const struct {
		uint64_t count;
		const char *word;
	} lost[] = {
		{ w->lost_calls, "call" },	{ w->lost_returns, "return" },
		{ w->lost_slow, "slow frame" }, { w->lost_names, "name" },
		{ w->lost_places, "place" },	{ w->torn, "torn reading" },
		{ w->expired, "expired call" },
	};

	for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
		if (lost[i].count == 0)
			continue;
		text_put(&out->evidence, out->evidence.len > 0 ? ", " : "Lost: ");
		text_put_counted(&out->evidence, lost[i].count, lost[i].word);
	}
	if (out->evidence.len == 0)
		return false;
	text_put(&out->title, "Some of what happened was lost");
	text_put(&out->evidence, ".");
	text_put(&out->look_next,
		 w->lost_calls > 0 || w->lost_returns > 0
			 ? "Look next at deep recursion and many threads: places for open calls "
			   "are limited."
			 : "Look next at fewer names, or at fewer threads at once.");
	return true;
}

bool watch_rule_backwards(const struct watch_facts *f, struct finding *out)
{
	uint64_t backwards = 0;

	for (uint32_t i = 0; i < f->r->watched_count; i++)
		backwards += f->r->watched[i].backwards;
	if (backwards == 0)
		return false;
	text_put(&out->title, "The clock went back");
	text_put_counted(&out->evidence, backwards, "reading");
	text_put(&out->evidence, " of ");
	text_put_cut(&out->evidence, f->watch->clock, WHY_COLUMNS);
	text_put(&out->evidence, " went back; those calls are counted and not timed.");
	text_put(&out->look_next,
		 "Look next at the kernel's clock source: tsc is the one it trusts.");
	return true;
}

bool watch_rule_not_watched(const struct watch_facts *f, struct finding *out)
{
	const struct watch_analysis *a = f->a;
	uint32_t missing = a->count - a->watched, shown = missing;

	if (missing == 0)
		return false;
	if (shown > WHYS_SHOWN)
		shown = WHYS_SHOWN;
	text_put_exact(&out->title, missing);
	text_put(&out->title, " of ");
	text_put_counted(&out->title, a->count, "name");
	text_put(&out->title, missing == 1 ? " is not watched" : " are not watched");
	for (uint32_t i = 0; i < shown; i++) {
		const struct watched_row *row = a->rows[a->watched + i].row;

		text_put(&out->evidence, i > 0 ? "; " : "");
		watch_put_name(&out->evidence, row);
		text_put(&out->evidence, ": ");
		text_put_cut(&out->evidence, row->why_not, WHY_COLUMNS);
	}
	if (missing > shown) {
		text_put(&out->evidence, "; and ");
		text_put_exact(&out->evidence, missing - shown);
		text_put(&out->evidence, " more");
	}
	text_put(&out->evidence, ".");
	text_put(&out->look_next,
		 "Look next at tare watch --list, which shows what can be watched.");
	return true;
}

bool watch_rule_left_out(const struct watch_facts *f, struct finding *out)
{
	if (f->watch->scope.len == 0)
		return false;
	text_put(&out->title, "Part of the program is left out");
	text_put(&out->evidence, "What the recorder says of it: ");
	text_put_cut(&out->evidence, f->watch->scope, WHY_COLUMNS);
	text_put(&out->evidence, ".");
	text_put(&out->look_next,
		 "Look next at the process that does the work: tare watch -p PID.");
	return true;
}

bool watch_rule_slower_hook(const struct watch_facts *f, struct finding *out)
{
	if (f->watch->hook_why.len == 0)
		return false;
	text_put(&out->title, "Probes cost more than they need to");
	text_put(&out->evidence, "They are by ");
	text_put_cut(&out->evidence, f->watch->hook, WHY_COLUMNS);
	text_put(&out->evidence, ": ");
	text_put_cut(&out->evidence, f->watch->hook_why, WHY_COLUMNS);
	text_put(&out->evidence, ".");
	text_put(&out->look_next, "Look next at a newer kernel, with uprobe sessions.");
	return true;
}
