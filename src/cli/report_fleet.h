/* report_fleet.h - the report of a fleet's store among its files: what is loaded, and its parts on screen. */
#ifndef TARE_CLI_REPORT_FLEET_H
#define TARE_CLI_REPORT_FLEET_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/report.h"
#include "core/findings.h"
#include "core/fleet_analysis.h"
#include "store/fleet_store.h"

/* Plans and texts above this are not shown: a store is foreign until it is checked. */
#define FLEET_PAYLOAD_MOST_BYTES (16u << 20)

struct fleet_report {
	const struct fleet_store_ops *ops;
	void *db;	/* owned: open while payloads are asked for */
	char *path;	/* owned: file or URL, its passwords overwritten */
	uint64_t bytes; /* of the store */
	struct fleet_analysis a;
	struct findings findings;
	char **texts; /* owned: of the first statements */
	size_t text_count;
	bool is_summed; /* older rows were read as sums by the hour */
};

#define FLEET_REPORT_EMPTY ((struct fleet_report){ .db = NULL })

/* ---- report_fleet_load.c ---- */

/* Reads the store at `path`: the last `last_ns` of it, 0: the last day that has rows. */
int fleet_report_open(const char *path, uint64_t last_ns, struct fleet_report *out,
		      struct err *err);

/* The same with the store's password as the settings name it; "": none. */
int fleet_report_open_with(const char *path, const char *password, uint64_t last_ns,
			   struct fleet_report *out, struct err *err);

/* Accepts the empty value, and may run twice. */
void fleet_report_close(struct fleet_report *r);

/* The bytes of a payload. *out_has false: it is not kept (too large, or gone); *out_size is its length all the same, 0: not
 * known. `out` is owned by the caller (text_free). -EBADMSG: damaged; -ENOMEM. */
int fleet_report_payload(struct fleet_report *r, uint32_t server, const struct digest *digest,
			 struct text *out, bool *out_has, uint64_t *out_size, struct err *err);

/* ---- report_fleet.c ---- */

/* Is this a fleet's store? A URL of PostgreSQL is; a file is when it says so. */
bool report_is_fleet(const char *path);

/* Prints what was asked for. */
int report_fleet_show(struct app *app, const char *path, const struct report_opts *opts,
		      struct err *err);

/* ---- report_fleet_head.c ---- */

/* One line of the head; what `put` leaves empty is not shown. */
struct fleet_fact {
	const char *key;
	void (*put)(struct text *t, const struct fleet_report *r);
};

/* When, how many servers, what collecting cost; a key of NULL ends them. */
extern const struct fleet_fact fleet_facts[];

/* The same as lines between verdict and tables. */
void fleet_head(struct screen *s, const struct fleet_report *r);

/* ---- report_fleet_tables.c ---- */

#define FLEET_FIRST_ROWS 10u

/* "servers", "statements", "functions", "waits"; `shows_all`: every row. Returns how many are not shown. */
uint32_t fleet_servers(struct screen *s, const struct fleet_report *r, bool shows_all);
uint32_t fleet_statements(struct screen *s, const struct fleet_report *r, bool shows_all);
uint32_t fleet_functions(struct screen *s, const struct fleet_report *r, bool shows_all);
void fleet_waits(struct screen *s, const struct fleet_report *r, bool shows_all);

/* ---- report_fleet_cost.c ---- */

/* "the cost of collecting", by reading; `shows_all`: by server too. */
void fleet_costs(struct screen *s, const struct fleet_report *r, bool shows_all);

/* What each reading cost over the fleet; failures are those of any kind. */
void fleet_costs_sum(const struct fleet_analysis *a, struct fleet_reading sums[READING_COUNT]);

/* The largest share of one CPU that collecting took on a server, in millionths; and which server. NULL: not known. */
const struct fleet_server_sum *fleet_dearest(const struct fleet_analysis *a, uint64_t *out_ppm);

/* ---- report_fleet_plans.c ---- */

/* The plan before and after, of the change that cost most, or of the largest statement that changed; nothing when none did. */
int fleet_plan_change(struct screen *s, struct fleet_report *r, struct err *err);

/* One plan as a tree of its nodes, `indent` columns in. Foreign JSON: -EBADMSG. */
int fleet_put_plan(struct screen *s, const char *json, size_t len, size_t indent, struct err *err);

/* ---- report_fleet_json.c ---- */

/* The whole report as one JSON object; and its schema. 0, -EIO or -ENOMEM. */
int fleet_json(FILE *out, struct fleet_report *r, struct err *err);
int fleet_schema(FILE *out);

#endif
