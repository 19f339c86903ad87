/* fleet_words.h - a fleet's things in words: servers, statements, reasons; and the answer in one sentence. Foreign names and
 * texts are made harmless. Pure. */
#ifndef TARE_CORE_FLEET_WORDS_H
#define TARE_CORE_FLEET_WORDS_H

#include "core/fleet_analysis.h"
#include "core/text.h"

#define FLEET_CHANGE_LEAST_CALLS 10u  /* on each side, to be told */
#define FLEET_CHANGE_LEAST	 2.0  /* times the mean before, to be told */
#define FLEET_CHANGE_LEAST_SHARE 0.02 /* of its server's statement time, behind the change */
#define FLEET_VERDICT_COLUMNS	 60u  /* of a statement in a sentence */
#define FLEET_LEAST_SHARE	 0.10 /* of all statement time, to stand out */

/* The name of a server in the settings; "server 7" when it is not known. */
void fleet_put_server(struct text *t, const struct fleet_analysis *a, uint32_t server);

/* A statement on one line: its text with white space as single blanks, cut to `columns`; else its command and queryid;
 * "[no privilege]" for the sum of what we may not see. */
void fleet_put_statement(struct text *t, const struct fleet_statement *s, size_t columns);

/* "utility", "permission", "lock" ... and for people: "a utility statement has no plan". Never NULL. */
const char *fleet_reason_word(uint32_t plan_reason);
const char *fleet_reason_sentence(uint32_t plan_reason);

/* Where a statement stands with its plan: "changed" within the span, "yes", why not, or "not yet". Never NULL. */
const char *fleet_plan_word(const struct fleet_analysis *a, const struct fleet_statement *s);

/* Why a difference could not be taken: "the server was started again". Never NULL. */
const char *fleet_life_words(uint32_t life);

/* "success", "permissions", "error", "abandoned", "skipped". Never NULL. */
const char *fleet_outcome_word(uint32_t outcome);

/* How many times longer a call takes behind the change of its plan, and is it told? */
double fleet_change_factor(const struct fleet_statement *s);
bool fleet_change_is_told(const struct fleet_analysis *a, const struct fleet_statement *s);

/* The statement whose change of plan cost most time; NULL: none is told. */
const struct fleet_statement *fleet_worst_change(const struct fleet_analysis *a);

/* Appends the answer without a full stop:
 *   "A call takes 41 times as long since its plan changed: select ... on shop-1, 12 ms for 0.3 ms"
 *   "44 % of 12 min of statement time is select ... on shop-1, 31 ms a call"
 *   "No statement stands out: the largest is select ... on shop-1, 6 %"
 *   "Nothing was measured: no visit went well"
 *   "Nothing ran on 3 servers in 2 min" */
void fleet_verdict_put(struct text *t, const struct fleet_analysis *a);

#endif
