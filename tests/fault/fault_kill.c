/* fault_kill.c - kill -9 at any instant: what a writer acknowledged is there, whole, and the file says unfinished.
 * Usage: fault_kill [ROUNDS [SEED]]   speaks TAP */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fault/place.h"
#include "fault/writer.h"
#include "store/store.h"

#define LONGEST_LIFE_US 40000
#define MOST_AWAITED	8

struct tally {
	uint64_t unborn, closed, saves;
	bool is_bad;
};

static void sleep_us(uint64_t us)
{
	struct timespec left = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

static bool complain(const char *what, const char *detail, uint64_t round)
{
	printf("# round %llu: %s%s\n", (unsigned long long)round, what, detail);
	return false;
}

/* What the file holds, against what was acknowledged. */
static bool judge(const struct writer_settings *settings, const struct ack *last, uint64_t round)
{
	struct recording recording = RECORDING_EMPTY;
	uint64_t saves;
	const char *differs = writer_differs(settings, &saves);
	const char *integrity;
	bool is_finished;

	if (differs[0] != '\0')
		return complain("not what was saved: ", differs, round);
	if (saves < last->saves || saves > last->saves + 1)
		return complain("an acknowledged save is missing", "", round);
	if (store_sqlite.load(settings->path, &recording, NULL) != 0)
		return complain("does not load twice", "", round);
	is_finished = recording.label.is_finished;
	recording_free(&recording);
	if (is_finished)
		return complain("says finished", "", round);
	integrity = writer_integrity(settings->path);
	if (strcmp(integrity, "ok") != 0)
		return complain("integrity_check: ", integrity, round);
	return true;
}

/* One life, one death. */
static bool one_round(struct place *place, struct rng *rng, uint64_t round, struct tally *tally)
{
	struct writer_settings settings = {
		.path = place_file(place, "kill.tare"),
		.seed = rng_next(rng),
		.saves = rng_below(rng, 4) == 0 ? 1 + rng_below(rng, 4) : UINT64_MAX,
		.limit_bytes = WRITER_LIMIT_BYTES,
		.changes = 1 + (uint32_t)rng_below(rng, 400),
		.may_overwrite = true, /* over what the round before left, -wal and all */
	};
	struct writer writer;
	struct ack ack, last = { 0 };
	bool is_born = false;

	if (round % 3 == 0)
		unlink(settings.path);
	if (!writer_start(&writer, &settings))
		return complain("cannot start", "", round);
	/* One in four may die before its file has its name; the others at any instant after some of their saves, however
	 * slow the machine is. */
	if (rng_below(rng, 4) > 0)
		for (uint64_t i = rng_below(rng, MOST_AWAITED); i < MOST_AWAITED; i++)
			is_born |= writer_ack(&writer, &last) && last.code == 0;
	if (last.code != 0 || last.is_paused)
		return complain("create or save failed: ", strerror(-last.code), round);
	sleep_us(rng_below(rng, LONGEST_LIFE_US));
	kill(writer.pid, SIGKILL);
	while (writer_ack(&writer, &ack)) {
		if (ack.code != 0 || ack.is_paused)
			return complain("create or save failed: ", strerror(-ack.code), round);
		is_born = true;
		last = ack;
	}
	writer_end(&writer, SIGKILL);
	tally->saves += last.saves;
	tally->closed += last.is_closed;
	if (is_born)
		return judge(&settings, &last, round);
	/* Killed while it was made: under its name there is nothing, or the old one, or a whole new one. */
	tally->unborn++;
	if (access(settings.path, F_OK) == 0 && strcmp(writer_integrity(settings.path), "ok") != 0)
		return complain("half made: ", writer_integrity(settings.path), round);
	return true;
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 30;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
	struct tally tally = { 0 };
	struct place place;
	struct rng rng;
	uint64_t bad = 0;

	rng_seed(&rng, seed);
	printf("1..1\n# seed %llu\n", (unsigned long long)seed);
	if (!place_make_on_disk(&place)) {
		printf("Bail out! no folder for the test\n");
		return 1;
	}
	for (uint64_t i = 0; i < rounds && bad == 0; i++)
		bad += !one_round(&place, &rng, i, &tally);
	printf("# %llu rounds, %llu saves acknowledged; killed before the first: %llu, after "
	       "closing: %llu\n",
	       (unsigned long long)rounds, (unsigned long long)tally.saves,
	       (unsigned long long)tally.unborn, (unsigned long long)tally.closed);
	if (tally.saves == 0)
		bad++;
	printf("%sok 1 - kill -9 at any instant leaves every acknowledged save in a whole file\n",
	       bad > 0 ? "not " : "");
	if (bad == 0)
		place_remove(&place);
	return bad > 0;
}
