/* collect_daemon.h - the files of the service among themselves. */
#ifndef TARE_CLI_COLLECT_DAEMON_H
#define TARE_CLI_COLLECT_DAEMON_H

#include <pthread.h>

#include "cli/collect.h"
#include "cli/collect_control.h"
#include "cli/collect_notify.h"
#include "serve/metrics.h"

/* What was counted when this minute began. */
struct minute {
	struct wall at;
	uint64_t cpu_ns, visits, late, skipped, failures;
};

/* The page for Prometheus: asked for on threads of the server's, made on the main thread. */
struct published {
	int wake; /* an eventfd: somebody wants a page */
	pthread_mutex_t lock;
	pthread_cond_t made;
	/* lock */
	bool is_wanted, is_closed;
	uint64_t number; /* of pages made */
	struct text page;
	struct mono at;
};

struct daemon {
	struct app *app;
	const struct collect_opts *opts;
	struct collect_fleet fleet;
	struct notify notify;
	struct control control;
	struct metrics *metrics; /* NULL: not served */
	struct published published;
	int signals;
	bool is_ending;
	char name[256]; /* ours, in the store */
	struct wall started, loaded;
	char refused[512]; /* why the last SIGHUP was refused */
	struct minute minute;
	struct mono told_at;
};

/* The wall clock. */
struct wall daemon_wall(void);

/* How we stand now. *out_servers is the caller's to free(). -ENOMEM. */
int daemon_status(struct daemon *d, struct collect_status *out, struct runner_server **out_servers);

/* ---- collect_serve.c ---- */

/* Serves /metrics when the settings say where. */
int daemon_serve(struct daemon *d, struct err *err);

/* Makes a page when one is wanted, at most one a second. */
void daemon_publish(struct daemon *d);

/* Accepts one that was never served. */
void daemon_serve_no_more(struct daemon *d);

/* ---- collect_reload.c ---- */

/* SIGHUP: reads the settings again. A bad file keeps the old ones, and is said. */
void daemon_reload(struct daemon *d);

#endif
