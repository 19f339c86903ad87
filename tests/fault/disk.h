/* disk.h - a disk that fails at its n-th operation, and that remembers what was done to it. It stands between this
 * program (SQLite's library included) and the system, and sees the files below one folder only. One thread. */
#ifndef TARE_TESTS_DISK_H
#define TARE_TESTS_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum disk_op {
	DISK_OPEN,
	DISK_READ,
	DISK_WRITE,
	DISK_CUT,    /* ftruncate */
	DISK_ROOM,   /* fallocate */
	DISK_SYNC,   /* of a file or of a folder */
	DISK_RENAME, /* or link */
	DISK_REMOVE,
	DISK_OPS
};

#define DISK_ANY     ((1u << DISK_OPS) - 1)
#define DISK_CHANGES (DISK_ANY & ~(1u << DISK_READ | 1u << DISK_OPEN))

struct disk_fault {
	uint64_t at;	/* the n-th operation of these kinds, from 1; 0: none */
	unsigned kinds; /* 1 << enum disk_op */
	int error;	/* errno */
	bool is_sticky; /* and all after it */
	bool is_short;	/* a write puts half of its bytes first, as a disk that fills up does */
};

/* Only names that begin with `prefix` count from now on (borrowed; NULL: none). */
void disk_watch(const char *prefix);

/* Counts anew, and fails as it says. */
void disk_set(const struct disk_fault *fault);

/* Nothing fails. */
void disk_heal(void);

/* Operations seen, and failed, since disk_set(). */
uint64_t disk_seen(void);
uint64_t disk_fired(void);

/* Something that was done to a file, after it was done. */
struct disk_event {
	enum disk_op op;
	const char *
		path; /* of an open that made a file, of a rename, a removal, or a folder's sync; else of the descriptor */
	const char *to; /* DISK_RENAME */
	bool is_link;	/* DISK_RENAME: the old name stays */
	bool is_folder; /* DISK_SYNC */
	const void *bytes;
	uint64_t at, len; /* DISK_WRITE; DISK_CUT and DISK_ROOM: `len` is the new size */
};

/* Who is told of each change: creations, writes, cuts, syncs, names. NULL: nobody. */
void disk_tell(void (*see)(void *owner, const struct disk_event *event), void *owner);

#endif
