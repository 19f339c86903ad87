/* test_watch_verdict.c - a watch's answer in one sentence, and which rule speaks first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "build_watch.h"
#include "core/measured.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_verdict.h"
#include "core/watch_words.h"

#define MS NS_PER_MS

/* One thread's windows of 10 s: 13.2 %, 9 %, 1 % and 0.04 % of the run. */
static const struct build_calls hot = {
	.calls = 600001, .ns = 2300, .spread_ns = 1000, .interval = 3000
};
static const struct build_calls warm = {
	.calls = 90001, .ns = 10100, .spread_ns = 1000, .interval = 450
};
static const struct build_calls mild = {
	.calls = 10001, .ns = 10100, .spread_ns = 1000, .interval = 50
};
static const struct build_calls cool = {
	.calls = 801, .ns = 5100, .spread_ns = 500, .interval = 8
};
static const struct build_calls thrown = { .calls = 3 };

/* A share that a sentence tells is the one that it is said to be about, and so is a function. */
static void is_about(const char *sentence, const struct watch_said *said)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;
	const struct estimate *share = &said->share;

	if (said->place != NULL) {
		watch_put_name(&words, said->place->row);
		assert_non_null(strstr(sentence, text_chars(&words)));
		text_clear(&words);
	}
	assert_int_equal(share->is_known && share->has_error && share->error > 0,
			 strstr(sentence, TEXT_NBSP "%" TEXT_NBSP "\u00b1") != NULL);
	if (!share->is_known || !share->has_error)
		return;
	measured_put_share(&words, share->value, share->error, true);
	assert_non_null(strstr(sentence, text_chars(&words)));
}

static void says(struct build_watch *b, const char *want)
{
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	struct err err = ERR_EMPTY;

	build_watch_sort(b);
	assert_int_equal(watch_analysis_open(&b->r, 0, UINT64_MAX, &a, &err), 0);
	struct watch_said said;

	watch_verdict_tell(&t, &b->r, &a, &said);
	is_about(text_chars(&t), &said);
	for (char *c = t.bytes; c != NULL && (c = strstr(c, TEXT_NBSP)) != NULL;) {
		*c = ' ';
		memmove(c + 1, c + 2, strlen(c + 1));
	}
	assert_string_equal(text_chars(&t), want);
}

static uint32_t add(struct build_watch *b, const char *name, const struct build_calls *did)
{
	uint32_t id = build_watched(b, name)->id;

	build_same(b, id, 0, 360, did);
	return id;
}

/* 20 frames a second of 50 ms. */
static void add_frames(struct build_watch *b, uint64_t slow_ns)
{
	const struct build_calls frames = { .calls = 200, .ns = 50000100, .interval = 1 };
	uint32_t id = add(b, "World::tick", &frames);

	b->r.watched[id].kind = WATCHED_FRAME;
	b->r.watch.slow_ns = slow_ns;
	b->r.watch.frames = 72000;
}

/* `count` slow frames of 60 to 64 ms, of which function 0 has `part_ns` or up to 2 ms more. */
static void add_slow(struct build_watch *b, uint64_t count, uint64_t part_ns)
{
	for (uint64_t i = 0; i < count; i++) {
		build_slow(b, 97 * i, (60 + i % 5) * MS);
		build_part(b, 0, part_ns + i % 3 * MS);
	}
}

static void of_a_slow_frame(struct build_watch *b)
{
	add(b, "Pathfinder::findPath(Map const&)", &hot);
	add_frames(b, 50 * MS);
	add_slow(b, 40, 34 * MS);
}

static void the_only_slow_frame(struct build_watch *b)
{
	add(b, "Pathfinder::findPath", &hot);
	add_frames(b, 50 * MS);
	add_slow(b, 1, 45 * MS);
}

static void the_only_slow_frame_elsewhere(struct build_watch *b)
{
	add(b, "Pathfinder::findPath", &hot);
	add_frames(b, 50 * MS);
	add_slow(b, 1, 6 * MS);
}

static void parts_were_cut(struct build_watch *b)
{
	of_a_slow_frame(b);
	b->r.slow[7].is_scaled = true;
}

static void parts_were_cut_and_none_stands_out(struct build_watch *b)
{
	add(b, "Pathfinder::findPath", &hot);
	add_frames(b, 50 * MS);
	add_slow(b, 40, 2 * MS);
	b->r.slow[7].is_scaled = true;
}

static void slow_elsewhere(struct build_watch *b)
{
	add(b, "Pathfinder::findPath", &hot);
	add_frames(b, 50 * MS);
	add_slow(b, 40, 2 * MS);
}

