/* fleet_turns.h - the cadence of a fleet as its store shows it: the cycle, how many captures each turn slot held, and who is owed.
 * Runs are taken twice, in the order of their key: first for the cycle, then for the slots. Pure. One thread. */
#ifndef TARE_CORE_FLEET_TURNS_H
#define TARE_CORE_FLEET_TURNS_H

#include "core/cadence.h"
#include "core/fleet_analysis.h"

#define FLEET_TURNS_SHOWN 32u

/* What becomes the length of a cycle. All zero: nothing was taken yet. */
struct fleet_beat {
	uint32_t server; /* of the last visit */
	uint64_t cycle;
	int64_t at_wall_ns;
	uint64_t sum_ns, cycles; /* between visits of one server */
};

/* Captures of a turn slot. */
struct fleet_turn {
	uint32_t scheduled, owed;
	uint32_t missed; /* tried, and not done */
};

struct fleet_turns {
	struct cadence_pace pace; /* n 0: not known */
	int64_t first; /* the turn slot of turns[0]; the last one is that of the last row */
	struct fleet_turn turns[FLEET_TURNS_SHOWN];
	uint32_t servers; /* that have a seat */
	uint32_t most;	  /* captures that a slot may hold */
	struct wall now;  /* of the last row */
};

/* Takes a row of table run; others than visits as a whole count nothing. */
void fleet_beat_take(struct fleet_beat *b, const struct run_row *row);

/* From one visit of a server to its next; 0: not known. */
uint64_t fleet_beat_measured_ns(const struct fleet_beat *b);

/* The cycle as it is set: a visit's time divided by its cycle's number says so to the nanosecond, and a cycle is whole milliseconds. What
 * does not fit what is measured (other cycles before) is not believed. 0: not known. */
uint64_t fleet_beat_cycle_ns(const struct fleet_beat *b);

/* The turn slots of an analysis whose input is closed, as the last minute of its collector has them. */
void fleet_turns_open(const struct fleet_analysis *a, uint64_t cycle_ns, struct fleet_turns *out);

/* Counts the capture of a row of table run, if it is one of statements in a slot that is shown. */
void fleet_turns_take(struct fleet_turns *t, const struct run_row *row);

/* The newest minute of the collector; NULL: there is none. Borrowed. */
const struct collector_row *fleet_newest_minute(const struct fleet_analysis *a);

/* When a server's statements were last captured; NULL: never, or not known. Borrowed. */
const struct capture_row *fleet_capture_of(const struct fleet_analysis *a, uint32_t server);

/* Is a capture of this server owed, and since when? */
bool fleet_turns_is_owed(const struct fleet_turns *t, const struct server_row *server,
			 const struct capture_row *capture, int64_t *out_since_wall_ns);

#endif
