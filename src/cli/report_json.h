/* report_json.h - what the JSON of all reports and their schemas have in common. A number that is not there is null, and a
 * member NAME_reason beside it says why: null never means 0. */
#ifndef TARE_CLI_REPORT_JSON_H
#define TARE_CLI_REPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/report.h"
#include "core/fields.h"
#include "core/fleet.h"
#include "core/frame.h"
#include "format/json.h"

/* The word for a kind of frame: "thread", "native", "kernel", "marker", "inlined", "jit". */
const char *report_kind(enum frame_kind kind);

/* A share, its half width, and the words for both. `range_kept`: samples of the whole range. */
void report_put_share(struct json *j, const char *key, struct share share, uint64_t range_kept);

/* ---- report_json_rows.c ---- */

/* A member that is null, and the one beside it that says why. */
void report_put_null(struct json *j, const char *name, const char *reason);

/* A digest as a value: 64 hexadecimal digits. */
void report_put_digest(struct json *j, const struct digest *d);

/* The members of a row, in the order of its table. */
void report_put_row(struct json *j, const struct table *table, const void *row,
		    const struct label *label);

/* A histogram as an array: each step as [lowest ns, highest ns, weight]. */
void report_put_steps(struct json *j, const struct histogram *h);

/* The members "findings", "ledger" and "price". */
void report_put_findings(struct json *j, const struct findings *f);
void report_put_ledger(struct json *j, const struct recording *r);
struct report_price {
	struct share share; /* of one CPU; an error of 1: no way to know */
	uint64_t spent_ns;
	const struct label *label;
	const char *bound; /* what kind of number it is */
};
void report_put_price(struct json *j, const struct report_price *price);

/* ---- report_schema_write.c ---- */

/* One member of an object of ours. */
struct member {
	const char *object; /* whose: "" is the root; a "$defs" name otherwise */
	const char *name;
	const char *
		type; /* of JSON, "@NAME" for an object, "[NAME" for an array of them, "=NAME" for an enumeration, "steps" */
	bool may_be_null; /* then NAME_reason stands beside it */
	const char *doc;
};

/* Some of them. An object's members stand in the order in which all tables of a schema tell them. */
struct members {
	const struct member *rows;
	size_t count;
};

/* What all reports have in common. Of the root: its begin, the file with price, totals and findings, its end. Of "$defs":
 * "finding", and of "price" all but what was spent. */
extern const struct members report_members_begin, report_members_file, report_members_end,
	report_members_parts;

/* One "$defs" object: columns of a table, if it has one, then members of ours. */
struct schema_object {
	const char *name;
	const struct table *table;
};

/* The words of an enumeration; NULL behind the last. */
struct schema_words {
	const char *name;
	const char *(*word)(size_t index);
};

/* A whole schema. */
struct schema {
	const char *title;
	const struct members *const *tables;
	size_t table_count;
	const struct schema_object *objects;
	size_t object_count;
	const struct schema_words *words;
	size_t word_count;
};

/* Writes it, draft 2020-12. 0, -EIO or -ENOMEM. */
int schema_write(FILE *out, const struct schema *schema);

#endif
