/* build_recording.h - small recordings by hand, for tests of what reads them. A path is written as text:
 * "worker/1/2 > main > parse@parser.cpp:310 > memcpy+libc.so.6"; names in square brackets are markers, unless "+" gives them
 * a module (a function without a symbol); "k:" before a name is the kernel. The first part is the thread: NAME/PID/TID;
 * "-" for a path without one. */
#ifndef TARE_TEST_BUILD_RECORDING_H
#define TARE_TEST_BUILD_RECORDING_H

#include "core/recording.h"

struct build {
	struct recording r;
	char **names; /* owned */
	size_t name_count, name_room;
};

/* Begins one: finished, 10 ms, 32 batches, a price of 0.5 %, an hour long on "host". */
void build_begin(struct build *b);

/* Adds a context of `ns` running weight and `kept` samples, spread evenly over the batches in use: the rest of the
 * division goes to the first. Returns its row, until the next call. */
struct context_row *build_context(struct build *b, const char *path, uint64_t ns, uint64_t kept);

/* Adds a context with one frame below `thread` whose name may hold any bytes. */
struct context_row *build_hostile(struct build *b, const char *thread, struct str name, uint64_t ns,
				  uint64_t kept);

/* The same with frames of any kind; their strings are borrowed as long as the recording is. */
struct context_row *build_leaf(struct build *b, const struct frame_row *thread,
			       const struct frame_row *leaf, uint64_t ns, uint64_t kept);

/* Adds a window of a second to the ledger. */
struct ledger_row *build_window(struct build *b, uint64_t sample_ns, uint64_t fixed_ns);

/* Adds a slot. */
struct slot_row *build_slot(struct build *b, uint32_t node, uint64_t running_ns, uint32_t kept,
			    uint32_t lost);

/* Adds a task that ended, without samples; its numbers are 2, 3 and so on. */
struct task_row *build_task(struct build *b, const char *name, uint64_t begin_ns,
			    uint64_t duration_ns);

/* Adds a context to a task, as build_context(): behind all contexts of the run. */
void build_task_context(struct build *b, struct task_row *task, const char *path, uint64_t ns,
			uint64_t kept);

/* Adds the counts of a name: so many tasks, each of which took as long. */
struct task_name_row *build_task_name(struct build *b, const char *name, uint64_t begun,
				      uint64_t longest_ns);

/* Accepts what build_begin made, and may run twice. */
void build_free(struct build *b);

#endif
