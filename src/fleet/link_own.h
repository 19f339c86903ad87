/* link_own.h - what the parts of a link share: making the connection (link_connect.c), asking (link_ask.c), carrying scripts (link.c). */
#ifndef TARE_FLEET_LINK_OWN_H
#define TARE_FLEET_LINK_OWN_H

#include <libpq-fe.h>

#include "fleet/link.h"
#include "fleet/link_read.h"
#include "fleet/resolve.h"

enum link_state {
	LINK_CLOSED,
	LINK_FAILED, /* to connect has failed before it began: link_has_connected() is still to be called */
	LINK_RESOLVING,
	LINK_CONNECTING, /* a job is under way, or the socket is waited for */
	LINK_IDLE,
	LINK_ASKING,
	LINK_CANCELLED, /* the same, and its deadline is over: only until its answer has ended */
};

/* A step of connecting, in a worker's thread. It owns the connection until it is done; given up, it is closed there. */
struct link_step {
	struct job job;	       /* first: the same address */
	struct link *link;     /* NULL: given up */
	struct link *ghost_of; /* given up while at work: who waits for its end; may be NULL */
	PGconn *conn;	       /* owned while the job is under way */
	struct link_scan scan;
	bool is_start;	      /* PQconnectStartParams, else PQconnectPoll */
	struct link_way *way; /* owned; is_start: where to */
	PostgresPollingStatusType polled;
	bool is_in_tls;
	struct err err;
};

/* Where a connection goes, all of it copied: for a worker's thread. */
struct link_way {
	char *name, *host, *hostaddr, *port, *database, *user, *password, *sslmode, *sslrootcert,
		*sslcert, *sslkey; /* owned; NULL or "": not given */
	char options[256];
};

struct link {
	struct link_hall *hall;		 /* borrowed */
	struct server_settings settings; /* owned copy */
	struct link_limits limits;
	enum link_state state;
	PGconn *conn;
	char *database; /* owned: where it is or goes; NULL: the first one */
	struct addresses addresses;
	bool has_addresses, is_new, is_on_socket; /* known; not yet asked for; no TCP */
	bool has_grown; /* a large row came: libpq keeps its memory, so it is not kept */
	char sslmode[16];

	struct loop_watch watch;
	struct loop_alarm deadline, again,
		turn; /* again: rows were left; turn: callbacks to come */
	struct lookup *lookup;
	struct link_step *step;
	struct link_step *ghost; /* borrowed: given up, and still at work; no other one is begun */
	struct link_scan scan;
	bool is_in_tls;
	uint64_t connect_left_ns, phase_began_ns; /* of connect_ns; since when the deadline runs */
	uint32_t idle_wakes, steps;		  /* since it is idle; of this connecting */

	link_connected_fn *connected; /* of link_connect() */
	void *connected_owner;

	struct script *script;
	link_done_fn *done;
	void *done_owner;
	link_answered_fn *answered;
	void *answered_owner;
	uint32_t vain;				/* questions in a row without a connection */
	bool was_lost, is_beginning, is_ending; /* its first question, its done() are to come */
	struct answer lost;
	int end_code; /* what done() will say */
	struct err end_err;

	/* The question under way. */
	struct ask ask;
	struct answer answer;
	uint64_t trip_ns; /* the fastest answer so far; 0: none yet */
	uint64_t sent_ns,
		turn_cpu_ns; /* when it was sent; our CPU time when this turn began, of a suspect */
	uint64_t unrowed_bytes;	       /* read since the last row */
	uint32_t notices, links_ended; /* links: of a chain, well or not */
	bool is_suspect;	       /* a turn took long: the next ones are measured */
	bool is_asked, has_columns,
		is_enough; /* columns() was called; the script wants no more rows */
};

/* Begins to connect to `database` (NULL: the first one). The answer comes to link_has_connected(). */
void link_begin(struct link *k, const char *database);

/* The socket of a connection that is being made is ready: the next step. */
void link_next_step(struct link *k);

/* Connected (`answer->is_ok`), or not: the link is idle or closed. In link.c. */
void link_has_connected(struct link *k, const struct answer *answer);

/* Closes and gives up whatever is under way, also in threads. Callbacks are not called. */
void link_shut(struct link *k);

/* Sends k->ask. Its answer comes to link_has_ended(), in a later turn. 0; not 0: the connection is gone, k->answer says why. */
int link_send(struct link *k);

/* The question has ended: k->answer is whole. In link.c. */
void link_has_ended(struct link *k);

/* Our CPU time since the last charge is on the account of the question under way. */
void link_charge(struct link *k);

/* Events of an open connection. */
void link_ready(void *owner, uint32_t events);

/* The deadline of a question, or of its draining, is over. */
void link_is_late(struct link *k);

/* The first line of a message of libpq's without where it was sent to, and its SQLSTATE where there is one. */
void link_read_error(const char *text, struct answer *out);

/* Ends the connection for what the other side did: `why`. */
void link_refuse(struct link *k, const char *why);

#endif
