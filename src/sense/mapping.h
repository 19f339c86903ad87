/* mapping.h - the recorder's side of the memory that a process with libtare shares (lib/mapping.h): attaches, reads windows,
 * writes intervals back. What the process wrote may be anything at any time: nothing read here is used as an index or a
 * size unbounded, and no number is believed to be larger than the one before. One thread. */
#ifndef TARE_SENSE_MAPPING_H
#define TARE_SENSE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/bucket.h"
#include "core/calls.h"
#include "core/err.h"
#include "core/histogram.h"
#include "lib/mapping.h"

/* What all threads together did of one name in one window. */
struct mapping_row {
	uint64_t calls;
	uint64_t firsts, first_ns, first_nested_ns;
	uint64_t others, weights, weights_squared;
	uint64_t weighted_ns, nested_ns; /* each weighted by the interval it was drawn with */
	struct bucket_squares squares;	 /* Σ weight × ns² of the others */
	uint64_t abandoned, backwards;
	uint64_t max_ns; /* of timed calls; 0: none ended in this window */
	uint32_t
		interval; /* the largest that calls were timed by at the window's end; 0: not known */
};

/* What was lost since the reader was started. */
struct mapping_loss {
	uint64_t names, places, calls, slow, expired;
	uint64_t
		torn; /* counters that went back: a hostile process, or a reading between two writes */
};

struct mapping_reader; /* opaque */

/* Attaches to process `pid`, one recorder at a time, and calibrates the CPU's counter where the kernel trusts it (takes
 * 10 ms). -ENOENT: it has no mapping (it does not use libtare); -EACCES or -EPERM: no right to look into it; -EBUSY: another
 * recorder is attached; -EPROTO: another version, or not sealed; -ENOMEM; -ESRCH. Nothing is on before
 * mapping_reader_start(). */
int mapping_reader_open(pid_t pid, struct mapping_reader **out, struct err *err);

/* The same over memory that is already mapped: `bytes` at `memory`, borrowed. For tests. -EPROTO, -ENOMEM. */
int mapping_reader_over(void *memory, size_t bytes, struct mapping_reader **out, struct err *err);

/* Switches off, and lets go. Accepts NULL. */
void mapping_reader_close(struct mapping_reader *reader);

/* For before the start: times are read from clock_gettime() though the CPU's counter could be trusted. */
void mapping_reader_use_clock(struct mapping_reader *reader);

/* Opens the first window: where nothing else is set, one call in `interval` (1 … 4096) is timed, which doubles in a window
 * after `budget` timed calls (0: never). Frames of `slow_ns` or more are kept; 0: none. What was counted before does not
 * count. */
void mapping_reader_start(struct mapping_reader *reader, uint32_t interval, uint32_t budget,
			  uint64_t slow_ns);

/* Ends the window and opens the next: rows are then those of the ended one. Returns the number of the ended window; 0 when
 * it was cut short because the process had thought that the recorder was dead. */
uint64_t mapping_reader_turn(struct mapping_reader *reader);

/* A sign of life: to be given well within `MAPPING_READER_LEASE_NS`. mapping_reader_turn() is one too. */
void mapping_reader_beat(struct mapping_reader *reader);
#define MAPPING_READER_LEASE_NS (UINT64_C(5) * 1000 * 1000 * 1000)

/* From each thread's next call on one call in `interval` of the name is timed; `budget` timed calls in a window until the
 * interval doubles. 0: what mapping_reader_start() said. Ids beyond the last are let pass. */
void mapping_reader_set(struct mapping_reader *reader, uint32_t id, uint32_t interval,
			uint32_t budget);

/* A look that costs next to nothing: calls and timed ones so far in the window that is open. No sign of life. 0 for an id
 * beyond the last. */
void mapping_reader_peek(const struct mapping_reader *reader, uint32_t id, uint64_t *out_calls,
			 uint64_t *out_timed);

/* Whether the process still has the mapping: false when it has ended or run another program. True where it cannot be told.
 * Reads /proc/PID/maps. */
bool mapping_reader_is_there(const struct mapping_reader *reader);

/* Whether it has forked: what the other processes do is not seen here. */
bool mapping_reader_has_forked(const struct mapping_reader *reader);

/* How long the ended window was counted when mapping_reader_turn() returned 0; else UINT64_MAX. */
uint64_t mapping_reader_covered_ns(const struct mapping_reader *reader);

/* How many names there are; their ids are 0 … count - 1, and stay. */
uint32_t mapping_reader_names(const struct mapping_reader *reader);

/* A name, cut at 255 bytes, NUL-terminated, anyone's bytes: escape it before it is shown. Its kind is MAPPING_SCOPE where
 * the process says none that is known. False: no such id. */
bool mapping_reader_name(const struct mapping_reader *reader, uint32_t id,
			 enum mapping_kind *out_kind, char out_text[MAPPING_NAME_BYTES]);

/* The last window's row; all zero for a name that did not run, NULL for an id beyond the last. */
const struct mapping_row *mapping_reader_row(const struct mapping_reader *reader, uint32_t id);

/* The row as core counts it, of a window of `span_ns` with `interval` in force, or the row's if it is larger. Own time is what the scopes directly inside leave; the sampled ones
 * may be estimated as more than the whole: then it is 0, and `clamped` one higher. */
struct calls_seen mapping_row_seen(const struct mapping_row *row, uint64_t span_ns,
				   uint32_t interval, uint64_t *clamped);

/* What the name's histogram gained since this was last asked (or since the start). False: no such id, or no memory. */
bool mapping_reader_histogram(struct mapping_reader *reader, uint32_t id,
			      uint32_t out[BUCKET_COUNT]);

/* The same, added to `histogram`. -ENOENT: no such id; -ENOMEM: what was not added is lost. */
int mapping_reader_add_histogram(struct mapping_reader *reader, uint32_t id,
				 struct histogram *histogram);

/* Takes a slow frame that waits, and says of which thread. False: none. Its serial counts the frames of its place from 1 at
 * the start on, its time is mapping_reader_now_ns()'s. Part ids are below mapping_reader_names(), their
 * times add up to no more than the frame. */
bool mapping_reader_take_slow(struct mapping_reader *reader, struct mapping_slow *out,
			      uint32_t *out_tid);

/* What was lost. */
struct mapping_loss mapping_reader_loss(const struct mapping_reader *reader);

/* Now, by the clock that the process uses. */
uint64_t mapping_reader_now_ns(const struct mapping_reader *reader);

/* Whether that is the CPU's counter. */
bool mapping_reader_has_ticks(const struct mapping_reader *reader);

/* ns a tick of the CPU's counter × 2^32 as given to the process; 0: it uses clock_gettime(). */
uint64_t mapping_reader_tick_scale(const struct mapping_reader *reader);

/* For mapping_reader_open(): finds the process's mapping and opens it. A descriptor, or a negative errno as there. */
int mapping_find(pid_t pid, struct err *err);

/* For mapping_reader_open(): measures the CPU's counter against CLOCK_MONOTONIC; 0: the kernel does not trust it. */
uint64_t mapping_calibrate(void);

#endif
