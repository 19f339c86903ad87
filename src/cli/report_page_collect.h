/* report_page_collect.h - the page of a fleet among its files: what is read for it once more, and the parts of its data. The reader of
 * the data is web/src/collect/model.ts: what is written here is named there. */
#ifndef TARE_CLI_REPORT_PAGE_COLLECT_H
#define TARE_CLI_REPORT_PAGE_COLLECT_H

#include "cli/report_fleet.h"
#include "cli/report_page.h"
#include "core/fleet_time.h"
#include "core/fleet_turns.h"
#include "format/json.h"

#define COLLECT_PAGE_MARKS   60u   /* last visits of a server that are drawn */
#define COLLECT_PAGE_SERVERS 1000u /* rows; what does not fit is counted and said */
#define COLLECT_PAGE_LINES   200u /* statements with a line over time: those whose text is loaded */
#define COLLECT_PAGE_CELLS   24000u	  /* of all lines together */
#define COLLECT_PAGE_PLANS   400u	  /* rows */
#define COLLECT_PAGE_BYTES   (512u << 10) /* of the plans' contents */
#define COLLECT_PAGE_RUNS    200u	  /* of the run log */
#define COLLECT_PAGE_WAITS   400u	  /* rows */

/* Runs of one reading on one server that came to the same, one behind the other. */
struct fleet_same_runs {
	struct run_row last;	      /* its strings are those below */
	struct text reason, sqlstate; /* owned */
	int64_t first_wall_ns;
	uint64_t count;
};

/* What did not go through. */
struct fleet_log {
	struct fleet_same_runs *same; /* owned */
	size_t count, room;
	uint64_t left_out; /* older runs that are not shown */
};

struct collect_page {
	struct fleet_report *r; /* borrowed */
	struct fleet_beat beat;
	struct fleet_turns turns;
	struct fleet_time time;
	char (*marks)
		[COLLECT_PAGE_MARKS]; /* owned: a line a server of the analysis, the newest last; NUL: no visit was due */
	uint64_t *cycles; /* owned: of the last mark */
	size_t place;	  /* of the server whose run was taken last */
	struct fleet_log log;
	double *covered;	      /* owned: of each server, 0 to 1 */
	unsigned halvings;	      /* of all rows below, so that the page fits */
	size_t lines, function_lines; /* statements and functions that have room for their line */
};

#define COLLECT_PAGE_EMPTY ((struct collect_page){ .r = NULL })

/* ---- report_page_collect_load.c ---- */

/* Reads the runs, statements and functions of the report's span once more. */
int collect_page_open(struct fleet_report *r, struct collect_page *out, struct err *err);

/* Accepts the empty value, and may run twice. */
void collect_page_close(struct collect_page *p);

/* So many rows of `count` are shown: all, and half with each halving, but one. */
size_t collect_page_rows(const struct collect_page *p, size_t count);

/* The share of statement `i` in the time of all, fleet_time_share(); what runs but has no room for a line is asked for too. */
struct share collect_page_share(const struct collect_page *p, size_t i);

/* Is a capture of the server of this place owed, and since when? */
bool collect_page_is_owed(const struct collect_page *p, size_t server, int64_t *out_since_wall_ns);

/* Was the server of this place read at least once in the span? */
bool collect_page_was_reached(const struct collect_page *p, size_t server);

/* ---- report_page_collect_label.c ---- */

/* The label, as HTML. */
void collect_page_put_label(struct text *t, const struct page *page);

/* ---- report_page_collect_log.c ---- */

/* Takes a run in the order of its key. -ENOMEM. */
int fleet_log_take(struct fleet_log *l, const struct run_row *row);

/* The newest first, and no more than are shown. */
void fleet_log_close_input(struct fleet_log *l);

/* Accepts the empty value, and may run twice. */
void fleet_log_free(struct fleet_log *l);

/* ---- report_page_collect_time.c ---- */

/* Members of the open object: the slots with what of them is covered, and the lines of statements and functions. */
void collect_page_put_time(struct json *j, const struct collect_page *p);
void collect_page_put_lines(struct json *j, const struct collect_page *p);

/* ---- report_page_collect_plans.c ---- */

/* "plans": those of the statements shown, with their content while there is room for it. */
int collect_page_put_plans(struct json *j, const struct collect_page *p, struct err *err);

/* Is there a plan whose content will be shown? */
bool collect_page_has_plans(const struct collect_page *p);

/* ---- report_page_collect_rows.c ---- */

/* How many servers have a row. */
size_t collect_page_server_rows(const struct collect_page *p);

/* Members of the open object, an array each, with how many rows are left out. */
void collect_page_put_servers(struct json *j, const struct collect_page *p);
void collect_page_put_turns(struct json *j, const struct collect_page *p);
void collect_page_put_costs(struct json *j, const struct collect_page *p);
void collect_page_put_runs(struct json *j, const struct collect_page *p);
void collect_page_put_waits(struct json *j, const struct collect_page *p);

/* A member: a name of others' making, harmless and on one line. */
void collect_page_put_name(struct json *j, const char *key, struct str name);

/* A member: milliseconds since 1970; 0 is none and becomes null. */
void collect_page_put_ms(struct json *j, const char *key, int64_t wall_ns);

#endif
