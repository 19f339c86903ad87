/* test_watch_findings.c - each rule holds when it should, and only then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "build_watch.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_findings.h"

#define MS NS_PER_MS

static const struct build_calls even = {
	.calls = 30001, .ns = 10100, .spread_ns = 500, .interval = 300
};
static const struct build_calls thrown = { .calls = 3 };

static uint32_t add(struct build_watch *b, const char *name, const struct build_calls *did)
{
	uint32_t id = build_watched(b, name)->id;

	build_same(b, id, 0, 360, did);
	b->r.watch.charged_ps = 0; /* the price is a rule of its own */
	return id;
}

/* A watch with nothing to say about: two functions with 3 % of the run each, half a price. */
static void begin_quiet(struct build_watch *b)
{
	build_watch_begin(b);
	add(b, "f", &even);
	add(b, "g", &even);
}

static void nothing(struct build_watch *b)
{
	(void)b;
}

static void unfinished(struct build_watch *b)
{
	b->r.label.is_finished = false;
}

static void unfinished_and_nobody_records(struct build_watch *b)
{
	unfinished(b);
	b->r.label.writer_pid = 0;
}

static void add_frames(struct build_watch *b)
{
	const struct build_calls frames = { .calls = 200, .ns = 50000000, .interval = 1 };

	b->r.watched[add(b, "tick", &frames)].kind = WATCHED_FRAME;
	b->r.watch.slow_ns = 50 * MS;
}

static void no_frames(struct build_watch *b)
{
	build_watched(b, "tick")->kind = WATCHED_FRAME;
}

/* Every call of f and g was timed. */
static void time_all(struct build_watch *b)
{
	for (uint32_t i = 0; i < b->r.window_count; i++)
		b->r.windows[i].others = b->r.windows[i].calls - b->r.windows[i].firsts;
}

/* Slow frames anywhere, of which f has `part_ns`. */
static void add_slow(struct build_watch *b, uint64_t count, uint64_t part_ns)
{
	static const uint8_t gaps[] = { 3, 17, 101, 56, 29, 11, 230, 75, 8, 41, 190 };
	uint64_t number = 0;

	for (uint64_t i = 0; i < count; i++) {
		number += gaps[i % 11] + i;
		build_slow(b, number, (60 + i % 5) * MS);
		build_part(b, 0, part_ns + i % 3 * MS);
	}
}

static void slow_part_of_which_few_calls_are_timed(struct build_watch *b)
{
	add_frames(b);
	add_slow(b, 40, 34 * MS);
}

static void slow_part(struct build_watch *b)
{
	slow_part_of_which_few_calls_are_timed(b);
	time_all(b);
}

static void slow_part_of_many(struct build_watch *b)
{
	slow_part(b);
	b->r.watch.slow = 900;
}

static void slow_elsewhere(struct build_watch *b)
{
	add_frames(b);
	add_slow(b, 40, 2 * MS);
	time_all(b);
}

static void one_slow_frame(struct build_watch *b)
{
	add_frames(b);
	add_slow(b, 1, 34 * MS);
}

static void cut_parts(struct build_watch *b)
{
	slow_part_of_which_few_calls_are_timed(b);
	b->r.slow[3].is_scaled = true;
}

static void rhythm_of(struct build_watch *b, uint64_t every)
{
	for (uint64_t i = 0; i < 43; i++) {
		build_slow(b, every * i + (i == 20 ? every / 5 * 2 : 0), 60 * MS);
		build_part(b, 0, 25 * MS);
		build_part(b, 1, 5 * MS);
	}
	time_all(b);
	/* Under a half each. */
	for (uint32_t i = 0; i < b->r.slow_count; i++) {
		b->r.slow[i].rest_ns = 5 * MS;
		b->r.slow[i].other_ns -= 5 * MS;
	}
}

static void rhythm(struct build_watch *b)
{
	rhythm_of(b, 97);
}

