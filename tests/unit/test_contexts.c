/* test_contexts.c - exact totals by path in few entries: unbiased when crowded, and honest about it. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/contexts.h"
#include "core/scoped.h"
#include "made_paths.h"

#define MOST_PATHS 2000u

/* Contexts over paths of one frame, all held all the time: node i is path i. */
struct stage {
	struct contexts contexts;
	struct paths *paths;
	struct rng rng;
	uint32_t count;
	uint32_t nodes[MOST_PATHS];
};

static void stage_open(struct stage *s, uint32_t capacity, uint32_t count, uint64_t seed)
{
	const struct paths_limits limits = { count, count, count * 16 };

	assert_int_equal(paths_open(&limits, &s->paths), 0);
	assert_int_equal(contexts_init(&s->contexts, capacity), 0);
	rng_seed(&s->rng, seed);
	s->count = count;
	for (uint32_t i = 0; i < count; i++) {
		char name[16];
		int len = snprintf(name, sizeof(name), "f%u", i);
		struct frame f = made_frame(name, (size_t)len);

		assert_int_equal(paths_add(s->paths, &f, 1, &s->nodes[i]), 0);
	}
}

/* Every reference must have come back. */
static void stage_close(struct stage *s)
{
	contexts_free(&s->contexts, s->paths);
	for (uint32_t i = 0; i < s->count; i++) {
		assert_int_equal(paths_references(s->paths, s->nodes[i]), 1);
		paths_unref(s->paths, s->nodes[i]);
	}
	assert_int_equal(paths_used(s->paths).nodes, 0);
	paths_close(s->paths);
	contexts_free(&s->contexts, NULL);
}

static void add(struct stage *s, uint32_t path, uint64_t weight_ns)
{
	uint32_t entry = contexts_entry(&s->contexts, s->paths, &s->rng, s->nodes[path]);

	contexts_add(&s->contexts, entry, (enum state)(path % STATE_COUNT), path % BATCH_COUNT,
		     weight_ns);
	contexts_count(&s->contexts, entry);
}

static const struct context *entry_of(const struct stage *s, uint32_t path)
{
	uint32_t entry = contexts_find(&s->contexts, s->nodes[path]);

	return entry == PATHS_NONE ? NULL : &s->contexts.entries[entry];
}

static uint64_t sum_of(const struct context *e)
{
	return e == NULL ? 0 : e->certain_ns + e->uncertain_ns;
}

/* Weight and samples of all entries, after checking that each adds up within itself. */
static uint64_t checked_total(const struct contexts *c, uint64_t *out_kept)
{
	uint64_t total = 0;

	*out_kept = 0;
	for (uint32_t i = 0; i < c->capacity; i++) {
		const struct context *e = &c->entries[i];
		uint64_t by_state = 0, by_batch = 0;

		for (int s = 0; s < STATE_COUNT; s++)
			by_state += e->weight_ns[s];
		for (int b = 0; b < BATCH_COUNT; b++)
			by_batch += e->batch_ns[b];
		assert_true(by_state == sum_of(e));
		assert_true(by_batch == sum_of(e));
		assert_true(c->totals_ns[i] == (e->node == PATHS_NONE ? CONTEXTS_FREE : sum_of(e)));
		total += sum_of(e);
		*out_kept += e->kept;
	}
	return total;
}

static void fewer_than_two_entries_are_refused(void **state)
{
	struct contexts c;

	(void)state;
	assert_int_equal(contexts_init(&c, 0), -EINVAL);
	assert_int_equal(contexts_init(&c, 1), -EINVAL);
	assert_int_equal(contexts_init(&c, 2), 0);
	contexts_free(&c, NULL);
	contexts_free(&c, NULL);
}

static void while_there_is_room_every_total_is_exact_and_certain(void **state)
{
	static struct stage s;

	(void)state;
	stage_open(&s, 8, 8, 1);
	for (uint32_t n = 0; n < 800; n++)
		add(&s, n % 8, n);
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(entry_of(&s, i)->certain_ns, 100 * i + 8 * 4950);
		assert_int_equal(entry_of(&s, i)->uncertain_ns, 0);
		assert_int_equal(entry_of(&s, i)->kept, 100);
		assert_int_equal(entry_of(&s, i)->batch_ns[i], 100 * i + 8 * 4950);
	}
	assert_int_equal(s.contexts.merges, 0);
	stage_close(&s);
}

