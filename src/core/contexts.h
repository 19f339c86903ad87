/* contexts.h - the whole run in at most M entries: an entry is a full path with an exact total.
 * When an entry is wanted and none is free, the two lightest merge (ties: lowest index): weights add, the
 * path that stays is drawn in proportion to weight. Merging by a proportional coin is unbiased for any
 * pair, so the choice of victims cannot bias. After unbiased sampling in Deville and Tillé, "Unequal
 * probability sampling without replacement through a splitting method" (1998), which this is a case of.
 * Pure, one thread at a time. */
#ifndef TARE_CORE_CONTEXTS_H
#define TARE_CORE_CONTEXTS_H

#include "core/dirty.h"
#include "core/paths.h"
#include "core/recording.h"
#include "core/rng.h"

struct context {
	uint32_t node; /* the path, counted; PATHS_NONE: a free entry */
	uint64_t
		certain_ns; /* received while it bore its present path: never above the truth, which is
				  the weight that its samples stood for (how well they do is for stats to say) */
	uint64_t uncertain_ns; /* came by merging; certain + uncertain is an unbiased estimate */
	uint64_t weight_ns[STATE_COUNT]; /* the same sum by state */
	uint64_t kept;			 /* samples */
	uint64_t batch_ns[BATCH_COUNT];	 /* the same sum over equal spans of the run */
};

struct contexts {
	struct context *entries; /* owned, `capacity` long */
	uint64_t
		*totals_ns; /* owned: certain + uncertain of each, CONTEXTS_FREE for a free entry */
	uint32_t capacity;  /* M */
	uint32_t used;	    /* entries in use */
	uint64_t merges;    /* how often two became one */
	bool has_moved;	    /* entries have other ids than when the marks were last forgotten */
	uint32_t *by_node;  /* owned: hash table, node -> entry */
	uint32_t by_node_mask;
	struct dirty dirty;
};

#define CONTEXTS_FREE UINT64_MAX

/* Takes all memory at once; `capacity` from 2 to 2^24. -ENOMEM, -EINVAL. */
int contexts_init(struct contexts *c, uint32_t capacity);

/* Gives back every reference to `p` and the memory. Accepts the empty value, and may run twice. */
void contexts_free(struct contexts *c, struct paths *p);

/* The entry of this path's node, or PATHS_NONE. */
uint32_t contexts_find(const struct contexts *c, uint32_t node);

/* Finds or makes the entry of `node`, merging the two lightest when none is free. Takes its own reference. */
uint32_t contexts_entry(struct contexts *c, struct paths *p, struct rng *r, uint32_t node);

/* Adds a weight to an entry, in one state and one batch: it is certain for as long as the entry bears this path. */
void contexts_add(struct contexts *c, uint32_t entry, enum state state, uint32_t batch,
		  uint64_t weight_ns);

/* Counts one kept sample for an entry. */
void contexts_count(struct contexts *c, uint32_t entry);

/* Merges the two lightest entries. False when fewer than two are in use. */
bool contexts_merge_lightest(struct contexts *c, struct paths *p, struct rng *r);

/* The timeline halved: neighbouring batches add up, `batches` (a power of two, at most BATCH_COUNT) are in use. */
void contexts_halve_batches(struct contexts *c, uint32_t batches);

/* From now on it has `capacity` entries; the lightest merge until the rest fits, and then ids may change. -ENOMEM: it has
 * as many as before. */
int contexts_resize(struct contexts *c, struct paths *p, struct rng *r, uint32_t capacity);

/* Did an entry that may have been saved go, or move? */
bool contexts_have_gone(const struct contexts *c);

/* Appends the entries that changed since contexts_saved() as rows of task `task`, freed ones of TASK_RUN as deleted
 * ids: other tasks' rows are cleared as a whole. -ENOMEM: `out` is as it was. */
int contexts_changes(const struct contexts *c, uint32_t task, struct changes *out);

/* Marks every entry in use as changed. */
void contexts_mark_all(struct contexts *c);

/* What contexts_changes() gave is saved: forgets the marks. */
void contexts_saved(struct contexts *c);

#endif
