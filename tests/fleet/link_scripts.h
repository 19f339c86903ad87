/* link_scripts.h - scripts of a few fixed questions for tests of links and runners: what came is written down. */
#ifndef TARE_TESTS_FLEET_LINK_SCRIPTS_H
#define TARE_TESTS_FLEET_LINK_SCRIPTS_H

#include "fleet/script.h"

#define ASKED_MOST 16

/* Fixed questions, in order; what came of each. */
struct asked {
	struct ask asks[ASKED_MOST];
	struct answer answers[ASKED_MOST];
	char cells[ASKED_MOST][64];   /* the first cell of the first row; "(null)" for NULL */
	char columns[ASKED_MOST][64]; /* the first column's name */
	uint64_t rows[ASKED_MOST];    /* that row() was given */
	uint32_t count, at;
	uint64_t enough_after; /* row() says enough at this one; 0: never */
	int stops_at; /* ended() of this question ends the script with -ECANCELED; -1: none */
};

/* A script over `a`, whose asks and count are set. */
struct script asked_script(struct asked *a);

#endif
