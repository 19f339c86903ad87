/* metrics.c - /metrics by civetweb: no files, no TLS, no scripts; 64 connections, 8 KB of headers, 10 s. */
#include "serve/metrics.h"

#include <civetweb.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/scoped.h"

/* Worker threads, and connections that wait for one: 64 connections. A slow one holds its worker for 10 s at most. */
#define WORKERS "32"
#define WAITING "32"

struct metrics {
	struct mg_context *http;
	metrics_page_fn *page;
	void *owner;
	char address[72];
	char error[160];
};

bool metrics_is_host(const char *address, const char *host)
{
	const char *port = strrchr(address, ':');

	if (host == NULL || port == NULL)
		return false;
	return strcasecmp(host, address) == 0 ||
	       (strncasecmp(host, "localhost", 9) == 0 && strcmp(host + 9, port) == 0);
}

static int answer(struct mg_connection *c, int status, const char *words, const char *more)
{
	mg_printf(c,
		  "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\n%s"
		  "X-Content-Type-Options: nosniff\r\nContent-Length: %zu\r\nConnection: "
		  "close\r\n\r\n%s\n",
		  status, words, more, strlen(words) + 1, words);
	return status;
}

static int answer_page(struct mg_connection *c, struct metrics *m)
{
	SCOPED(text_free) struct text page = TEXT_EMPTY;

	if (m->page(m->owner, &page) < 0 || page.has_failed)
		return answer(c, 503, "Service Unavailable", "");
	mg_printf(c,
		  "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
		  "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
		  "Content-Length: %zu\r\nConnection: close\r\n\r\n",
		  page.len);
	mg_write(c, text_chars(&page), page.len);
	return 200;
}

/* Sees every request first, and answers all of them. */
static int on_request(struct mg_connection *c)
{
	const struct mg_request_info *asked = mg_get_request_info(c);
	struct metrics *m = mg_get_user_data(mg_get_context(c));

	if (!metrics_is_host(m->address, mg_get_header(c, "Host")))
		return answer(c, 421, "Misdirected Request", "");
	if (strcmp(asked->request_method, "GET") != 0)
		return answer(c, 405, "Method Not Allowed", "Allow: GET\r\n");
	if (asked->local_uri == NULL || strcmp(asked->local_uri, "/metrics") != 0)
		return answer(c, 404, "Not Found", "");
	return answer_page(c, m);
}

/* What civetweb would print: kept for the message of a failed start. */
static int on_message(const struct mg_connection *c, const char *message)
{
	struct metrics *m = mg_get_user_data(mg_get_context(c));

	if (m != NULL && m->http == NULL)
		snprintf(m->error, sizeof(m->error), "%s", message);
	return 1;
}

static struct mg_context *start(struct metrics *m)
{
	const char *options[] = { "listening_ports",
				  m->address,
				  "num_threads",
				  WORKERS,
				  "connection_queue",
				  WAITING,
				  "listen_backlog",
				  "64",
				  "max_request_size",
				  "8192",
				  "request_timeout_ms",
				  "10000",
				  "enable_keep_alive",
				  "no",
				  NULL };
	struct mg_callbacks callbacks = { .begin_request = on_request, .log_message = on_message };
	sigset_t all, before;
	struct mg_context *http;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	http = mg_start(&callbacks, m, options);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return http;
}

int metrics_open(const char *address, metrics_page_fn *page, void *owner, struct metrics **out,
		 struct err *err)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return err_set(err, -ENOMEM, "cannot serve metrics: no memory");
	m->page = page;
	m->owner = owner;
	snprintf(m->address, sizeof(m->address), "%s", address);
	mg_init_library(0);
	errno = 0;
	m->http = start(m);
	if (m->http == NULL) {
		int code = errno != 0 ? -errno : -EADDRINUSE;

		err_set(err, code, "cannot serve metrics at %s: %s", address,
			m->error[0] != '\0' ? m->error : strerror(-code));
		err_mend(err, "set metrics to another port, or to nothing");
		mg_exit_library();
		free(m);
		return code;
	}
	*out = m;
	return 0;
}

void metrics_close(struct metrics *m)
{
	if (m == NULL)
		return;
	mg_stop(m->http);
	mg_exit_library();
	free(m);
}