static void rhythm_of_101(struct build_watch *b)
{
	rhythm_of(b, 101);
}

static void rhythm_of_1112(struct build_watch *b)
{
	rhythm_of(b, 1112);
}

static void no_rhythm(struct build_watch *b)
{
	add_slow(b, 40, 25 * MS);
	time_all(b);
	for (uint32_t i = 0; i < b->r.slow_part_count; i++)
		b->r.slow_parts[i].own_ns /= 5;
	for (uint32_t i = 0; i < b->r.slow_count; i++)
		b->r.slow[i].rest_ns = b->r.slow[i].duration_ns * 3 / 5;
	for (uint32_t i = 0; i < b->r.slow_count; i++)
		b->r.slow[i].other_ns = b->r.slow[i].duration_ns / 3;
}

static void add_step(struct build_watch *b, const char *name, uint64_t to_ns)
{
	struct build_calls did = { .calls = 801, .ns = 10100, .spread_ns = 500, .interval = 8 };
	uint32_t id = build_watched(b, name)->id;

	build_same(b, id, 0, 200, &did);
	did.ns = to_ns;
	build_same(b, id, 200, 360, &did);
}

static void grows_at_once(struct build_watch *b)
{
	add_step(b, "cache_get(int)", 20100);
}

static void two_grow(struct build_watch *b)
{
	add_step(b, "less", 15100);
	add_step(b, "most", 30100);
}

static void grows_little_by_little(struct build_watch *b)
{
	struct build_calls did = { .calls = 801, .spread_ns = 500, .interval = 8 };
	uint32_t id = build_watched(b, "walk")->id;

	for (uint32_t at = 0; at < 360; at++) {
		did.ns = 10100 + at * 100;
		build_calls(b, id, at, &did);
	}
}

static void one_share(struct build_watch *b)
{
	struct build_calls did = even;

	did.calls = 300001;
	did.interval = 3000;
	add(b, "sort", &did);
}

static void one_share_but_one_is_not_known(struct build_watch *b)
{
	one_share(b);
	add(b, "h", &(struct build_calls){ .calls = 2, .ns = 5000, .interval = 8 });
}

static void one_share_of_two_that_are_near(struct build_watch *b)
{
	struct build_calls did = even;

	did.calls = 130001; /* 13 % against 6 % */
	add(b, "sort", &did);
	add(b, "sort more", &did);
}

static void cold_firsts(struct build_watch *b)
{
	struct build_calls cold = { .calls = 801, .ns = 1100, .spread_ns = 100, .interval = 8 };

	cold.first_ns = 9100;
	add(b, "lookup", &cold);
}

static void cool_firsts(struct build_watch *b)
{
	struct build_calls cool = { .calls = 801, .ns = 1100, .spread_ns = 100, .interval = 8 };

	cool.first_ns = 5000;
	add(b, "lookup", &cool);
}

static void nine_cold_firsts(struct build_watch *b)
{
	struct build_calls cold = { .calls = 801, .ns = 1100, .spread_ns = 100, .interval = 8 };

	cold.first_ns = 9100;
	build_watched(b, "lookup");
	build_same(b, 2, 0, 9, &cold);
}

static void never_timed(struct build_watch *b)
{
	build_watched(b, "filter");
	build_calls(b, 2, 9, &thrown);
}

static void never_timed_for_it_threw(struct build_watch *b)
{
	never_timed(b);
	b->r.watched[2].abandoned = 3;
}

static void never_timed_for_one_threw(struct build_watch *b)
{
	never_timed(b);
	b->r.watched[2].abandoned = 1;
}

static void never_timed_for_returns_were_lost(struct build_watch *b)
{
	never_timed(b);
	b->r.watch.lost_returns = 12;
}

static void never_timed_for_the_clock(struct build_watch *b)
{
	never_timed(b);
	b->r.watched[2].backwards = 3;
}