static void the_two_lightest_merge_and_no_other(void **state)
{
	static const uint64_t weights[][5] = {
		{ 50, 10, 30, 20, 40 }, { 50, 40, 30, 20, 10 }, { 10, 20, 30, 40, 50 },
		{ 40, 30, 10, 50, 20 }, { 20, 50, 40, 30, 10 },
	};
	static struct stage s;

	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		const uint64_t *weight_ns = weights[seed % ARRAY_LEN(weights)];
		uint64_t light_ns = 0, light = 0;

		stage_open(&s, 5, 6, seed);
		for (uint32_t i = 0; i < 5; i++)
			add(&s, i, weight_ns[i]);
		add(&s, 5, 1); /* wants an entry: 10 and 20 merge */
		for (uint32_t i = 0; i < 5; i++) {
			if (weight_ns[i] > 20) {
				assert_int_equal(sum_of(entry_of(&s, i)), weight_ns[i]);
				continue;
			}
			light += entry_of(&s, i) != NULL;
			light_ns += sum_of(entry_of(&s, i));
		}
		assert_int_equal(light, 1);
		assert_int_equal(light_ns, 30);
		assert_int_equal(sum_of(entry_of(&s, 5)), 1);
		stage_close(&s);
	}
}

static void among_equals_the_lowest_indexes_merge(void **state)
{
	static struct stage s;

	(void)state;
	stage_open(&s, 4, 5, 3);
	for (uint32_t i = 0; i < 4; i++)
		add(&s, i, 7);
	add(&s, 4, 7);
	assert_int_equal(sum_of(entry_of(&s, 0)) + sum_of(entry_of(&s, 1)), 14);
	assert_int_equal(sum_of(entry_of(&s, 2)), 7);
	assert_int_equal(sum_of(entry_of(&s, 3)), 7);
	stage_close(&s);
}

static void the_survivor_is_drawn_in_proportion(void **state)
{
	static struct stage s;
	int light_stayed = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 4000; seed++) {
		stage_open(&s, 2, 2, seed);
		add(&s, 0, 1000);
		add(&s, 1, 3000);
		assert_true(contexts_merge_lightest(&s.contexts, s.paths, &s.rng));
		assert_false(contexts_merge_lightest(&s.contexts, s.paths, &s.rng));
		light_stayed += entry_of(&s, 0) != NULL;
		stage_close(&s);
	}
	assert_in_range(light_stayed, 1000 - 4 * 27, 1000 + 4 * 27);
}

static void what_comes_by_merging_is_uncertain(void **state)
{
	static struct stage s;
	const struct context *e;
	uint32_t survivor;

	(void)state;
	stage_open(&s, 2, 2, 1);
	add(&s, 0, 1000);
	add(&s, 1, 3000);
	contexts_merge_lightest(&s.contexts, s.paths, &s.rng);
	survivor = entry_of(&s, 0) != NULL ? 0 : 1;
	e = entry_of(&s, survivor);
	assert_int_equal(e->certain_ns, survivor == 0 ? 1000 : 3000);
	assert_int_equal(e->uncertain_ns, survivor == 0 ? 3000 : 1000);
	assert_int_equal(e->kept, 2);
	stage_close(&s);
}

/* A Zipf law over `count` paths: cumulative chances. */
static void zipf(double *cumulative, uint32_t count, double alpha)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		cumulative[i] = sum += pow(i + 1.0, -alpha);
	for (uint32_t i = 0; i < count; i++)
		cumulative[i] /= sum;
}

static uint32_t draw(const double *cumulative, uint32_t count, struct rng *r)
{
	double at = (double)(rng_next(r) >> 11) * 0x1p-53;
	uint32_t i = 0;

	while (i + 1 < count && cumulative[i] <= at)
		i++;
	return i;
}

#define CROWD_PATHS   400u
#define CROWD_ENTRIES 32u
#define CROWD_SAMPLES 3000
#define CROWD_SEEDS   60
#define CROWD_BINS    12

/* One stream of samples, and what it truly holds. */
struct crowd {
	uint32_t stream[CROWD_SAMPLES];
	uint64_t true_ns[CROWD_PATHS], all_ns;
	double truth[CROWD_BINS]; /* the first path alone, the others in bins of falling weight */
	double sum[CROWD_BINS], squares[CROWD_BINS];
};

static int bin_of(uint32_t path)
{
	return path == 0 ? 0 : 1 + (int)(path * (CROWD_BINS - 1) / CROWD_PATHS);
}

static uint64_t weight_of(uint32_t path)
{
	return 100 + path % 7 * 50;
}

static void crowd_make(struct crowd *c, double alpha)
{
	double cumulative[CROWD_PATHS];
	struct rng world;

	*c = (struct crowd){ .all_ns = 0 };
	zipf(cumulative, CROWD_PATHS, alpha);
	rng_seed(&world, 42);
	for (int n = 0; n < CROWD_SAMPLES; n++) {
		uint32_t path = draw(cumulative, CROWD_PATHS, &world);

		c->stream[n] = path;
		c->true_ns[path] += weight_of(path);
		c->truth[bin_of(path)] += (double)weight_of(path);
		c->all_ns += weight_of(path);
	}
}

