/* watch_rules.h - the rules behind watch_findings.h, for its .c files only: each tells whether it holds, and then has filled
 * title, evidence and look_next. */
#ifndef TARE_CORE_WATCH_RULES_H
#define TARE_CORE_WATCH_RULES_H

#include "core/watch_findings.h"

struct watch_facts {
	const struct recording *r;
	const struct label *label;
	const struct watch_row *watch;
	const struct watch_analysis *a;
};

typedef bool watch_rule(const struct watch_facts *f, struct finding *out);

/* What the program did: watch_findings_program.c. */
watch_rule watch_rule_no_frame, watch_rule_slow_part, watch_rule_slow_untimed,
	watch_rule_slow_elsewhere, watch_rule_rhythm, watch_rule_grown, watch_rule_one_share,
	watch_rule_cold_firsts, watch_rule_only_firsts, watch_rule_never_timed,
	watch_rule_abandoned, watch_rule_below_floor, watch_rule_coarse;

/* What watching did, cost and missed: watch_findings_cost.c. */
watch_rule watch_rule_refused, watch_rule_sliced, watch_rule_slowed, watch_rule_probe_load,
	watch_rule_over_price, watch_rule_understated, watch_rule_unmeasured, watch_rule_lost,
	watch_rule_backwards, watch_rule_not_watched, watch_rule_left_out, watch_rule_slower_hook;

/* Appends " and 2 more functions" for more than one of them. */
void watch_put_more(struct text *t, uint32_t count);

#endif
