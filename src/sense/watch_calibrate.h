/* watch_calibrate.h - what watching a call costs on this machine: real bodies run in a child of ours that has its own maps
 * and its own libtare; nothing of the target is touched. Rounds with and without the watch take turns, by their CPU time, so
 * that a busy neighbour on the same CPU does not count. What enters the kernel is told by the mean of most rounds
 * (watch_bodies_middle()), and may be measured on while a recording runs; libtare by the fastest. A difference that is not above 0, a body that fails, a child
 * that is killed and a time limit all give 0: unmeasured, never a guess. One thread. */
#ifndef TARE_SENSE_WATCH_CALIBRATE_H
#define TARE_SENSE_WATCH_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "sense/places.h"
#include "sense/watch_source.h"

/* How a probe is attached, as far as its price goes. */
enum watch_hooked {
	WATCH_HOOKED_SESSION, /* entry and return in one, and the return is skipped for calls that are not timed */
	WATCH_HOOKED_PAIR,  /* entry and return, both for every call */
	WATCH_HOOKED_EXITS, /* entry and the place where it is left, both for every call */
	WATCH_HOOKED_ENTRY, /* entry alone: calls are counted and not timed */
};
#define WATCH_HOOKEDS 4

/* What is taken where nothing was measured, in ps: rounded up from machines that were measured. The only place where such
 * numbers stand. */
static const struct pace_costs watch_assumed_probes[WATCH_HOOKEDS][PLACE_FIRSTS] = {
	[WATCH_HOOKED_SESSION] = {
		[PLACE_NOP5] = { .untimed_ps = 150000, .extra_ps = 1300000, .hook_ps = 700000 },
		[PLACE_PUSH] = { .untimed_ps = 150000, .extra_ps = 1300000, .hook_ps = 1050000 },
		[PLACE_OTHER] = { .untimed_ps = 150000, .extra_ps = 1300000, .hook_ps = 5400000 },
	},
	[WATCH_HOOKED_PAIR] = {
		[PLACE_NOP5] = { .untimed_ps = 250000, .extra_ps = 300000, .hook_ps = 1700000 },
		[PLACE_PUSH] = { .untimed_ps = 250000, .extra_ps = 300000, .hook_ps = 2400000 },
		[PLACE_OTHER] = { .untimed_ps = 250000, .extra_ps = 300000, .hook_ps = 7700000 },
	},
	[WATCH_HOOKED_EXITS] = {
		[PLACE_NOP5] = { .untimed_ps = 250000, .extra_ps = 300000, .hook_ps = 6100000 },
		[PLACE_PUSH] = { .untimed_ps = 250000, .extra_ps = 300000, .hook_ps = 6500000 },
		[PLACE_OTHER] = { .untimed_ps = 250000, .extra_ps = 300000, .hook_ps = 10800000 },
	},
	[WATCH_HOOKED_ENTRY] = {
		[PLACE_NOP5] = { .untimed_ps = 250000, .hook_ps = 700000 },
		[PLACE_PUSH] = { .untimed_ps = 250000, .hook_ps = 1050000 },
		[PLACE_OTHER] = { .untimed_ps = 250000, .hook_ps = 5400000 },
	},
};

/* What an empty function then reads as, which is rounded down: what is taken off is not to be more than was read. */
static const uint64_t watch_assumed_floors_ps[PLACE_FIRSTS] = {
	[PLACE_NOP5] = 700000,
	[PLACE_PUSH] = 800000,
	[PLACE_OTHER] = 5500000,
};

/* The same of libtare, by enum mapping_kind: scopes, tasks, frames. Of the latter two every run is timed. */
static const struct pace_costs watch_assumed_inside[3] = {
	{ .untimed_ps = 400, .extra_ps = 25000 },
	{ .untimed_ps = 400, .extra_ps = 80000 },
	{ .untimed_ps = 400, .extra_ps = 60000 },
};

/* What libtare costs, by enum mapping_kind. */
struct watch_calibrated {
	struct watch_costs of[3];
};

/* Measures probes on functions that begin as `wanted` says, all at once, in the attach mode that is in use with
 * `switched_off` (TARE_NO, may be NULL). All of `out` that is wanted is set, also when nothing could be measured. Returns 0, or
 * why nothing was measured: a negative errno. */
int watch_calibrate_probes(const bool wanted[PLACE_FIRSTS], const char *switched_off,
			   struct watch_costs out[PLACE_FIRSTS]);

/* The same of functions whose end is seen where they are left (exits.h). */
int watch_calibrate_exits(const bool wanted[PLACE_FIRSTS], const char *switched_off,
			  struct watch_costs out[PLACE_FIRSTS]);

/* The same of functions whose calls are only counted, by a probe at their entry: no cost of timing, and no floor. */
int watch_calibrate_entries(const bool wanted[PLACE_FIRSTS], const char *switched_off,
			    struct watch_costs out[PLACE_FIRSTS]);

/* Probes that are measured while a recording runs: its child and the probes in it stay. */
struct watch_calibration; /* opaque */

/* Measures as watch_calibrate_probes(), by exits as watch_calibrate_exits(), by the entry alone as
 * watch_calibrate_entries(), and keeps the child where that went well; else *out_calibration is NULL. Sessions and pairs are
 * one: the better one that is not switched off. */
int watch_calibration_open(const bool wanted[PLACE_FIRSTS], enum watch_hooked hooked,
			   const char *switched_off, struct watch_costs out[PLACE_FIRSTS],
			   struct watch_calibration **out_calibration);

/* One round more of each body that counts and of each that times. False: the child has ended. */
bool watch_calibration_pass(struct watch_calibration *c);

/* The costs by the rounds since they were told last, all that are wanted; what it took of floors stays. False: there were too
 * few, which count on. */
bool watch_calibration_tell(struct watch_calibration *c, struct watch_costs out[PLACE_FIRSTS]);

/* CPU time that the child took so far. */
uint64_t watch_calibration_cpu_ns(const struct watch_calibration *c);

/* Ends the child; returns its CPU time. Accepts NULL. */
uint64_t watch_calibration_close(struct watch_calibration *c);

/* Like watch_calibrate_probes(), of one kind. */
int watch_calibrate_probe(enum place_first first, const char *switched_off,
			  struct watch_costs *out);

/* Measures libtare in a program with so many names (a task is found among them). The rest as watch_calibrate_probes(). */
int watch_calibrate_inside(const char *switched_off, uint32_t names, struct watch_calibrated *out);

/* What an empty function reads as, from readings of it: the mean of all but the slowest twentieth, which were interrupted. The
 * median would jump between the steps of a coarse clock. 0: none was read. */
uint64_t watch_calibrate_floor_ps(const struct histogram *histogram);

#endif
