/* fleet_postgres_url.h - the store's URL as settings for libpq: names are looked up here, under a deadline, since libpq would
 * wait for the resolver as long as it likes. Internal to the store. */
#ifndef TARE_STORE_FLEET_POSTGRES_URL_H
#define TARE_STORE_FLEET_POSTGRES_URL_H

#include <stdint.h>

#include "core/err.h"

#define PG_SETTINGS_MOST 64u

/* Keywords and values, each list ended by NULL, as PQconnectStartParams takes them. The empty value is all zero. */
struct pg_settings {
	const char *keywords[PG_SETTINGS_MOST + 1]; /* static, or owned by `names` */
	char *values[PG_SETTINGS_MOST + 1];	    /* owned; a password may be among them */
	char *names[PG_SETTINGS_MOST];		    /* owned; NULL where the keyword is static */
	unsigned count;
};

/* Reads `url` ("postgresql://..." or "postgres://..."), adds what is ours (no GSS, verify-full away from this machine, unless the
 * URL or the environment says otherwise; our name) and looks up host names within `ms`. -EINVAL: not a URL of PostgreSQL; the
 * message has nothing of it. -EHOSTUNREACH: a name was not found in time; -ENOMEM. */
int pg_settings_read(const char *url, uint64_t ms, struct pg_settings *out, struct err *err);

/* Frees, and wipes the values first. Accepts the empty value, and may run twice. */
void pg_settings_free(struct pg_settings *s);

#endif
