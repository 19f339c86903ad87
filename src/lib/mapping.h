/* mapping.h - what a process that uses libtare shares with a recorder outside: one memory of fixed size, plain structs, no
 * pointers. Neither side trusts the other: every index is its reader's own or bounded by a constant of this file, and
 * any value may be wrong at any time. Each word is read and written atomically, relaxed. Changing anything here raises
 * MAPPING_VERSION.
 *
 * Who writes: the recorder writes `struct mapping_orders` and `interval` and `budget` of `struct mapping_control`; one
 * thread writes its `struct mapping_slot`, but for `read_count`; all else is the process's. */
#ifndef TARE_LIB_MAPPING_H
#define TARE_LIB_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "core/bucket.h"

#define MAPPING_MAGIC	     UINT64_C(0x3165726174206d61)
#define MAPPING_VERSION	     2u
#define MAPPING_FILE	     "tare-watch" /* name of the memfd */
#define MAPPING_NAMES	     256u	  /* functions, tasks and the frame together */
#define MAPPING_NAME_BYTES   256u	  /* with the final NUL */
#define MAPPING_SLOTS	     1024u	  /* threads at a time */
#define MAPPING_DEPTH	     64u	  /* open scopes of a thread that can be timed */
#define MAPPING_SLOW	     16u	  /* slow frames of a thread that wait for the recorder */
#define MAPPING_PARTS	     8u		  /* largest contributors of a slow frame */
#define MAPPING_MAX_INTERVAL 4096u
#define MAPPING_INTERVAL     8u /* where the recorder gave none */
#define MAPPING_HISTOGRAM    1536u
#define MAPPING_LINE	     64 /* bytes of a cache line: what two sides write lies apart */

/* Another interval, given inside a window, changes the lower bits of orders.window: each thread's next call then looks. */
#define MAPPING_ORDER_BITS 16u

enum mapping_kind { MAPPING_SCOPE, MAPPING_TASK, MAPPING_FRAME };

/* What the recorder wants. */
struct mapping_orders {
	uint64_t
		window; /* the window's number above MAPPING_ORDER_BITS that count its orders; 0: off */
	uint64_t epoch;	   /* another after each time it was off */
	uint64_t beat;	   /* changes while the recorder lives */
	uint64_t lease_ns; /* without a new beat for so long, a timed call switches off; 0: never */
	uint64_t tick_scale; /* ns a tick of the CPU's counter × 2^32; 0: clock_gettime() */
	uint64_t slow_ns;    /* frames from here on are kept; 0: none */
	uint32_t interval;   /* where a name has none yet */
	uint32_t budget;     /* likewise */
	uint64_t spare_words;
};

/* What the process says of itself. */
struct mapping_host {
	uint32_t pid;	      /* as it sees itself */
	uint32_t name_count;  /* names before it are complete */
	uint32_t slot_count;  /* slots from here on were never used */
	uint32_t lost_names;  /* asked for when all were taken */
	uint64_t lost_places; /* times that a thread found no slot */
	uint64_t lost_calls;  /* calls of both, uncounted otherwise */
	uint64_t expired;     /* times that it switched off because the recorder was silent */
	uint64_t expired_ns;  /* when it last did, by the clock of orders.tick_scale */
	uint32_t
		has_ticks; /* it may read the CPU's counter; 0: it uses clock_gettime() whatever the scale */
	uint32_t forks; /* by the C library's fork(): the other process has a mapping of its own */
	uint64_t spare_word;
};

/* One name's interval, and what all threads together did in the window (its number's lower half above the count). */
struct mapping_control {
	uint32_t interval; /* one call in so many is timed, 1 … 4096; 0: orders.interval */
	uint32_t
		budget; /* timed calls in a window until the interval doubles; 0: orders.budget, where 0 is no end */
	uint64_t firsts;
	uint64_t timed;
	uint64_t spare[5];
};

struct mapping_name {
	uint32_t kind; /* enum mapping_kind */
	uint32_t bytes;
	char text[MAPPING_NAME_BYTES]; /* NUL-terminated; anyone's bytes */
};

/* What one thread knows of one name on each call: struct tare_pace in tare.h, where it is compiled into programs. */
struct mapping_pace {
	uint64_t calls;	 /* ever */
	uint64_t due;	 /* the call that is timed next */
	uint64_t window; /* orders.window at its last call that looked */
	uint64_t spare;
};

/* What one thread timed of one name, ever; a window is the difference of two readings. ns, weights without unit. */
struct mapping_entry {
	uint32_t weight; /* the interval that the gap before the next timed call was drawn with */
	uint32_t doubled;
	uint32_t frame_timed;
	uint32_t
		given; /* control.interval as it was when `weight` was chosen: another one is in force at once */
	uint64_t frame_serial; /* the frame that frame_ns and frame_timed are of */
	uint64_t frame_ns;
	uint64_t firsts, first_ns, first_nested_ns;
	uint64_t others, weights, weighted_ns,
		nested_ns;	       /* nested: in watched scopes directly inside */
	struct bucket_squares squares; /* Σ weight × ns² of the others */
	uint64_t abandoned;	       /* begun and never ended: longjmp, a thread's end */
	uint64_t backwards;	       /* timed, dropped: the clock went back or changed */
	uint64_t max_ns[2];	       /* of even and odd windows */
	uint32_t max_window[2];	       /* and of which: the lower half of the window's number */
	uint64_t weights_squared;      /* of the others */
	uint64_t spare[5];
};

