/* report_watch.h - the rooms of the report of a watch among themselves. All of them read the recording's rows and what
 * core/watch_analysis.h makes of them; `r->watch` is there. */
#ifndef TARE_CLI_REPORT_WATCH_H
#define TARE_CLI_REPORT_WATCH_H

#include "cli/report.h"
#include "core/measured.h"
#include "core/watch_analysis.h"

/* ---- report_watch_head.c ---- */

/* What ran, what it cost, what a call costs, and what is not watched: the lines between verdict and table. */
void watch_head(struct screen *s, const struct report *r);

/* A price that reads 0 was not measured: looking is never free. */
bool watch_price_is_unmeasured(const struct report *r);

/* What kind of number the price is: "with hooks", "calibrated" in process, "partly assumed". Static. */
const char *watch_price_bound(const struct report *r);

/* Appends "0.57 % ± 0.03 of 1.00 %, with hooks". */
void watch_put_price(struct text *t, const struct report *r);

/* Appends "0", or what was lost: "12 calls, 3 slow frames". */
void watch_put_lost(struct text *t, const struct report *r);

/* Appends "GPU::submit — inlined away" or "vfs_write ⊘ not allowed: needs CAP_PERFMON". */
void watch_put_why_not(struct text *t, const struct watched_row *row);

/* Is it not watched because that was not allowed? */
bool watch_is_denied(const struct watched_row *row);

/* Has it a hook in the kernel, which takes its part of every call? */
bool watch_is_hooked(const struct watched_row *row);

/* What a call costs where it is not timed: our part and what the hook itself takes; and where it is timed. 0: unmeasured. */
struct watch_cost {
	uint64_t untimed_ps, timed_ps;
	uint64_t assumed_untimed_ps, assumed_timed_ps;
};
struct watch_cost watch_cost(const struct watched_row *row);

/* ---- report_watch_table.c ---- */

#define WATCH_FIRST_ROWS 10u /* functions on the first screen */

/* The table of functions. `shows_all`: every function with all its numbers, and what is not watched. Returns how many
 * watched functions are not in it. */
uint32_t watch_table(struct screen *s, const struct report *r, bool shows_all);

/* One function's row with all its numbers, under the table's header. */
void watch_table_one(struct screen *s, const struct report *r, const struct watched_answer *row);

/* What a row under the floor takes of all frames at most, as it was read; without frames, of the run. */
double watch_frame_at_most(const struct watch_analysis *a, const struct watched_answer *row);

/* ---- report_watch_columns.c ---- */

/* A column that only a wide terminal has room for. */
struct watch_column {
	const char *header;
	size_t width;  /* with the blanks before it */
	bool has_unit; /* numbers are in the table's, which is in the header */
	void (*put)(struct text *t, enum measured_unit unit, const struct watched_answer *row);
};

/* In the order in which they are added. */
extern const struct watch_column watch_columns[];
extern const size_t watch_column_count;

/* ---- report_watch_detail.c ---- */

/* What must be known beside the numbers of a row: "in slices, 31 % covered", "cannot rank", "coarse, 38 timed"; nothing
 * when there is nothing. */
void watch_put_notes(struct text *t, const struct report *r, const struct watched_answer *row);

/* Appends calls that were estimated, in three digits: "377,000", "720 million". */
void watch_put_about(struct text *t, double count);

/* Prints all numbers of a row under it. */
void watch_details(struct screen *s, const struct report *r, const struct watched_answer *row);

/* Appends "12.8 ms ± 0.3", "over 10.1 ms" when the upper end is open, "— cannot know" when the lower one is too, "below
 * floor". */
void watch_put_percentile(struct text *t, const struct percentile *p, bool is_below_floor);

/* Appends "608 s ± 14", "at most 1.2 s" of calls under the floor, "— cannot know". */
void watch_put_total(struct text *t, const struct watched_answer *row);

/* Appends the longest timed call, "12.8 ms", or "below floor". */
void watch_put_max(struct text *t, const struct watched_answer *row);

/* Half width of a percentile's interval, at least the nanosecond that clocks tell; MEASURED_NO_ERROR when it is open. */
double watch_percentile_error(const struct percentile *p);

/* ---- report_watch_frames.c ---- */

#define WATCH_FIRST_SLOW 10u /* slow frames on the first screen */

/* How long frames are, the slow ones that were kept with their largest parts, worst first, and their rhythm. Nothing when
 * the watch had no frames. */
void watch_frames(struct screen *s, const struct report *r, bool shows_all);

/* Appends "230 of 240,000 frames took 50 ms or longer; all of them are kept.", or that there was none. */
void watch_put_frames(struct text *t, const struct recording *rec);

/* Appends a part of a slow frame, in whole percent: "56 %", "under 1 %". */
void watch_put_percent(struct text *t, uint64_t part, uint64_t whole);

/* For qsort() of pointers to slow frames. */
int watch_longest_first(const void *a, const void *b);

/* ---- report_watch_time.c ---- */

/* Rows that all windows of the run take. */
uint32_t watch_rows_in(const struct recording *rec);

/* What grew over the run; nothing when nothing did. */
void watch_grown(struct screen *s, const struct report *r);

/* The windows of every function of this name: the whole name, without arguments, or a part of it. -ENOENT: there is none;
 * -EINVAL: several have it as a part; -ENOMEM. */
int watch_over_time(struct screen *s, const struct report *r, const char *name, struct err *err);

/* Appends the time of day (UTC) of an instant of the run, to the second, with its date when the run is longer than a day. */
void watch_put_second(struct text *t, const struct label *label, uint64_t at_ns);

/* ---- report_watch_label.c ---- */

/* The facts of a watch. */
extern const struct fact watch_label_rows[];
extern const size_t watch_label_count;

/* The whole label, one fact a line. */
void watch_label(struct screen *s, const struct report *r);

/* ---- report_watch_json.c, report_watch_schema.c ---- */

/* Writes the whole report as one JSON object, and the JSON schema that describes it. 0, -EIO or -ENOMEM. */
int watch_json(FILE *out, const struct report *r);
int watch_schema(FILE *out);

#endif
