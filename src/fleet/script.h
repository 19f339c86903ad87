/* script.h - what to ask one database server, question by question: a script knows no socket and no clock of its own, the
 * runner (or a test) carries its questions and brings the answers. One thread. The seam between readings and drivers:
 * PostgreSQL's link speaks it today, others can. */
#ifndef TARE_FLEET_SCRIPT_H
#define TARE_FLEET_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* How a question is put. Never is text that came from a server run as SQL, or spliced into it: it goes into ASK_PREPARE, where the
 * protocol refuses a second statement, or is a bound parameter. */
enum ask_kind {
	ASK_QUERY,   /* SQL of ours, with bound parameters (extended protocol: one statement) */
	ASK_PREPARE, /* prepares `sql` under `name`; runs nothing */
	ASK_DATABASE, /* leaves the connection and enters database `name` of the same server; "" is the first one again */
	ASK_SIMPLE, /* SQL of ours without parameters by the simple protocol: BEGIN, SET LOCAL, EXECUTE of a name of ours. Several statements
		     * with ';' between are one question; at most one of them has rows */
	ASK_CHAIN, /* questions (ASK_QUERY, ASK_PREPARE) that are sent together and waited for once: the first that fails ends them, what is behind it
		    * is not run. columns() and row() are called as if each was asked alone, ended() once */
};

#define ASK_PARAMS_MOST 8

struct ask {
	enum ask_kind kind;
	const char *sql;  /* borrowed until ended() */
	const char *name; /* of the prepared statement, ours; or of the database */
	uint32_t param_count;
	const char *params[ASK_PARAMS_MOST]; /* text form; NULL is NULL; borrowed until ended() */
	uint32_t reading;		     /* enum reading_id: whose account it is on */
	uint64_t deadline_ns;		     /* for this question; 0: the runner's */
	uint64_t most_rows;		     /* more are an error; 0: the runner's cap */
	const struct ask *links; /* of a chain, in their order; borrowed until ended() */
	uint32_t link_count;
};

/* One cell of a row: text form, any bytes, not NUL-terminated by promise. */
struct cell {
	const char *bytes; /* NULL: SQL NULL */
	uint32_t len;
};

/* How a question ended. */
struct answer {
	bool is_ok;
	char sqlstate
		[6]; /* "" when the failure is not the server's (deadline, cut line): see `message` */
	char message
		[256]; /* the server's primary message only: no detail, no context, no literal is kept of it anywhere */
	bool is_late; /* its deadline passed; the question was cancelled */
	uint32_t
		links_done; /* of a chain: how many went well; fewer than all: the next one failed */
	uint64_t rows, bytes;
	uint64_t elapsed_ns; /* from sending to the end of the answer */
	uint64_t
		trip_ns; /* of this, the way there and back: the fastest answer of this server so far, whole */
	uint64_t own_ns; /* CPU time of ours, in it: sending, reading, and the script's row() */
};

/* A script. `self` is owned by who made it. */
struct script {
	void *self;
	/* The next question: 1 and *out; 0: the script is done; a negative errno with `err`: it cannot go on. Called again only
	 * after ended(). */
	int (*next)(void *self, struct ask *out, struct err *err);
	/* Names of the columns, before the first row (also when there is none). May be NULL. Not 0: the answer is not as expected, the rest is drained. */
	int (*columns)(void *self, const char *const *names, uint32_t count);
	/* One row; cells are borrowed during the call. Not 0: enough, the rest is drained and ended() still comes. */
	int (*row)(void *self, const struct cell *cells, uint32_t count);
	/* The question is answered, or failed. 0: go on with next(); a negative errno: the script ends here. */
	int (*ended)(void *self, const struct answer *answer, struct err *err);
};

#endif
