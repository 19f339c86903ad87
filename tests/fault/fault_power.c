/* fault_power.c - the power goes between any two operations of a recording's life, from the making over what the cut before
 * it left to its end: what was acknowledged is there, whole, and nothing is damaged.
 * Usage: fault_power [STATES [SEED]]   speaks TAP */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "core/scoped.h"
#include "fault/digest.h"
#include "fault/here.h"
#include "fault/place.h"
#include "fault/power.h"
#include "fault/writer.h"
#include "store/store.h"

#define LIMIT_BYTES	   (UINT64_C(832) << 10)
#define SAVES		   16
#define STATES_PER_SESSION 800
#define LOOKS		   60 /* for a state to begin the next life over */
#define NAME		   "job.tare"

/* One recording's life, and what it was after each save. */
struct session {
	struct power *power;
	uint64_t digests[SAVES + 1]; /* 0: made and never saved */
	uint64_t old_digest;
	bool has_old; /* there was one before it */
};

struct tally {
	uint64_t states, operations, sessions, absent, old, unsynced, half;
};

static struct place place, cut, next;

static bool complain(const char *what, const char *detail)
{
	printf("# %s%s\n", what, detail);
	return false;
}

/* Loads what is at `path`. *out_digest: what it is. False: it does not load. */
static bool load(const char *path, uint64_t *out_digest, uint64_t *out_saves)
{
	struct recording r = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;

	if (store_sqlite.load(path, &r, &err) != 0)
		return complain("does not load: ", err.msg);
	*out_digest = digest_of(&r);
	*out_saves = r.label.saves;
	recording_free(&r);
	return true;
}

/* What a save left, against the shadow and for later. */
static bool keep_digest(struct session *s, const struct here *h)
{
	struct recording r = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	bool is_good;

	if (store_sqlite.load(place_file(&place, NAME), &r, &err) != 0)
		return complain("does not load: ", err.msg);
	is_good = r.label.saves == h->saves &&
		  (h->saves == 0 || shadow_differs(h->shadow, &r)[0] == '\0');
	s->digests[h->saves] = digest_of(&r);
	recording_free(&r);
	return is_good || complain("not what was saved", "");
}

/* A program that sits on the file, so that -wal cannot be played into it. */
static void sit(sqlite3 **sitter)
{
	if (sqlite3_open(place_file(&place, NAME), sitter) != SQLITE_OK ||
	    sqlite3_exec(*sitter, "BEGIN; SELECT count(*) FROM node", NULL, NULL, NULL) !=
		    SQLITE_OK)
		abort();
}

static void leave(sqlite3 **sitter)
{
	sqlite3_close(*sitter);
	*sitter = NULL;
}

static bool save_all(struct session *s, struct here *h, struct rng *r)
{
	uint64_t sits_at = 2 + rng_below(r, SAVES / 2), leaves_at = sits_at + 1 + rng_below(r, 4);
	sqlite3 *sitter = NULL;
	bool is_good = true;

	while (h->saves < SAVES && is_good) {
		struct store_saved saved = { 0 };
		struct err err = ERR_EMPTY;

		if (h->saves == sits_at && sitter == NULL)
			sit(&sitter);
		if (here_save(h, 1 + (uint32_t)rng_below(r, 60), &saved, &err) != 0)
			is_good = complain("cannot save: ", err.msg);
		else if (!saved.is_paused)
			power_note(s->power, 1 + h->saves);
		if (sitter != NULL && (h->saves >= leaves_at || saved.is_paused))
			leave(&sitter);
		if (is_good && !saved.is_paused)
			is_good = keep_digest(s, h);
	}
	leave(&sitter);
	return is_good;
}

/* A whole life, logged. */
static bool live(struct session *s, struct rng *r)
{
	struct err err = ERR_EMPTY;
	struct here h;
	bool is_good;

	*s = (struct session){ 0 };
	if (access(place_file(&place, NAME), F_OK) == 0) {
		uint64_t saves;

		s->has_old = true;
		if (!load(place.path, &s->old_digest, &saves))
			return false;
	}
	s->power = power_begin(place.folder);
	if (s->power == NULL)
		return complain("out of memory", "");
	is_good = here_create(&h, place_file(&place, NAME), rng_next(r), LIMIT_BYTES, &err) == 0 ||
		  complain("cannot make: ", err.msg);
	power_note(s->power, 1);
	is_good = is_good && keep_digest(s, &h) && save_all(s, &h, r);
	here_end(&h);
	power_end(s->power);
	return is_good;
}

