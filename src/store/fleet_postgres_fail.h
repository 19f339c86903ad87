/* fleet_postgres_fail.h - what PostgreSQL says, as an errno and words of ours. Internal to the store. */
#ifndef TARE_STORE_FLEET_POSTGRES_FAIL_H
#define TARE_STORE_FLEET_POSTGRES_FAIL_H

#include "core/err.h"
#include "store/fleet_postgres_wire.h"

/* Forgets the SQLSTATE of the call before. */
void pg_fail_clear(struct pg_wire *w);

/* The connection broke, or could not be made: lets go of it. -EHOSTUNREACH. */
int pg_fail_lost(struct pg_wire *w, struct err *err);

/* The deadline has passed: lets go of the connection. -EHOSTUNREACH. */
int pg_fail_late(struct pg_wire *w, struct err *err);

/* The server refused a statement. -EHOSTUNREACH: it goes away, has no room for us, or was too slow: may be tried again;
 * -ENOSPC, -EIO, -EACCES, -EBADMSG (the tables are not what they were), -EEXIST (a key was there), -ENOENT (no partition),
 * -EAGAIN (a deadlock: try again), -ETIMEDOUT (the server gave it up, a lock was held for too long), -ERANGE, else -EPROTO. The words are the server's first line; nothing of our values. */
int pg_fail_result(struct pg_wire *w, const PGresult *res, struct err *err);

#endif
