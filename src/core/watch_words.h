/* watch_words.h - the numbers of a watch in words: an estimate with its error, a duration with its error, a rate. Number,
 * unit and "±" are kept together by U+00A0. Pure. */
#ifndef TARE_CORE_WATCH_WORDS_H
#define TARE_CORE_WATCH_WORDS_H

#include "core/text.h"
#include "core/watch_analysis.h"

#define WATCH_NAME_COLUMNS 60u

/* The same as a share for text_share() and text_put_share(): range_kept is WATCH_SHARE_KEPT. Only for known values
 * below 1. */
#define WATCH_SHARE_KEPT UINT32_MAX
struct share watch_share(struct estimate e);

/* Appends a share: "13.1 % ± 0.1", "312 % ± 4", "0", "13.1 %" when it is exact, "under 0.3 %" when the error is larger than
 * the value, "— not measured" when it is not known, "— cannot know" when it has no error. */
void watch_put_share(struct text *t, struct estimate e);

/* Appends a duration with the half width of its interval, in one unit: "43.1 µs ± 0.4", "19 ns", which is exact, and
 * "0 ns". */
void watch_put_time(struct text *t, double ns, double error_ns);

/* Appends "from 0.7 to 2.4 ms ± 0.3". */
void watch_put_change(struct text *t, double from_ns, double to_ns, double error_ns);

/* Appends "1.98 M", "16,844", "84.2", "0.31": at most four digits that count, no unit. */
void watch_put_rate(struct text *t, double a_second);

/* Appends the name of a function, made harmless, without arguments, cut to WATCH_NAME_COLUMNS. */
void watch_put_name(struct text *t, const struct watched_row *row);

/* Appends the time of day (UTC) of an elapsed time: "19:36"; "19:36:20" when windows are shorter than a minute; with the
 * date before it when the run is longer than a day. */
void watch_put_when(struct text *t, const struct recording *r, uint64_t at_ns);

#endif