/* A scope that is open. */
struct mapping_open {
	uint64_t sp;	/* the stack pointer of who opened it */
	uint64_t scope; /* the address of its struct tare_scope */
	uint64_t start_ns, nested_ns, frame_nested_ns;
	uint64_t tick_scale; /* the clock it was started by */
	uint32_t serial, id;
	uint32_t weight; /* 0: a first call */
	uint32_t
		is_timed; /* 0: it is not; else the highest bit, and the number of its call in this thread modulo 2^31 */
};

struct mapping_part {
	uint32_t id;
	uint32_t timed; /* calls that its time is of: those not timed are in `other` */
	uint64_t own_ns;
};

/* A slow frame. Parts are measured, exclusive, largest first; what they leave of ns is `other`. */
struct mapping_slow {
	uint64_t serial, start_ns, ns;
	uint64_t others_ns; /* of parts that are not among the largest */
	uint32_t part_count, spare;
	struct mapping_part parts[MAPPING_PARTS];
};

/* One thread's place. A thread that ends leaves it to the next, counts and all. */
struct mapping_slot {
	uint32_t tid;  /* 0: free */
	uint32_t task; /* the open task's id + 1, or 0 */
	uint64_t random;
	uint64_t task_start_ns, task_scale;
	uint64_t frame_start_ns, frame_scale, frame_epoch, frame_serial;
	uint64_t slow_count; /* written ever */
	uint64_t slow_lost;  /* no room: the recorder did not come in time */
	uint64_t spare[6];
	uint64_t read_count; /* by the recorder: slow frames that it took */
	uint64_t read_spare[7];
	struct mapping_open open[MAPPING_DEPTH];
	struct mapping_slow slow[MAPPING_SLOW];
	uint8_t pad[512];
	struct mapping_pace paces[MAPPING_NAMES];
	struct mapping_entry entries[MAPPING_NAMES];
};

struct mapping_shared {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes;
	uint64_t head_spare[6];
	struct mapping_orders orders;
	uint64_t between[8];
	struct mapping_host host;
	uint8_t pad[3840];
	struct mapping_control controls[MAPPING_NAMES];
	struct mapping_name names[MAPPING_NAMES];
	uint8_t names_pad[2048];
	uint32_t histograms[MAPPING_NAMES]
			   [MAPPING_HISTOGRAM]; /* of all threads; weights, modulo 2^32 */
	struct mapping_slot slots[MAPPING_SLOTS];
};

_Static_assert(sizeof(struct mapping_orders) == MAPPING_LINE, "the recorder's words fill one line");
_Static_assert(sizeof(struct mapping_host) == MAPPING_LINE, "the process's words fill one line");
_Static_assert(sizeof(struct mapping_control) == MAPPING_LINE, "a name's control fills one line");
_Static_assert(sizeof(struct mapping_entry) == 3 * MAPPING_LINE, "struct mapping_entry is shared");
_Static_assert(sizeof(struct mapping_open) == MAPPING_LINE, "struct mapping_open is shared");
_Static_assert(sizeof(struct mapping_slow) == 168, "struct mapping_slow is shared");
_Static_assert(offsetof(struct mapping_slot, read_count) == 2 * MAPPING_LINE,
	       "the recorder's word of a slot lies apart");
_Static_assert(sizeof(struct mapping_slot) % 64 == 0, "slots keep entries on lines");
_Static_assert(offsetof(struct mapping_slot, entries) % 64 == 0, "entries lie on lines");
_Static_assert(offsetof(struct mapping_shared, controls) == 4096, "controls begin a page");
_Static_assert(offsetof(struct mapping_shared, histograms) % 4096 == 0, "histograms begin a page");
_Static_assert(offsetof(struct mapping_shared, slots) % 4096 == 0, "slots begin a page");
_Static_assert(BUCKET_COUNT <= MAPPING_HISTOGRAM, "a histogram holds every step");
_Static_assert(sizeof(struct mapping_shared) < (1u << 31), "its size fits `bytes`");

/* The number in a word of orders.window. */
static inline uint64_t mapping_window_number(uint64_t word)
{
	return word >> MAPPING_ORDER_BITS;
}

/* Reads a word that the other side may be writing. */
#define MAPPING_READ(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)

/* Writes a word that the other side may be reading. */
#define MAPPING_WRITE(word, value) __atomic_store_n(&(word), (value), __ATOMIC_RELAXED)

#endif