static void two_never_timed(struct build_watch *b)
{
	add(b, "filter", &thrown);
	add(b, "less", &thrown);
	add(b, "timed, and no total",
	    &(struct build_calls){ .calls = 2, .ns = 5000, .interval = 8 });
}

static void abandoned(struct build_watch *b)
{
	b->r.watched[0].abandoned = 2000; /* beside 36,360 */
}

static void few_abandoned(struct build_watch *b)
{
	b->r.watched[0].abandoned = 1900;
}

static void below_floor(struct build_watch *b)
{
	add(b, "mix", &(struct build_calls){ .calls = 100001, .ns = 190, .interval = 1000 });
}

static void two_below_floor(struct build_watch *b)
{
	add(b, "less", &(struct build_calls){ .calls = 1001, .ns = 190, .interval = 8 });
	add(b, "mix", &(struct build_calls){ .calls = 100001, .ns = 95, .interval = 1000 });
	b->r.watched[3].kind = WATCHED_SCOPE;
}

static void at_the_floor(struct build_watch *b)
{
	add(b, "mix", &(struct build_calls){ .calls = 100001, .ns = 200, .interval = 1000 });
}

static void coarse(struct build_watch *b)
{
	struct build_calls did = {
		.calls = 4, .ns = 400000000, .spread_ns = 50000000, .interval = 2
	};

	build_watched(b, "import");
	build_same(b, 2, 0, 40, &did);
}

static void coarse_trifle(struct build_watch *b)
{
	struct build_calls did = {
		.calls = 4, .ns = 40000000, .spread_ns = 5000000, .interval = 2
	};

	build_watched(b, "import");
	build_same(b, 2, 0, 40, &did);
}

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

	did.calls = 2000001;
	did.ns = 1100;
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

