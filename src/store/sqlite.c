/* sqlite.c - the SQLite engine's row in the table of engines, and what its files share. */
#include "store/sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct store_ops store_sqlite = {
	.scheme = "sqlite",
	.create = sqlite_create,
	.save = sqlite_save,
	.pack = sqlite_pack,
	.close = sqlite_close,
	.load = sqlite_load,
	.fit = budget_fit,
	.fit_tasks = budget_fit_tasks,
	.fit_watch = budget_fit_watch,
};

const char *sqlite_path(const char *url)
{
	static const char scheme[] = "sqlite://";

	return strncmp(url, scheme, sizeof(scheme) - 1) == 0 ? url + sizeof(scheme) - 1 : url;
}

char *sqlite_beside(const char *path, const char *suffix)
{
	char *out = NULL;

	return asprintf(&out, "%s%s", path, suffix) < 0 ? NULL : out;
}

/* Every byte of the path that is not a plain letter or digit is escaped: no query, no fragment, no host can hide in a
 * file's name, and ":memory:" is a file. */
int sqlite_open_path(const char *path, const char *query, const char *vfs, sqlite3 **out)
{
	static const char hex[] = "0123456789abcdef";
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
			  SQLITE_OPEN_PRIVATECACHE;
	size_t size = strlen(path) * 3 + strlen(query) + sizeof("file:./?");
	char *uri = malloc(size), *to = uri;
	int rc;

	if (uri == NULL) {
		*out = NULL;
		return SQLITE_NOMEM;
	}
	to = stpcpy(to, path[0] == '/' ? "file:" : "file:./");
	for (const unsigned char *c = (const unsigned char *)path; *c != '\0'; c++) {
		bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
				(*c >= '0' && *c <= '9') || (*c == '/' && c[1] != '/');

		if (is_plain) {
			*to++ = (char)*c;
			continue;
		}
		*to++ = '%';
		*to++ = hex[*c >> 4];
		*to++ = hex[*c & 15];
	}
	*to++ = '?';
	memcpy(to, query, strlen(query) + 1);
	rc = sqlite3_open_v2(uri, out, flags, vfs);
	/* Where a file cannot be opened for writing SQLite opens it for reading only. If we may write it, the failure was a
	 * passing one: once more. */
	if (rc == SQLITE_OK && strncmp(query, "mode=rw", 7) == 0 &&
	    sqlite3_db_readonly(*out, "main") == 1 && access(path, W_OK) == 0) {
		sqlite3_close(*out);
		rc = sqlite3_open_v2(uri, out, flags, vfs);
	}
	free(uri);
	return rc;
}

int sqlite_run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

void sqlite_close_scoped(sqlite3 **db)
{
	sqlite3_close(*db);
	*db = NULL;
}

void sqlite_finalize_scoped(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
	*stmt = NULL;
}
