/* lane.c - pauses of failing servers, and what SQLSTATEs say about a connection. */
#include "core/lane.h"

#include <string.h>

#include "core/units.h"

#define PATIENCE_LEAST_NS NS_PER_S
#define PATIENCE_TIMES	  4u
#define CAPTURE_TIMES	  5u

bool lane_failed(struct lane *l, const struct lane_pauses *pauses, uint64_t now_mono_ns,
		 struct rng *jitter)
{
	bool has_entered = l->failures == 0;
	uint64_t pause_ns = pauses->first_ns;

	if (l->failures < UINT32_MAX)
		l->failures++;
	for (uint32_t i = 1; i < l->failures && pause_ns < pauses->most_ns; i++)
		pause_ns = pause_ns > pauses->most_ns / 2 ? pauses->most_ns : pause_ns * 2;
	if (pause_ns > pauses->most_ns)
		pause_ns = pauses->most_ns;
	pause_ns -= rng_below(jitter, pause_ns / 2 + 1);
	l->until_mono_ns = now_mono_ns + pause_ns;
	return has_entered;
}

bool lane_recovered(struct lane *l)
{
	bool was_in = lane_is_in(l);

	*l = (struct lane){ 0 };
	return was_in;
}

bool lane_is_in(const struct lane *l)
{
	return l->failures > 0;
}

bool lane_may_try(const struct lane *l, uint64_t now_mono_ns)
{
	return !lane_is_in(l) || now_mono_ns >= l->until_mono_ns;
}

uint32_t lane_places(uint32_t at_once)
{
	return at_once > 4 ? at_once / 2 : 2;
}

uint64_t lane_patience_ns(uint64_t usual_ns, bool captures)
{
	uint64_t least_ns = captures ? CAPTURE_TIMES * PATIENCE_LEAST_NS : PATIENCE_LEAST_NS;

	if (usual_ns > UINT64_MAX / PATIENCE_TIMES)
		return UINT64_MAX;
	return usual_ns * PATIENCE_TIMES > least_ns ? usual_ns * PATIENCE_TIMES : least_ns;
}

enum lane_verdict lane_judge(const char sqlstate[6])
{
	if (sqlstate[0] == '\0' || strncmp(sqlstate, "08", 2) == 0 ||
	    strncmp(sqlstate, "57P", 3) == 0)
		return LANE_RECONNECT;
	if (strncmp(sqlstate, "53300", 5) == 0 || strncmp(sqlstate, "28", 2) == 0 ||
	    strncmp(sqlstate, "3D", 2) == 0)
		return LANE_BACK_OFF;
	return LANE_KEEP;
}