static const struct {
	const char *name;
	void (*change)(struct build_watch *b);
	const char *ids;		  /* joined by blanks */
	const char *title;		  /* of the last one */
	const char *evidence, *look_next; /* parts of the last one */
} cases[] = {
	{ "nothing stands out", nothing, "", "", "", "" },
	{ "unfinished", unfinished, "unfinished", "The recording is unfinished",
	  "2025-11-28 04:20:00 UTC, 1 h after its start.", "process 40" },
	{ "unfinished, and nobody records", unfinished_and_nobody_records, "unfinished",
	  "The recording is unfinished", "window that was open", "what ended the recorder" },
	{ "no frame", no_frames, "no_frames", "No frame was seen", "two marks of tick.",
	  "--frame" },
	{ "a part of slow frames", slow_part, "slow_part",
	  "f is the largest part of 40 of 40 slow frames",
	  "Of a slow frame it takes 56.4 % ± 0.6, of all frames 3.00 % ± 0.01.", "callees" },
	{ "slow frames beyond those kept", slow_part_of_many, "slow_part",
	  "f is the largest part of 40 of 40 slow frames", "stand for all slow ones", "callees" },
	{ "slow frames of something else", slow_elsewhere, "slow_elsewhere",
	  "Most of a slow frame is in no watched function", "95.2 % ± 0.5 of the time",
	  "tare record" },
	{ "one slow frame has no error", one_slow_frame, "slow_untimed",
	  "Not every call in slow frames was timed", "in its other.", "--interval 1" },
	{ "parts that were cut", cut_parts, "slow_part slow_untimed",
	  "Not every call in slow frames was timed", "so shares are at least.", "" },
	{ "every 97th frame", rhythm, "slow_part slow_rhythm", "Slow frames come every 97th frame",
	  "40 of 42 gaps between slow frames are a multiple of it. The largest part of them is f, "
	  "41.7 %.",
	  "every 97 frames" },
	{ "every 101st frame", rhythm_of_101, "slow_part slow_rhythm",
	  "Slow frames come every 101st frame", "", "" },
	{ "every 1,112th frame", rhythm_of_1112, "slow_part slow_rhythm",
	  "Slow frames come every 1,112th frame", "", "" },
	{ "slow frames anywhere", no_rhythm, "", "", "", "" },
	{ "grows at once", grows_at_once, "growth", "Calls grow longer: cache_get",
	  "Its mean went from 10.00 to 20.00 µs ± 0.01 at 03:53:20. Its p99 went from 10.5 to "
	  "20.5 µs ± 0.2 at 03:53:20.",
	  "what changed then" },
	{ "two grow, the most is said", two_grow, "growth",
	  "Calls grow longer: most and 1 more function", "to 30.00 µs", "" },
	{ "grows little by little", grows_little_by_little, "growth", "Calls grow longer: walk",
	  "over the run", "grows with the run" },
	{ "more than all others", one_share, "one_share",
	  "sort takes more than all others together",
	  "29.99 % ± 0.01 of the run against 6.00 % ± 0.01 for 2 others", "callees" },
	{ "the time of another is not known", one_share_but_one_is_not_known, "", "", "", "" },
	{ "as much as another", one_share_of_two_that_are_near, "", "", "", "" },
	{ "cold first calls", cold_firsts, "cold_firsts", "First calls are cold: lookup",
	  "The first call of a window takes 9.00 µs on average, a later one 999.0 ns ± 0.7.",
	  "caches" },
	{ "first calls that are five times the others", cool_firsts, "", "", "", "" },
	{ "nine cold ones are too few", nine_cold_firsts, "", "", "", "" },
	{ "never timed", never_timed, "never_timed", "Called and never timed: filter",
	  "3 calls of it. No call that was to be timed came to its return.", "caller" },
	{ "never timed: it threw", never_timed_for_it_threw, "never_timed",
	  "Called and never timed: filter",
	  "3 calls were to be timed and did not return: an exception, longjmp, or the end of a "
	  "thread.",
	  "caller" },
	{ "never timed: one threw", never_timed_for_one_threw, "never_timed",
	  "Called and never timed: filter", "1 call was to be timed", "" },
	{ "never timed: returns were lost", never_timed_for_returns_were_lost, "never_timed lost",
	  "Some of what happened was lost", "Lost: 12 returns.", "deep recursion" },
	{ "never timed: the clock", never_timed_for_the_clock, "never_timed clock_backwards",
	  "The clock went back", "3 readings", "" },
	{ "two never timed", two_never_timed, "never_timed",
	  "Called and never timed: filter and 1 more function", "1,080 calls of it.", "" },
	{ "calls that do not return", abandoned, "calls_abandoned", "Calls do not return: f",
	  "2,000 calls of it did not end against 36,360 that did.", "longjmp" },
	{ "a few that do not", few_abandoned, "", "", "", "" },
	{ "below the floor", below_floor, "below_floor", "Too short to be timed: mix",
	  "An empty function reads as 100 ns, a call of it as less than twice that. It takes at "
	  "most 0.2 % of the run.",
	  "TARE_WATCH" },
	{ "two below the floor, the larger is said", two_below_floor, "below_floor",
	  "Too short to be timed: mix and 1 more function", "", "its caller" },
	{ "at the floor", at_the_floor, "", "", "", "" },
	{ "few timed calls", coarse, "coarse", "Few calls were timed: import",
	  "80 of 160 calls. With under 100", "--interval" },
	{ "few timed calls of a trifle", coarse_trifle, "", "", "", "" },
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
	  "It was watched all the time. Its probe takes 16.0 % of the time it covers, so it is "
	  "called at least 200,000 times a second.",
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

static void plain_blanks(struct text *t)
{
	for (char *c = t->bytes; c != NULL && (c = strstr(c, TEXT_NBSP)) != NULL;) {
		*c = ' ';
		memmove(c + 1, c + 2, strlen(c + 1));
	}
	t->len = t->bytes != NULL ? strlen(t->bytes) : 0;
}

static void assert_contains(struct text *t, const char *part)
{
	plain_blanks(t);
	if (strstr(text_chars(t), part) == NULL)
		fail_msg("'%s' is not in '%s'", part, text_chars(t));
}

static void open_findings(struct build_watch *b, struct findings *f)
{
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	struct err err = ERR_EMPTY;

	build_watch_sort(b);
	assert_int_equal(watch_analysis_open(&b->r, 0, UINT64_MAX, &a, &err), 0);
	assert_int_equal(watch_findings_open(&b->r, &a, f, &err), 0);
}

static void each_rule_holds_when_it_should_and_only_then(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(build_watch_free) struct build_watch b;
		SCOPED(findings_free) struct findings f = { .count = 0 };
		SCOPED(text_free) struct text ids = TEXT_EMPTY;

		print_message("%s\n", cases[i].name);
		begin_quiet(&b);
		cases[i].change(&b);
		open_findings(&b, &f);
		for (size_t n = 0; n < f.count; n++)
			text_printf(&ids, "%s%s", n > 0 ? " " : "", f.rows[n].id);
		assert_string_equal(text_chars(&ids), cases[i].ids);
		if (f.count == 0)
			continue;
		plain_blanks(&f.rows[f.count - 1].title);
		assert_string_equal(text_chars(&f.rows[f.count - 1].title), cases[i].title);
		assert_contains(&f.rows[f.count - 1].evidence, cases[i].evidence);
		assert_contains(&f.rows[f.count - 1].look_next, cases[i].look_next);
	}
}

