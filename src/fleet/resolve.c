/* resolve.c - getaddrinfo() as a job. */
#include "fleet/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct lookup {
	struct job job; /* first: the same address */
	char *host;	/* owned */
	int gai;	/* getaddrinfo's answer */
	struct addresses found;
	resolve_done_fn *done; /* NULL: given up */
	void *owner;
};

static bool is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in6 *six = (const void *)address;
	const struct sockaddr_in *four = (const void *)address;

	if (address->sa_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	if (address->sa_family != AF_INET6)
		return false;
	return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && six->sin6_addr.s6_addr[12] == 127);
}

/* Loopback only when all of them are. */
static void keep(struct addresses *out, const struct addrinfo *list)
{
	*out = (struct addresses){ .is_loopback = true };
	for (; list != NULL && out->count < RESOLVE_MOST; list = list->ai_next) {
		if (getnameinfo(list->ai_addr, list->ai_addrlen, out->text[out->count],
				sizeof(out->text[0]), NULL, 0, NI_NUMERICHOST) != 0)
			continue;
		out->is_loopback = out->is_loopback && is_loopback(list->ai_addr);
		out->count++;
	}
	if (out->count == 0)
		out->is_loopback = false;
}

static int look_up(const char *host, int flags, struct addresses *out)
{
	struct addrinfo hints = { .ai_flags = flags, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int code = getaddrinfo(host, NULL, &hints, &list);

	if (code != 0)
		return code;
	keep(out, list);
	freeaddrinfo(list);
	return out->count > 0 ? 0 : EAI_NONAME;
}

bool resolve_literal(const char *host, struct addresses *out)
{
	if (host[0] == '/' || host[0] == '@') {
		*out = (struct addresses){ .is_loopback = true };
		return true;
	}
	return look_up(host, AI_NUMERICHOST, out) == 0;
}

static void work(struct job *job)
{
	struct lookup *l = (struct lookup *)job;

	l->gai = look_up(l->host, AI_ADDRCONFIG, &l->found);
}

static void lookup_free(struct lookup *l)
{
	free(l->host);
	free(l);
}

static void finished(struct job *job)
{
	struct lookup *l = (struct lookup *)job;
	bool is_silent = l->gai == EAI_AGAIN || l->gai == EAI_SYSTEM || l->gai == EAI_MEMORY;
	char why[128] = "";

	if (l->gai != 0)
		snprintf(why, sizeof(why), "%s", gai_strerror(l->gai));
	if (l->done != NULL)
		l->done(l->owner, l->gai == 0 ? 0 : is_silent ? -EAGAIN : -ENOENT, why, &l->found);
	lookup_free(l);
}

int resolve_start(struct workers *workers, const char *host, resolve_done_fn *done, void *owner,
		  struct lookup **out, struct err *err)
{
	struct lookup *l = calloc(1, sizeof(*l));
	int code = -ENOMEM;

	if (l != NULL)
		l->host = strdup(host);
	if (l != NULL && l->host != NULL) {
		l->job = (struct job){ .work = work, .done = finished };
		l->done = done;
		l->owner = owner;
		code = workers_do(workers, &l->job);
	}
	if (code != 0) {
		if (l != NULL)
			lookup_free(l);
		return err_set(err, code, "cannot look up '%s': %s", host, strerror(-code));
	}
	*out = l;
	return 0;
}

void resolve_give_up(struct workers *workers, struct lookup *lookup)
{
	if (lookup == NULL)
		return;
	lookup->done = NULL;
	if (workers_take_back(workers, &lookup->job))
		lookup_free(lookup);
}
