/* fleet_time_parts.h - what the files of core's slots of a fleet share. */
#ifndef TARE_CORE_FLEET_TIME_PARTS_H
#define TARE_CORE_FLEET_TIME_PARTS_H

#include "core/fleet_index.h"
#include "core/fleet_time.h"

/* Something of a server at a moment. */
struct fleet_moment {
	uint32_t server; /* its place in a->servers */
	int64_t at_wall_ns;
	uint64_t span_ns;
};

/* The empty value is all zero. */
struct fleet_moments {
	struct fleet_moment *rows; /* owned */
	size_t count, room;
};

struct fleet_time_index {
	struct fleet_places statements, functions, servers;
	struct fleet_moments visits; /* that read all statements */
	struct fleet_moments breaks; /* visits that know nothing of the time in front of them */
	struct fleet_moments spans;  /* of differences */
	struct fleet_moments hidden; /* rows without one, with the place of their cell for a span */
};

/* Adds one; joins it with the last one when both are of one server and moment, with the longer span. -ENOMEM. */
int fleet_moments_add(struct fleet_moments *m, const struct fleet_moment *moment);
int fleet_moments_join(struct fleet_moments *m, const struct fleet_moment *moment);

/* Accepts the empty value, and may run twice. */
void fleet_moments_free(struct fleet_moments *m);

#endif
