/* link.h - one connection to one PostgreSQL server, and the script it carries: libpq without waiting, a deadline for every step, and bounds
 * on everything that the other side sends. A server may be hostile: it can only make its own link fail. One thread: the loop's. */
#ifndef TARE_FLEET_LINK_H
#define TARE_FLEET_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "fleet/loop.h"
#include "fleet/script.h"
#include "fleet/settings.h"
#include "fleet/workers.h"

/* What the links of a process share. */
struct link_hall {
	struct loop *loop;
	struct workers *names; /* for looking up names */
	struct workers *steps; /* for the steps of connecting, and for cancelling */
	uint32_t cancels;      /* under way: LINK_CANCELS_MOST at most, more are not sent */
	uint64_t
		cpu_ns; /* CPU time of the loop's thread that has been charged to questions, or to nobody, so far */
	uint64_t notices, refused; /* swallowed so far; links closed for what the other side sent */
};

#define LINK_CANCELS_MOST 4u

/* Deadlines and bounds; a change holds from the next question on. */
struct link_limits {
	uint64_t connect_ns; /* to be connected and let in, the TLS handshake aside */
	uint64_t tls_ns;     /* the TLS handshake */
	uint64_t query_ns;   /* a question that has no deadline of its own */
	uint64_t drain_ns;   /* after a cancelled question, until its answer has ended */
	uint64_t rows;	     /* of an answer that has no cap of its own */
	uint64_t row_bytes, answer_bytes; /* of one row; of a whole answer */
	uint32_t notices;		  /* notices and notifications, in one question */
};

#define LINK_LIMITS_DEFAULT                                                                      \
	((struct link_limits){ 5 * NS_PER_S, 5 * NS_PER_S, 30 * NS_PER_S, 10 * NS_PER_S, 100000, \
			       16 << 20, 64 << 20, 1000 })

struct link; /* opaque */

/* Called once, in a later turn of the loop: connected, or why not (sqlstate, message). */
typedef void link_connected_fn(void *owner, const struct answer *answer);

/* A script has ended: `code` as it said. Called in a later turn of the loop. */
typedef void link_done_fn(void *owner, int code, const struct err *err);

/* A question has ended. */
typedef void link_answered_fn(void *owner, const struct ask *ask, const struct answer *answer);

/* Takes libpq's variables out of the environment that would change where it goes or what it runs (PGSERVICE, PGOPTIONS is overridden, ...), and
 * turns Kerberos off, whose libraries wait for name servers. Before threads are started. The variables with secrets stay, libpq does not
 * use them here. */
void link_forget_environment(void);

/* A link to a server. `hall` outlives it; `settings` are copied. -ENOMEM. */
int link_open(struct link_hall *hall, const struct server_settings *settings,
	      const struct link_limits *limits, struct link **out);

/* New limits. */
void link_set_limits(struct link *k, const struct link_limits *limits);

/* Ends what is under way without a word, closes the connection. Accepts NULL. */
void link_close(struct link *k);

/* Connects to the server's first database; ends what is under way without a word. */
void link_connect(struct link *k, link_connected_fn *done, void *owner);

/* Carries `script` until it is done; the link must not be at work. The script is borrowed until done() or link_stop(). A server that
 * cannot be reached any more is asked no further: the script ends with -ENOTCONN. */
void link_run(struct link *k, struct script *script, link_done_fn *done, void *owner);

/* Tells every answer of the scripts it carries; NULL: nobody. */
void link_on_answer(struct link *k, link_answered_fn *answered, void *owner);

/* Ends a script without a word, and closes the connection: what is on its way cannot be told apart any more. */
void link_stop(struct link *k);

/* The same, but the script's question that is under way is ended as one that failed: it can be run anew. */
void link_cut(struct link *k);

/* Closes the connection when nothing is under way. */
void link_disconnect(struct link *k);

/* Connected to the first database, nothing is under way: a script may be run. */
bool link_is_ready(const struct link *k);

/* Whether the connection has been made anew since the last call. */
bool link_take_is_new(struct link *k);

/* Why the connection was lost in the script that ran last: the answer of the question that it died in. NULL: it was not. */
const struct answer *link_lost(const struct link *k);

/* What stands between us and a database away from this machine: the sslmode in force, for words. Borrowed. */
const char *link_sslmode(const struct link *k);

/* Carries `script` over a connection of its own, and waits for it: for a person's question, beside the runner. 0, or what connecting or
 * the script failed with. */
int link_drive(const struct server_settings *settings, const struct link_limits *limits,
	       struct script *script, struct err *err);

#endif
