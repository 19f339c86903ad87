/* test_prove_pairs.c - `tare prove` with runs and a clock that are made up: which runs it makes, in which order, when it stops, and
 * what it then says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/prove.h"
#include "core/scoped.h"

#define MOST_MADE 200u

/* A job of 1 s without measuring, 1.01 s at the price and 1.2 s at the dear one; the clock stands still but for runs. The label
 * says `claim_ns` at the dear price, and 10 ms at the other. */
struct made {
	uint64_t claim_ns, now_ns;
	uint32_t count;
	char kinds[MOST_MADE + 1]; /* "-": without, "p": at the price, "d": dear */
	uint32_t fails_at;	   /* run that fails with `code`; 0: none */
	int code;
	uint32_t odd_at; /* run with another status; 0: none */
	uint64_t least_rest_ns;
};

static int make_run(void *owner, const struct prove_rung *rung, struct prove_run *out,
		    struct err *err)
{
	struct made *m = owner;
	uint64_t took_ms = rung == NULL ? 1000 : rung->is_dear ? 1200 : 1010;

	assert_true(m->count < MOST_MADE);
	m->kinds[m->count++] = rung == NULL ? '-' : rung->is_dear ? 'd' : 'p';
	if (m->count == m->fails_at)
		return err_set(err, m->code, "cannot: made up");
	took_ms += m->count % 3; /* no two runs are the same */
	m->now_ns += took_ms * NS_PER_MS;
	*out = (struct prove_run){ .job = { .cpu_ns = took_ms * NS_PER_MS,
					    .wall_ns = 2 * took_ms * NS_PER_MS },
				   .status = m->count == m->odd_at ? 9 : 3 };
	if (rung == NULL)
		return 0;
	out->claim_ns = rung->is_dear ? m->claim_ns : 10 * NS_PER_MS;
	out->has_claim = true;
	out->own_cpu_ns = 20 * NS_PER_MS;
	out->label_cpu_ns = 19 * NS_PER_MS;
	out->elapsed_ns = 2 * NS_PER_S;
	return 0;
}

static struct mono made_now(void *owner)
{
	return (struct mono){ ((struct made *)owner)->now_ns };
}

static void made_progress(void *owner, uint32_t done, uint32_t pairs, uint64_t rest_ns)
{
	assert_true(done < pairs);
	((struct made *)owner)->least_rest_ns = rest_ns;
}

static char *job[] = { (char[]){ "job" }, NULL };

static struct prove_opts opts_of(uint64_t pairs, uint64_t limit_ns)
{
	return (struct prove_opts){
		.price_ppm = 5000, .pairs = pairs, .limit_ns = limit_ns, .seed = 42, .command = job
	};
}

static int play(struct made *m, const struct prove_opts *opts, struct prove *out, struct err *err)
{
	struct prove_maker maker = {
		.owner = m, .run = make_run, .now = made_now, .progress = made_progress
	};

	return prove_pairs(opts, &maker, out, err);
}

static void both_prices_take_turns_and_what_they_say_is_right(void **state)
{
	SCOPED(prove_free) struct prove p = { .ended_by = "" };
	struct made m = { .claim_ns = 200 * NS_PER_MS };
	struct prove_opts opts = opts_of(10, 0);
	const struct prove_outcome *dear = &p.outcomes[1];

	(void)state;
	assert_int_equal(play(&m, &opts, &p, NULL), 0);
	assert_int_equal(m.count, 1 + 10 * PROVE_RUNGS * 2);
	assert_int_equal(m.kinds[0], '-');
	for (uint32_t i = 0; i < 10; i++) {
		const char *four = m.kinds + 1 + 4 * (size_t)i;

		assert_memory_equal(four, p.is_with_first[i] ? "p-d-" : "-p-d", 4);
		assert_true(i % 2 == 0 || p.is_with_first[i] != p.is_with_first[i - 1]);
	}
	assert_int_equal(dear->pairs, 10);
	assert_int_equal(p.outcomes[0].rung.price_ppm, 5000);
	assert_int_equal(dear->rung.price_ppm, 100000);
	assert_float_equal(dear->found.slowdown.value, 0.2, 0.003);
	assert_float_equal(dear->found.claim, 0.2, 0.003);
	assert_float_equal(dear->later.value, 0.2, 0.003);
	assert_int_equal(dear->own_cpu_ns, 200 * NS_PER_MS);
	assert_int_equal(dear->label_cpu_ns, 190 * NS_PER_MS);
	assert_int_equal(dear->found.verdict, PROVE_INSIDE);
	assert_string_equal(p.ended_by, "pairs");
	assert_int_equal(prove_status(&p), EXIT_OK);
}

