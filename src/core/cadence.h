/* cadence.h - when a server's expensive half is captured: one cycle in N, staggered over the fleet by seats, without a
 * spike and without anybody starved. Pure; wall time, seats and counts are arguments. Rules: rules of `collect`, "Cadence".
 *
 * Time is cut into turn slots of L = k cycles, slot = floor(time / L), so that a restart changes nothing. A server's phase
 * is (seat + salt(reading)) mod N, and its turn floor((slot + phase) / N): a capture is due when the turn is another than
 * that of its last capture's time; it is scheduled in the slot where (slot + phase) mod N = 0, else owed. */
#ifndef TARE_CORE_CADENCE_H
#define TARE_CORE_CADENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/units.h"

#define CADENCE_N_DEFAULT  4u
#define CADENCE_N_MOST	   60u
#define CADENCE_K_MOST	   60u
#define CADENCE_HOPELESS   20u /* failures in a row: at a coin each, one server in a million */
#define CADENCE_CALM_SLOTS 10u /* before k goes down or N goes up */

/* N as set: clamped to 1 ... 60; 0 or negative is 1 ("always"), never the default. */
uint32_t cadence_n_of(int64_t setting);

/* The fleet's pace for one reading: how long a turn slot is, and the N in force. */
struct cadence_pace {
	uint64_t cycle_ns, reach_ns;
	uint32_t n_given; /* 1 to 60 */
	uint32_t k, n;	  /* in force: L = k * cycle_ns, one slot in n */
	/* Slots in a row in which a smaller k, a larger n, would have done; the largest k needed and the smallest n
	 * allowed in these. */
	uint32_t calm_k, calm_n, calm_k_needed, calm_n_allowed;
};

/* Starts at k = 1 and the largest N that the reach allows. */
void cadence_pace_init(struct cadence_pace *p, uint64_t cycle_ns, uint64_t reach_ns,
		       uint32_t n_given);

/* The pace that held when a collector of this fleet ran last: k is taken over, for slots of another length have other numbers. N
 * follows from k and today's settings; but where k came down within the ten slots before (k_before is the largest in these) N
 * stays at `n`, as it waits for calm slots of its own. These count from the start. k of 0: not known, nothing changes. */
void cadence_pace_resume(struct cadence_pace *p, uint32_t k, uint32_t k_before, uint32_t n);

/* New settings, live. `n` and `k` follow at once where they must (n <= n_given). */
void cadence_pace_set(struct cadence_pace *p, uint64_t cycle_ns, uint64_t reach_ns,
		      uint32_t n_given);

/* Once a turn slot: k and n from the 95th percentile of the time between two visits of a server, over the last 10 minutes,
 * without servers in the back-off lane; 0: none was measured, nothing changes. Returns whether k or n is another now. */
bool cadence_pace_turn(struct cadence_pace *p, uint64_t p95_ns);

/* Length of a turn slot. */
uint64_t cadence_slot_ns(const struct cadence_pace *p);

/* The turn slot of a wall time since 1970. */
int64_t cadence_slot(const struct cadence_pace *p, struct wall at);

/* Where a server stands with the capture half of one reading. */
struct cadence_mark {
	int64_t captured_wall_ns; /* last capture, or first sight, or plans switched on */
	int64_t tried_wall_ns;	  /* last try, done or not; never below captured_wall_ns */
};

/* One server's capture half of one reading, as the fleet's gate sees it in a slot. */
struct cadence_server {
	uint32_t seat;
	struct cadence_mark mark;
	uint32_t failures; /* tries in a row that failed */
	bool is_visitable; /* not in the back-off lane: an owed capture may be given to it */
	bool has_place;	   /* out: an owed capture of this slot is its own */
};

/* What a cycle does about a capture half. The SQL is built from this answer only. */
enum cadence_answer {
	CADENCE_OFF = 0,       /* plans are switched off, or the reading has no capture half */
	CADENCE_GATED = 1,     /* not due, or owed and without a place: no plan part in the SQL */
	CADENCE_SCHEDULED = 2, /* capture */
	CADENCE_OWED = 3,      /* capture */
};

#define CADENCE_CAPTURES(answer) ((answer) == CADENCE_SCHEDULED || (answer) == CADENCE_OWED)

/* Scheduled in this slot by seat and salt, whether due or not. */
bool cadence_is_scheduled(const struct cadence_pace *p, int64_t slot, uint32_t seat, uint32_t salt);

/* Due in this slot: the turn is another than that of the last capture. */
bool cadence_is_due(const struct cadence_pace *p, int64_t slot, uint32_t seat, uint32_t salt,
		    const struct cadence_mark *mark);

/* Owed captures that a slot may try: F + max(1, ceil(F / 8)) less the slot's scheduled ones, F = ceil(servers / n).
 * `scheduled` counts all of them, run or not. */
uint32_t cadence_allowance(const struct cadence_pace *p, uint32_t servers, uint32_t scheduled);

/* Gives the places of `slot` to owed servers, the oldest capture first; who failed CADENCE_HOPELESS tries in a row waits behind
 * all others, longest since its last try first. (By the last try alone, failures of 50 % leave a worst age twice that of the oldest
 * capture first; by the oldest capture alone, servers that always fail take every place: tests/unit/test_cadence_fleet.c.) Sets has_place of each.
 * `was_changed`: n, k or a seat is another than in the slot before: all due ones count as owed. `tried`: places of this slot that are
 * gone already. Returns how many were given now. -ENOMEM. */
int cadence_give_places(const struct cadence_pace *p, int64_t slot, uint32_t salt, bool was_changed,
			uint32_t tried, struct cadence_server *servers, size_t count);

/* The one place where switch and gate meet. */
enum cadence_answer cadence_answer(const struct cadence_pace *p, bool is_on, int64_t slot,
				   uint32_t salt, bool was_changed,
				   const struct cadence_server *server);

/* Seats. The lowest seat that none of `taken` (any order) has. */
uint32_t cadence_free_seat(const uint32_t *taken, size_t count);

/* A server leaves: the highest seat moves into the hole. Returns the index in `seats` whose seat is to become `left`, or
 * `count`: none has to move. `seats` are those that stay. */
size_t cadence_fill_hole(const uint32_t *seats, size_t count, uint32_t left);

/* The model beside the measurement. Time between two visits of a server: servers * run / C + tick / 2, and never under the cycle. */
uint64_t cadence_model_ns(uint32_t servers, uint64_t run_ns, uint32_t most_at_once,
			  uint64_t cycle_ns);

#endif
