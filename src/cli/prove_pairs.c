/* prove_pairs.c - runs in pairs at two prices, taking turns, and what they say. How a run is made is the maker's. */
#include <errno.h>
#include <stdlib.h>

#include "cli/prove.h"
#include "core/scoped.h"

/* Pairs come two at a time, one of each order, so that any number of blocks is balanced. */
#define BLOCK_PAIRS 2u

/* The pairs in the making. */
struct turns {
	const struct prove_opts *opts;
	const struct prove_maker *maker;
	struct prove *out;
	int status; /* of the job, each time */
	struct mono start;
};

void prove_free(struct prove *p)
{
	for (size_t i = 0; i < PROVE_RUNGS; i++) {
		free(p->outcomes[i].cpu);
		free(p->outcomes[i].wall);
	}
	free(p->is_with_first);
	*p = (struct prove){ .ended_by = "" };
}

static int make_room(struct prove *p, uint32_t pairs, struct err *err)
{
	p->is_with_first = calloc(pairs, sizeof(*p->is_with_first));
	for (size_t i = 0; i < PROVE_RUNGS; i++) {
		p->outcomes[i].cpu = calloc(pairs, sizeof(*p->outcomes[i].cpu));
		p->outcomes[i].wall = calloc(pairs, sizeof(*p->outcomes[i].wall));
		if (p->outcomes[i].cpu == NULL || p->outcomes[i].wall == NULL)
			return err_set(err, -ENOMEM, "cannot hold %u pairs: out of memory", pairs);
	}
	if (p->is_with_first == NULL)
		return err_set(err, -ENOMEM, "cannot hold %u pairs: out of memory", pairs);
	return 0;
}

static int run_once(const struct turns *t, const struct prove_rung *rung, struct prove_run *out,
		    struct err *err)
{
	int code = t->maker->run(t->maker->owner, rung, out, err);

	if (code < 0 || out->status == t->status)
		return code;
	err_set(err, -EINVAL, "cannot prove with '%s': it ended with status %d, and then with %d",
		t->opts->command[0], t->status, out->status);
	return err_mend(err, "name a job that does the same each time it is run");
}

static int run_pair(const struct turns *t, struct prove_outcome *o, uint32_t at, struct err *err)
{
	struct prove_run runs[2] = { { .status = 0 } }; /* without, with */
	bool is_with = t->out->is_with_first[at];

	for (int i = 0; i < 2; i++, is_with = !is_with) {
		int code = run_once(t, is_with ? &o->rung : NULL, &runs[is_with], err);

		if (code < 0)
			return code;
	}
	o->cpu[at] = (struct prove_pair){ .bare_ns = runs[0].job.cpu_ns,
					  .with_ns = runs[1].job.cpu_ns,
					  .claim_ns = runs[1].claim_ns,
					  .has_claim = runs[1].has_claim };
	o->wall[at] = (struct prove_pair){ .bare_ns = runs[0].job.wall_ns,
					   .with_ns = runs[1].job.wall_ns };
	o->own_cpu_ns += runs[1].own_cpu_ns;
	o->label_cpu_ns += runs[1].label_cpu_ns;
	o->elapsed_ns += runs[1].elapsed_ns;
	o->pairs = at + 1;
	return 0;
}

/* The same pairs at each price, in turn. */
static int run_block(const struct turns *t, uint32_t from, uint32_t to, struct err *err)
{
	for (uint32_t at = from; at < to; at++)
		for (size_t i = 0; i < PROVE_RUNGS; i++) {
			int code = run_pair(t, &t->out->outcomes[i], at, err);

			if (code < 0)
				return code;
		}
	return 0;
}

/* Does another block fit into the time, if it takes as long as those so far? */
static bool has_time(const struct turns *t, uint32_t done, uint64_t *out_rest_ns)
{
	uint64_t spent_ns = mono_elapsed_ns(t->start, t->maker->now(t->maker->owner));
	uint64_t pair_ns = done > 0 ? spent_ns / done : 0;

	*out_rest_ns = pair_ns * (t->opts->pairs - done);
	return t->opts->limit_ns == 0 || spent_ns + BLOCK_PAIRS * pair_ns <= t->opts->limit_ns;
}

static int run_blocks(const struct turns *t, struct err *err)
{
	uint32_t pairs = (uint32_t)t->opts->pairs;

	t->out->ended_by = "pairs";
	for (uint32_t done = 0; done < pairs; done += BLOCK_PAIRS) {
		uint32_t to = done + BLOCK_PAIRS < pairs ? done + BLOCK_PAIRS : pairs;
		uint64_t rest_ns;
		int code;

		if (!has_time(t, done, &rest_ns)) {
			t->out->ended_by = "time";
			return 0;
		}
		t->maker->progress(t->maker->owner, done, pairs, rest_ns);
		code = run_block(t, done, to, err);
		if (code == -EINTR) {
			*err = ERR_EMPTY;
			t->out->ended_by = "interrupt";
			return 0;
		}
		if (code < 0)
			return code;
	}
	return 0;
}

static int judge(struct prove *p, struct err *err)
{
	for (size_t i = 0; i < PROVE_RUNGS; i++) {
		struct prove_outcome *o = &p->outcomes[i];

		if (prove_judge(o->cpu, o->pairs, &o->found) < 0 ||
		    prove_slowdown_of(o->wall, o->pairs, &o->later) < 0)
			return err_set(err, -ENOMEM, "cannot judge %u pairs: out of memory",
				       o->pairs);
	}
	return 0;
}

int prove_pairs(const struct prove_opts *opts, const struct prove_maker *maker, struct prove *out,
		struct err *err)
{
	SCOPED(prove_free) struct prove p = { .ended_by = "" };
	struct turns t = { .opts = opts, .maker = maker, .out = &p };
	struct prove_run first = { .status = 0 };
	struct rng coins;
	int code = make_room(&p, (uint32_t)opts->pairs, err);

	if (code < 0)
		return code;
	p.outcomes[0].rung = (struct prove_rung){ .price_ppm = opts->price_ppm };
	p.outcomes[1].rung =
		(struct prove_rung){ .price_ppm = opts->price_ppm * PROVE_TIMES, .is_dear = true };
	rng_seed(&coins, opts->seed);
	prove_order(&coins, p.is_with_first, (uint32_t)opts->pairs);
	code = maker->run(maker->owner, NULL, &first, err);
	if (code < 0)
		return code;
	t.status = first.status;
	p.run_cpu_ns = first.job.cpu_ns;
	t.start = maker->now(maker->owner);
	code = run_blocks(&t, err);
	if (code == 0)
		code = judge(&p, err);
	if (code < 0)
		return code;
	*out = p;
	p = (struct prove){ .ended_by = "" };
	return 0;
}

int prove_status(const struct prove *p)
{
	for (size_t i = 0; i < PROVE_RUNGS; i++) {
		enum prove_verdict verdict = p->outcomes[i].found.verdict;

		if (verdict == PROVE_UNDERSTATES || verdict == PROVE_OVERSTATES)
			return EXIT_NO;
	}
	return p->outcomes[PROVE_RUNGS - 1].found.verdict == PROVE_INSIDE ? EXIT_OK : EXIT_TROUBLE;
}
