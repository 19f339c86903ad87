/* analysis_walk.h - the walk behind analysis.h, for its two .c files only: frames into functions and threads, contexts
 * into their sums. */
#ifndef TARE_CORE_ANALYSIS_WALK_H
#define TARE_CORE_ANALYSIS_WALK_H

#include "core/analysis.h"

typedef uint64_t batches_ns[BATCH_COUNT];

/* What is needed only while reading. Owns its arrays. */
struct walk {
	const struct recording *r;
	struct analysis *a;
	bool is_of_state; /* only `state` counts */
	enum state state;
	uint32_t *group_of_frame;  /* place of a frame -> function, or thread for FRAME_THREAD */
	uint32_t *frame_of_node;   /* place of a node -> place of its frame */
	uint32_t *parent_of_node;  /* place of a node -> place of its parent, or NO_ID */
	uint32_t *seen_in;	   /* function -> last context it was seen in, from 1 */
	uint64_t *own_of_frame_ns; /* to choose the line */
	uint64_t *all_of_frame_ns;
	batches_ns *own_ns, *with_ns, *thread_ns;
	batches_ns whole_ns, unnamed_ns;
	uint64_t kept[BATCH_COUNT]; /* samples by batch */
	uint32_t no_stack_function; /* where time goes whose path is only a thread */
	uint32_t no_thread;	    /* where time goes whose path has none */
};

/* Fills functions, threads and sums of w->a from w->r, with their shares, in no order yet. As analysis_open(). */
int walk_contexts(struct walk *w, struct err *err);

/* Accepts the empty value, and may run twice. */
void walk_free(struct walk *w);

/* Sums of a damaged recording stop at the top instead of beginning again at 0. */
static inline void add_ns(uint64_t *sum, uint64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = UINT64_MAX;
}

#endif
