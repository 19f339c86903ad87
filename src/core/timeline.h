/* timeline.h - at most N slots over the whole run, each an equal span of elapsed time. A sample beyond the
 * N-th halves it: neighbours merge and a slot spans twice the time; weights always add up exactly.
 * Slot i is the time (i x span, (i + 1) x span]; time 0 is in slot 0, and what was not reached is in the last.
 * P(a slot shows x) = W_x / W at every instant, in the open slot too: a newcomer of weight w takes a slot
 * of weight W (w included) with probability w / W, and of two that merge the first's context stays with
 * probability W1 / (W1 + W2). This is weighted reservoir sampling of one item (Chao, 1982). */
#ifndef TARE_CORE_TIMELINE_H
#define TARE_CORE_TIMELINE_H

#include "core/dirty.h"
#include "core/paths.h"
#include "core/recording.h"
#include "core/rng.h"

#define TIMELINE_MIN_SLOTS 16u
#define TIMELINE_MAX_SLOTS 65536u

struct slot {
	uint32_t node; /* the context it shows, counted; PATHS_NONE: nothing kept here */
	uint32_t kept; /* samples (saturating) */
	uint32_t lost; /* (saturating) */
	uint64_t weight_ns[STATE_COUNT];  /* of closed groups */
	uint64_t pending_ns[STATE_COUNT]; /* of open groups: (unsampled) until they close */
};

struct timeline {
	struct slot *slots; /* owned */
	uint32_t count;	    /* N, a power of two */
	uint32_t used;	    /* slots up to the last one touched */
	uint32_t halvings;
	uint64_t base_ns; /* span of a slot at the start */
	uint64_t span_ns; /* span of a slot now: base << halvings */
	struct {
		uint32_t from, to; /* slots [from, to) may hold pending weight */
	} pending[STATE_COUNT];
	bool has_shrunk; /* halved since the marks were last forgotten */
	struct dirty dirty;
};

/* `count`: a power of two from 16 to 65536; `base_ns` > 0. -EINVAL, -ENOMEM. */
int timeline_init(struct timeline *t, uint32_t count, uint64_t base_ns);

/* Gives back every reference to `p` and the memory. Accepts the empty value, and may run twice. */
void timeline_free(struct timeline *t, struct paths *p);

/* Makes room for elapsed time `at_ns`: halves as often as needed. Returns how often. */
uint32_t timeline_reach(struct timeline *t, struct paths *p, struct rng *r, uint64_t at_ns);

/* Halves once, whether or not it is full. */
void timeline_halve(struct timeline *t, struct paths *p, struct rng *r);

/* From now on it has `count` slots, a power of two from 16 to 65536; what lies beyond them is halved first. -ENOMEM: it
 * has as many as before, and all weights. */
int timeline_resize(struct timeline *t, struct paths *p, struct rng *r, uint32_t count);

/* Puts a weight of the state's open group into the slots of (from_ns, at_ns], in proportion, the remainder to the last;
 * from_ns == at_ns puts all into one slot. timeline_reach(at_ns) must have been called. */
void timeline_put(struct timeline *t, uint64_t from_ns, uint64_t at_ns, enum state state,
		  uint64_t weight_ns);

/* A sample was kept at, or lost before, `at_ns`. */
void timeline_count_kept(struct timeline *t, uint64_t at_ns);
void timeline_count_lost(struct timeline *t, uint64_t at_ns, uint64_t lost);

/* Each state has a group of its own, so that a job that mostly waits takes nothing from how well its running is known. */
struct timeline_group {
	enum state state;
	uint32_t node; /* the context that gets its weight */
};

/* Closes the open group of one state: its pending weight becomes weight of the slots, with a coin for who is shown; `each`
 * (may be NULL) is told slot and weight before they are cleared. */
typedef void (*timeline_closed_fn)(void *owner, uint32_t slot, uint64_t weight_ns);
void timeline_close_group(struct timeline *t, struct paths *p, struct rng *r,
			  const struct timeline_group *group, timeline_closed_fn each, void *owner);

/* Appends the slots that changed since timeline_saved() as rows of task `task`; every slot below `used` has had a
 * row, an empty one too. After a halving of TASK_RUN `slots_from` is set. -ENOMEM: `out` is as it was. */
int timeline_changes(const struct timeline *t, uint32_t task, struct changes *out);

/* Marks every slot there is as changed. */
void timeline_mark_all(struct timeline *t);

/* What timeline_changes() gave is saved: forgets the marks. */
void timeline_saved(struct timeline *t);

#endif
