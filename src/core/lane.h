/* lane.h - when a failing server is tried again: exponential pauses with jitter and a cap; and what an SQLSTATE says about a
 * connection. Failing servers stand in a lane of their own, so that they never take a place of a healthy one. Pure: the time is an
 * argument, the jitter's generator too. */
#ifndef TARE_CORE_LANE_H
#define TARE_CORE_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rng.h"

/* How a server stands. All zero: healthy. */
struct lane {
	uint32_t failures;	/* in a row */
	uint64_t until_mono_ns; /* not tried before */
};

/* The pauses: the n-th is between half of first * 2^(n - 1) and all of it, and never over `most`. Half of it is drawn, so that servers
 * that failed together do not come back together ("equal jitter", Brooker, "Exponential Backoff And Jitter", 2015). */
struct lane_pauses {
	uint64_t first_ns, most_ns;
};

/* A visit failed: counts it and sets the pause. Returns whether the server has entered the lane by this. */
bool lane_failed(struct lane *l, const struct lane_pauses *pauses, uint64_t now_mono_ns,
		 struct rng *jitter);

/* A visit went well: out of the lane at once. Returns whether it was in it. */
bool lane_recovered(struct lane *l);

/* In the lane. */
bool lane_is_in(const struct lane *l);

/* Whether its pause is over. A healthy server has none. */
bool lane_may_try(const struct lane *l, uint64_t now_mono_ns);

/* Places of the lane beside `at_once` places of the healthy: half as many, at least 2. */
uint32_t lane_places(uint32_t at_once);

/* How long a visit may take before it gives its place to others: four times what visits of the fleet usually take, which one slow
 * server does not change, and never under a second; of a visit that captures under five. `usual_ns` is that of its kind. */
uint64_t lane_patience_ns(uint64_t usual_ns, bool captures);

/* What a failure says about its connection. */
enum lane_verdict {
	LANE_KEEP, /* the connection is fine: the question was not (57014 too: it was cancelled) */
	LANE_RECONNECT, /* 08, 57P: the connection is gone; the next try makes another */
	LANE_BACK_OFF, /* 53300, or the server did not let us in: trying again at once would only add to it */
};

/* By SQLSTATE, five characters; "" is a failure on our side of the wire (deadline, cut line): LANE_RECONNECT. */
enum lane_verdict lane_judge(const char sqlstate[6]);

#endif
