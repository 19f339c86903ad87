/* stage.h - real PostgreSQL clusters for tests: made in a folder of their own under /tmp, reached by a unix socket only, run as user
 * `postgres` when the test is root, and gone when the test ends in whatever way (a keeper process sees to it). Failures to make one
 * fail the running cmocka test. And drive_script(): carries a script over a plain connection, blocking. */
#ifndef TARE_TESTS_FLEET_STAGE_H
#define TARE_TESTS_FLEET_STAGE_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "fleet/script.h"

struct stage {
	char dir[64];	  /* the cluster is dir/d, its log dir/log */
	char sockets[72]; /* folder of the unix socket; the port is 5432 */
	int keeper;	  /* descriptor to the keeper; -1: none */
	pid_t keeper_pid;
};

#define STAGE_EMPTY ((struct stage){ .keeper = -1 })

/* Makes a cluster (superuser `postgres`, database `postgres`, UTF8, C locale, no passwords) with pg_stat_statements loaded and
 * `conf` (lines of postgresql.conf, may be NULL) behind, and starts it. About a second. */
void stage_open(struct stage *out, const char *conf);

/* A streaming standby of `primary`, by pg_basebackup; started. */
void stage_open_standby(struct stage *out, const struct stage *primary, const char *conf);

/* Stops it: 'f' fast, 'k' with SIGKILL, as a crash. Its folder stays. */
void stage_stop(struct stage *s, char how);

/* Starts it again; waits until it answers. */
void stage_start(struct stage *s);

/* Adds lines to postgresql.conf; they hold from the next start, or pg_reload_conf(). */
void stage_conf(struct stage *s, const char *lines);

/* Stops it and removes its folder. Accepts the empty value. */
void stage_close(struct stage *s);

/* A plain connection, as a test's own; NULL user and database: postgres. Fails the test when there is none. */
PGconn *stage_connect(const struct stage *s, const char *user, const char *database);

/* The same with application_name = tare, as a collector would; NULL when there is none. */
PGconn *stage_connect_tare(const struct stage *s, const char *user, const char *database);

/* Runs statements as superuser by the simple protocol; fails the test on an error. */
void stage_run(const struct stage *s, const char *database, const char *sql);

/* The first cell of an answer, owned by the caller (free); fails the test on an error. */
char *stage_ask(const struct stage *s, const char *database, const char *sql);

/* The same as a number. */
int64_t stage_number(const struct stage *s, const char *database, const char *sql);

/* A driver of scripts: one connection and where it can go. */
struct drive {
	const struct stage *stage;
	const char *user;	     /* NULL: postgres */
	const char *database;	     /* the first one; NULL: postgres */
	PGconn *conn;		     /* owned; made when NULL */
	uint64_t deadline_ns;	     /* of a question that has none; 0: 30 s */
	uint64_t asked, rows, bytes; /* carried so far */
	void (*on_ask)(void *owner, const struct ask *ask); /* sees every question; may be NULL */
	void *owner;
};

/* Carries `script` until it is done. 0; or what the script or the connection failed with. */
int drive_script(struct drive *d, struct script *script, struct err *err);

/* Closes its connection. */
void drive_close(struct drive *d);

#endif