/* Of rules that exclude each other one holds in each half. */
static void every_finding_is_written_as_findings_are(void **state)
{
	size_t known = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(build_watch_free) struct build_watch b;
		SCOPED(findings_free) struct findings f = { .count = 0 };

		begin_quiet(&b);
		cases[i].change(&b);
		open_findings(&b, &f);
		for (size_t n = 0; n < f.count; n++) {
			struct finding *row = &f.rows[n];
			const char *look = text_chars(&row->look_next);

			assert_memory_equal(look, "Look next at ", 13);
			assert_int_equal(look[strlen(look) - 1], '.');
			assert_int_equal(row->evidence.bytes[row->evidence.len - 1], '.');
			assert_true(row->title.bytes[row->title.len - 1] != '.');
			assert_null(strchr(text_chars(&row->title), '!'));
			assert_null(strchr(text_chars(&row->evidence), '!'));
		}
	}
	/* Every id was seen above, and they are listed once. */
	for (const char *id; (id = watch_findings_id(known)) != NULL; known++) {
		bool is_met = strcmp(id, "known_issue") == 0;

		for (size_t i = 0; i < ARRAY_LEN(cases) && !is_met; i++)
			is_met = strstr(cases[i].ids, id) != NULL;
		if (!is_met)
			fail_msg("no case has %s", id);
	}
	assert_in_range(known, 25, FINDINGS_MAX);
}

static void hostile_names_are_harmless_in_findings(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(findings_free) struct findings f = { .count = 0 };

	(void)state;
	begin_quiet(&b);
	build_unwatched(&b, "\x1b[2J\xe2\x80\xae", "\x1b]0;x\a");
	b.r.watch.scope = (struct str)STR_LITERAL("\x1b[2J");
	b.r.watch.hook = b.r.watch.hook_why = b.r.watch.scope;
	b.r.watched[0].backwards = 1;
	b.r.watch.clock = b.r.watch.scope;
	add(&b, "\x1b[2J", &thrown);
	open_findings(&b, &f);
	assert_int_equal(f.count, 5);
	for (size_t i = 0; i < f.count; i++) {
		assert_null(strchr(text_chars(&f.rows[i].title), '\x1b'));
		assert_null(strchr(text_chars(&f.rows[i].evidence), '\x1b'));
		assert_null(strchr(text_chars(&f.rows[i].evidence), '\a'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_holds_when_it_should_and_only_then),
		cmocka_unit_test(every_finding_is_written_as_findings_are),
		cmocka_unit_test(hostile_names_are_harmless_in_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
