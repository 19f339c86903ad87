/* fault_churn.c - rows that come and go for a long time, in a recording that is full: it stays within its limit and
 * never needs a larger file. Usage: fault_churn [SAVES [SEED]]   speaks TAP; what it says of size is for reading. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault/place.h"
#include "fault/shadow.h"
#include "store/budget.h"
#include "store/store.h"

#define LIMIT_BYTES (UINT64_C(1) << 20)
#define NAME	    "churn.tare"

/* Saves one after the other; false, with words, when a rule is broken. */
static bool churn(struct place *place, struct shadow *shadow, void *db, uint64_t saves)
{
	struct changes changes = CHANGES_EMPTY;
	struct store_saved saved;
	struct err err = ERR_EMPTY;
	uint64_t most = 0;

	for (uint64_t i = 1; i <= saves; i++) {
		struct label label = shadow_label(shadow, i);
		uint64_t bytes;

		changes_reset(&changes);
		if (!shadow_changes(shadow, &changes))
			return false;
		if (store_sqlite.save(db, &label, &changes, &saved, &err) != 0 || saved.is_paused) {
			printf("# save %llu: %s\n", (unsigned long long)i, err.msg);
			return false;
		}
		shadow_saved(shadow);
		bytes = place_bytes(place, NAME);
		most = bytes > most ? bytes : most;
		/* Mostly a little goes and comes; now and then much goes, and all comes back. */
		shadow_step(shadow, i % 20 == 0 ? 4000 : 100);
		if (i % 10 == 0)
			shadow_fill(shadow);
	}
	printf("# most bytes %llu of %llu\n", (unsigned long long)most,
	       (unsigned long long)LIMIT_BYTES);
	changes_free(&changes);
	return most <= LIMIT_BYTES;
}

static bool comes_back(struct place *place, uint64_t saves)
{
	struct recording r = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	bool is_good =
		store_sqlite.load(place_file(place, NAME), &r, &err) == 0 && r.label.saves == saves;

	printf("# closed: %llu bytes %s\n", (unsigned long long)r.file_bytes, err.msg);
	recording_free(&r);
	return is_good;
}

int main(int argc, char **argv)
{
	uint64_t saves = argc > 1 ? strtoull(argv[1], NULL, 10) : 500;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
	struct shadow_settings settings = { .seed = seed, .name_bytes = 60, .number_bits = 46 };
	struct store_limits limits = { LIMIT_BYTES, false };
	struct shadow *shadow;
	struct place place;
	void *db = NULL;
	bool is_good;

	printf("1..1\n# seed %llu\n", (unsigned long long)seed);
	if (store_sqlite.fit(LIMIT_BYTES, 256, &settings.limits, NULL) != 0 || !place_make(&place))
		return 1;
	shadow = shadow_open(&settings);
	if (shadow == NULL ||
	    store_sqlite.create(place_file(&place, NAME), &limits, &db, NULL) != 0)
		return 1;
	shadow_fill(shadow);
	is_good = churn(&place, shadow, db, saves);
	store_sqlite.close(db);
	is_good = is_good && comes_back(&place, saves);
	printf("%sok 1 - a full recording stays within its limit, whatever comes and goes\n",
	       is_good ? "" : "not ");
	shadow_close(shadow);
	place_remove(&place);
	return !is_good;
}
