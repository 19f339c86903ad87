/* fleet_store.h - what `collect` keeps: one seam, for each engine the same tables (core/fleet.h), keyed by server first. A
 * handle belongs to one thread. */
#ifndef TARE_STORE_FLEET_STORE_H
#define TARE_STORE_FLEET_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/fleet.h"
#include "core/fleet_batch.h"
#include "core/recording.h"
#include "core/units.h"

enum fleet_access {
	FLEET_READ,  /* report, status: never changes anything, works beside a writer */
	FLEET_WRITE, /* the collector: makes or migrates the schema, under a lock */
};

/* How long rows stay, and how much payloads may take. */
struct fleet_limits {
	uint64_t raw_ns, hourly_ns, daily_ns, runs_ns; /* 7 days, 90 days, 5 years, 30 days */
	uint64_t payload_bytes;			       /* 1 GiB */
};

#define FLEET_LIMITS_DEFAULT                                         \
	((struct fleet_limits){ UINT64_C(7) * 86400 * 1000000000,    \
				UINT64_C(90) * 86400 * 1000000000,   \
				UINT64_C(1826) * 86400 * 1000000000, \
				UINT64_C(30) * 86400 * 1000000000, UINT64_C(1) << 30 })

/* Which rows of a table, in the order of its key. */
struct fleet_range {
	uint32_t server; /* NO_ID: all */
	int64_t from_wall_ns,
		to_wall_ns; /* from <= at_wall_ns < to, for tables that have it; 0 and INT64_MAX: all */
	const struct statement_key *key; /* NULL: any; only for tables that have one */
	const struct digest *digest;	 /* NULL: any; only for payload */
};

#define FLEET_RANGE_ALL ((struct fleet_range){ NO_ID, 0, INT64_MAX, NULL, NULL })

/* One row, a struct of the table; strings and blobs are borrowed until it returns. Not 0: stop, and scan returns it. */
typedef int fleet_row_fn(void *owner, const void *row);

/* What tidying did in one step. */
struct fleet_tidied {
	uint64_t summed_rows, dropped_rows, dropped_payloads;
	uint64_t freed_bytes; /* of payloads */
	bool is_more;	      /* there is more to do: call again */
};

struct fleet_store_ops {
	const char *scheme; /* "sqlite", "postgresql" */
	/* FLEET_WRITE makes the store when there is none and migrates an older schema, under a lock; FLEET_READ: -ENOENT, and
	 * -ENOTSUP asks to run the collector once for an older one. A newer schema is refused: -ENOTSUP says which tare it needs.
	 * -EBUSY: another collector writes it (SQLite); -EBADMSG: not a fleet's store; -EHOSTUNREACH: away, may be tried again. */
	int (*open)(const char *url, enum fleet_access access, void **out_db, struct err *err);
	/* What becomes of a row whose key is there: store/fleet_rules.h. Rows older than raw rows are kept (a batch that waited
	 * in a spool) are added to the sums at once, so that nothing is lost and nothing counted twice. A batch without a run of its
	 * own (server, cycle) is written each time it comes. */
	/* Writes `count` batches in one transaction, or nothing of any: many servers' visits cost one commit together.
	 * out_was_there[i]: a run of that (server, cycle) was there, and nothing of that batch was written. -EHOSTUNREACH: the store is
	 * away (the batches go to the spool); -ENOSPC, -EIO: it is as it was, and the same batches may be tried again; -EINVAL: one of
	 * them can never be written (put them one by one to know which). */
	int (*put)(void *db, const struct fleet_batch *const *batches, size_t count,
		   bool *out_was_there, struct err *err);
	/* Makes the fleet consist of the `count` servers (name, kind, address): who is gone gives up his seat, who is new or back takes the
	 * lowest free one, and while there is still a hole the highest moves into it, all in one transaction: seats are then 0 to count - 1.
	 * Who comes back has his old number. Fills server and seat of each row. -EINVAL: no name, or the same twice. */
	int (*enrol)(void *db, struct server_row *servers, size_t count, struct err *err);
	/* One place of a slot's `allowance` of owed captures, fleet-wide; *out_has: whether there was one. One statement. */
	int (*take_place)(void *db, uint32_t reading, int64_t slot, uint32_t allowance,
			  bool *out_has, struct err *err);
	/* Calls `fn` for each row of `t` in the order of its key. Works in one short snapshot; `fn` leaves the store alone. -EBADMSG: a foreign store, with table
	 * and column; -EAGAIN: a file that nobody was writing is being written now, and some rows were given already: try again. */
	int (*scan)(void *db, const struct table *t, const struct fleet_range *range,
		    fleet_row_fn *fn, void *owner, struct err *err);
	/* Sums what is to be summed (whole hours, days), drops what is too old or too much; at most about `budget_ns` of work a call.
	 * Raw rows go only when their sums are kept; payloads go when no row names them and they were not seen for as long as raw rows
	 * stay, and over their size the longest unseen first. Raw rows and runs stay for an hour at least, hours for a day longer than raw rows,
	 * days for a day longer than hours. */
	int (*tidy)(void *db, struct wall now, const struct fleet_limits *limits,
		    uint64_t budget_ns, struct fleet_tidied *out, struct err *err);
	/* Bytes of the store as a whole. */
	int (*size)(void *db, uint64_t *out_bytes, struct err *err);
	void (*close)(void *db); /* accepts NULL */
};

extern const struct fleet_store_ops fleet_store_sqlite, fleet_store_postgres;

/* Is this file a fleet's store (SQLite), of any version? Looks at its first 100 bytes only, takes no lock. False: a recording, anything else,
 * or it cannot be read. Not for a file that this process has open: closing it again would drop SQLite's locks. */
bool fleet_store_is(const char *path);

/* The engine for "sqlite://PATH", "PATH" or "postgresql://..." (also "postgres://"). -EINVAL names the schemes there are; -ENOTSUP: this build
 * has none for it. */
int fleet_store_find(const char *url, const struct fleet_store_ops **out, struct err *err);

#endif
