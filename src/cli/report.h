/* report.h - the rooms of `tare report` among themselves: what is printed, and where it goes. */
#ifndef TARE_CLI_REPORT_H
#define TARE_CLI_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "core/analysis.h"
#include "core/findings.h"
#include "core/recording.h"
#include "core/text.h"
#include "core/watch_analysis.h"

#define REPORT_SCHEMA_VERSION 1u

struct app;
struct screen;
struct task_views;

/* What was asked for. */
struct report_opts {
	bool shows_all, only_findings, only_label, only_slow, is_json, is_schema;
	const char *function; /* only this one's windows; NULL: not asked for */
	uint64_t last_ns;     /* of a fleet: only so much of it; 0: a day */
	const char *task;     /* only this one, by number or name; NULL: not asked for */
	const char *html;     /* write a page there instead; NULL: not asked for */
	bool may_overwrite;   /* the page */
};

/* How the recordings of one instrument are reported. */
struct report_kind {
	const char *instrument; /* as the label says */
	/* Prints what was asked for of `recording`, which was read from `path`. */
	int (*show)(struct app *app, const struct recording *recording, const char *path,
		    const struct report_opts *opts, struct err *err);
	int (*schema)(FILE *out); /* of its JSON. 0, -EIO or -ENOMEM */
};

extern const struct report_kind report_record, report_watch;

/* ---- report.c: what all kinds have in common ---- */

/* Are only parts of it asked for? */
bool report_has_parts(const struct report_opts *opts);

/* Where words of a report go: as wide as the terminal, 80 without one. */
struct screen report_screen(const struct app *app);

/* What stands out: title, evidence, where to look next. */
void report_findings(struct screen *s, const struct findings *f);

/* The last line of the first screen: what else there is. */
void report_more(struct screen *s, size_t findings, uint32_t functions_left);

/* Says why a report could not be written; 0 for -EIO, which main tells. */
int report_failed(int code, struct err *err);

/* Everything that a report says. Borrowed. */
struct report {
	const struct recording *recording;
	const struct analysis *analysis;    /* of samples; NULL in a watch */
	const struct watch_analysis *watch; /* NULL unless it is a watch */
	const struct findings *findings;
	const struct task_views *tasks; /* NULL in a watch */
	const char *path;
};

/* ---- report_screen.c: lines of a terminal ---- */

/* Where lines go. Cells are put at columns; without UTF-8 everything becomes ASCII before it is measured. */
struct screen {
	FILE *out;	  /* borrowed */
	unsigned columns; /* at least 70; tables are made for 80, names take what is more */
	bool is_ascii;
	struct text line; /* owned: the line so far */
	bool has_failed;  /* memory ran out */
};

/* Gives the memory back. Accepts the empty value, and may run twice. */
void screen_free(struct screen *s);

/* Appends text of ours (UTF-8). */
void screen_put(struct screen *s, const char *chars);

/* Blanks up to this column; nothing when the line is there already. */
void screen_to(struct screen *s, size_t column);

/* Puts text of ours so that it ends before `end`. */
void screen_put_right(struct screen *s, const char *chars, size_t end);

/* Puts a foreign name in at most `columns`; as a function's it is shortened before it is cut. */
void screen_put_name(struct screen *s, struct str name, size_t columns, bool is_function);

/* Columns of the line so far. */
size_t screen_column(const struct screen *s);

/* Writes the line, without blanks at its end, and begins the next. */
void screen_end(struct screen *s);

/* Writes whole sentences over as many lines as they need; lines behind the first begin at `indent`, words stay whole. */
void screen_wrap(struct screen *s, const char *chars, size_t indent);

/* ---- report_table.c ---- */

#define TABLE_FIRST_ROWS 10u /* functions on the first screen */

/* `title`, "where the time goes": the heaviest functions, then every marker with weight, then (unsampled). `shows_all`: every
 * function. Returns how many functions with weight are not in it. */
uint32_t table_functions(struct screen *s, const struct report *r, const char *title,
			 bool shows_all);

/* "by thread". Where waiting was recorded, those that never ran are one line. */
void table_threads(struct screen *s, const struct report *r, bool shows_all);

/* Appends a whisker of `cells`: a bar from 0 to the interval, the interval, the estimate. `axis` is the share at its
 * right end; a share over it is broken off with "//". */
void table_whisker(struct text *t, struct share share, double axis, size_t cells);

/* ---- report_head.c ---- */

/* "running 3.1 %, waiting 96 %, runnable 0.4 % of 6 min of its threads' time". */
void label_put_states(struct text *t, const struct report *r);

/* What ran, what it cost, how sure it is, and what was not measured: the lines between verdict and table. */
void label_head(struct screen *s, const struct report *r);

/* Parts of a head. "ran  CMD on HOST, 6 h 12 min" and `more`, ", status 0": how it ended; two facts in one line, or in two
 * where one is too wide for its half; a reason of the recorder's own words, "not allowed: ..." or another, with its sign. */
void head_ran(struct screen *s, const struct label *label, const char *more);
void head_put_ending(struct text *t, const struct label *label);
void head_pair(struct screen *s, const char *const keys[2], const struct text values[2]);
void head_put_reason(struct text *t, struct str reason);

#define HEAD_VALUE_AT 8u /* the column of values */

/* Parts of it that the whole label says too: "0.21 % ± 0.02 of 0.50 %, at least"; "1.9 of 4.0 MB, for ever";
 * "0.02 %, one gap of 2:44". */
void label_put_price(struct text *t, const struct report *r);
void label_put_size(struct text *t, const struct report *r);
void label_put_lost(struct text *t, const struct report *r);

/* "0.21 % ± 0.02 of 0.50 %", or that it was not measured. An error of 1 and more: there is no way to know. */
void label_put_share_of_limit(struct text *t, struct share price, bool is_unmeasured,
			      uint64_t limit_ppm);

/* A price that reads 0 was not measured: looking is never free. */
bool label_is_price_unmeasured(const struct report *r);

/* ---- report_label.c ---- */

/* One line of a label. */
struct fact {
	const char *key;
	void (*put)(struct text *t, const struct report *r);
};

/* The facts of a recording of samples. */
extern const struct fact label_of_samples[];
extern const size_t label_of_samples_count;

/* The whole label, one fact a line. */
void label_whole(struct screen *s, const struct report *r);

/* The same with facts of one's own. */
void label_facts(struct screen *s, const struct report *r, const struct fact *facts, size_t count);

/* Facts that every instrument has. */
void fact_tare(struct text *t, const struct report *r);
void fact_when(struct text *t, const struct report *r);
void fact_where(struct text *t, const struct report *r);
void fact_seen(struct text *t, const struct report *r);
void fact_size(struct text *t, const struct report *r);
void fact_memory(struct text *t, const struct report *r);

/* What went wrong beside the recording; nothing, if nothing did: then it has no row. */
void fact_marks(struct text *t, const struct report *r);

/* ---- report_json.c ---- */

/* Writes the whole report as one JSON object, and the JSON schema that describes it. Both come from the tables of
 * core/fields.h and from those in report_schema.c. 0, -EIO or -ENOMEM. */
int report_json(FILE *out, const struct report *r);
int report_schema(FILE *out);

#endif
