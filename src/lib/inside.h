/* inside.h - what the files of libtare share. Nothing here is visible outside of the library. */
#ifndef TARE_LIB_INSIDE_H
#define TARE_LIB_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/mapping.h"
#include "tare.h"

_Static_assert(sizeof(struct tare_pace) == sizeof(struct mapping_pace), "they are the same words");

#define TARE_IN_NO_NAME UINT32_MAX /* the id of a site that found all names taken */

/* One thread. All zero: it has no place yet. */
struct tare_in_self {
	struct mapping_slot *slot; /* NULL: none */
	uint32_t ready;		   /* names below have their memory */
	uint32_t depth;	 /* open scopes, from a timed one on; not 0: tare_places has none ready */
	uint32_t serial; /* of the scope opened last */
	uint32_t lost_calls;	/* not yet told to the host's word */
	uint64_t lost_window;	/* the window of the last lost call */
	uint64_t tried_window;	/* the window in which it last found no slot */
	uint64_t beat, beat_ns; /* the recorder's last sign of life, and when it was seen */
};

/* In the static TLS block: no call, no allocation to find it. */
extern __thread struct tare_in_self tare_in_self __attribute__((tls_model("initial-exec")));

/* The mapping, or NULL before there is one. It stays where it is once a thread may have seen it. */
extern struct mapping_shared *tare_in_shared;

/* Points to 1; the kernel wipes it in a forked process, however it was forked. NULL: not known. */
extern uint32_t *tare_in_own_mark;

/* For tare_in_is_own(): forgets what was the parent's. Returns false. */
bool tare_in_let_go(void);

/* Whether this process may read the CPU's counter. */
extern bool tare_in_has_ticks;

/* Gives the calling thread a slot whose first `count` entries (1 … MAPPING_NAMES) have their memory. -ENOMEM: no slot is
 * free, or no memory. */
int tare_in_take_place(uint32_t count);

/* Gives `bytes` from `start` their memory; false: there is none, and touching it would end the process. */
bool tare_in_populate(void *start, size_t bytes);

/* Tells a new mapping the names there are; those that a thread of the parent's was writing are free again. No other
 * thread may be at work. */
void tare_in_publish_names(void);

/* From now on a thread's end frees its slot. False: no key is left. */
bool tare_in_watch_thread_ends(void);

/* No longer. */
void tare_in_forget_thread_ends(void);

/* The calling thread has no place any more. */
void tare_in_forget_self(void);

/* Adds the calling thread's lost calls to the host's word. */
void tare_in_tell_lost(void);

/* Closes the calling thread's scopes from `depth` on as never ended. */
void tare_in_abandon(uint32_t depth);

/* Whether a recorder is attached to a mapping of this very process; makes the mapping in a forked one. */
bool tare_in_is_at_work(void);

/* The name's id, new if need be; `id_place` may be NULL and else caches it. TARE_IN_NO_NAME: all are taken, or another
 * thread is about to take the same one. */
uint32_t tare_in_name(enum mapping_kind kind, const char *text, uint32_t *id_place);

/* False in a process that was forked without the C library's knowing: it has let go of the mapping then. */
static inline bool tare_in_is_own(void)
{
	return tare_in_own_mark == NULL || MAPPING_READ(*tare_in_own_mark) == 1 || tare_in_let_go();
}

/* Counts a call that has no place. */
void tare_in_lose_call(void);

/* CLOCK_MONOTONIC, or the CPU's counter by the recorder's scale, in ns. */
uint64_t tare_in_now_ns(uint64_t tick_scale);

/* The number of the window that is open; 0: none. */
static inline uint64_t tare_in_window(void)
{
	return mapping_window_number(MAPPING_READ(tare_in_shared->orders.window));
}

/* The scale in force; 0: clock_gettime(). */
static inline uint64_t tare_in_tick_scale(void)
{
	return tare_in_has_ticks ? MAPPING_READ(tare_in_shared->orders.tick_scale) : 0;
}

/* Switches off when the recorder has been silent for longer than its lease. */
void tare_in_check_lease(uint64_t now_ns);

/* Adds to a word of the calling thread's own: no lock, and on x86 one instruction, so that a signal handler that counts
 * too loses nothing. */
static inline void tare_in_add(uint64_t *word, uint64_t by)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	__asm__("addq %1, %0" : "+m"(*word) : "er"(by) : "cc");
#else
	MAPPING_WRITE(*word, MAPPING_READ(*word) + by);
#endif
}

/* The longest of this window begins at 0, but for a slot whose last thread had begun it. */
static inline void tare_in_begin_max(struct mapping_entry *entry, uint64_t window)
{
	if (MAPPING_READ(entry->max_window[window % 2]) == (uint32_t)window)
		return;
	MAPPING_WRITE(entry->max_ns[window % 2], 0);
	MAPPING_WRITE(entry->max_window[window % 2], (uint32_t)window);
}

/* Adds a timed call of `ns` to what the slot and the histogram of name `id` say. `is_first`: of the thread in this window. */
void tare_in_book(struct mapping_slot *slot, uint32_t id, uint64_t ns, uint64_t nested_ns,
		  uint32_t weight, bool is_first);

/* Cuts the open scopes at a frame's end: what they took up to `now_ns` belongs to the frame that ends. */
void tare_in_cut_scopes(struct mapping_slot *slot, uint64_t now_ns);

/* A timed scope of this depth has ended: what was its own belongs to the frame in progress. */
void tare_in_end_part(struct mapping_slot *slot, uint32_t depth, uint64_t now_ns);

/* Adds `ns` of a scope's own to the frame in progress. */
void tare_in_add_part(struct mapping_slot *slot, uint32_t id, uint64_t ns, uint32_t timed);

#endif
