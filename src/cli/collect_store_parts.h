/* collect_store_parts.h - the files of the collector's store among themselves. What is marked "lock" is shared by both threads. */
#ifndef TARE_CLI_COLLECT_STORE_PARTS_H
#define TARE_CLI_COLLECT_STORE_PARTS_H

#include <pthread.h>

#include "cli/collect_store.h"
#include "core/text.h"
#include "store/spool.h"

/* A batch that waits. */
struct store_waiting {
	struct fleet_batch batch;
	struct store_waiting *next;
};

/* Work that the main thread waits for. */
struct store_job {
	store_work_fn *work;
	void *owner;
	bool is_begun, is_done, is_left; /* left: nobody waits any more, and its thread frees it */
	int rc;
	struct err err;
	/* of take_place */
	uint32_t reading, allowance;
	int64_t slot;
	bool has_place;
};

/* What the last put of a server took: its run row gets it with the next one. */
struct store_late {
	bool is_set;
	struct run_row row;
	char sqlstate[8], reason[256];
};

struct collect_store {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, done;

	/* lock */
	struct store_waiting *first, **last;
	struct store_job *job;
	struct store_state state;
	struct fleet_limits limits;
	struct text said; /* lines for the main thread */
	bool is_ending;
	struct mono end_at;
	struct mono alive_at; /* when the thread last came by */

	/* the main thread's */
	int64_t late_slot; /* a slot in which a place came too late */
	bool has_late_slot;

	/* the store's thread's */
	const struct fleet_store_ops *ops;
	char *url;	     /* without the password */
	char *password;	     /* a reference; empty: none */
	void *db;	     /* NULL: away */
	struct spool *spool; /* NULL: there is none */
	uint64_t spool_lost; /* of what the spool lost, counted already */
	struct mono retry_at, tidy_at;
	uint64_t pause_ns; /* until the next try */
	struct store_late *late;
	size_t late_count;
};

/* The monotonic clock. */
struct mono store_now(void);

/* Adds a line for the main thread. Takes the lock. */
void store_say(struct collect_store *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- collect_store_url.c ---- */

/* Opens `url` with the secret that `password` refers to (empty: none). As fleet_store_ops.open(), and as secret_read(). */
int store_open_with(const struct fleet_store_ops *ops, const char *url, const char *password,
		    enum fleet_access access, void **out_db, struct err *err);

/* ---- collect_store_write.c: the store's thread ---- */

/* Opens it when it is time to try. 0, or why not. */
int store_reach(struct collect_store *s, struct err *err);

#define STORE_TOGETHER 64u /* batches in one transaction */

/* Writes up to STORE_TOGETHER batches together, or puts them on disk. They are freed. */
void store_write(struct collect_store *s, struct fleet_batch *batches, size_t count);

/* Writes the oldest of what waits on disk. Returns whether there may be more. */
bool store_replay(struct collect_store *s);

/* A step of tidying, and the store's size now and then. */
void store_tidy(struct collect_store *s);

/* It is away from now on, because of `err`. */
void store_leave(struct collect_store *s, const struct err *err);

/* Puts batches on disk; those that it cannot take are lost, and counted. */
void store_set_aside(struct collect_store *s, const struct fleet_batch *batches, size_t count);

/* Does something wait on disk? */
bool store_is_behind(const struct collect_store *s);

#endif
