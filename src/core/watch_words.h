/* watch_words.h - words that only a watch needs: an estimate with its error, a change, a function's name, a time of day.
 * Number, unit and "±" are kept together by U+00A0. Durations and costs: measured.h. Pure. */
#ifndef TARE_CORE_WATCH_WORDS_H
#define TARE_CORE_WATCH_WORDS_H

#include "core/text.h"
#include "core/watch_analysis.h"

#define WATCH_NAME_COLUMNS 60u
#define WATCH_WHY_COLUMNS  100u /* of a reason that the recorder gave */

/* The nearest whole number; what is no number, or under 0, is 0, and what has no room the largest there is. */
uint64_t watch_whole(double value);

/* Appends a share: as measured_put_share(), and "— not measured" when it is not known. */
void watch_put_share(struct text *t, struct estimate e);

/* Appends an upper end: "at most 3.0 %", "under 0.01 %" for what would round to 0, and "0". */
void watch_put_at_most(struct text *t, double share);

/* Appends "from 0.7 to 2.4 ms ± 0.3", both in one unit, with the digits that the error allows. */
void watch_put_change(struct text *t, double from_ns, double to_ns, double error_ns);

/* Appends "from 0.7 to 2.4 ms ± 0.3 at 19:36" for a step, else "... over the run". */
void watch_put_growth(struct text *t, const struct recording *r, const struct growth *growth);

/* Appends the name of a function, made harmless, without arguments, cut to WATCH_NAME_COLUMNS. */
void watch_put_name(struct text *t, const struct watched_row *row);

/* Why calls of it are counted and not timed, as its mode says: "counting: why". Borrowed; empty: they are timed. */
struct str watch_counted_why(const struct watched_row *row);

/* Appends the time of day (UTC) of an elapsed time: "19:36"; "19:36:20" when rows of windows are shorter than a minute; with
 * the date before it when the run is longer than a day. */
void watch_put_when(struct text *t, const struct recording *r, uint64_t at_ns);

#endif
