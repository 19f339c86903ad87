/* plan_steps.h - the questions that one plan takes, in their order, and what is remembered between them. Inside of plans only. */
#ifndef TARE_FLEET_PLAN_STEPS_H
#define TARE_FLEET_PLAN_STEPS_H

#include "fleet/plan_json.h"
#include "fleet/plan_paths.h"
#include "fleet/plans.h"

#define PLAN_PARAMS_MOST 65535u
#define PLAN_LINKS_MOST	 9u

enum plan_step {
	STEP_TIMEOUTS, /* what the role's own timeouts are: never do we wait longer */
	STEP_NAMES,    /* who holds what the statements name */
	STEP_TRY,      /* a statement under one path, as one chain */
	STEP_COUNT, /* the same, when its number of parameters was not what we took it for: only counts them */
	STEP_GENERIC, /* the same as GENERIC_PLAN: 16 and later, when children were left out */
	STEP_LEAVE,   /* nothing of ours stays behind */
	STEP_COUNT_OF
};

/* The questions of a try's chain, in their order. */
enum plan_link {
	PLAN_LINK_BEFORE,  /* what a try before has left is left */
	PLAN_LINK_BEGIN,   /* a transaction that only reads */
	PLAN_LINK_SET,	   /* for it: generic plans, timeouts, search_path as a bound parameter */
	PLAN_LINK_PREPARE, /* the text, alone: the server proves that it is one statement */
	PLAN_LINK_COMPARE, /* how many parameters it has, and which relations; when paths are compared */
	PLAN_LINK_EXPLAIN,
	PLAN_LINK_DEALLOCATE, /* in the transaction: behind a pooler the next statement may go elsewhere */
	PLAN_LINK_ROLLBACK,
	PLAN_LINK_NONE /* all went well */
};

/* What came of one statement under one path. */
struct plan_try {
	bool is_made, is_prepared;
	enum plan_reason reason;
	char sqlstate[6];
	struct plan_read plan; /* when PLAN_OK */
	uint64_t plan_bytes;
	bool is_generic;
	struct text relations; /* OIDs that it locked; when paths are compared */
	struct text path;
};

struct plans {
	const struct plan_wanted *wanted;
	size_t count, at;
	struct visit_limits limits;
	int version;
	plan_found_fn *on_found;
	void *owner;

	enum plan_step step;
	int failure;	      /* ends the script once everything is left */
	bool is_begun;	      /* a statement is under way: its paths are made */
	bool is_done;	      /* nothing more is wanted */
	bool is_broken;	      /* a transaction that failed is to be left */
	bool has_prepared;    /* a statement of ours at the server */
	bool has_tried_again; /* after a leftover of an earlier visit */
	bool has_counted;     /* the server was asked for the number of parameters */
	uint64_t statement_ms, lock_ms;
	char statement_text[24], lock_text[24];
	uint32_t params, counted; /* taken from the text; told by the server */
	struct ask links[PLAN_LINKS_MOST];
	enum plan_link kinds[PLAN_LINKS_MOST];
	uint32_t link_count;
	struct plan_names names;
	struct plan_paths paths;
	struct plan_try now, kept;
	bool is_ambiguous;
	struct text sql, question, param;
};

/* Adds this step's question. Returns a negative errno only when memory ran out. */
int plan_step_ask(struct plans *p, struct ask *out);

/* A row of this step's answer. */
int plan_step_row(struct plans *p, const struct cell *cells, uint32_t count);

/* This step is answered: sets the next step. Failures of the server are in p->now. */
void plan_step_ended(struct plans *p, const struct answer *answer);

/* The reason that a SQLSTATE stands for. */
enum plan_reason plan_reason_of(const char *sqlstate);

/* Takes p->now over as what came of the path, or puts it beside what is kept. Returns whether another path is tried. */
bool plan_try_ended(struct plans *p);

/* Empties it. */
void plan_try_free(struct plan_try *t);

#endif
