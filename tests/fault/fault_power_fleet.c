/* fault_power_fleet.c - the power goes between any two operations of a collector's life on a fleet's store and its spool: every
 * batch that was acknowledged is counted once, and nothing is damaged.
 * Usage: fault_power_fleet [STATES [SEED]]   speaks TAP */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fault/cycles.h"
#include "fault/place.h"
#include "fault/power.h"
#include "fault/writer.h"

#define CYCLES		   40
#define STATES_PER_SESSION 250
#define NAME		   "fleet.tare"

static struct place place, cut;

/* Which cycles were acknowledged, in the order of their notes. */
struct session {
	struct power *power;
	uint64_t acked[CYCLES + 1];
	uint64_t acked_count;
	uint64_t waiting[CYCLES]; /* in the spool, and not synced yet */
	uint64_t waiting_count;
};

static bool complain(const char *what, const char *detail)
{
	printf("# %s%s\n", what, detail);
	return false;
}

/* From here on these cycles are promised. */
static void acknowledge(struct session *s, uint64_t cycle)
{
	s->acked[s->acked_count++] = cycle;
	power_note(s->power, 1 + s->acked_count);
}

/* What was spooled is promised once it is synced. */
static int sync_spool(struct session *s, struct spool *spool, struct err *err)
{
	int rc = spool_sync(spool, err);

	for (uint64_t i = 0; i < s->waiting_count && rc == 0; i++)
		acknowledge(s, s->waiting[i]);
	if (rc == 0)
		s->waiting_count = 0;
	return rc;
}

static int one_cycle(struct session *s, void *db, struct spool *spool, uint64_t cycle,
		     struct rng *r, struct err *err)
{
	struct wall now = { cycles_wall_ns(cycle) };
	struct fleet_tidied tidied;
	int rc;

	if (rng_below(r, 3) == 0) {
		rc = cycles_spool(spool, cycle, err);
		s->waiting[s->waiting_count++] = cycle;
	} else {
		rc = cycles_put(db, cycle, err);
		if (rc == 0)
			acknowledge(s, cycle);
	}
	if (rc == 0 && rng_below(r, 3) == 0)
		rc = sync_spool(s, spool, err);
	if (rc == 0 && rng_below(r, 5) == 0) {
		rc = sync_spool(s, spool, err);
		if (rc == 0)
			rc = cycles_drain(db, spool, err);
	}
	if (rc == 0 && rng_below(r, 4) == 0)
		rc = fleet_store_sqlite.tidy(db, now, &cycles_limits, 3000000, &tidied, err);
	return rc;
}

/* A whole life, logged. The spool lies in the store's own folder. */
static bool live(struct session *s, struct rng *r)
{
	struct err err = ERR_EMPTY;
	struct spool *spool = NULL;
	void *db = NULL;
	int rc;

	*s = (struct session){ 0 };
	place_empty(&place);
	s->power = power_begin(place.folder);
	if (s->power == NULL)
		return complain("out of memory", "");
	rc = fleet_store_sqlite.open(place_file(&place, NAME), FLEET_WRITE, &db, &err);
	if (rc == 0)
		rc = spool_open(place.folder, SPOOL_BYTES_LEAST, &spool, &err);
	power_note(s->power, 1);
	for (uint64_t i = 0, cycle = 1; i < CYCLES && rc == 0; i++) {
		cycle += 1 + rng_below(r, 8);
		rc = one_cycle(s, db, spool, cycle, r, &err);
	}
	spool_close(spool);
	fleet_store_sqlite.close(db);
	power_end(s->power);
	return rc == 0 || complain("cannot collect: ", err.msg);
}

static bool judge(const struct session *s, uint64_t note)
{
	static struct cycles_counted counted;
	const char *path = place_file(&cut, NAME);
	struct err err = ERR_EMPTY;

	if (access(path, F_OK) != 0)
		return note == 0 || complain("it is gone", "");
	if (cycles_count(path, cut.folder, &counted, &err) != 0)
		return complain("does not open, drain or tidy: ", err.msg);
	for (uint64_t i = 0; i + 1 < note; i++)
		if (!counted.has_run[s->acked[i]])
			return complain("an acknowledged batch is missing", "");
	if (counted.calls != cycles_calls(&counted))
		return complain("too many or too few calls", "");
	return strcmp(writer_integrity(place_file(&cut, NAME)), "ok") == 0 ||
	       complain("integrity_check: ", writer_integrity(place_file(&cut, NAME)));
}

static bool cut_session(struct session *s, uint64_t states, struct rng *r, uint64_t *done)
{
	uint64_t count = power_count(s->power), made = 0, note;

	for (uint64_t at = 0; at <= count; at++) {
		power_go(s->power, at, &note);
		for (; made < states * (at + 1) / (count + 1); made++) {
			++*done;
			if (power_cut(s->power, r, cut.folder) && judge(s, note))
				continue;
			printf("# at operation %llu of %llu, state %llu\n", (unsigned long long)at,
			       (unsigned long long)count, (unsigned long long)*done);
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	uint64_t states = argc > 1 ? strtoull(argv[1], NULL, 10) : 500;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
	uint64_t done = 0, operations = 0;
	bool is_good = true;
	struct rng rng;

	rng_seed(&rng, seed);
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("1..1\n# seed %llu\n", (unsigned long long)seed);
	if (!place_make(&place) || !place_make(&cut)) {
		printf("Bail out! no folder for the test\n");
		return 1;
	}
	while (is_good && done < states) {
		uint64_t left = states - done;
		struct session session;

		is_good =
			live(&session, &rng) &&
			cut_session(&session, left < STATES_PER_SESSION ? left : STATES_PER_SESSION,
				    &rng, &done);
		operations += power_count(session.power);
		power_free(session.power);
	}
	printf("# %llu states at %llu operations\n", (unsigned long long)done,
	       (unsigned long long)operations);
	printf("%sok 1 - a power cut loses no acknowledged batch and counts none twice\n",
	       is_good ? "" : "not ");
	if (is_good) {
		place_remove(&place);
		place_remove(&cut);
	}
	return is_good ? 0 : 1;
}
