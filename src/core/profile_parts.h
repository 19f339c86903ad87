/* profile_parts.h - the insides of a profile that its files share. Internal to core. */
#ifndef TARE_CORE_PROFILE_PARTS_H
#define TARE_CORE_PROFILE_PARTS_H

#include "core/profile.h"

/* An open group's sample. */
struct held {
	uint32_t node;	 /* counted; PATHS_NONE: nothing was kept in it yet */
	bool is_counted; /* the same tick counts for a group that closed before */
};

#define HELD_EMPTY ((struct held){ .node = PATHS_NONE })

/* A path on its way in that had to be shortened. */
struct shortened {
	char deep_text[32], full_text[32]; /* names of the markers in `frames` */
	struct frame frames[PROFILE_MAX_DEPTH];
};

struct profile {
	struct profile *host; /* borrowed; NULL: its paths are its own */
	profile_yield_fn yield;
	void *yields; /* borrowed: of `yield` */
	struct profile_limits limits;
	struct rng rng;
	struct keep keep[STATE_COUNT]; /* a group is of one state */
	struct timeline timeline;
	struct contexts contexts;
	struct paths *paths;	     /* owned, or the host's */
	struct shortened *shortened; /* likewise */
	struct held held[STATE_COUNT];
	uint32_t no_stack, cut; /* nodes of our own, counted */
	uint32_t batches;	/* in use */
	uint64_t weight_ns;	/* of all ticks */
	uint64_t kept;
	bool is_asked; /* profile_wants() has been called for the tick that comes */
};

/* A marker of ours as a frame. */
static inline struct frame profile_marker(struct str name)
{
	struct frame f = { .kind = FRAME_MARKER, .name = name };

	f.key = frame_key(&f, 0);
	return f;
}

/* ---- profile_room.c ---- */

/* Makes room for elapsed time `at_ns`: grows while it may, then halves as often as needed. */
void profile_reach(struct profile *p, uint64_t at_ns);

/* Room for a context that is new, if it may have it: else the two lightest will merge. */
void profile_grow_contexts(struct profile *p, uint32_t node);

/* The node of a kept tick's path, with a reference: stored, cut, or "[no stack]". */
uint32_t profile_add_path(struct profile *p, const struct frame *frames, size_t depth);

#endif
