/* profile.h - one task's profile: which ticks are kept, the timeline, the contexts and their paths, in a fixed
 * arena. It joins keep, timeline, contexts and paths, and decides what yields when room runs out: contexts
 * merge, lightest first; below M/8 of them the timeline halves (never below N/8 slots); still full, the path is cut at its deepest
 * stored ancestor and marked "[cut k]". Nothing weighed is ever lost from the sum. Pure, single-threaded. */
#ifndef TARE_CORE_PROFILE_H
#define TARE_CORE_PROFILE_H

#include "core/contexts.h"
#include "core/err.h"
#include "core/frame.h"
#include "core/keep.h"
#include "core/paths.h"
#include "core/recording.h"
#include "core/rng.h"
#include "core/timeline.h"

#define PROFILE_MAX_DEPTH 512u /* deeper paths lose frames from the middle: "[cut k]" */

struct profile_limits {
	uint32_t slots;	   /* N */
	uint32_t contexts; /* M */
	struct paths_limits paths;
};

struct profile_settings {
	struct profile_limits limits;
	uint64_t base_ns; /* base period: first span of a slot, unit of a group */
	uint64_t seed;
	bool keeps_all;
};

/* One look at a thread. Times are elapsed since the task began. */
struct tick {
	uint64_t from_ns, at_ns; /* its weight belongs to (from, at]; equal for running ones */
	uint64_t weight_ns;	 /* measured, > 0 */
	enum state state;
	uint32_t pid, tid; /* whose; 0: not known */
};

struct profile; /* opaque */

/* The least that a profile can work in. */
#define PROFILE_MIN_CONTEXTS   16u
#define PROFILE_MIN_NODES      64u
#define PROFILE_MIN_FRAMES     64u
#define PROFILE_MIN_NAME_BYTES 1024u

/* Takes all memory at once, and stores two paths of one frame that it keeps for itself: "[no stack]" and "[cut]".
 * -EINVAL (says which limit), -ENOMEM. */
int profile_open(const struct profile_settings *settings, struct profile **out, struct err *err);

/* A profile of a part of what `host` sees: it shares the host's paths, and must be closed before it. It takes little memory at
 * first; slots and contexts then grow up to its limits, whose paths are not looked at. -EINVAL, -ENOMEM. */
int profile_open_beside(const struct profile_settings *settings, struct profile *host,
			struct profile **out, struct err *err);

/* Whom a host asks for room among paths, before it gives up more than half of its contexts; he frees some, or returns false. */
typedef bool (*profile_yield_fn)(void *owner);
void profile_set_yield(struct profile *host, profile_yield_fn yield, void *owner);

/* Accepts NULL. */
void profile_close(struct profile *p);

/* Of one that lies beside: half of its slots and contexts, down to TIMELINE_MIN_SLOTS and PROFILE_LEAST_CONTEXTS, from now on.
 * False: it has no more than that, or memory ran out. */
#define PROFILE_LEAST_CONTEXTS 32u
bool profile_halve(struct profile *p);

/* What its slots and contexts take in a file at most, in bytes. */
uint64_t profile_row_bytes(const struct profile *p);

/* Do rows that were saved no longer hold, so that all of them must be cleared? Then marks all that are left as changed. */
bool profile_is_rewritten(struct profile *p);

/* Must this tick's stack be looked at? Ask once a tick, then call profile_add with the same tick. No allocation. */
bool profile_wants(struct profile *p, const struct tick *tick);

/* Adds the tick. Each state has groups of its own. A group's whole weight goes, when it closes, to the path of the tick that was
 * kept; slots and contexts together keep exact sums by state. `path` (thread first, then frames from the root) when it was wanted; NULL when it was not, or when
 * it was and no stack could be had: the weight then goes to a "[no stack]" path. Never fails. */
void profile_add(struct profile *p, const struct tick *tick, const struct frame *path,
		 size_t depth);

/* `lost` samples were lost up to `at_ns`. Their weight arrives with the next tick. */
void profile_lost(struct profile *p, uint64_t at_ns, uint64_t lost);

/* A frame got its name, as paths_rename(). False: no path shows it, or there is no room for the name. */
bool profile_rename(struct profile *p, const struct frame *from, const struct frame *to);

/* The part of the label that the profile knows: weight_ns, ticks, kept, one_in (of running), slot_count, slot_ns, batches, merges, rng. */
void profile_label(const struct profile *p, struct label *label);

/* Appends all that changed since profile_saved(), as rows of task `task`; paths are those of the host to tell. Strings are borrowed until the next
 * profile_add(). -ENOMEM: `out` is as it was. */
int profile_changes(const struct profile *p, uint32_t task, struct changes *out);

/* What profile_changes() gave is saved, with nothing added in between: forgets the marks. A save that failed or was
 * held up is simply tried again later. */
void profile_saved(struct profile *p);

/* For tests and the next rooms: the parts, read only. */
const struct timeline *profile_timeline(const struct profile *p);
const struct contexts *profile_contexts(const struct profile *p);
const struct paths *profile_paths(const struct profile *p);

#endif
