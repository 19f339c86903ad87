/* fleet_store_stage.h - what the parts of the suite share: a store to work on, rows to put, rows that are there. Internal
 * to the suite. */
#ifndef TARE_TESTS_FLEET_STORE_STAGE_H
#define TARE_TESTS_FLEET_STORE_STAGE_H

#include <stddef.h>
#include <stdint.h>

#include "core/fleet_batch.h"
#include "fleet_store_suite.h"

#define HOUR_NS INT64_C(3600000000000)
#define DAY_NS	(24 * HOUR_NS)
/* A day's start, 2026-11-29. */
#define BASE_NS (INT64_C(20786) * DAY_NS)

extern const struct fleet_suite *suite;

/* Fails with all three lines of the error. */
void ok(int rc, const struct err *err);

/* A store that was not there, open for writing. Its URL is kept for stage_open(). */
void *stage_fresh(void);

/* Opens the store that stage_fresh() made last. */
void *stage_open(enum fleet_access access);

/* A batch with one row. */
struct fleet_batch batch_of(uint32_t server, uint64_t cycle, const struct table *t,
			    const void *row);

/* Adds a row, and a run of this cycle that makes the batch known. */
void batch_add(struct fleet_batch *b, const struct table *t, const void *row);
void batch_add_run(struct fleet_batch *b, int64_t at_ns);

/* Puts one batch and frees it; whether it was there. */
bool put_one(void *db, struct fleet_batch *b);

/* Rows of a scan: the first few are kept whole (of tables without strings), all are counted. */
struct found {
	const struct table *table;
	char *rows; /* owned */
	size_t count, room;
};

/* Scans into copies; strings of them are not valid. found_free() ends them. */
struct found found_rows(void *db, const struct table *t, const struct fleet_range *range);
void found_free(struct found *f);
size_t count_rows(void *db, const struct table *t);

/* Tidies until there is no more to do; what it did altogether. */
struct fleet_tidied tidy_all(void *db, int64_t now_ns, const struct fleet_limits *limits);

/* The parts of the suite. */
int suite_rows(void);
int suite_fleet(void);
int suite_sums(void);
int suite_age(void);

#endif
