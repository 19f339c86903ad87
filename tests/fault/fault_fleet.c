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
#include "fault/cycles.h"
#include "fault/place.h"
#include "fault/writer.h"

#define LIVES 4

/* Where a round takes place. */
struct stage {
	struct place place;
	char store[2 * PLACE_BYTES], spool[2 * PLACE_BYTES];
	bool is_acked[CYCLES_MOST];
};

static int one_cycle(void *db, struct spool *s, uint64_t cycle, struct rng *r, struct err *err)
{
	struct fleet_tidied tidied;
	struct wall now = { cycles_wall_ns(cycle) };
	int rc = rng_below(r, 3) == 0 ? cycles_spool(s, cycle, err) : cycles_put(db, cycle, err);

	if (rc == 0 && write(STDOUT_FILENO, &cycle, sizeof(cycle)) != sizeof(cycle))
		_exit(0);
	if (rc == 0 && rng_below(r, 6) == 0)
		rc = cycles_drain(db, s, err);
	if (rc == 0 && rng_below(r, 4) == 0)
		rc = fleet_store_sqlite.tidy(db, now, &cycles_limits, 3000000, &tidied, err);
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
	while (rc == 0 && cycle < CYCLES_MOST)
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

static bool complain(const char *what, const char *detail, uint64_t round)
{
	printf("# round %llu: %s%s\n", (unsigned long long)round, what, detail);
	return false;
}

/* Drains the spool, sums everything into days, and compares with what was acknowledged. */
static bool judge(struct stage *stage, uint64_t round, uint64_t *out_acked)
{
	static struct cycles_counted counted;
	struct err err = ERR_EMPTY;

	if (cycles_count(stage->store, stage->spool, &counted, &err) != 0)
		return complain("does not open, drain or tidy: ", err.msg, round);
	for (uint64_t i = 0; i < CYCLES_MOST; i++) {
		if (stage->is_acked[i] && !counted.has_run[i])
			return complain("an acknowledged batch is missing", "", round);
		*out_acked += stage->is_acked[i];
	}
	if (counted.calls != cycles_calls(&counted)) {
		char detail[64];

		snprintf(detail, sizeof(detail), "%lld calls",
			 (long long)counted.calls - (long long)cycles_calls(&counted));
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
	if (!place_make(&stage.place))
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
