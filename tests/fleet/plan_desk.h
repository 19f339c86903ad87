/* plan_desk.h - plans taken from a real server in tests: what came of each wanted statement, and that nothing stayed behind. */
#ifndef TARE_TESTS_FLEET_PLAN_DESK_H
#define TARE_TESTS_FLEET_PLAN_DESK_H

#include "core/text.h"
#include "fleet/plans.h"
#include "fleet/stage.h"

#define DESK_FOUND_MOST 64

struct desk_found {
	struct statement_key key;
	enum plan_reason reason;
	char sqlstate[6];
	char *redacted; /* owned; NULL: none */
	char path[128], settings[256];
	struct plan_row plan; /* its strings are not to be looked at */
};

struct desk {
	const struct stage *stage;
	const char *user, *database; /* NULL: postgres */
	const char *run_user;	     /* "$user"; NULL: not known */
	const char *path;	     /* of its settings; NULL: none */
	int64_t queryid;	     /* of the wanted statements; else 1, 2, 3 ... */
	struct visit_limits limits;
	int version;
	int stop_with, stop_after; /* on_found answers with this, at the n-th */
	void (*on_ask)(void *owner, const struct ask *ask);
	void *owner;
	struct desk_found found[DESK_FOUND_MOST];
	size_t count;
	uint64_t asked;
	PGconn *conn; /* of the last run when keeps_conn; borrowed from nobody: desk_clear() ends it */
	struct err err;
};

/* A desk at a stage, with the limits' presets and the server's own version. */
struct desk desk_at(const struct stage *stage);

/* Plans these texts and checks that neither a transaction nor a prepared statement stays. Returns what the script ended with. */
int desk_plan(struct desk *d, const char *const *texts, size_t count);

/* One text; fails the test when the script fails. */
const struct desk_found *desk_plan_one(struct desk *d, const char *text);

/* Forgets what was found, closes the connection. */
void desk_clear(struct desk *d);

#endif
