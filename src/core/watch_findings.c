/* watch_findings.c - what stands out of a watch: the table of rules is their order. */
#include "core/watch_findings.h"

#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_rules.h"
#include "core/watch_words.h"

void watch_put_more(struct text *t, uint32_t count)
{
	if (count <= 1)
		return;
	text_put(t, " and ");
	text_put_counted(t, count - 1, "more function");
}

static bool is_unfinished(const struct watch_facts *f, struct finding *out)
{
	return findings_say_unfinished(f->label, "The window that was open is not in it.", out);
}

#define KNOWN_ID "known_issue"

static const struct {
	const char *id;
	watch_rule *holds;
} rules[] = {
	{ "unfinished", is_unfinished },
	{ "no_frames", watch_rule_no_frame },
	{ "slow_part", watch_rule_slow_part },
	{ "slow_elsewhere", watch_rule_slow_elsewhere },
	{ "slow_untimed", watch_rule_slow_untimed },
	{ "slow_rhythm", watch_rule_rhythm },
	{ "growth", watch_rule_grown },
	{ "one_share", watch_rule_one_share },
	{ "cold_firsts", watch_rule_cold_firsts },
	{ "only_firsts", watch_rule_only_firsts },
	{ "never_timed", watch_rule_never_timed },
	{ "calls_abandoned", watch_rule_abandoned },
	{ "below_floor", watch_rule_below_floor },
	{ "coarse", watch_rule_coarse },
	{ "refused", watch_rule_refused },
	{ "sliced", watch_rule_sliced },
	{ "probe_slows", watch_rule_slowed },
	{ "probe_load", watch_rule_probe_load },
	{ "over_price", watch_rule_over_price },
	{ "cost_understated", watch_rule_understated },
	{ "cost_unmeasured", watch_rule_unmeasured },
	{ "lost", watch_rule_lost },
	{ "clock_backwards", watch_rule_backwards },
	{ "not_watched", watch_rule_not_watched },
	{ "left_out", watch_rule_left_out },
	{ "slower_hook", watch_rule_slower_hook },
};
_Static_assert(ARRAY_LEN(rules) < FINDINGS_MAX, "every rule may hold at once, and a known issue");

int watch_findings_known(const struct recording *r, const struct known_issue *issues, size_t count,
			 struct findings *out, struct err *err)
{
	for (size_t i = 0; i < count && out->count < FINDINGS_MAX; i++) {
		struct finding *row = &out->rows[out->count];
		enum known_verdict verdict = known_judge(&issues[i], r);
		struct str version = r->label.tare_version;
		int status;

		if (verdict == KNOWN_NOT_AFFECTED)
			continue;
		text_put(&row->title,
			 verdict == KNOWN_PROVEN ? issues[i].proven : issues[i].possible);
		text_put(&row->evidence, verdict == KNOWN_PROVEN
						 ? "The recording's own rows show it. It is by "
						 : "Its rows show it neither way. It is by ");
		text_put_cut(&row->evidence,
			     version.len > 0 ? version
					     : (struct str)STR_LITERAL("an unknown version"),
			     WATCH_NAME_COLUMNS);
		text_put(&row->evidence, ".");
		text_printf(&row->look_next,
			    "Look next at a new recording: tare %s and later do not have it.",
			    issues[i].fixed_in);
		status = findings_take(out, KNOWN_ID, err);
		if (status < 0)
			return status;
	}
	return 0;
}

int watch_findings_open(const struct recording *r, const struct watch_analysis *a,
			struct findings *out, struct err *err)
{
	const struct watch_facts facts = { r, &r->label, &r->watch, a };
	int status = 0;

	*out = (struct findings){ .count = 0 };
	for (size_t i = 0; i < ARRAY_LEN(rules) && status == 0; i++)
		if (rules[i].holds(&facts, &out->rows[out->count]))
			status = findings_take(out, rules[i].id, err);
	if (status == 0)
		status = watch_findings_known(r, known_issues, known_issue_count, out, err);
	return status;
}

const char *watch_findings_id(size_t index)
{
	if (index < ARRAY_LEN(rules))
		return rules[index].id;
	return index == ARRAY_LEN(rules) ? KNOWN_ID : NULL;
}