/* The stream once more, with other coins. */
static void crowd_run(struct crowd *c, uint64_t seed)
{
	static struct stage s;
	double got[CROWD_BINS] = { 0 };
	uint64_t kept;

	stage_open(&s, CROWD_ENTRIES, CROWD_PATHS, seed);
	for (int n = 0; n < CROWD_SAMPLES; n++)
		add(&s, c->stream[n], weight_of(c->stream[n]));
	assert_true(checked_total(&s.contexts, &kept) == c->all_ns);
	assert_int_equal(kept, CROWD_SAMPLES);
	for (uint32_t i = 0; i < CROWD_PATHS; i++) {
		const struct context *e = entry_of(&s, i);

		assert_true(e == NULL || e->certain_ns <= c->true_ns[i]);
		got[bin_of(i)] += (double)sum_of(e);
	}
	for (int b = 0; b < CROWD_BINS; b++) {
		c->sum[b] += got[b];
		c->squares[b] += got[b] * got[b];
	}
	stage_close(&s);
}

static void a_crowd_is_exact_in_sum_unbiased_in_parts_and_certain_below_the_truth(void **state)
{
	static const double alphas[] = { 0.6, 1.0, 1.4 };
	static struct crowd c;

	(void)state;
	for (size_t a = 0; a < ARRAY_LEN(alphas); a++) {
		crowd_make(&c, alphas[a]);
		for (uint64_t seed = 0; seed < CROWD_SEEDS; seed++)
			crowd_run(&c, seed);
		for (int b = 0; b < CROWD_BINS; b++) {
			double mean = c.sum[b] / CROWD_SEEDS;
			double variance = c.squares[b] / CROWD_SEEDS - mean * mean;
			double error = sqrt(fmax(variance, 0) / (CROWD_SEEDS - 1));

			assert_true(fabs(mean - c.truth[b]) <= 4 * error + 1e-6);
		}
	}
}

static void every_path_is_found_while_entries_come_and_go(void **state)
{
	enum { PATHS = 300, ENTRIES = 64 };
	static struct stage s;

	(void)state;
	stage_open(&s, ENTRIES, PATHS, 8);
	for (int n = 0; n < 20000; n++) {
		uint32_t path = (uint32_t)rng_below(&s.rng, PATHS), found = 0;

		add(&s, path, 1 + rng_below(&s.rng, 1000));
		assert_non_null(entry_of(&s, path));
		assert_int_equal(entry_of(&s, path)->node, s.nodes[path]);
		if (n % 100 != 0)
			continue;
		for (uint32_t i = 0; i < PATHS; i++)
			found += entry_of(&s, i) != NULL;
		assert_int_equal(found, s.contexts.used);
	}
	stage_close(&s);
}

static void an_entry_keeps_its_path_alive_and_a_merge_lets_the_loser_go(void **state)
{
	static struct stage s;

	(void)state;
	stage_open(&s, 4, 4, 1);
	add(&s, 0, 10);
	add(&s, 1, 10);
	add(&s, 1, 10);
	assert_int_equal(paths_references(s.paths, s.nodes[0]), 2);
	assert_int_equal(paths_references(s.paths, s.nodes[1]), 2);
	contexts_merge_lightest(&s.contexts, s.paths, &s.rng);
	assert_int_equal(
		paths_references(s.paths, s.nodes[0]) + paths_references(s.paths, s.nodes[1]), 3);
	stage_close(&s);
}

static void batches_halve_with_the_timeline(void **state)
{
	static struct stage s;
	const struct context *e;

	(void)state;
	stage_open(&s, 4, 2, 1);
	for (uint32_t b = 0; b < BATCH_COUNT; b++) {
		uint32_t entry = contexts_entry(&s.contexts, s.paths, &s.rng, s.nodes[0]);

		contexts_add(&s.contexts, entry, STATE_RUNNING, b, UINT64_C(1) << b);
	}
	e = entry_of(&s, 0);
	contexts_halve_batches(&s.contexts, 32);
	for (uint32_t b = 0; b < 16; b++)
		assert_true(e->batch_ns[b] == UINT64_C(3) << 2 * b);
	for (uint32_t b = 16; b < BATCH_COUNT; b++)
		assert_true(e->batch_ns[b] == 0);
	contexts_halve_batches(&s.contexts, 16); /* sixteen slots have sixteen batches */
	for (uint32_t b = 0; b < 8; b++)
		assert_true(e->batch_ns[b] == UINT64_C(15) << 4 * b);
	assert_true(e->batch_ns[8] == 0);
	stage_close(&s);
}

