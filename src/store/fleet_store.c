/* fleet_store.c - finds the engine for a fleet's store, and tells its file from a recording. */
#include "store/fleet_store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/scoped.h"
#include "store/schema.h"

/* Where SQLite keeps the application id in a database's first page (file format, 1.3), and how much of it must be there. */
#define APPLICATION_ID_AT 68u
#define HEADER_BYTES	  100u

static const struct {
	const char *scheme;
	const struct fleet_store_ops *ops; /* NULL: not in this build */
} engines[] = {
	{ "sqlite", &fleet_store_sqlite },
#if TARE_HAS_POSTGRES
	{ "postgresql", &fleet_store_postgres },
	{ "postgres", &fleet_store_postgres },
#else
	{ "postgresql", NULL },
	{ "postgres", NULL },
#endif
};

static size_t scheme_length(const char *url)
{
	size_t len = strspn(url, "abcdefghijklmnopqrstuvwxyz0123456789+.-");

	return strncmp(url + len, "://", 3) == 0 ? len : 0;
}

int fleet_store_find(const char *url, const struct fleet_store_ops **out, struct err *err)
{
	size_t len = scheme_length(url);

	if (url[0] == '\0')
		return err_set(err, -EINVAL, "cannot open '': a fleet's store needs a name");
	if (len == 0) {
		*out = &fleet_store_sqlite;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		if (strlen(engines[i].scheme) != len || memcmp(engines[i].scheme, url, len) != 0)
			continue;
		if (engines[i].ops == NULL) {
			err_set(err, -ENOTSUP,
				"cannot open a store at '%.*s://': this build of tare has no %s",
				(int)len, url, "PostgreSQL engine");
			err_mend(err, "build it with libpq, or give the path of a file");
			return -ENOTSUP;
		}
		*out = engines[i].ops;
		return 0;
	}
	/* The rest of it may hold a password: only the scheme is said. */
	err_set(err, -EINVAL, "cannot open a store at '%.*s://': there is no such kind", (int)len,
		url);
	err_mend(err, "give the path of a file, or one of: sqlite://FILE, postgresql://...");
	return -EINVAL;
}

bool fleet_store_is(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	unsigned char header[HEADER_BYTES];
	const unsigned char *id = header + APPLICATION_ID_AT;
	ssize_t got;

	if (fd < 0)
		return false;
	got = pread(fd, header, sizeof(header), 0);
	close(fd);
	return got == (ssize_t)sizeof(header) && memcmp(header, "SQLite format 3", 16) == 0 &&
	       ((uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3]) ==
		       FLEET_SCHEMA_APPLICATION_ID;
}
