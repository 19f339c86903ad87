/* metrics.h - one page for Prometheus on loopback: GET /metrics, with the exact Host, and nothing else. Threads of its own, with all
 * signals blocked; the page is made by its owner. */
#ifndef TARE_SERVE_METRICS_H
#define TARE_SERVE_METRICS_H

#include "core/err.h"
#include "core/text.h"

struct metrics; /* opaque */

/* Appends the page. Called on threads of the server's, several at once. 0, or a negative errno: the answer is then 503. */
typedef int metrics_page_fn(void *owner, struct text *out);

/* Listens at `address`, "127.0.0.1:9497" or "[::1]:9497". -EADDRINUSE and others that bind() has; -ENOMEM. */
int metrics_open(const char *address, metrics_page_fn *page, void *owner, struct metrics **out,
		 struct err *err);

/* Waits for requests under way. Accepts NULL. */
void metrics_close(struct metrics *m);

/* Whether a Host header names `address`, or localhost with its port: everything else is another site that a browser was led to us by. */
bool metrics_is_host(const char *address, const char *host);

#endif
