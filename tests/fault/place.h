/* place.h - a folder of its own for a test, gone at the end. */
#ifndef TARE_TESTS_PLACE_H
#define TARE_TESTS_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#define PLACE_BYTES 256

struct place {
	char folder[PLACE_BYTES];
	char path[2 * PLACE_BYTES]; /* of the last place_file() */
};

/* Makes the folder, in memory where that can be, for tests that must be quick. False: it cannot. */
bool place_make(struct place *p);

/* Makes the folder below $TMPDIR or /tmp: on a disk. */
bool place_make_on_disk(struct place *p);

/* The path of a name in it, good until the next call. */
const char *place_file(struct place *p, const char *name);

/* Bytes of a recording there, with -wal and -shm. */
uint64_t place_bytes(struct place *p, const char *name);

/* How many files are in it. */
int place_files(struct place *p);

/* Removes the files in it. */
void place_empty(struct place *p);

/* Removes it with all that is in it. */
void place_remove(struct place *p);

#endif
