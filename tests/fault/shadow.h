/* shadow.h - a recording in memory that changes at random, as an instrument would change it, and says what it
 * changed: what was saved must come back equal. Everything follows from the seed. */
#ifndef TARE_TESTS_SHADOW_H
#define TARE_TESTS_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile.h"
#include "core/recording.h"
#include "core/rng.h"

struct shadow_settings {
	struct profile_limits limits;
	uint64_t seed;
	uint32_t name_bytes; /* longest name */
	uint32_t
		number_bits; /* numbers are random below 2^bits; 0: all of them are the largest there is */
	bool has_odd_names; /* some names are not UTF-8, some empty, some hold NUL */
	uint32_t
		watched; /* most watched rows, when it has those of a watch too; they are beside the limits */
};

struct shadow; /* opaque; owned by whoever opened it */

/* NULL: out of memory. */
struct shadow *shadow_open(const struct shadow_settings *settings);

/* Accepts NULL. */
void shadow_close(struct shadow *s);

/* `count` random changes: rows come, change and go; now and then the timeline halves. */
void shadow_step(struct shadow *s, uint32_t count);

/* Fills every limit, in random order; a watch, more or less. */
void shadow_fill(struct shadow *s);

/* Appends what changed since the last shadow_saved(); strings are borrowed until the next step. False: out of memory. */
bool shadow_changes(struct shadow *s, struct changes *out);

/* What shadow_changes() gave is in the store. */
void shadow_saved(struct shadow *s);

/* The label that goes with the last step: `saves` and the sums are its number. Strings are static. */
struct label shadow_label(const struct shadow *s, uint64_t number);

/* "" when the recording is what the shadow is, but for the label; else what differs. */
const char *shadow_differs(const struct shadow *s, const struct recording *r);

#endif
