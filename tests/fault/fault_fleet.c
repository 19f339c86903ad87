/* fault_fleet.c - kill -9 of a collector at any instant: every acknowledged batch, in the store or in the spool, is counted
 * once, whatever was going on: a put, a replay of the spool, tidying.
 * Usage: fault_fleet [ROUNDS [SEED]]   speaks TAP */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/rng.h"
#include "core/scoped.h"
#include "fault/place.h"
#include "fault/writer.h"
#include "store/fleet_store.h"
#include "store/spool.h"

#define HOUR_NS	    INT64_C(3600000000000)
#define DAY_NS	    (24 * HOUR_NS)
#define BASE_NS	    (INT64_C(20786) * DAY_NS)
#define CYCLE_NS    (37 * INT64_C(60000000000))
#define LIVES	    4
#define MOST_CYCLES 4096
#define STATEMENTS  5

/* Raw rows for two days, hours for five: both go while the test runs. */
static const struct fleet_limits limits = { (uint64_t)(2 * DAY_NS), (uint64_t)(5 * DAY_NS),
					    (uint64_t)(4000 * DAY_NS), (uint64_t)(4000 * DAY_NS),
					    UINT64_C(1) << 30 };

/* Where a round takes place. */
struct stage {
	struct place place;
	char store[2 * PLACE_BYTES], spool[2 * PLACE_BYTES];
	bool is_acked[MOST_CYCLES];
};

static uint64_t calls_of(uint64_t cycle)
{
	return 1 + cycle * 7 % 13;
}

/* The batch of a cycle, always the same. Some are days late. */
static struct fleet_batch batch_of(uint64_t cycle)
{
	struct fleet_batch b = { .server = 1 + (uint32_t)(cycle % 3), .cycle = cycle };
	int64_t at_ns = BASE_NS + (int64_t)cycle * CYCLE_NS;
	struct run_row run = { .server = b.server, .cycle = cycle };

	if (cycle % 11 == 10 && cycle > 240)
		at_ns -= (int64_t)(cycle % 7) * DAY_NS;
	run.at_wall_ns = at_ns;
	for (int64_t i = 0; i < STATEMENTS; i++) {
		struct statement_row row = { .server = b.server,
					     .at_wall_ns = at_ns,
					     .key = { 1, 2, i, true },
					     .span_ns = 1 };

		for (size_t c = 0; c < STATEMENT_COUNTERS; c++)
			row.counters[c] = NOT_MEASURED;
		row.counters[STATEMENT_CALLS] = COUNTER(calls_of(cycle));
		if (fleet_batch_add(&b, &table_statement, BLOCK_PUT, &row) != 0)
			abort();
	}
	if (fleet_batch_add(&b, &table_run, BLOCK_PUT, &run) != 0)
		abort();
	return b;
}

/* All that waits goes into the store, three at a time. */
static int drain(void *db, struct spool *s, struct err *err)
{
	bool has = true, was_there[3];
	int rc = 0;

	while (rc == 0 && has) {
		struct fleet_batch batches[3];
		const struct fleet_batch *all[3];
		size_t count = 0;

		while (rc == 0 && count < 3 && has) {
			rc = spool_next(s, &batches[count], &has, err);
			if (rc == 0 && has) {
				all[count] = &batches[count];
				count++;
			}
		}
		if (rc == 0 && count > 0)
			rc = fleet_store_sqlite.put(db, all, count, was_there, err);
		if (rc == 0)
			spool_done(s);
		for (size_t i = 0; i < count; i++)
			fleet_batch_free(&batches[i]);
	}
	return rc;
}

static int one_cycle(void *db, struct spool *s, uint64_t cycle, struct rng *r, struct err *err)
{
	struct fleet_batch b = batch_of(cycle);
	const struct fleet_batch *all[] = { &b };
	struct fleet_tidied tidied;
	struct wall now = { BASE_NS + (int64_t)cycle * CYCLE_NS };
	bool was_there;
	int rc;

	if (rng_below(r, 3) == 0)
		rc = spool_add(s, &b, err);
	else
		rc = fleet_store_sqlite.put(db, all, 1, &was_there, err);
	fleet_batch_free(&b);
	if (rc == 0 && write(STDOUT_FILENO, &cycle, sizeof(cycle)) != sizeof(cycle))
		_exit(0);
	if (rc == 0 && rng_below(r, 6) == 0)
		rc = drain(db, s, err);
	if (rc == 0 && rng_below(r, 4) == 0)
		rc = fleet_store_sqlite.tidy(db, now, &limits, 3000000, &tidied, err);
	return rc;
}

/* A collector from `cycle` on, until it is killed; it says each acknowledged cycle. */
static void collect(const struct stage *stage, uint64_t cycle, uint64_t seed)
{
	struct err err = ERR_EMPTY;
	struct spool *s = NULL;
	void *db = NULL;
	struct rng r;
	int rc;

	rng_seed(&r, seed);
	rc = fleet_store_sqlite.open(stage->store, FLEET_WRITE, &db, &err);
	if (rc == 0)
		rc = spool_open(stage->spool, SPOOL_BYTES_LEAST, &s, &err);
	while (rc == 0 && cycle < MOST_CYCLES)
		rc = one_cycle(db, s, cycle++, &r, &err);
	fprintf(stderr, "# a collector failed: %s\n", err.msg);
	_exit(1);
}

