/* collect.h - the rooms of `tare collect` among themselves: what the options say, the fleet in one run, its status. */
#ifndef TARE_CLI_COLLECT_H
#define TARE_CLI_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/app.h"
#include "cli/collect_store.h"
#include "core/text.h"
#include "fleet/runner.h"
#include "fleet/settings.h"

#define COLLECT_CONFIG "/etc/tare/tare.conf"

/* What the options say. Strings are borrowed from argv. */
struct collect_opts {
	const char *config, *output;
	bool is_once, is_check, is_grants, is_json;
	uint64_t since_ns, wait_ns, last_ns;
	const char *argument; /* what stands behind: a URL, a role; may be NULL */
};

/* ---- collect.c ---- */

/* Tells a person something, in one line on app->talk: "tare collect: ...". Foreign bytes are made harmless. `owner` is a struct app. */
void collect_say(void *owner, const char *text);

/* Reads the settings that --config names, warning of what is unwise. */
int collect_load(struct app *app, const struct collect_opts *o, struct collect_settings *out,
		 struct err *err);

/* ---- collect_fleet.c: the servers of one run, from the settings to the runner ---- */

struct collect_fleet {
	struct app *app;
	struct collect_settings settings; /* owned */
	struct collect_store *store;	  /* owned; NULL: none is kept */
	struct runner *runner;		  /* owned */
	struct fleet_member *members;	  /* owned, in the order of the settings */
	size_t member_count;
	void (*visited)(struct collect_fleet *f, const struct fleet_batch *batch); /* may be NULL */
	bool is_quiet; /* nothing is said of servers */
};

/* A server of the fleet. */
struct fleet_member {
	char *name;	       /* owned */
	uint32_t id, seat;     /* of the store */
	struct server *memory; /* the runner's: borrowed */
};

/* Takes the settings over, opens the store when there is one (url: NULL or empty, none), enrols the servers, gives each its remembered rows, and opens
 * the runner. `wait_ns`: how long to wait for a store that is away. */
int collect_fleet_open(struct collect_fleet *f, const char *store_url, uint64_t wait_ns,
		       struct err *err);

/* New settings, live: who is gone leaves, who is new is enrolled and remembered. On a failure everything is as it was. `next` is taken on
 * success. */
int collect_fleet_reload(struct collect_fleet *f, struct collect_settings *next, struct err *err);

/* The member with this id; NULL: there is none. */
const struct fleet_member *collect_fleet_member(const struct collect_fleet *f, uint32_t id);

/* Ends visits under way, then the store, which has `wait_ns` to take what waits. Accepts the empty value. */
void collect_fleet_close(struct collect_fleet *f, uint64_t wait_ns);

/* ---- collect_status.c ---- */

/* How a running collector stands; strings and servers are borrowed. */
struct collect_status {
	const char *collector, *config;
	struct wall started, loaded;
	const char *refused; /* why the last SIGHUP was refused; empty: it was not */
	struct runner_status runner;
	const struct runner_server *servers;
	size_t server_count;
	bool has_store;
	struct store_state store;
	uint64_t cpu_ns, rss_bytes;
};

/* Appends it as one JSON document, and as lines for people. */
void collect_status_json(const struct collect_status *s, struct text *out);
void collect_status_text(const struct collect_status *s, struct text *out);

/* Appends it for Prometheus. */
void collect_metrics_text(const struct collect_status *s, struct text *out);

/* ---- a file each: an exit status, or a negative errno ---- */

/* The service: runs until SIGTERM or SIGINT. */
int collect_daemon(struct app *app, const struct collect_opts *o, struct err *err);
/* One cycle; or two looks at the server whose URL is o->argument. 1: a server was not visited. */
int collect_once(struct app *app, const struct collect_opts *o, struct err *err);
/* A visit to each, PASS or FAIL. 1: one failed. */
int collect_check(struct app *app, const struct collect_opts *o, struct err *err);
/* The SQL for the role o->argument (NULL: tare). */
int collect_grants(struct app *app, const struct collect_opts *o, struct err *err);
/* The plan of one statement, now. */
int collect_plan(struct app *app, const struct collect_opts *o, const char *server,
		 const char *queryid, struct err *err);
/* What collecting took, of the settings' store, or of that in o->argument. */
int collect_cost(struct app *app, const struct collect_opts *o, struct err *err);
/* Asks the running collector. */
int collect_top(struct app *app, const struct collect_opts *o, struct err *err);
int collect_ask_status(struct app *app, const struct collect_opts *o, struct err *err);

#endif