/* What the disk holds, against what was promised. `note`: 0 nothing, 1 that it is there, 1 + n that n saves are. */
static bool judge(const struct session *s, uint64_t note, struct tally *tally)
{
	const char *path = place_file(&cut, NAME);
	uint64_t digest, saves;
	const char *integrity;

	if (access(path, F_OK) != 0) {
		tally->absent++;
		return note == 0 || complain("it is gone", "");
	}
	if (!load(path, &digest, &saves))
		return false;
	if (note == 0 && s->has_old && digest == s->old_digest) {
		tally->old++;
	} else {
		if (saves > SAVES || digest != s->digests[saves])
			return complain("it holds what was never saved", "");
		if (saves + 1 < note)
			return complain("an acknowledged save is missing", "");
		tally->unsynced += saves + 1 > note;
	}
	integrity = writer_integrity(path);
	return strcmp(integrity, "ok") == 0 || complain("integrity_check: ", integrity);
}

/* The next life begins over one state of this one. */
static void hand_over(void)
{
	struct place emptied = place;

	place = next;
	next = emptied;
}

/* Is what waits in `next` a database that is half of one without its -wal? */
static bool is_half(void)
{
	struct recording r = RECORDING_EMPTY;
	char wal[2 * PLACE_BYTES], aside[2 * PLACE_BYTES];
	bool is_whole;

	snprintf(wal, sizeof(wal), "%s", place_file(&next, NAME "-wal"));
	snprintf(aside, sizeof(aside), "%s", place_file(&next, "aside"));
	if (rename(wal, aside) != 0)
		return false;
	is_whole = store_sqlite.load(place_file(&next, NAME), &r, NULL) == 0;
	recording_free(&r);
	return rename(aside, wal) == 0 && !is_whole;
}

/* Looks for the state that the next life begins over: one that is hard to replace, if there is one among a few. */
static bool look_ahead(const struct session *s, uint64_t at, struct rng *r, bool *has_found)
{
	uint64_t every = power_count(s->power) / LOOKS + 1;

	if (*has_found || at % every != every / 2)
		return true;
	if (!power_cut(s->power, r, next.folder))
		return complain("cannot make a state", "");
	*has_found = is_half();
	return true;
}

static bool cut_session(struct session *s, uint64_t states, struct rng *r, struct tally *tally)
{
	uint64_t count = power_count(s->power), done = 0, note;
	bool has_found = false;

	for (uint64_t at = 0; at <= count; at++) {
		uint64_t until = states * (at + 1) / (count + 1);

		power_go(s->power, at, &note);
		if (!look_ahead(s, at, r, &has_found))
			return false;
		for (; done < until; done++) {
			if (!power_cut(s->power, r, cut.folder))
				return complain("cannot make a state", "");
			tally->states++;
			if (judge(s, note, tally))
				continue;
			printf("# at operation %llu of %llu, state %llu\n", (unsigned long long)at,
			       (unsigned long long)count, (unsigned long long)tally->states);
			return false;
		}
	}
	tally->operations += count;
	tally->half += has_found;
	tally->sessions++;
	return true;
}

int main(int argc, char **argv)
{
	uint64_t states = argc > 1 ? strtoull(argv[1], NULL, 10) : 5000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
	struct tally tally = { 0 };
	bool is_good = true;
	struct rng rng;

	rng_seed(&rng, seed);
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("1..1\n# seed %llu\n", (unsigned long long)seed);
	if (!place_make(&place) || !place_make(&cut) || !place_make(&next)) {
		printf("Bail out! no folder for the test\n");
		return 1;
	}
	while (is_good && tally.states < states) {
		uint64_t left = states - tally.states;
		struct session session;

		is_good =
			live(&session, &rng) &&
			cut_session(&session, left < STATES_PER_SESSION ? left : STATES_PER_SESSION,
				    &rng, &tally);
		power_free(session.power);
		if (is_good)
			hand_over();
	}
	printf("# %llu states at %llu operations of %llu recordings; not there yet %llu, the old "
	       "one still %llu, more "
	       "than was promised %llu; lives over half a file %llu\n",
	       (unsigned long long)tally.states, (unsigned long long)tally.operations,
	       (unsigned long long)tally.sessions, (unsigned long long)tally.absent,
	       (unsigned long long)tally.old, (unsigned long long)tally.unsynced,
	       (unsigned long long)tally.half);
	printf("%sok 1 - a power cut loses no acknowledged save and damages nothing\n",
	       is_good ? "" : "not ");
	if (is_good) {
		place_remove(&place);
		place_remove(&cut);
		place_remove(&next);
	}
	return is_good ? 0 : 1;
}