static void slow_without_parts(struct build_watch *b)
{
	add(b, "Pathfinder::findPath", &hot);
	add_frames(b, 50 * MS);
	for (uint64_t i = 0; i < 9; i++)
		build_slow(b, i * i, 60 * MS);
}

/* Twelve functions with a twelfth each, nearly. */
static void no_slow_part_stands_out(struct build_watch *b)
{
	for (uint32_t i = 0; i < 12; i++)
		add(b, i == 0 ? "Net::flush" : "f", &cool);
	add_frames(b, 50 * MS);
	for (uint64_t i = 0; i < 30; i++) {
		struct slow_row *slow = build_slow(b, i * i, 60 * MS);

		slow->rest_ns = 20 * MS;
		slow->other_ns -= 20 * MS;
		for (uint32_t part = 0; part < 8; part++)
			build_part(b, part, (part == 0 ? 5 : 3) * MS);
	}
}

static void no_slow_frame(struct build_watch *b)
{
	add(b, "Pathfinder::findPath", &hot);
	add_frames(b, 50 * MS);
}

static void slow_is_not_asked_for(struct build_watch *b)
{
	add(b, "Pathfinder::findPath", &hot);
	add_frames(b, 0);
}

static void frames_did_not_come(struct build_watch *b)
{
	add(b, "Pathfinder::findPath", &hot);
	build_watched(b, "World::tick")->kind = WATCHED_FRAME;
	b->r.watch.slow_ns = 50 * MS;
}

static void frames_alone(struct build_watch *b)
{
	add_frames(b, 0);
}

static void frames_alone_that_did_not_come(struct build_watch *b)
{
	build_watched(b, "World::tick")->kind = WATCHED_FRAME;
}

static void a_task_alone(struct build_watch *b)
{
	add(b, "import", &warm);
	b->r.watched[0].kind = WATCHED_TASK;
}

static void one_stands_out(struct build_watch *b)
{
	add(b, "Chat::filter", &cool);
	add(b, "Script::onMovement", &hot);
	add(b, "Net::flush", &warm);
}

static void one_stands_out_by_itself(struct build_watch *b)
{
	struct build_calls did = hot;

	did.own_part = 0.8;
	add(b, "Script::onMovement", &did);
}

static void calls_under_the_floor(struct build_watch *b)
{
	struct build_calls tiny = hot;

	tiny.calls = 24000001;
	tiny.interval = 120000;
	tiny.ns = 160;
	tiny.spread_ns = 10;
	add(b, "Hash::mix", &tiny);
}

static void the_largest_cannot_be_ranked(struct build_watch *b)
{
	struct build_calls heavy = hot;

	heavy.probe_ns = 2300;
	add(b, "Script::onMovement", &heavy);
	add(b, "Net::flush", &warm);
}

static void the_second_stands_out_surely(struct build_watch *b)
{
	struct build_calls heavy = hot, other = hot;

	heavy.probe_ns = 9000;
	other.ns = 2100;
	add(b, "Script::onMovement", &heavy);
	add(b, "Net::flush", &other);
}

static void grow(struct build_watch *b, const char *name, struct build_calls did, uint64_t to_ns)
{
	uint32_t id = build_watched(b, name)->id;

	did.tail_ns = 700100;
	build_same(b, id, 0, 212, &did);
	did.tail_ns = to_ns;
	build_same(b, id, 212, 360, &did);
}

static void p99_grew(struct build_watch *b)
{
	add(b, "Chat::filter", &cool);
	grow(b, "Net::flush", mild, 2400100);
}

static void p99_grew_on_a_fine_clock(struct build_watch *b)
{
	p99_grew(b);
	b->r.label.started_wall_ns = INT64_C(1764300000000000000) + 17 * (int64_t)NS_PER_S;
}

static void make_worth_a_word(struct build_watch *b)
{
	for (uint32_t i = 0; i < b->r.window_count; i++) {
		b->r.windows[i].weighted_ns *= 8;
		b->r.windows[i].weighted_own_ns *= 8;
	}
}

static void p99_grew_in_long_windows(struct build_watch *b)
{
	p99_grew(b);
	b->r.watch.windows_in_row = 8;
	b->r.watch.windows = 2880;
	b->r.label.elapsed_ns = 8 * 3600 * NS_PER_S;
	for (uint32_t i = 0; i < b->r.window_count; i++)
		b->r.windows[i].span_ns = b->r.windows[i].covered_ns = 80 * NS_PER_S;
	make_worth_a_word(b);
}

static void p99_grew_on_another_day(struct build_watch *b)
{
	p99_grew_in_long_windows(b);
	b->r.watch.windows_in_row = 32;
	b->r.watch.windows = 11520;
	b->r.label.elapsed_ns = 32 * 3600 * NS_PER_S;
	make_worth_a_word(b);
}