/* One life: from its first cycle, killed after a while. Returns the highest cycle it may have begun; 0: it failed. */
static uint64_t live_and_die(struct stage *stage, uint64_t from, struct rng *r)
{
	uint64_t cycle, last = from, awaited = rng_below(r, 60), seed = rng_next(r);
	struct timespec late = { 0, (long)rng_below(r, 8000000) };
	int acks[2], status = 0;
	pid_t pid;

	if (pipe(acks) != 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(acks[1], STDOUT_FILENO);
		close(acks[0]);
		close(acks[1]);
		collect(stage, from, seed);
	}
	close(acks[1]);
	for (uint64_t i = 0; i < awaited && read(acks[0], &cycle, sizeof(cycle)) == sizeof(cycle);
	     i++) {
		stage->is_acked[cycle] = true;
		last = cycle;
	}
	nanosleep(&late, NULL);
	kill(pid, SIGKILL);
	while (read(acks[0], &cycle, sizeof(cycle)) == sizeof(cycle)) {
		stage->is_acked[cycle] = true;
		last = cycle;
	}
	close(acks[0]);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? last + 1 : 0;
}

/* What the store says of itself at the end. */
struct counted {
	bool has_run[MOST_CYCLES];
	uint64_t runs, calls, rows;
};

static int count_run(void *owner, const void *row)
{
	const struct run_row *run = row;
	struct counted *c = owner;

	c->runs += !c->has_run[run->cycle];
	c->has_run[run->cycle] = true;
	return 0;
}

static int count_calls(void *owner, const void *row)
{
	const struct statement_row *statement = row;
	struct counted *c = owner;

	c->calls += statement->counters[STATEMENT_CALLS].value;
	c->rows++;
	return 0;
}

static bool complain(const char *what, const char *detail, uint64_t round)
{
	printf("# round %llu: %s%s\n", (unsigned long long)round, what, detail);
	return false;
}

static int tidy_to_the_end(void *db, struct err *err)
{
	struct fleet_tidied tidied = { .is_more = true };
	struct wall end = { BASE_NS + MOST_CYCLES * CYCLE_NS };
	int rc = 0;

	while (rc == 0 && tidied.is_more)
		rc = fleet_store_sqlite.tidy(db, end, &limits, 1000000000, &tidied, err);
	return rc;
}

/* Drains the spool, sums everything into days, and compares with what was acknowledged. */
static bool judge(struct stage *stage, uint64_t round, uint64_t *out_acked)
{
	static struct counted counted;
	uint64_t want = 0;
	struct err err = ERR_EMPTY;
	struct spool *s = NULL;
	void *db = NULL;
	int rc = fleet_store_sqlite.open(stage->store, FLEET_WRITE, &db, &err);

	memset(&counted, 0, sizeof(counted));
	if (rc == 0)
		rc = spool_open(stage->spool, SPOOL_BYTES_LEAST, &s, &err);
	if (rc == 0)
		rc = drain(db, s, &err);
	if (rc == 0)
		rc = tidy_to_the_end(db, &err);
	if (rc == 0)
		rc = fleet_store_sqlite.scan(db, &table_run, &FLEET_RANGE_ALL, count_run, &counted,
					     &err);
	if (rc == 0)
		rc = fleet_store_sqlite.scan(db, &table_statement_day, &FLEET_RANGE_ALL,
					     count_calls, &counted, &err);
	fleet_store_sqlite.close(db);
	spool_close(s);
	if (rc != 0)
		return complain("does not open, drain or tidy: ", err.msg, round);
	for (uint64_t i = 0; i < MOST_CYCLES; i++) {
		if (stage->is_acked[i] && !counted.has_run[i])
			return complain("an acknowledged batch is missing", "", round);
		*out_acked += stage->is_acked[i];
		want += counted.has_run[i] ? STATEMENTS * calls_of(i) : 0;
	}
	if (counted.calls != want) {
		char detail[64];

		snprintf(detail, sizeof(detail), "%lld calls",
			 (long long)counted.calls - (long long)want);
		return complain("too many or too few: ", detail, round);
	}
	if (strcmp(writer_integrity(stage->store), "ok") != 0)
		return complain("integrity_check: ", writer_integrity(stage->store), round);
	return true;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

static bool one_round(struct rng *r, uint64_t round, uint64_t *out_acked)
{
	static struct stage stage;
	uint64_t from = 1;
	bool is_good = true;

	memset(&stage, 0, sizeof(stage));
	if (!place_make_on_disk(&stage.place))
		return complain("there is no folder for it", "", round);
	snprintf(stage.store, sizeof(stage.store), "%s", place_file(&stage.place, "fleet.tare"));
	snprintf(stage.spool, sizeof(stage.spool), "%s", place_file(&stage.place, "spool"));
	for (int life = 0; life < LIVES && is_good; life++) {
		from = live_and_die(&stage, from, r);
		is_good = from != 0 || complain("a collector ended by itself", "", round);
		/* Time goes by while nobody collects; what it had begun is begun again. */
		from += rng_below(r, 200);
	}
	is_good = is_good && judge(&stage, round, out_acked);
	nftw(stage.place.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return is_good;
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 30;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
	uint64_t bad = 0, acked = 0;
	struct rng r;

	rng_seed(&r, seed);
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("1..1\n# seed %llu\n", (unsigned long long)seed);
	for (uint64_t i = 0; i < rounds && bad == 0; i++)
		bad += !one_round(&r, i, &acked);
	printf("# %llu rounds of %d lives, %llu batches acknowledged\n", (unsigned long long)rounds,
	       LIVES, (unsigned long long)acked);
	if (acked < rounds * 10)
		bad++;
	printf("%sok 1 - kill -9 at any instant: every acknowledged batch is counted once\n",
	       bad > 0 ? "not " : "");
	return bad > 0;
}
