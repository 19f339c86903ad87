/* settings_url.c - the settings of one server from a URL. libpq takes it apart; what it says of a bad one is not passed on: it quotes
 * the URL, and so the password. */
#include <errno.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/scoped.h"
#include "fleet/settings_parts.h"

static void options_free(PQconninfoOption **options)
{
	for (PQconninfoOption *o = *options; o != NULL && o->keyword != NULL; o++)
		if (o->val != NULL)
			explicit_bzero(o->val, strlen(o->val));
	PQconninfoFree(*options);
	*options = NULL;
}

static const char *behind_scheme(const char *url)
{
	if (strncmp(url, "postgresql://", 13) == 0)
		return url + 13;
	return strncmp(url, "postgres://", 11) == 0 ? url + 11 : NULL;
}

/* The password in front of the host. */
static bool find_in_user(const char *url, size_t *out_at, size_t *out_len)
{
	const char *at = behind_scheme(url);
	size_t whole = strcspn(at, "@/"), user = strcspn(at, ":@/");

	if (at[whole] != '@' || user + 1 >= whole)
		return false;
	*out_at = (size_t)(at + user + 1 - url);
	*out_len = whole - user - 1;
	return true;
}

/* The first password among the parameters behind `from`. */
static bool find_in_parameters(const char *url, size_t from, size_t *out_at, size_t *out_len)
{
	for (const char *at = url + from + strcspn(url + from, "?&"); *at != '\0';
	     at += 1 + strcspn(at + 1, "&")) {
		size_t name = strcspn(at + 1, "=&");

		if (name < 8 || strncmp(at + 1 + name - 8, "password", 8) != 0 ||
		    at[1 + name] != '=')
			continue;
		*out_at = (size_t)(at + 1 + name + 1 - url);
		*out_len = strcspn(url + *out_at, "&");
		if (*out_len > 0)
			return true;
	}
	return false;
}

bool settings_url_password(const char *url, size_t *out_at, size_t *out_len)
{
	if (behind_scheme(url) == NULL)
		return false;
	return find_in_user(url, out_at, out_len) || find_in_parameters(url, 0, out_at, out_len);
}

/* All from the first colon to the last @: a password in which a slash was not encoded makes a URL that libpq reads in another way, and is
 * a password all the same. */
static bool hide_in_user(char *url)
{
	char *from = strchr(behind_scheme(url), ':'), *to = strrchr(behind_scheme(url), '@');

	if (from == NULL || to == NULL || from + 1 >= to)
		return false;
	memset(from + 1, '*', (size_t)(to - from - 1));
	return true;
}

bool settings_url_hide(char *url)
{
	size_t at = 0, len = 0;
	bool has_one;

	if (behind_scheme(url) == NULL)
		return false;
	has_one = hide_in_user(url);
	for (; find_in_parameters(url, at + len, &at, &len); has_one = true)
		memset(url + at, '*', len);
	return has_one;
}

/* Keywords of a URL, and the keys that they are. */
static const struct {
	const char *keyword, *key;
} url_keys[] = {
	{ "host", "host" },	  { "hostaddr", "host" },
	{ "port", "port" },	  { "dbname", "database" },
	{ "user", "user" },	  { "password", "password" },
	{ "sslmode", "sslmode" }, { "sslrootcert", "sslrootcert" },
	{ "sslcert", "sslcert" }, { "sslkey", "sslkey" },
};

static const struct setting_def *def_of(const char *keyword)
{
	for (size_t i = 0; i < ARRAY_LEN(url_keys); i++)
		for (size_t j = 0;
		     strcmp(url_keys[i].keyword, keyword) == 0 && j < setting_def_count; j++)
			if (setting_defs[j].place != IN_COLLECT &&
			    strcmp(setting_defs[j].key, url_keys[i].key) == 0)
				return &setting_defs[j];
	return NULL;
}

static int take_option(struct server_settings *s, const PQconninfoOption *o, struct err *err)
{
	const struct setting_def *def = def_of(o->keyword);
	int rc;

	if (def == NULL || strchr(o->val, ',') != NULL) {
		err_set(err, -EINVAL, "cannot use '%s' in the URL: %s", o->keyword,
			def == NULL ? "tare sets it itself, or has no use for it"
				    : "one server a URL, so no list");
		return err_mend(err, "a URL is postgresql://USER@HOST:PORT/DATABASE?sslmode=...");
	}
	rc = setting_set(def, o->val, s);
	if (rc == -ENOMEM)
		return err_set(err, -ENOMEM, "cannot read the URL: no memory");
	if (rc < 0) {
		err_set(err, -EINVAL, "cannot use the %s of the URL", o->keyword);
		return err_mend(err, "it takes %s", def->bounds);
	}
	return 0;
}

/* Who we are here is who we are there, as with psql. */
static int preset_user(struct server_settings *s)
{
	const struct passwd *own = getpwuid(geteuid());
	char *name = own != NULL ? strdup(own->pw_name) : NULL;

	if (own != NULL && name == NULL)
		return -ENOMEM;
	if (name != NULL) {
		free(s->user);
		s->user = name;
	}
	return 0;
}

static int name_server(struct server_settings *s)
{
	const char *host = s->host[0] == '/' || s->host[0] == '@' ? "local" : s->host;
	bool is_usual = strcmp(s->port, "5432") == 0;
	char *name = NULL;

	if (asprintf(&name, "%s%s%s", host, is_usual ? "" : ":", is_usual ? "" : s->port) < 0)
		return -ENOMEM;
	free(s->name);
	s->name = name;
	return 0;
}

static int fill(struct server_settings *s, const PQconninfoOption *options, struct err *err)
{
	int rc = preset_user(s);

	for (const PQconninfoOption *o = options; o->keyword != NULL && rc == 0; o++)
		if (o->val != NULL && o->val[0] != '\0')
			rc = take_option(s, o, err);
	if (rc == 0)
		rc = name_server(s);
	if (rc == -ENOMEM && err->code == 0)
		err_set(err, -ENOMEM, "cannot read the URL: no memory");
	return rc;
}

int settings_from_url(const char *url, struct collect_settings *out, struct err *err)
{
	SCOPED(options_free) PQconninfoOption *options = NULL;
	SCOPED(settings_free) struct collect_settings s = { .store = NULL };
	struct server_settings *server;
	char *said = NULL;
	int rc;

	if (behind_scheme(url) == NULL) {
		err_set(err, -EINVAL, "cannot use this URL: it does not begin with postgresql://");
		return err_mend(err, "a URL is postgresql://USER@HOST:PORT/DATABASE?sslmode=...");
	}
	options = PQconninfoParse(url, &said);
	if (said != NULL)
		explicit_bzero(said, strlen(said));
	PQfreemem(said);
	if (options == NULL) {
		err_set(err, -EINVAL, "cannot use this URL: it is malformed");
		return err_mend(err, "write %% for what is special: p%%40ss for p@ss");
	}
	if (settings_presets(&s) < 0 || settings_add_server(&s, "", &server) < 0)
		return err_set(err, -ENOMEM, "cannot read the URL: no memory");
	rc = fill(server, options, err);
	if (rc < 0)
		return rc;
	s.readings = server->readings;
	s.plans = server->plans;
	*out = s;
	s = (struct collect_settings){ .store = NULL };
	return 0;
}