static void a_mean_grew(struct build_watch *b)
{
	struct build_calls did = mild;
	uint32_t id = build_watched(b, "Net::flush")->id;

	for (uint32_t at = 0; at < 360; at++) {
		did.ns = 10100 + at * 200;
		build_calls(b, id, at, &did);
	}
}

/* What is hardly ever called is not the answer, though it grew. */
static void a_trifle_grew(struct build_watch *b)
{
	add(b, "Chat::filter", &cool);
	grow(b, "Net::flush", cool, 2400100);
}

static void it_grew_by_half(struct build_watch *b)
{
	grow(b, "Net::flush", mild, 1050100);
}

static void all_take_little(struct build_watch *b)
{
	for (int i = 0; i < 12; i++)
		add(b, "f", &cool);
}

static void one_takes_little(struct build_watch *b)
{
	add(b, "Chat::filter", &cool);
}

static void all_take_little_under_the_floor(struct build_watch *b)
{
	struct build_calls tiny = cool;

	tiny.ns = 90;
	tiny.spread_ns = 0;
	tiny.calls = 8001;
	add(b, "f", &tiny);
	add(b, "g", &tiny);
}

static void many_take_some(struct build_watch *b)
{
	add(b, "Net::flush", &warm);
	add(b, "Chat::filter", &mild);
}

static void little_of_what_is_known(struct build_watch *b)
{
	add(b, "Chat::filter", &cool);
	add(b, "Net::flush", &thrown);
}

static void not_called(struct build_watch *b)
{
	build_watched(b, "Chat::filter");
}

static void none_called(struct build_watch *b)
{
	for (int i = 0; i < 12; i++)
		build_watched(b, "f");
}

static void never_timed(struct build_watch *b)
{
	build_watched(b, "Chat::filter");
	build_calls(b, 0, 7, &thrown);
	build_watched(b, "Net::flush");
}

static void called_once(struct build_watch *b)
{
	build_watched(b, "Chat::filter");
	build_calls(b, 0, 7, &(struct build_calls){ .calls = 1 });
}

static void several_never_timed(struct build_watch *b)
{
	for (uint32_t i = 0; i < 5; i++)
		add(b, "f", &thrown);
}

static void too_few_timed(struct build_watch *b)
{
	build_watched(b, "Chat::filter");
	build_same(b, 0, 0, 2, &(struct build_calls){ .calls = 2, .ns = 900, .interval = 8 });
}

static void one_not_watched(struct build_watch *b)
{
	build_unwatched(b, "Gpu::submit", "inlined away");
}

static void three_not_watched(struct build_watch *b)
{
	for (int i = 0; i < 3; i++)
		build_unwatched(b, "f", "not found");
}

static void nothing_at_all(struct build_watch *b)
{
	(void)b;
}

static void unfinished(struct build_watch *b)
{
	one_stands_out(b);
	b->r.label.is_finished = false;
}

static void a_hostile_name(struct build_watch *b)
{
	add(b, "\x1b[2J\xe2\x80\xaeh\n", &hot);
}

static void a_hostile_reason(struct build_watch *b)
{
	build_unwatched(b, "f", "\x1b[31mnot found");
}

static void no_name(struct build_watch *b)
{
	add(b, "", &hot);
}

