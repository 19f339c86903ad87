/* store.c - finds the engine for a URL. */
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/scoped.h"

static const struct store_ops *const engines[] = { &store_sqlite };

/* Length of the scheme in "scheme://rest", 0 when it is a plain path. */
static size_t scheme_length(const char *url)
{
	size_t len = strspn(url, "abcdefghijklmnopqrstuvwxyz0123456789+.-");

	return strncmp(url + len, "://", 3) == 0 ? len : 0;
}

int store_find(const char *url, const struct store_ops **out, struct err *err)
{
	size_t len = scheme_length(url);

	if (url[0] == '\0')
		return err_set(err, -EINVAL, "cannot open '': a recording needs a name");
	if (len == 0) {
		*out = &store_sqlite;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		if (strlen(engines[i]->scheme) != len || memcmp(engines[i]->scheme, url, len) != 0)
			continue;
		*out = engines[i];
		return 0;
	}
	err_set(err, -EINVAL, "cannot open '%s': there is no store '%.*s://'", url, (int)len, url);
	err_mend(err, "give the path of a file, or one of: sqlite://FILE");
	return -EINVAL;
}
