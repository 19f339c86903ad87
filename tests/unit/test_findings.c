/* test_findings.c - each rule holds when it should, and only then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "build_recording.h"
#include "core/findings.h"
#include "core/scoped.h"
#include "core/units.h"

/* A recording with nothing to say about: 10,000 samples, half a price. */
static void begin_quiet(struct build *b)
{
	build_begin(b);
	build_context(b, "job/1/1 > main > f", 60 * NS_PER_S, 6000);
	build_context(b, "job/1/1 > main > g", 40 * NS_PER_S, 4000);
	b->r.label.own_cpu_ns = 9 * NS_PER_S;
	b->r.label.sample_ns = 8 * NS_PER_S;
}

static void unfinished(struct build *b)
{
	b->r.label.is_finished = false;
}

static void few(struct build *b)
{
	b->r.contexts[0].kept = 60;
	b->r.contexts[1].kept = 39;
}

static void enough(struct build *b)
{
	b->r.contexts[0].kept = 60;
	b->r.contexts[1].kept = 40;
}

static void lost(struct build *b)
{
	b->r.label.lost = 12;
	b->r.label.lost_events = 1;
	build_slot(b, NO_ID, 0, 0, 12);
}

static void lost_few(struct build *b)
{
	b->r.label.lost = 9;
	b->r.label.lost_events = 1;
}

static void throttled(struct build *b)
{
	b->r.label.throttled = 12;
}

static void throttled_once(struct build *b)
{
	b->r.label.throttled = 1;
}

static void unsampled(struct build *b)
{
	b->r.label.clock_ns = 110 * NS_PER_S;
}

static void unsampled_lost(struct build *b)
{
	unsampled(b);
	lost(b);
}

static void little_unsampled(struct build *b)
{
	b->r.label.clock_ns = 105 * NS_PER_S;
}

static void broken(struct build *b)
{
	build_context(b, "job/1/1 > [broken] > inflate+libz.so.1", 5 * NS_PER_S, 500);
	build_context(b, "job/1/1 > [broken] > hook+libhook.so", 1 * NS_PER_S, 100);
}

static void little_broken(struct build *b)
{
	build_context(b, "job/1/1 > [broken] > inflate+libz.so.1", 5 * NS_PER_S, 500);
}

static void cut(struct build *b)
{
	build_context(b, "job/1/1 > main > [cut 900]", 6 * NS_PER_S, 600);
}

static void cut_copy(struct build *b)
{
	build_context(b, "job/1/1 > [cut] > walk", 6 * NS_PER_S, 600);
	b->r.label.cut_stacks = 600;
}

static void unnamed(struct build *b)
{
	build_context(b, "job/1/1 > main > [libfoo.so+0x10]+libfoo.so", 4 * NS_PER_S, 400);
	build_context(b, "job/1/1 > main > [libbar.so+0x10]+libbar.so", 1 * NS_PER_S, 100);
	build_context(b, "job/1/1 > main > [libfoo.so+0x90]+libfoo.so", 4 * NS_PER_S, 400);
}

static void no_kernel(struct build *b)
{
	b->r.label.kernel_stacks = (struct str)STR_LITERAL("not allowed: perf_event_paranoid is 2");
	build_context(b, "job/1/1 > main > [kernel]", 10 * NS_PER_S, 1000);
}

static void kernel_not_measured(struct build *b)
{
	b->r.label.kernel_stacks = (struct str)STR_LITERAL("not measured: switched off");
}

static void merged(struct build *b)
{
	b->r.contexts[0].certain_ns = 50 * NS_PER_S;
	b->r.contexts[0].uncertain_ns = 10 * NS_PER_S;
	b->r.label.merges = 1;
}

static void over_price(struct build *b)
{
	b->r.label.own_cpu_ns = 17 * NS_PER_S;
	b->r.label.kernel_ns = 2 * NS_PER_S;
	b->r.label.sample_ns = 16 * NS_PER_S;
}

static void dear_start(struct build *b)
{
	b->r.label.elapsed_ns = 30 * NS_PER_S;
	b->r.label.own_cpu_ns = 300 * NS_PER_MS;
	b->r.label.sample_ns = 50 * NS_PER_MS;
	b->r.label.start_ns = 250 * NS_PER_MS;
}

static void exactly_the_price(struct build *b)
{
	b->r.label.own_cpu_ns = 17 * NS_PER_S;
	b->r.label.kernel_ns = 1 * NS_PER_S;
}

static void fixed_over(struct build *b)
{
	b->r.label.own_cpu_ns = 36 * NS_PER_S;
	b->r.label.fixed_ns = 36 * NS_PER_S;
}