static void a_label_outside_its_interval_is_a_no(void **state)
{
	static const uint64_t claims_ms[] = { 100, 300 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(claims_ms); i++) {
		SCOPED(prove_free) struct prove p = { .ended_by = "" };
		struct made m = { .claim_ns = claims_ms[i] * NS_PER_MS };
		struct prove_opts opts = opts_of(10, 0);

		assert_int_equal(play(&m, &opts, &p, NULL), 0);
		assert_int_equal(p.outcomes[1].found.verdict,
				 claims_ms[i] < 200 ? PROVE_UNDERSTATES : PROVE_OVERSTATES);
		assert_int_equal(prove_status(&p), EXIT_NO);
	}
}

static void what_cannot_be_told_is_no_yes(void **state)
{
	SCOPED(prove_free) struct prove p = { .ended_by = "" };
	struct made m = { .claim_ns = 200 * NS_PER_MS };
	struct prove_opts opts = opts_of(4, 0);

	(void)state;
	assert_int_equal(play(&m, &opts, &p, NULL), 0);
	assert_int_equal(p.outcomes[1].found.verdict, PROVE_CANNOT_TELL);
	assert_int_equal(prove_status(&p), EXIT_TROUBLE);
}

static void no_block_begins_that_would_end_after_the_time(void **state)
{
	SCOPED(prove_free) struct prove p = { .ended_by = "" };
	struct made m = { .claim_ns = 200 * NS_PER_MS };
	/* Two pairs at both prices take 8.4 s: the first block always, and three more fit into 36 s. */
	struct prove_opts opts = opts_of(10, 36 * NS_PER_S);

	(void)state;
	assert_int_equal(play(&m, &opts, &p, NULL), 0);
	assert_int_equal(p.outcomes[0].pairs, 8);
	assert_int_equal(p.outcomes[1].pairs, 8);
	assert_string_equal(p.ended_by, "time");
	assert_int_equal(m.least_rest_ns / NS_PER_S,
			 16); /* of 4 pairs, told before the last two of them began */
}

static void a_job_that_ends_in_another_way_is_refused(void **state)
{
	SCOPED(prove_free) struct prove p = { .ended_by = "" };
	struct made m = { .odd_at = 5 };
	struct prove_opts opts = opts_of(10, 0);
	struct err err = ERR_EMPTY;

	(void)state;
	assert_int_equal(play(&m, &opts, &p, &err), -EINVAL);
	assert_string_equal(err.msg,
			    "cannot prove with 'job': it ended with status 3, and then with 9");
	assert_int_equal(m.count, 5);
	assert_null(p.is_with_first);
}

static void an_interrupt_keeps_the_pairs_there_are(void **state)
{
	SCOPED(prove_free) struct prove p = { .ended_by = "" };
	struct made m = { .fails_at = 1 + 4 * 7 + 2, .code = -EINTR, .claim_ns = 200 * NS_PER_MS };
	struct prove_opts opts = opts_of(10, 0);
	struct err err = ERR_EMPTY;

	(void)state;
	assert_int_equal(play(&m, &opts, &p, &err), 0);
	assert_int_equal(err.code, 0);
	assert_int_equal(p.outcomes[1].pairs, 7);
	assert_string_equal(p.ended_by, "interrupt");
}

static void a_run_that_fails_ends_it(void **state)
{
	static const uint32_t at[] = { 1, 4 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(at); i++) {
		SCOPED(prove_free) struct prove p = { .ended_by = "" };
		struct made m = { .fails_at = at[i], .code = -ECHILD };
		struct prove_opts opts = opts_of(10, 0);
		struct err err = ERR_EMPTY;

		assert_int_equal(play(&m, &opts, &p, &err), -ECHILD);
		assert_int_equal(m.count, at[i]);
	}
}

static void the_words_are_the_verdict_s(void **state)
{
	SCOPED(prove_free) struct prove p = { .ended_by = "" };
	struct made m = { .claim_ns = 100 * NS_PER_MS };
	struct prove_opts opts = opts_of(10, 0);
	char *said = NULL;
	size_t size = 0;
	struct app app = { .out = open_memstream(&said, &size) };

	(void)state;
	assert_non_null(app.out);
	assert_int_equal(play(&m, &opts, &p, NULL), 0);
	assert_int_equal(prove_print(&app, &opts, &p), 0);
	fclose(app.out);
	assert_non_null(strstr(said, "10 pairs at each price, seed 42"));
	assert_non_null(strstr(said, "at a price of 0.50 %"));
	assert_non_null(strstr(said, "at 20 times that, 10.00 % --every 200us --full"));
	assert_non_null(strstr(said, "the label understates by"));
	assert_non_null(strstr(said, "tare's own, of one CPU     1.00 %"));
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_prices_take_turns_and_what_they_say_is_right),
		cmocka_unit_test(a_label_outside_its_interval_is_a_no),
		cmocka_unit_test(what_cannot_be_told_is_no_yes),
		cmocka_unit_test(no_block_begins_that_would_end_after_the_time),
		cmocka_unit_test(a_job_that_ends_in_another_way_is_refused),
		cmocka_unit_test(an_interrupt_keeps_the_pairs_there_are),
		cmocka_unit_test(a_run_that_fails_ends_it),
		cmocka_unit_test(the_words_are_the_verdict_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