/* In the order of the rules; a case in which several would speak shows that the first one does. */
static const struct {
	void (*make)(struct build_watch *b);
	const char *want;
} sentences[] = {
	{ nothing_at_all, "Nothing was watched: no function was found" },
	{ one_not_watched, "Nothing was watched: Gpu::submit — inlined away" },
	{ three_not_watched, "Nothing was watched: none of 3 names could be" },
	{ of_a_slow_frame, "Of a slow frame, 56.4 % ± 0.6 is Pathfinder::findPath" },
	{ the_only_slow_frame, "Of the only slow frame, 75.0 % is Pathfinder::findPath" },
	{ the_only_slow_frame_elsewhere,
	  "Of the only slow frame, 90.0 % is in no watched function" },
	{ parts_were_cut, "Of a slow frame, at least 56.4 % ± 0.6 is Pathfinder::findPath" },
	{ parts_were_cut_and_none_stands_out,
	  "No part of a slow frame stands out: the largest is Pathfinder::findPath, "
	  "4.8 % ± 0.5" },
	{ slow_elsewhere, "Of a slow frame, 95.2 % ± 0.5 is in no watched function" },
	{ slow_without_parts, "Of a slow frame, 100.0 % is in no watched function" },
	{ no_slow_part_stands_out, "No part of a slow frame stands out: the largest is "
				   "Net::flush, 8.3 %" },
	{ no_slow_frame, "No frame over 50 ms in 72,000" },
	{ slow_is_not_asked_for,
	  "Pathfinder::findPath takes 13.18 % ± 0.03 of the run, 2.20 µs a call" },
	{ frames_did_not_come,
	  "Pathfinder::findPath takes 13.18 % ± 0.03 of the run, 2.20 µs a call" },
	{ frames_alone, "A frame takes 50.0 ms: no function was watched" },
	{ frames_alone_that_did_not_come, "No frame was seen, and no function was watched" },
	{ a_task_alone, "A task takes 10.00 µs ± 0.01: no function was watched" },
	{ not_called, "Chat::filter was not called in 1 h" },
	{ none_called, "None of the 12 functions was called in 1 h" },
	{ never_timed, "Chat::filter was called 3 times and never timed" },
	{ called_once, "Chat::filter was called once and never timed" },
	{ several_never_timed, "5 functions were called 5,400 times and never timed" },
	{ too_few_timed, "Chat::filter was called 4 times, too few of them timed for a total" },
	{ one_stands_out, "Script::onMovement takes 13.18 % ± 0.03 of the run, 2.20 µs a call" },
	{ one_stands_out_by_itself, "Script::onMovement itself takes 10.43 % ± 0.03 of the "
				    "run, 1.74 µs a call" },
	{ calls_under_the_floor, "Hash::mix takes at most 38.4 % of the run: a call is "
				 "under the timing floor" },
	{ the_second_stands_out_surely,
	  "Net::flush takes 11.98 % ± 0.03 of the run, 2.00 µs a call" },
	{ the_largest_cannot_be_ranked,
	  "No order can be told: probes inside Script::onMovement took 497 s, it 475 s" },
	{ p99_grew, "p99 of Net::flush went from 0.70 to 2.38 ms ± 0.03 at 03:55:20" },
	{ p99_grew_on_a_fine_clock,
	  "p99 of Net::flush went from 0.70 to 2.38 ms ± 0.03 at 03:55:37" },
	{ p99_grew_in_long_windows, "p99 of Net::flush went from 0.70 to 2.38 ms ± 0.03 at 08:02" },
	{ p99_grew_on_another_day,
	  "p99 of Net::flush went from 0.70 to 2.38 ms ± 0.03 at 2025-11-28 22:10" },
	{ a_mean_grew, "A call of Net::flush went from 22 to 70 µs ± 2 over the run" },
	{ a_trifle_grew, "All 2 functions take 0.30 % ± 0.02: the time is elsewhere" },
	{ it_grew_by_half, "Net::flush takes 2.67 % ± 0.09 of the run: the time is elsewhere" },
	{ all_take_little, "All 12 functions take 0.48 % ± 0.01: the time is elsewhere" },
	{ one_takes_little, "Chat::filter takes 0.04 % ± 0.01 of the run: the time is elsewhere" },
	{ all_take_little_under_the_floor,
	  "All 2 functions take at most 0.01 %: the time is elsewhere" },
	{ many_take_some, "Net::flush takes 9.00 % ± 0.01 of the run, 10.0 µs a call" },
	{ little_of_what_is_known, "Chat::filter takes 0.04 % ± 0.01 of the run, 5.00 µs a call" },
	{ unfinished, "Unfinished, saved until 04:20:00: Script::onMovement takes 13.18 % ± "
		      "0.03 of the run, 2.20 µs a call" },
	{ a_hostile_name, "\\x1b[2J\\u{202e}h\\n takes 13.18 % ± 0.03 of the run, 2.20 µs "
			  "a call" },
	{ a_hostile_reason, "Nothing was watched: f — \\x1b[31mnot found" },
	{ no_name, "(no name) takes 13.18 % ± 0.03 of the run, 2.20 µs a call" },
};

static void the_first_rule_that_holds_speaks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sentences); i++) {
		SCOPED(build_watch_free) struct build_watch b;

		print_message("%s\n", sentences[i].want);
		build_watch_begin(&b);
		sentences[i].make(&b);
		says(&b, sentences[i].want);
	}
}

static void a_share_stands_out_from_a_tenth_that_is_surely_a_twentieth(void **state)
{
	static const struct {
		struct estimate share;
		bool stands_out;
	} cases[] = {
		{ { 0.10, 0.04, true, true }, true },	{ { 0.10, 0.05, true, true }, false },
		{ { 0.099, 0.01, true, true }, false }, { { 0.5, 0, true, false }, false },
		{ { 0.5, 0, false, true }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(watch_stands_out(cases[i].share), cases[i].stands_out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_rule_that_holds_speaks),
		cmocka_unit_test(a_share_stands_out_from_a_tenth_that_is_surely_a_twentieth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
