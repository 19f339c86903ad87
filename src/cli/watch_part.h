/* watch_part.h - what watch_sources.c and watch_turn.c share of one source. */
#ifndef TARE_CLI_WATCH_PART_H
#define TARE_CLI_WATCH_PART_H

#include "cli/watch_sources.h"

/* The clock that was passed in. */
uint64_t watch_sources_now(const struct watch_sources *w);

/* Closes its source: its points are attached no more, its rows stay. May run twice. */
void watch_part_close(struct watch_sources *w, struct watch_part *part);

/* Gives the source the order that is in force for a point. One that was not asked for is timed as little as can be. */
void watch_part_order(struct watch_sources *w, const struct watch_part *part, uint32_t point);

/* Adds the points that a running source has found since. */
void watch_part_add_new(struct watch_sources *w, struct watch_part *part);

/* A point is watched no more, and why: copied. */
void watch_part_say_why(struct watch_sources *w, struct watch_point *point, struct str why_not);

/* Measures a little more of what calls cost; a part of the price for it. */
void watch_sources_measure(struct watch_sources *w);

/* Equal bytes. */
bool watch_is_same(struct str a, struct str b);

#endif
