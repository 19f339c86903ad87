/* waits_parts.h - waits_source among its own files: the state, and the steps it is made of. One thread. */
#ifndef TARE_SENSE_WAITS_PARTS_H
#define TARE_SENSE_WAITS_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/waits.h"
#include "core/waits.h"
#include "sense/procfs.h"
#include "sense/remote.h"
#include "sense/space.h"
#include "sense/waits_source.h"

#define WAITS_THREADS_MOST 16384u
/* Bytes of stacks held until their waits end: those of 2,000 threads that sleep for long. */
#define WAITS_HELD_MOST (32u << 20)

/* A wait that was looked at. */
struct waits_held {
	struct waits_held *next; /* of the same thread; ended ones, oldest first */
	struct waits_head head;
	uint64_t from_ns, in_ns; /* in_ns 0: it is under way */
	uint64_t runnable_ns;
	uint64_t given_ns; /* a long one was given up to here; 0: nothing was */
	uint64_t read_ns;  /* visited then; 0: its stack came with its beginning */
	uint64_t regs[WAITS_REGS];
	bool has_stack, is_cut;
	bool is_torn; /* it ended while it was read */
	uint32_t bytes;
	uint8_t stack[];
};

struct waits_thread {
	uint32_t next; /* in its bucket; the number of a place plus 1 */
	uint32_t pid, tid;
	uint64_t seen_ns;
	struct waits waits;
	struct waits_thread_line line; /* of the last look that told it */
	bool is_told;		       /* by the look in work */
	bool has_frame;
	uint64_t gone_look;	 /* of the look after which it had ended; 0: it lives */
	struct waits_held *open; /* of the wait under way */
	struct waits_held *ended, **ended_end;
	uint64_t told_ns;      /* its sums are of then; 0: nothing is known yet */
	enum state told_state; /* since then it is taken to run, or to wait */
	struct frame frame;
	char comm[PROCFS_COMM_BYTES];
};

/* What each look reads of every place: the rest of a thread that sleeps is not touched, however many there are. */
struct waits_turn {
	uint64_t due_ns; /* of the next part of its long wait; UINT64_MAX: none is under way */
	uint32_t pid;	 /* 0: the place is free */
	bool is_touched; /* something was told of it, or it has ended */
};

/* Sums of all threads that live, as far as each was told, and how many have run or waited on since, from when in all. */
struct waits_sums {
	uint64_t exact_ns[STATE_COUNT];
	uint64_t count[STATE_COUNT];
	unsigned __int128 since_ns[STATE_COUNT];
};

struct waits_bpf;

struct waits_source {
	struct waits_source_settings settings;
	struct waits_bpf *bpf;
	struct waits_control *control;
	struct ring_buffer *ring;
	struct bpf_link *links[4], *look;
	int stats_fd; /* while it is open the kernel measures programs; -1: it may not */
	struct spaces *spaces;
	struct remote *remote;
	struct waits_thread *threads; /* places; pid 0: free */
	struct waits_turn *turns;     /* of the same places */
	struct waits_sums live;
	uint32_t *buckets;
	uint32_t place_count, free_place; /* numbers plus 1 */
	uint64_t held_bytes;
	bool is_resting, has_rested;	 /* between two slices; ever */
	uint64_t scale_ppm;		 /* in slices */
	int64_t ahead_ns;		 /* our clock's, of that of the records */
	uint64_t now_ns;		 /* of the look in work, by the clock of the records */
	uint64_t looked_ns;		 /* of the last one: sums of what lives are of then */
	const struct sampler_sink *sink; /* while there is one to give to */
	uint64_t next_ns;		 /* of the next one */
	uint64_t looks;			 /* from 1 */
	uint64_t visits, lost, unread;
	uint64_t gone_ns[STATE_COUNT], gone_rest_ns; /* sums of threads that have ended */
	struct frame path[SPACE_MAX_FRAMES + 2];
};

/* ---- waits_load.c: the programs in the kernel ---- */

/* Loads and attaches them. Three-line errors. */
int waits_load(struct waits_source *s, struct err *err);
void waits_unload(struct waits_source *s);

/* The program that sees switches, off and on again. */
void waits_detach(struct waits_source *s);
int waits_attach(struct waits_source *s);

/* One look: each line is told to `each`. `is_all`: of threads that have not switched, too. -errno. */
int waits_look(struct waits_source *s, bool is_all,
	       void (*each)(struct waits_source *s, const struct waits_thread_line *line));

/* What the programs took; false: the kernel does not tell. */
bool waits_kernel_ns(const struct waits_source *s, uint64_t *out_ns);

/* ---- waits_threads.c: threads, and what is held of them ---- */

/* Takes all memory of the table. -ENOMEM. */
int waits_threads_open(struct waits_source *s);
/* Gives it back, and all that is held. */
void waits_threads_close(struct waits_source *s);

/* The thread, new if need be; NULL: there is no place left. */
struct waits_thread *waits_thread_get(struct waits_source *s, const struct waits_head *head);
void waits_thread_remove(struct waits_source *s, struct waits_thread *thread);

/* Room for a wait with `bytes` of stack; NULL: there is none. */
struct waits_held *waits_hold(struct waits_source *s, const struct waits_head *head,
			      uint32_t bytes);
void waits_let_go(struct waits_source *s, struct waits_held *held);

/* ---- waits_take.c: what comes through the ring, and from looks ---- */

/* One record of the ring; `owner` is the struct waits_source. 0. */
int waits_take_record(void *owner, void *record, size_t bytes);
/* One thread's line of a look. */
void waits_take_line(struct waits_source *s, const struct waits_thread_line *line);

/* ---- waits_give.c: weights to s->sink ---- */

/* Takes a thread's part out of the sums of those that live. */
void waits_untell(struct waits_source *s, struct waits_thread *thread);

/* Gives what has ended of a thread, and parts of long waits that are due (`is_end`: all). */
void waits_settle(struct waits_source *s, struct waits_thread *thread, bool is_end);

/* Remembers how the engine's paths of this thread begin. False: it does not know it (yet, or any more). */
bool waits_know(struct waits_source *s, struct waits_thread *thread);

/* The wait under way is taken to end at `at_ns`. */
void waits_end_open(struct waits_thread *thread, uint64_t at_ns);

/* The thread's sums are final: what is under way ends now, what no look has covered is given, and it is removed. */
void waits_finish(struct waits_source *s, struct waits_thread *thread);

/* ---- waits_source.c ---- */

/* Now, by the clock of the records. */
uint64_t waits_now_ns(const struct waits_source *s);

#endif
