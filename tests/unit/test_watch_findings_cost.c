/* test_watch_findings_cost.c - what stands out of what watching did, cost and missed: each rule holds when it should, and only
 * then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "made_findings.h"

static void refused(struct build_watch *b)
{
	b->r.watch.refused = 1;
	b->r.watch.allowed_rate = 1875;
}

static void refused_at_once(struct build_watch *b)
{
	build_watched(b, "hash");
	b->r.watch.refused = 2;
	b->r.watch.allowed_rate = 12500;
}

static void sliced(struct build_watch *b)
{
	add(b, "hash",
	    &(struct build_calls){
		    .calls = 100001, .ns = 2100, .interval = 4096, .covered_ns = 3 * NS_PER_S });
	b->r.watch.charged_ps = 0;
}

static void sliced_and_slowed(struct build_watch *b)
{
	add(b, "hash",
	    &(struct build_calls){
		    .calls = 769231, .ns = 600, .interval = 4096, .covered_ns = 1 * NS_PER_S });
	b->r.watch.charged_ps = 0;
}

static void slowed(struct build_watch *b)
{
	struct build_calls did = even;

	did.calls = 4000001;
	did.ns = 600;
	did.interval = 20000;
	add(b, "hash", &did);
}

static void probe_load(struct build_watch *b)
{
	struct build_calls did = even;

	did.probe_ns = 10000;
	add(b, "heavy", &did);
}

static void over_price(struct build_watch *b)
{
	b->r.watch.charged_ps = UINT64_C(19000000000000);
}

static void over_price_by_the_recorder(struct build_watch *b)
{
	b->r.label.own_cpu_ns = 37 * NS_PER_S;
}

static void over_price_by_its_start(struct build_watch *b)
{
	over_price_by_the_recorder(b);
	b->r.label.start_ns = 20 * NS_PER_S;
}

static void exactly_the_price(struct build_watch *b)
{
	b->r.watch.charged_ps = UINT64_C(18000000000000);
}

static void understated(struct build_watch *b)
{
	b->r.watched[1].charged_ps /= 2;
}

static void unmeasured(struct build_watch *b)
{
	b->r.watched[1].untimed_ps = 0;
}

static void unmeasured_hook(struct build_watch *b)
{
	b->r.watched[1].hook_ps = 0;
}

static void no_hook(struct build_watch *b)
{
	b->r.watched[1].hook_ps = b->r.watched[1].assumed_hook_ps = 0;
}

static void lost(struct build_watch *b)
{
	b->r.watch.lost_calls = 12;
	b->r.watch.torn = 1;
}

static void lost_names(struct build_watch *b)
{
	b->r.watch.lost_names = 2;
}

static void backwards(struct build_watch *b)
{
	b->r.watched[0].backwards = 2;
	b->r.watched[1].backwards = 1;
}

static void not_watched(struct build_watch *b)
{
	build_unwatched(b, "Gpu::submit", "inlined away");
}

static void five_not_watched(struct build_watch *b)
{
	for (int i = 0; i < 5; i++)
		build_unwatched(b, "x", "not found");
}

static void left_out(struct build_watch *b)
{
	b->r.watch.scope = (struct str)STR_LITERAL("children are not watched");
}

static void slower_hook(struct build_watch *b)
{
	b->r.watch.hook = (struct str)STR_LITERAL("entry+return");
	b->r.watch.hook_why = (struct str)STR_LITERAL("this kernel has no uprobe sessions");
}

static const struct finding_case cases[] = {
	{ "refused", refused, "refused", "g is called too often for the price",
	  "The price of 1.00 % allows 1,875 calls a second of it. It has 3,000.", "--price" },
	{ "refused before it was counted", refused_at_once, "refused",
	  "hash is called too often for the price", "allows 12,500 calls a second of it.", "" },
	{ "slices", sliced, "sliced", "Watched in slices: hash",
	  "It was watched for 30.0 % of the time. Its calls and its total are estimates.",
	  "TARE_WATCH" },
	{ "slices that slow", sliced_and_slowed, "one_share sliced", "Watched in slices: hash",
	  "Its probe takes 61.5 % of the time it covers, so it is called at least 769,231 times a "
	  "second.",
	  "" },
	{ "a probe that slows", slowed, "one_share probe_slows", "Its probe slows hash",
	  "It was watched all the time. Its probe takes 32.0 % of the time it covers, so it is "
	  "called at least 400,000 times a second.",
	  "" },
	{ "probes inside", probe_load, "probe_load", "The place in the order cannot be told: heavy",
	  "Probes inside its calls took 108 s, which is taken off and known to a third. What is "
	  "left is 108 s.",
	  "without its callees" },
	{ "over the price", over_price, "over_price", "Watching cost more than its price",
	  "It took 1.03 % of one CPU: 0.53 % in the program, 0.50 % in the recorder. The price is "
	  "1.00 %.",
	  "fewer functions" },
	{ "over the price by the recorder", over_price_by_the_recorder, "over_price",
	  "Watching cost more than its price", "1.03 % in the recorder", "higher --price" },
	{ "over the price by its start", over_price_by_its_start, "over_price",
	  "Watching cost more than its price", "", "longer run" },
	{ "exactly the price", exactly_the_price, "", "", "", "" },
	{ "less charged than the label says", understated, "cost_understated",
	  "The cost on the label is too low", "less than its calls cost", "tare prove" },
	{ "a cost that was not measured", unmeasured, "cost_unmeasured",
	  "What a call costs was not measured",
	  "1 of 2 rows are charged by a guess: counting a call of g is unmeasured (40 ns assumed).",
	  "tare doctor" },
	{ "a hook that was not measured", unmeasured_hook, "cost_unmeasured",
	  "What a call costs was not measured", "", "" },
	{ "no hook at all", no_hook, "", "", "", "" },
	{ "lost", lost, "lost", "Some of what happened was lost", "Lost: 12 calls, 1 torn reading.",
	  "deep recursion" },
	{ "names lost", lost_names, "lost", "Some of what happened was lost", "Lost: 2 names.",
	  "fewer names" },
	{ "the clock went back", backwards, "clock_backwards", "The clock went back",
	  "3 readings of CLOCK_MONOTONIC went back", "clock source" },
	{ "not watched", not_watched, "not_watched", "1 of 3 names is not watched",
	  "Gpu::submit: inlined away.", "tare watch --list" },
	{ "five not watched", five_not_watched, "not_watched", "5 of 7 names are not watched",
	  "x: not found; x: not found; x: not found; and 2 more.", "" },
	{ "part is left out", left_out, "left_out", "Part of the program is left out",
	  "children are not watched.", "-p PID" },
	{ "a slower hook", slower_hook, "slower_hook", "Probes cost more than they need to",
	  "They are by entry+return: this kernel has no uprobe sessions.", "newer kernel" },
};

static void each_rule_about_watching_holds_when_it_should_and_only_then(void **state)
{
	(void)state;
	check_findings(cases, ARRAY_LEN(cases));
}

static void every_rule_about_watching_has_a_case(void **state)
{
	size_t i = 14;

	(void)state;
	assert_string_equal(watch_findings_id(i), "refused");
	for (; strcmp(watch_findings_id(i), "known_issue") != 0; i++)
		if (!is_met(watch_findings_id(i), cases, ARRAY_LEN(cases)))
			fail_msg("no case has %s", watch_findings_id(i));
	assert_null(watch_findings_id(i + 1));
	assert_in_range(i, 25, FINDINGS_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_about_watching_holds_when_it_should_and_only_then),
		cmocka_unit_test(every_rule_about_watching_has_a_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