/* What a reader has who got only the changes. */
struct shadow {
	struct context_row rows[32];
	bool has[32];
};

static void save(struct shadow *shadow, struct stage *s, struct changes *c)
{
	changes_reset(c);
	assert_int_equal(contexts_changes(&s->contexts, TASK_RUN, c), 0);
	for (uint32_t i = 0; i < c->gone_context_count; i++)
		shadow->has[c->gone_contexts[i]] = false;
	for (uint32_t i = 0; i < c->context_count; i++) {
		shadow->rows[c->contexts[i].id] = c->contexts[i];
		shadow->has[c->contexts[i].id] = true;
	}
	contexts_saved(&s->contexts);
}

static void assert_shadows(const struct shadow *shadow, const struct contexts *c)
{
	for (uint32_t i = 0; i < c->capacity; i++) {
		const struct context *e = &c->entries[i];
		const struct context_row *row = &shadow->rows[i];

		assert_int_equal(shadow->has[i], e->node != PATHS_NONE);
		if (!shadow->has[i])
			continue;
		assert_int_equal(row->task, TASK_RUN);
		assert_int_equal(row->node, e->node);
		assert_true(row->certain_ns == e->certain_ns);
		assert_true(row->uncertain_ns == e->uncertain_ns);
		assert_true(row->running_ns == e->weight_ns[STATE_RUNNING]);
		assert_true(row->waiting_ns == e->weight_ns[STATE_WAITING]);
		assert_true(row->runnable_ns == e->weight_ns[STATE_RUNNABLE]);
		assert_true(row->kept == e->kept);
		assert_memory_equal(row->batch_ns, e->batch_ns, sizeof(row->batch_ns));
	}
}

static void changes_bring_a_copy_up_to_date(void **state)
{
	static struct shadow shadow;
	static struct stage s;
	struct changes c = CHANGES_EMPTY;

	(void)state;
	memset(&shadow, 0, sizeof(shadow));
	stage_open(&s, 32, 100, 4);
	for (int n = 0; n < 4000; n++) {
		add(&s, (uint32_t)rng_below(&s.rng, 100), 1 + rng_below(&s.rng, 50));
		if (rng_below(&s.rng, 10) == 0)
			contexts_merge_lightest(&s.contexts, s.paths, &s.rng);
		if (rng_below(&s.rng, 300) == 0)
			contexts_halve_batches(&s.contexts, 32);
		if (rng_below(&s.rng, 5) > 0)
			continue;
		save(&shadow, &s, &c);
		assert_shadows(&shadow, &s.contexts);
	}
	save(&shadow, &s, &c);
	save(&shadow, &s, &c);
	assert_int_equal(c.context_count + c.gone_context_count, 0);
	changes_free(&c);
	stage_close(&s);
}

static void no_memory_for_the_changes_forgets_none(void **state)
{
	static struct stage s;
	struct changes c = CHANGES_EMPTY;

	(void)state;
	stage_open(&s, 4, 2, 4);
	add(&s, 0, 1);
	add(&s, 1, 1);
	contexts_merge_lightest(&s.contexts, s.paths, &s.rng);
	c.context_count = c.context_room = UINT32_MAX;
	assert_int_equal(contexts_changes(&s.contexts, TASK_RUN, &c), -ENOMEM);
	assert_int_equal(c.gone_context_count, 0);
	c.context_count = c.context_room = 0;
	assert_int_equal(contexts_changes(&s.contexts, TASK_RUN, &c), 0);
	assert_int_equal(c.context_count, 1);
	assert_int_equal(c.gone_context_count, 1);
	changes_free(&c);
	stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fewer_than_two_entries_are_refused),
		cmocka_unit_test(while_there_is_room_every_total_is_exact_and_certain),
		cmocka_unit_test(the_two_lightest_merge_and_no_other),
		cmocka_unit_test(among_equals_the_lowest_indexes_merge),
		cmocka_unit_test(the_survivor_is_drawn_in_proportion),
		cmocka_unit_test(what_comes_by_merging_is_uncertain),
		cmocka_unit_test(
			a_crowd_is_exact_in_sum_unbiased_in_parts_and_certain_below_the_truth),
		cmocka_unit_test(every_path_is_found_while_entries_come_and_go),
		cmocka_unit_test(an_entry_keeps_its_path_alive_and_a_merge_lets_the_loser_go),
		cmocka_unit_test(batches_halve_with_the_timeline),
		cmocka_unit_test(changes_bring_a_copy_up_to_date),
		cmocka_unit_test(no_memory_for_the_changes_forgets_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