static void fixed_exactly(struct build *b)
{
	b->r.label.own_cpu_ns = 18 * NS_PER_S;
	b->r.label.fixed_ns = 18 * NS_PER_S;
}

static void doubled(struct build *b)
{
	b->r.label.period_ns = 20 * NS_PER_MS;
	b->r.label.period_changes = 1;
}

static void raised(struct build *b)
{
	b->r.label.period_ns = 40 * NS_PER_MS;
	b->r.label.period_changes = 3;
}

static void next_prime(struct build *b)
{
	b->r.label.period_ns = 10100000;
	b->r.label.period_changes = 2;
}

static void paused(struct build *b)
{
	b->r.label.save_pauses = 12;
	b->r.label.save_paused_ns = 200 * NS_PER_S;
}

static void paused_once(struct build *b)
{
	b->r.label.save_pauses = 1;
	b->r.label.save_paused_ns = 2 * NS_PER_S;
}

static void nothing(struct build *b)
{
	(void)b;
}

static const struct {
	const char *name;
	void (*change)(struct build *b);
	const char *ids;		  /* joined by blanks */
	const char *evidence, *look_next; /* parts of the last one */
} cases[] = {
	{ "nothing stands out", nothing, "", "", "" },
	{ "unfinished", unfinished, "unfinished", "2025-11-28 04:20:00 UTC, 1 h after",
	  "process 40" },
	{ "99 samples are coarse", few, "coarse", "99 samples are kept", "--every" },
	{ "100 samples are not", enough, "", "", "" },
	{ "one in a thousand lost", lost, "lost_samples",
	  "12 samples, 0.1 % of them all, went in 1 gap. 4 s of the run have no sample",
	  "held up" },
	{ "fewer lost are only a line of the label", lost_few, "", "", "" },
	{ "throttled", throttled, "throttled", "12 times", "max_sample_rate" },
	{ "throttled once", throttled_once, "throttled", "1 time.", "" },
	{ "over 5 % unsampled", unsampled, "unsampled", "9.1 % of the CPU time, 10 s",
	  "short processes" },
	{ "over 5 % unsampled, and samples were lost", unsampled_lost, "lost_samples unsampled",
	  "9.1 % of the CPU time", "lost samples" },
	{ "under 5 % unsampled", little_unsampled, "", "", "" },
	{ "over 5 % broken", broken, "broken_stacks",
	  "5.7 % ± 0.5 of the time is in stacks that "
	  "stop before their root. Most of it breaks in libz.so.1.",
	  "how libz.so.1 is built" },
	{ "under 5 % broken", little_broken, "", "", "" },
	{ "over 5 % cut to make room", cut, "cut_stacks", "5.7 % ± 0.5 of the time", "--max-size" },
	{ "over 5 % deeper than the copy", cut_copy, "cut_stacks", "deeper than the part",
	  "deep recursion" },
	{ "over 5 % without names, the module with most of it", unnamed, "unnamed_functions",
	  "8.3 % ± 0.6 of the time is in functions without a symbol. Most of it is in libfoo.so.",
	  "debug symbols of libfoo.so" },
	{ "the kernel is not allowed", no_kernel, "kernel_not_allowed",
	  "not allowed: perf_event_paranoid is 2. [kernel] stands for 9.1 % ± 0.6",
	  "perf_event_paranoid of 1" },
	{ "the kernel was switched off", kernel_not_measured, "", "", "" },
	{ "over 5 % came by merging", merged, "merged_paths",
	  "10.0 % of the weight came to its path by 1 merge.", "--max-size" },
	{ "over the price", over_price, "over_price",
	  "It took 0.53 % of one CPU, at least. The price is 0.50 %. The largest part is handling "
	  "samples, 0.44 %.",
	  "--every" },
	{ "a short run is over the price by its start", dear_start, "over_price",
	  "The largest part is start-up, 0.83 %. It counts over ten minutes; this run took 30 s.",
	  "longer run" },
	{ "exactly the price is not over it", exactly_the_price, "", "", "" },
	{ "the fixed part alone is over", fixed_over, "over_price fixed_over_price",
	  "It took 1.00 % of one CPU. The price is 0.50 %.", "--price" },
	{ "a fixed part of just the price is not over it", fixed_exactly, "", "", "" },
	{ "the price doubled the period", doubled, "period_raised", "in 1 change.", "" },
	{ "the price raised the period", raised, "period_raised",
	  "It went from 10 ms to 40 ms, in 3 changes.", "--price" },
	{ "the next prime is no raise", next_prime, "", "", "" },
	{ "saves waited for a reader", paused, "paused_saves",
	  "12 saves waited at the size limit, 3 min 20 s in all.", "fuser" },
	{ "one save waited for a reader", paused_once, "paused_saves",
	  "1 save waited at the size limit, 2 s in all.", "" },
};

