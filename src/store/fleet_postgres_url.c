/* fleet_postgres_url.c - from a URL to what libpq is given, with names looked up under a deadline. */
#include "store/fleet_postgres_url.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <libpq-fe.h>

#include "core/scoped.h"
#include "core/text.h"

#define HOSTS_MOST     16u
#define ADDRESSES_MOST 8u /* of one name */

static void wipe(char *s)
{
	if (s != NULL)
		explicit_bzero(s, strlen(s));
}

void pg_settings_free(struct pg_settings *s)
{
	for (unsigned i = 0; i < s->count; i++) {
		wipe(s->values[i]);
		free(s->values[i]);
		free(s->names[i]);
	}
	*s = (struct pg_settings){ .count = 0 };
}

static void options_free(PQconninfoOption **options)
{
	for (PQconninfoOption *o = *options; o != NULL && o->keyword != NULL; o++)
		wipe(o->val);
	PQconninfoFree(*options);
}

static char *setting(struct pg_settings *s, const char *keyword)
{
	for (unsigned i = 0; i < s->count; i++)
		if (strcmp(s->keywords[i], keyword) == 0)
			return s->values[i];
	return NULL;
}

/* Sets or replaces; keeps copies. */
static int set(struct pg_settings *s, const char *keyword, const char *value)
{
	char *copy = strdup(value), *name;

	if (copy == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < s->count; i++) {
		if (strcmp(s->keywords[i], keyword) != 0)
			continue;
		wipe(s->values[i]);
		free(s->values[i]);
		s->values[i] = copy;
		return 0;
	}
	name = s->count < PG_SETTINGS_MOST ? strdup(keyword) : NULL;
	if (name == NULL) {
		wipe(copy);
		free(copy);
		return -ENOMEM;
	}
	s->keywords[s->count] = s->names[s->count] = name;
	s->values[s->count++] = copy;
	return 0;
}

static int set_if_unset(struct pg_settings *s, const char *keyword, const char *environment,
			const char *value)
{
	if (setting(s, keyword) != NULL || getenv(environment) != NULL)
		return 0;
	return set(s, keyword, value);
}

/* One entry of a list with commas; gives what comes after it, NULL at the end. An entry that does not fit is empty. */
static const char *entry(const char *list, char *out, size_t size)
{
	size_t len = strcspn(list, ",");

	out[0] = '\0';
	if (len < size) {
		memcpy(out, list, len);
		out[len] = '\0';
	}
	return list[len] == ',' ? list + len + 1 : NULL;
}

static bool is_here(const char *host)
{
	return host[0] == '\0' || host[0] == '/' || host[0] == '@' ||
	       strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
	       strcmp(host, "::1") == 0;
}

/* No step of the way leaves this machine. */
static bool is_all_here(struct pg_settings *s)
{
	static const char *const keywords[] = { "host", "hostaddr" };

	for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
		const char *rest = setting(s, keywords[i]);
		char host[NI_MAXHOST];

		if (rest == NULL)
			rest = getenv(i == 0 ? "PGHOST" : "PGHOSTADDR");
		while (rest != NULL) {
			rest = entry(rest, host, sizeof(host));
			if (!is_here(host))
				return false;
		}
	}
	return true;
}

static bool is_number(const char *host)
{
	struct in6_addr address;

	return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

/* A look-up that may outlive its caller: then it is never freed, since the resolver still writes to it. */
struct lookup {
	struct gaicb request;
	struct addrinfo wanted;
	char host[NI_MAXHOST];
};

static struct addrinfo *look_up(const char *host, uint64_t ms)
{
	struct lookup *l = calloc(1, sizeof(*l));
	struct timespec most = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };
	struct gaicb *requests[1];
	struct addrinfo *found = NULL;

	if (l == NULL)
		return NULL;
	memcpy(l->host, host, strlen(host) + 1);
	l->wanted.ai_socktype = SOCK_STREAM;
	l->request.ar_name = l->host;
	l->request.ar_request = &l->wanted;
	requests[0] = &l->request;
	if (getaddrinfo_a(GAI_NOWAIT, requests, 1, NULL) == 0) {
		while (gai_error(&l->request) == EAI_INPROGRESS &&
		       gai_suspend((const struct gaicb *const *)requests, 1, &most) == EAI_INTR)
			;
		if (gai_error(&l->request) == EAI_INPROGRESS &&
		    gai_cancel(&l->request) != EAI_CANCELED &&
		    gai_error(&l->request) == EAI_INPROGRESS)
			return NULL;
		if (gai_error(&l->request) == 0)
			found = l->request.ar_result;
	}
	free(l);
	return found;
}

/* The lists that libpq gets, as they grow. */
struct lists {
	struct text hosts, addresses, ports;
	unsigned count;
};

static void lists_free(struct lists *l)
{
	text_free(&l->hosts);
	text_free(&l->addresses);
	text_free(&l->ports);
}

static void lists_add(struct lists *l, const char *host, const char *address, const char *port)
{
	const char *comma = l->count++ > 0 ? "," : "";

	text_printf(&l->hosts, "%s%s", comma, host);
	text_printf(&l->addresses, "%s%s", comma, address);
	text_printf(&l->ports, "%s%s", comma, port);
}

