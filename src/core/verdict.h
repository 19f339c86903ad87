/* verdict.h - the answer in one sentence, without a full stop: the first line of report, page and JSON.
 * The place is the function or marker with the largest own time. It stands out when its own share is 10 % or more and
 * the lower end of the interval is over 5 %; else "No place stands out" names it all the same. Pure. */
#ifndef TARE_CORE_VERDICT_H
#define TARE_CORE_VERDICT_H

#include "core/analysis.h"
#include "core/text.h"

#define VERDICT_LEAST_SHARE 0.10 /* of own time, to stand out */
#define VERDICT_LEAST_LOWER 0.05 /* and its lower end is over this */

/* The place: the largest, but for one that waits for a child that is in the recording itself, since there is where the time goes. NULL
 * when nothing was sampled. Borrowed from `a`. */
const struct function *verdict_place(const struct recording *r, const struct analysis *a);

/* Does this place stand out? */
bool verdict_stands_out(const struct function *place);

/* Appends the sentence in UTF-8, foreign names made harmless:
 *   "44 % ± 2 running in Parser::parse, parser.cpp:310"
 *   "61 % ± 3 waiting for a socket in fetch_orders, orders.php:88"
 *   "No place stands out: the largest is memcpy, 6 % ± 1"
 *   "Coarse, 38 samples: 50 % ± 22 running in gzencode"
 *   "Coarse, 2 samples: most often running in gzencode" (no error can be told)
 *   "Unfinished, saved until 03:11:40: 58 % ± 4 running in Cache::get"
 *   "No samples: it ran 4 ms, under one period" */
void verdict_put(struct text *t, const struct recording *r, const struct analysis *a);

/* Appends "Unfinished, saved until 03:11:40" and `end`; nothing for a finished one. */
void unfinished_put(struct text *t, const struct label *label, const char *end);

/* Appends "running", "waiting" or "runnable". */
void state_put(struct text *t, enum state state);

/* Appends the last part of a file's name and the line, "parser.cpp:310"; nothing when the file is not known. */
void place_put(struct text *t, struct str file, uint32_t line);

#endif
