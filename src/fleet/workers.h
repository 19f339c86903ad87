/* workers.h - a few threads for what may block: looking up names, the steps of making a connection (a hostile server can make libpq compute for
 * minutes there), cancelling. A job that never comes back costs its thread and nothing else. Jobs are given and finished in the loop's thread. */
#ifndef TARE_FLEET_WORKERS_H
#define TARE_FLEET_WORKERS_H

#include <stdbool.h>

#include "core/err.h"
#include "fleet/loop.h"

struct workers; /* opaque */

/* A piece of work. From workers_do() to done() it is the worker's: nobody else touches what work() touches. */
struct job {
	void (*work)(struct job *job); /* in a worker's thread */
	void (*done)(struct job *job); /* in the loop's thread, afterwards; may free the job */
	struct job *next;	       /* the workers' own */
	bool is_waiting;
};

/* Threads are started when they are needed, `most` of them at most. -errno with the cause. */
int workers_open(struct loop *loop, unsigned most, struct workers **out, struct err *err);

/* Gives a job. 0; -EAGAIN: no thread can be started and none is there; the job is the caller's again. */
int workers_do(struct workers *w, struct job *job);

/* Takes back a job that no thread has begun: true, and done() never comes. */
bool workers_take_back(struct workers *w, struct job *job);

/* Waits up to a second for jobs under way (their done() is called), drops the waiting ones without done(), and leaves threads that do not come
 * back to themselves. Accepts NULL. */
void workers_close(struct workers *w);

#endif
