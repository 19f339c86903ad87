/* plans.h - the capture half of the statements reading on PostgreSQL: plans of the top of this cycle's difference, by the safe way.
 * Never text spliced into SQL, never ANALYZE, nothing executed. Part of a body (visit.h); also alone, for a person. */
#ifndef TARE_FLEET_PLANS_H
#define TARE_FLEET_PLANS_H

#include "core/err.h"
#include "core/fleet.h"
#include "core/fleet_batch.h"
#include "fleet/script.h"
#include "fleet/server.h"

/* A statement that a plan is wanted of, in the order of its rank. */
struct plan_wanted {
	struct statement_key key;
	struct str text; /* normalised, any bytes; borrowed until plans_close() */
	bool is_cut;	 /* the text is not whole */
	struct str
		user; /* name of the role key.userid: what "$user" of a path is; empty: not known */
	struct str search_path; /* of the role's or database's settings; empty: not known */
};

/* What came of one. Borrowed during the call. */
struct plan_found {
	struct statement_key key;
	enum plan_reason reason;
	char sqlstate[6];
	struct plan_row
		plan; /* when PLAN_OK or PLAN_LARGE; times, server and key are set by who stores */
	struct str redacted; /* the plan's JSON without constants: the payload */
};

typedef int plan_found_fn(void *owner, const struct plan_found *found);

/* A script that plans `count` wanted statements of the database that it is connected to. `on_found` is called once for each. */
int plans_open(const struct plan_wanted *wanted, size_t count, const struct server_facts *facts,
	       const struct visit_limits *limits, plan_found_fn *on_found, void *owner,
	       struct script *out, struct err *err);
void plans_close(struct script *plans);

/* The reason why a statement can have no plan, by its text alone (PLAN_UTILITY, PLAN_MANY, PLAN_NO_TEXT), or PLAN_OK; and its
 * command in words, "select", "create index", without a literal (out_command, may be NULL). Comments and parentheses are passed over. */
enum plan_reason plan_classify(struct str text, bool is_cut, char *out_command, size_t size);

/* Takes the constants out of a plan's JSON and makes its shape. `redacted` and `shape` are owned by the caller (free).
 * -EBADMSG: not a plan of ours; -E2BIG: deeper or larger than we read; -ENOMEM. Foreign input. */
int plan_redact(const char *json, size_t len, char **out_redacted, size_t *out_len,
		struct digest *out_shape, double *out_cost, double *out_rows, struct err *err);

/* Takes literals out of a statement's text: numbers, strings, dollar quotes, and comments, which can hold anything. For every text that is kept, not
 * for utility statements only: pg_stat_statements keeps a text as it came when its entry was evicted while the statement ran. What comes out may not
 * parse again (ORDER BY ?), so plans are made of the text as it was. Idempotent. Returns 0 and an owned text, or -EINVAL: it cannot be parsed, keep only a fingerprint; -EPERM: it can hold a password (ALTER ROLE ... PASSWORD, CREATE
 * SUBSCRIPTION, dblink ...), keep nothing; -ENOMEM. */
int text_redact(struct str text, char **out, size_t *out_len);

/* SHA-256. 0 or -ENOMEM. */
int payload_digest(const void *bytes, size_t len, struct digest *out);

/* What compresses payloads. To make it costs more than to compress a text where a hypervisor answers CPUID: one lasts for all visits of a
 * thread. */
struct payload_press;

/* -ENOMEM. */
int payload_press_open(struct payload_press **out);

/* Accepts NULL. */
void payload_press_close(struct payload_press *press);

/* Completes the payload row `io_row`, whose server, kind and time the caller has set, for `bytes`: NULs stripped, digest, zstd; over
 * `most_bytes` the content is left out and the size stays. `press` may be NULL: one is made for it. `content` of the row is owned by the
 * caller (free). -ENOMEM, and the row is as it was. */
int payload_make(struct payload_press *press, struct str bytes, uint64_t most_bytes,
		 struct payload_row *io_row);

#endif