static void plain_blanks(struct text *t)
{
	for (char *c = t->bytes; c != NULL && (c = strstr(c, TEXT_NBSP)) != NULL;) {
		*c = ' ';
		memmove(c + 1, c + 2, strlen(c + 1));
	}
}

static void assert_contains(struct text *t, const char *part)
{
	plain_blanks(t);
	if (strstr(text_chars(t), part) == NULL)
		fail_msg("'%s' is not in '%s'", part, text_chars(t));
}

static void each_rule_holds_when_it_should_and_only_then(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(build_free) struct build b;
		SCOPED(analysis_free) struct analysis a = ANALYSIS_EMPTY;
		SCOPED(findings_free) struct findings f = { .count = 0 };
		SCOPED(text_free) struct text ids = TEXT_EMPTY;
		struct err err = ERR_EMPTY;

		print_message("%s\n", cases[i].name);
		begin_quiet(&b);
		cases[i].change(&b);
		assert_int_equal(analysis_open(&b.r, &a, &err), 0);
		assert_int_equal(findings_open(&b.r, &a, &f, &err), 0);
		for (size_t n = 0; n < f.count; n++)
			text_printf(&ids, "%s%s", n > 0 ? " " : "", f.rows[n].id);
		assert_string_equal(text_chars(&ids), cases[i].ids);
		if (f.count == 0)
			continue;
		assert_contains(&f.rows[f.count - 1].evidence, cases[i].evidence);
		assert_contains(&f.rows[f.count - 1].look_next, cases[i].look_next);
	}
}

static void all_rules_can_hold_at_once_and_each_says_where_to_look(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a = ANALYSIS_EMPTY;
	SCOPED(findings_free) struct findings f = { .count = 0 };
	struct err err = ERR_EMPTY;

	(void)state;
	begin_quiet(&b);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (cases[i].change != exactly_the_price && cases[i].change != next_prime &&
		    cases[i].change != kernel_not_measured && cases[i].change != lost_few &&
		    cases[i].change != little_unsampled)
			cases[i].change(&b);
	for (int i = 0; i < 5; i++) {
		cut(&b);
		broken(&b);
		unnamed(&b);
	}
	for (uint32_t i = 0; i < b.r.context_count; i++)
		b.r.contexts[i].kept = 1;
	b.r.label.clock_ns *= 2;
	b.r.label.lost = 1000;
	b.r.contexts[0].uncertain_ns = 50 * NS_PER_S;
	assert_int_equal(analysis_open(&b.r, &a, &err), 0);
	assert_int_equal(findings_open(&b.r, &a, &f, &err), 0);
	for (size_t i = 0; i < f.count; i++) {
		struct finding *row = &f.rows[i];
		const char *look = text_chars(&row->look_next);

		assert_string_equal(row->id, findings_id(i));
		assert_memory_equal(look, "Look next at ", 13);
		assert_int_equal(look[strlen(look) - 1], '.');
		assert_int_equal(row->evidence.bytes[row->evidence.len - 1], '.');
		assert_true(row->title.bytes[row->title.len - 1] != '.');
		assert_null(strchr(text_chars(&row->title), '!'));
		assert_null(strchr(text_chars(&row->evidence), '!'));
	}
	assert_null(findings_id(f.count));
}

static void a_hostile_module_is_harmless_in_a_finding(void **state)
{
	SCOPED(build_free) struct build b;
	SCOPED(analysis_free) struct analysis a = ANALYSIS_EMPTY;
	SCOPED(findings_free) struct findings f = { .count = 0 };
	struct err err = ERR_EMPTY;

	(void)state;
	begin_quiet(&b);
	build_context(&b, "job/1/1 > main > [x+0x1]+\x1b[2J.so", 50 * NS_PER_S, 5000);
	assert_int_equal(analysis_open(&b.r, &a, &err), 0);
	assert_int_equal(findings_open(&b.r, &a, &f, &err), 0);
	assert_int_equal(f.count, 1);
	assert_contains(&f.rows[0].evidence, "\\x1b[2J.so");
	assert_null(strchr(text_chars(&f.rows[0].evidence), '\x1b'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_holds_when_it_should_and_only_then),
		cmocka_unit_test(all_rules_can_hold_at_once_and_each_says_where_to_look),
		cmocka_unit_test(a_hostile_module_is_harmless_in_a_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
