/* watch_verdict.h - a watch's answer in one sentence, without a full stop: the first line of report, page and JSON. Pure.
 *
 * The first rule that holds speaks:
 *  1. nothing watched      "Nothing was watched: Gpu::submit is inlined away", "Nothing was watched: none of 3 names could be"
 *  2. slow frames          "Of a slow frame, 56 % ± 3 is Pathfinder::findPath": the largest of their parts, when it stands out
 *                          "Of a slow frame, 91 % ± 2 is in no watched function": when that is more than half, surely
 *                          "at least": parts of some frames were scaled down to them; then nothing is said of the rest
 *                          "No part of a slow frame stands out: the largest is Net::flush, 6 % ± 1"
 *  3. frames, none slow    "No frame over 50 ms in 240,000" (with --slow)
 *  4. nothing called       "None of the 12 functions was called in 3 h 20 min"
 *  5. nothing timed        "Chat::filter was called 3 times and never timed"
 *  6. one stands out       "Script::onMovement takes 13.1 % ± 0.1 of the run, 2.2 µs a call"; "itself" when it has watched
 *                          callees; "at most" when its calls are under the timing floor
 *  7. one grew             "p99 of Net::flush went from 0.7 to 2.4 ms ± 0.3 at 19:36", "... over the run" when it was little by
 *                          little: twice or more, of a function with VERDICT_LEAST_GROWN of the run
 *  8. all are little       "All 12 functions take 0.4 % ± 0.1: the time is elsewhere": surely under VERDICT_ELSEWHERE
 *  9. else                 as 6, of the largest
 * Before any: "Unfinished, saved until 03:11:40: ". To stand out, a share is as in verdict.h: 10 % or more, surely over 5 %.
 * A row that cannot be ranked does not stand out. */
#ifndef TARE_CORE_WATCH_VERDICT_H
#define TARE_CORE_WATCH_VERDICT_H

#include "core/text.h"
#include "core/watch_analysis.h"

#define VERDICT_ELSEWHERE   0.05 /* of the run: all functions together, upper end */
#define VERDICT_LEAST_GROWN 0.01 /* of the run, or of all frames */

/* Does this share stand out? */
bool watch_stands_out(struct estimate share);

/* Appends the sentence in UTF-8, foreign names made harmless. */
void watch_verdict_put(struct text *t, const struct recording *r, const struct watch_analysis *a);

/* What a sentence is about. */
struct watch_said {
	const struct watched_answer *place; /* borrowed; NULL: not one function */
	struct estimate share;		    /* that it tells; not known when it tells none */
};

/* The same, and says what the sentence is about. */
void watch_verdict_tell(struct text *t, const struct recording *r, const struct watch_analysis *a,
			struct watch_said *out_said);

#endif