static int lists_add_name(struct lists *l, const char *host, const char *port, uint64_t ms,
			  struct err *err)
{
	struct addrinfo *found;
	unsigned taken = 0;

	if (is_number(host) || host[0] == '/' || host[0] == '@' || host[0] == '\0') {
		lists_add(l, host, is_number(host) ? host : "", port);
		return 0;
	}
	found = look_up(host, ms);
	if (found == NULL)
		return err_set(err, -EHOSTUNREACH,
			       "cannot reach the store: its host '%s' has no address, or its "
			       "name server does not answer",
			       host);
	for (const struct addrinfo *a = found; a != NULL && taken < ADDRESSES_MOST;
	     a = a->ai_next) {
		char address[NI_MAXHOST];

		if (getnameinfo(a->ai_addr, a->ai_addrlen, address, sizeof(address), NULL, 0,
				NI_NUMERICHOST) != 0)
			continue;
		lists_add(l, host, address, port);
		taken++;
	}
	freeaddrinfo(found);
	return 0;
}

static int lists_set(struct pg_settings *s, const struct lists *l)
{
	bool has_ports = setting(s, "port") != NULL;
	int rc;

	if (l->hosts.has_failed || l->addresses.has_failed || l->ports.has_failed)
		return -ENOMEM;
	rc = set(s, "host", text_chars(&l->hosts));
	if (rc == 0)
		rc = set(s, "hostaddr", text_chars(&l->addresses));
	if (rc == 0 && has_ports)
		rc = set(s, "port", text_chars(&l->ports));
	return rc;
}

/* Gives each host name its addresses, so that libpq asks no resolver. */
static int resolve(struct pg_settings *s, uint64_t ms, struct err *err)
{
	SCOPED(lists_free) struct lists l = { TEXT_EMPTY, TEXT_EMPTY, TEXT_EMPTY, 0 };
	const char *hosts = setting(s, "host"), *ports = setting(s, "port");
	char host[NI_MAXHOST], port[32] = "";

	if (hosts == NULL)
		hosts = getenv("PGHOST");
	if (hosts == NULL || setting(s, "hostaddr") != NULL || getenv("PGHOSTADDR") != NULL)
		return 0;
	for (unsigned n = 0; hosts != NULL && n < HOSTS_MOST; n++) {
		int rc;

		hosts = entry(hosts, host, sizeof(host));
		if (ports != NULL)
			ports = entry(ports, port, sizeof(port)); /* a single one is for all */
		rc = lists_add_name(&l, host, port, ms, err);
		if (rc != 0)
			return rc;
	}
	return lists_set(s, &l);
}

static int add_ours(struct pg_settings *s)
{
	int rc = set_if_unset(s, "application_name", "PGAPPNAME", "tare");

	if (rc == 0) /* a ticket cache may be anywhere */
		rc = set_if_unset(s, "gssencmode", "PGGSSENCMODE", "disable");
	if (rc == 0 && setting(s, "service") == NULL && getenv("PGSERVICE") == NULL &&
	    !is_all_here(s))
		rc = set_if_unset(s, "sslmode", "PGSSLMODE", "verify-full");
	if (rc == 0)
		rc = set(s, "client_encoding", "UTF8");
	return rc;
}

static int no_url(struct err *err)
{
	err_set(err, -EINVAL, "cannot open the store: its address is not a PostgreSQL URL");
	return err_mend(
		err,
		"write it as postgresql://USER@HOST:PORT/DATABASE, or with the folder of a unix "
		"socket: postgresql:///DATABASE?host=/run/postgresql; %% / : @ in names and "
		"passwords stand as %%25 %%2F %%3A %%40");
}

/* A password with an @ of its own, or without one behind it, ends up as host or port, and would be said. */
static bool is_mixed_up(struct pg_settings *s)
{
	const char *host = setting(s, "host"), *port = setting(s, "port");

	if (port != NULL && port[strspn(port, "0123456789,")] != '\0')
		return true;
	return host != NULL && host[0] != '/' && strpbrk(host, "@ ") != NULL && host[0] != '@';
}

int pg_settings_read(const char *url, uint64_t ms, struct pg_settings *out, struct err *err)
{
	SCOPED(pg_settings_free) struct pg_settings s = { .count = 0 };
	SCOPED(options_free) PQconninfoOption *options = NULL;
	char *why = NULL;
	int rc = 0;

	options = PQconninfoParse(url, &why);
	wipe(why);
	PQfreemem(why);
	if (options == NULL)
		return no_url(err);
	for (PQconninfoOption *o = options; rc == 0 && o->keyword != NULL; o++)
		if (o->val != NULL && o->val[0] != '\0')
			rc = set(&s, o->keyword, o->val);
	if (rc == 0 && is_mixed_up(&s))
		return no_url(err);
	if (rc == 0)
		rc = add_ours(&s);
	if (rc == 0)
		rc = resolve(&s, ms, err);
	if (rc == -ENOMEM)
		return err_set(err, rc, "out of memory");
	if (rc != 0)
		return rc;
	*out = s;
	s = (struct pg_settings){ .count = 0 };
	return 0;
}
