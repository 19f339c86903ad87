/* pg_capture.h - a capture from inside: which statements (pg_rank.c), their texts a round at a time (pg_round.c), database by database
 * their plans (pg_capture.c). */
#ifndef TARE_FLEET_PG_CAPTURE_H
#define TARE_FLEET_PG_CAPTURE_H

#include "fleet/pg_body.h"
#include "fleet/pg_found.h"

enum capture_phase {
	RANKING,
	GOING_FOR_TEXTS,
	TEXTS,
	GROUP,	   /* the next database's statements */
	ENTERING,  /* their database */
	FUNCTIONS, /* its functions, once */
	PLANS,
	CLEARING, /* a transaction that was left open */
	RETURNING,
	DONE,
};

/* A statement of this round, and its text. */
struct captured {
	struct text_wanted wanted;
	char *text, *path; /* owned; NULL: did not come */
	uint32_t text_len;
};

struct pg_capture {
	enum capture_phase phase;
	struct captured *rows; /* owned: by database, home first, then by rank */
	size_t count;
	size_t at, group_end,
		round_end; /* what comes next; of the round's statements of one database; of the round */
	uint32_t dbid; /* where we are; 0: elsewhere */
	bool has_missed, has_texts;
	struct plan_wanted *asked; /* owned: of this group */
	struct server_facts facts; /* of the group's database */
	struct delta_visit functions_before;
	bool has_functions_before;
	struct script plans; /* owned while phase is PLANS */
};

/* Ranks all that ran within the reach; what is above the cap waits. Fills `c`; NULL: a gated visit, whose log says whether the cap was
 * full. -ENOMEM. */
int capture_rank(struct pg_body *b, struct pg_capture *c);

/* A round of so many texts as the budget has room for, at least one, from c->at on: its question. 1 or -ENOMEM. */
void capture_begin_round(struct pg_body *b, struct pg_capture *c);
int capture_ask_round(struct pg_body *b, struct pg_capture *c, struct ask *out);

/* A row of the round's answer. -ENOMEM. */
int capture_take_text(struct pg_body *b, struct pg_capture *c, const struct cell *cells);

/* Frees the round's texts. */
void capture_forget_round(struct pg_capture *c);

/* Functions of a database that the capture entered. */
bool capture_wants_functions(const struct pg_body *b);
int capture_ask_functions(struct pg_body *b, struct pg_capture *c, struct ask *out);
int capture_note_entered(struct pg_body *b, struct pg_capture *c);

#endif
