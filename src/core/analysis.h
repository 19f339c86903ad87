/* analysis.h - a recording turned round: from full paths with weights to functions and threads with shares. Shares
 * are of the weight that samples cover; what none covers is (unsampled), a share of the task's clock, and never
 * belongs to a function. What a path waited for is no place: its weight is the function's that waited, which learns why. The same function in several threads is one. Memory is bounded by the recording's rows;
 * nothing recurses; the same recording gives the same order. Pure. */
#ifndef TARE_CORE_ANALYSIS_H
#define TARE_CORE_ANALYSIS_H

#include "core/err.h"
#include "core/recording.h"
#include "core/stats.h"

/* What was weighed in one respect. */
struct weighed {
	uint64_t ns;
	uint64_t state_ns[STATE_COUNT]; /* the same by state */
	uint64_t kept;			/* samples */
	struct share share;		/* of the sampled weight, with its error */
};

/* One function, or one marker in square brackets. Two are the same when kind, name, module and file are. */
struct function {
	struct str name; /* borrowed from the recording; every "[cut k]" is "[cut]" */
	struct str module, file;
	enum frame_kind kind; /* never FRAME_THREAD */
	uint32_t line;	 /* where most of its own time is, else most with callees; 0: not known */
	bool is_unnamed; /* has no symbol: its name is a module and an address */
	struct weighed own;
	struct weighed
		with_callees; /* each path counted once, however often the function is on it */
	struct str
		why; /* it waited for on its heaviest such path, "[waits for a lock]"; empty: it never waited */
	uint64_t why_ns;	   /* what that path waited */
	uint64_t own_uncertain_ns; /* of own, came by merging of contexts */
	uint64_t below_broken_ns;  /* weight of stacks that broke just above it */
};

struct thread {
	struct str name; /* borrowed */
	uint32_t pid, tid;
	struct weighed all;
};

struct analysis {
	struct function *functions; /* owned: by own weight, then with callees, then by name */
	struct thread *threads;	    /* owned: by weight, then pid, tid, name */
	uint32_t function_count, thread_count;
	uint32_t *
		function_of_node; /* owned: by the node's place in the recording; NO_ID: a thread */
	uint64_t clock_ns;	/* CPU time of the task, or the sum of weights where that is more */
	uint64_t sampled_ns;	/* weight of all contexts */
	uint64_t unsampled_ns;	/* clock_ns - sampled_ns */
	uint64_t uncertain_ns;	/* of the sampled weight, came by merging of contexts */
	uint64_t kept;		/* samples of all contexts */
	struct weighed unnamed; /* own time of functions without a symbol */
	uint32_t slots_lost;	/* slots that lost samples */
	uint64_t hole_ns;	/* span of the slots that lost samples and kept none */
	uint64_t spent_ns;	/* what measuring took: our own CPU time and the kernel's part */
	struct share
		price; /* that, as a share of one CPU; the error comes from the ledger's windows,
				       start-up aside; 1.0: too few windows to tell */
};

#define ANALYSIS_EMPTY ((struct analysis){ .functions = NULL })

/* Reads the rows once. `out` borrows names from `r`. -EBADMSG: a row points to one that does not exist, or to itself
 * in the end; -ENOMEM. */
int analysis_open(const struct recording *r, struct analysis *out, struct err *err);

/* The same of one state alone: shares are of its weight. Where contexts of several states merged, it is their part of it. What was
 * not sampled is of no state. */
int analysis_open_state(const struct recording *r, enum state state, struct analysis *out,
			struct err *err);

/* Accepts the empty value, and may run twice. */
void analysis_free(struct analysis *a);

/* The row of a marker such as "[broken]", or NULL when none was recorded. */
const struct function *analysis_marker(const struct analysis *a, struct str name);

/* `spent_ns` of measuring as a share of one CPU over the run. How even it was comes from up to BATCH_COUNT spans of the ledger,
 * without the start-up, which is paid once and known; 1.0: too few windows to tell. */
struct share analysis_price(const struct recording *r, uint64_t spent_ns);

/* The state that most of it was in; running when it has no weight. */
enum state weighed_state(const struct weighed *w);

/* Byte order; a prefix comes first. <0, 0, >0. */
int str_compare(struct str a, struct str b);

#endif
