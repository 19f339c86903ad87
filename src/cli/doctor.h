/* doctor.h - the rooms of `tare doctor` among themselves: one line of its answer, and what it knows of watching. */
#ifndef TARE_CLI_DOCTOR_H
#define TARE_CLI_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/app.h"
#include "format/json.h"
#include "sense/places.h"
#include "sense/watch_source.h"

/* One line of the answer. */
enum health { WORKS, PARTLY, FAILS };
struct check {
	enum health health;
	char found[256];
	char mend[256]; /* empty: nothing to do */
};

/* ---- doctor_watch.c: what `tare watch` can do here ---- */

/* What was tried: the way to attach, and what a call costs in it. */
struct doctor_watch {
	char mode[32];	/* as a recording says it: "session", ...; empty: probes cannot be used */
	char why[256];	/* not the best mode, or none at all */
	char mend[256]; /* empty: nothing to do */
	struct watch_costs probes[PLACE_FIRSTS]; /* by the first instruction */
	struct watch_costs scope;		 /* of libtare */
	bool has_scope;				 /* libtare could be tried */
};

/* Tries it, in children of ours: half a second. `switched_off` is TARE_NO, may be NULL. */
void doctor_look_at_watch(const char *switched_off, struct doctor_watch *out);

/* Lines of the answer. */
struct check doctor_check_probes(const struct doctor_watch *w);
struct check doctor_check_prices(const struct doctor_watch *w);
struct check doctor_check_libtare(const struct doctor_watch *w);

/* "tare watch works here", or for whom only. Static. */
const char *doctor_watch_verdict(const struct doctor_watch *w);

/* The members of "watch". */
void doctor_put_watch(struct json *j, const struct doctor_watch *w);

#endif
