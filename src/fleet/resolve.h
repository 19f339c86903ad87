/* resolve.h - names of hosts to addresses on a worker's thread, so that a silent name server never stops the loop. libpq is given
 * addresses only (hostaddr). One thread. */
#ifndef TARE_FLEET_RESOLVE_H
#define TARE_FLEET_RESOLVE_H

#include <stdbool.h>

#include "core/err.h"
#include "fleet/workers.h"

#define RESOLVE_MOST 4 /* addresses of one name that are tried */

/* Where a host is. None at all: a folder of a unix socket. */
struct addresses {
	char text[RESOLVE_MOST][64]; /* numeric, with a scope where there is one */
	unsigned count;
	bool is_loopback; /* this machine, by address: 127.0.0.0/8, ::1, or a unix socket */
};

struct lookup; /* opaque: one that is under way */

/* `code` is 0, or -EAGAIN (the name server does not answer), -ENOENT (there is no such name); `why` says it. */
typedef void resolve_done_fn(void *owner, int code, const char *why, const struct addresses *found);

/* A host that needs no looking up: an address, or a folder ("/..." or "@..."). */
bool resolve_literal(const char *host, struct addresses *out);

/* Begins; `done` is called once, in a later turn of the loop. -ENOMEM, -EAGAIN: not begun. */
int resolve_start(struct workers *workers, const char *host, resolve_done_fn *done, void *owner,
		  struct lookup **out, struct err *err);

/* done() will not be called. Accepts NULL. */
void resolve_give_up(struct workers *workers, struct lookup *lookup);

#endif
