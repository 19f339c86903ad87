/* settings_copy.c - copying and comparing a server's settings. */
#include "fleet/settings_copy.h"

#include <errno.h>
#include <string.h>

#include "core/scoped.h"
#include "fleet/settings_parts.h"

/* All texts of a server; what makes a connection comes before the last. */
static const size_t texts[] = {
	offsetof(struct server_settings, host),	       offsetof(struct server_settings, port),
	offsetof(struct server_settings, database),    offsetof(struct server_settings, user),
	offsetof(struct server_settings, password),    offsetof(struct server_settings, sslmode),
	offsetof(struct server_settings, sslrootcert), offsetof(struct server_settings, sslcert),
	offsetof(struct server_settings, sslkey),      offsetof(struct server_settings, kind),
	offsetof(struct server_settings, name),
};
#define TEXTS_OF_PLACE (ARRAY_LEN(texts) - 1)

static char **text_at(struct server_settings *s, size_t i)
{
	return (char **)(void *)((char *)s + texts[i]);
}

static const char *text_of(const struct server_settings *s, size_t i)
{
	const char *text = *(char *const *)(const void *)((const char *)s + texts[i]);

	return text != NULL ? text : "";
}

int settings_server_copy(const struct server_settings *from, struct server_settings *out)
{
	struct server_settings made = *from;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		*text_at(&made, i) = NULL;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		*text_at(&made, i) = strdup(text_of(from, i));
		if (*text_at(&made, i) == NULL) {
			settings_server_free(&made);
			return -ENOMEM;
		}
	}
	*out = made;
	return 0;
}

bool settings_same_place(const struct server_settings *a, const struct server_settings *b)
{
	for (size_t i = 0; i < TEXTS_OF_PLACE; i++)
		if (strcmp(text_of(a, i), text_of(b, i)) != 0)
			return false;
	return true;
}
