/* settings.c - presets, what holds them, and what settings say of a server. */
#include "fleet/settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/settings_parts.h"

static bool is_text(const struct setting_def *def)
{
	return def->type <= SETTING_SECRET;
}

static void free_texts(void *held, bool of_server)
{
	for (size_t i = 0; i < setting_def_count; i++) {
		const struct setting_def *def = &setting_defs[i];
		char **text = (char **)(void *)((char *)held + def->offset);

		if ((def->place != IN_COLLECT) != of_server || !is_text(def))
			continue;
		if (*text != NULL)
			explicit_bzero(*text, strlen(*text));
		free(*text);
		*text = NULL;
	}
}

void settings_server_free(struct server_settings *s)
{
	free_texts(s, true);
	free(s->name);
	*s = (struct server_settings){ .name = NULL };
}

void settings_free(struct collect_settings *s)
{
	for (size_t i = 0; i < s->server_count; i++)
		settings_server_free(&s->servers[i]);
	free(s->servers);
	free_texts(s, false);
	*s = (struct collect_settings){ .store = NULL };
}

int settings_server_presets(struct server_settings *s)
{
	int rc = 0;

	for (size_t i = 0; i < setting_def_count && rc == 0; i++)
		if (setting_defs[i].place != IN_COLLECT)
			rc = setting_set(&setting_defs[i], setting_defs[i].preset, s);
	return rc;
}

int settings_presets(struct collect_settings *out)
{
	struct collect_settings s = { .store = NULL };
	int rc = 0;

	for (size_t i = 0; i < setting_def_count && rc == 0; i++)
		if (setting_defs[i].place == IN_COLLECT)
			rc = setting_set(&setting_defs[i], setting_defs[i].preset, &s);
	if (rc < 0) {
		settings_free(&s);
		return rc;
	}
	*out = s;
	return 0;
}

int settings_add_server(struct collect_settings *s, const char *name, struct server_settings **out)
{
	struct server_settings *servers = s->servers;
	struct server_settings added = { .name = strdup(name) };

	if ((s->server_count & (s->server_count - 1)) == 0) { /* full: 0, 1, 2, 4, 8 ... */
		size_t room = s->server_count == 0 ? 1 : 2 * s->server_count;

		servers = reallocarray(servers, room, sizeof(*servers));
		if (servers != NULL)
			s->servers = servers;
	}
	if (servers == NULL || added.name == NULL || settings_server_presets(&added) < 0) {
		settings_server_free(&added);
		return -ENOMEM;
	}
	s->servers[s->server_count] = added;
	*out = &s->servers[s->server_count++];
	return 0;
}

void settings_address(const struct server_settings *s, char *out, size_t size)
{
	bool is_six = strchr(s->host, ':') != NULL;

	snprintf(out, size, "%s%s%s:%s/%s", is_six ? "[" : "", s->host, is_six ? "]" : "", s->port,
		 s->database);
}

bool settings_is_local(const struct server_settings *s)
{
	struct in_addr four;
	struct in6_addr six;

	if (s->host[0] == '/' || s->host[0] == '@' || strcmp(s->host, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, s->host, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, s->host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}
