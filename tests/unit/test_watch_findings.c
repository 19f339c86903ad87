/* test_watch_findings.c - what stands out of what a program did: each rule holds when it should, and only then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "made_findings.h"

#define MS NS_PER_MS

static const struct build_calls thrown = { .calls = 3 };

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

static void never_timed_for_it_is_counted(struct build_watch *b)
{
	never_timed(b);
	b->r.watched[2].abandoned = 3;
	b->r.watched[2].mode =
		(struct str)STR_LITERAL("counting: it can switch stacks (swapcontext, in job)");
}

static void two_never_timed(struct build_watch *b)
{
	add(b, "filter", &thrown);
	add(b, "less", &thrown);
	add(b, "timed, and no total",
	    &(struct build_calls){ .calls = 2, .ns = 5000, .interval = 8 });
}

static void only_firsts(struct build_watch *b)
{
	add(b, "import", &(struct build_calls){ .calls = 2, .ns = 5000, .interval = 8 });
	add(b, "export", &(struct build_calls){ .calls = 2, .ns = 5000, .interval = 8 });
}

/* All were to be timed, and one of two did not return. */
static void only_firsts_of_all(struct build_watch *b)
{
	add(b, "import", &(struct build_calls){ .calls = 2, .ns = 5000, .interval = 8 });
	for (uint32_t i = 0; i < b->r.window_count; i++)
		if (b->r.windows[i].watched == 2)
			b->r.windows[i].interval = 1;
}

static void one_a_window(struct build_watch *b)
{
	add(b, "import", &(struct build_calls){ .calls = 1, .ns = 5000, .interval = 8 });
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

static const struct finding_case cases[] = {
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
	{ "a part of which few calls are timed", slow_part_of_which_few_calls_are_timed,
	  "slow_part slow_untimed", "Not every call in slow frames was timed",
	  "stand for all calls", "" },
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
	{ "the time of another is not known", one_share_but_one_is_not_known, "only_firsts",
	  "Only first calls were timed: h", "", "--interval 1" },
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
	{ "never timed: it is only counted", never_timed_for_it_is_counted, "never_timed",
	  "Called and never timed: filter",
	  "It is counted only: it can switch stacks (swapcontext, in job).", "TARE_WATCH" },
	{ "two never timed", two_never_timed, "only_firsts never_timed",
	  "Called and never timed: filter and 1 more function", "1,080 calls of it.", "" },
	{ "only first calls were timed", only_firsts, "only_firsts",
	  "Only first calls were timed: export and 1 more function",
	  "720 calls of it, of which 360, the first of their windows, were timed", "--interval 1" },
	{ "only first calls, and all were to be timed", only_firsts_of_all, "", "", "", "" },
	{ "one call a window", one_a_window, "", "", "", "" },
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
};

static void each_rule_holds_when_it_should_and_only_then(void **state)
{
	(void)state;
	check_findings(cases, ARRAY_LEN(cases));
}

static void every_rule_of_the_program_has_a_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < 14; i++)
		if (!is_met(watch_findings_id(i), cases, ARRAY_LEN(cases)))
			fail_msg("no case has %s", watch_findings_id(i));
	assert_string_equal(watch_findings_id(13), "coarse");
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
		cmocka_unit_test(every_rule_of_the_program_has_a_case),
		cmocka_unit_test(hostile_names_are_harmless_in_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
