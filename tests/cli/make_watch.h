/* make_watch.h - recordings of a watch made by hand, so that what `tare report` says of them is known to the letter. */
#ifndef TARE_TESTS_MAKE_WATCH_H
#define TARE_TESTS_MAKE_WATCH_H

#include "unit/build_watch.h"

/* An hour of a game in process: systems in frames of 50 ms, one of them hot every 97th, one that grew, one under the timing
 * floor, one never timed (it threw), one that ran three times, one that never ran, and a task. */
void make_colony(struct build_watch *b);

/* An hour of probes on another's program: one function in slices, one that became slow at once, one whose calls were never
 * timed, one whose probes inside took as much as it did, and four that are not watched. */
void make_probes(struct build_watch *b);

/* Cut off in its first minutes. */
void make_watch_unfinished(struct build_watch *b);

/* Nothing was called, and nothing that could be measured was. */
void make_watch_empty(struct build_watch *b);

/* Too hot for any interval, and slices were refused. */
void make_watch_refused(struct build_watch *b);

/* Names that would take over a terminal, a browser or a reader of JSON. */
void make_watch_hostile(struct build_watch *b);

#endif
