/* collect_store.c - the collector's store on a thread of its own: the queue, work that is waited for, the thread's round. */
#include "cli/collect_store.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/collect_store_parts.h"
#include "core/scoped.h"

#define PLACE_WAIT_NS (50 * NS_PER_MS)
#define SAID_MOST     4096 /* bytes that wait to be said */

struct mono store_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (struct mono){ (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec };
}

static struct timespec deadline(struct mono at)
{
	return (struct timespec){ (time_t)(at.ns / NS_PER_S), (long)(at.ns % NS_PER_S) };
}

void store_say(struct collect_store *s, const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	pthread_mutex_lock(&s->lock);
	if (s->said.len < SAID_MOST) {
		text_put(&s->said, line);
		text_put(&s->said, "\n");
	}
	pthread_mutex_unlock(&s->lock);
}

static struct fleet_limits limits_of(const struct collect_settings *settings)
{
	return (struct fleet_limits){ settings->keep_raw_ns, settings->keep_hourly_ns,
				      settings->keep_daily_ns, settings->keep_runs_ns,
				      settings->keep_payload_bytes };
}

/* Runs the job with the lock given back meanwhile. */
static void run_job(struct collect_store *s)
{
	struct store_job *job = s->job;
	struct err err = ERR_EMPTY;
	int rc;

	s->job = NULL;
	job->is_begun = true;
	pthread_mutex_unlock(&s->lock);
	rc = store_reach(s, &err);
	if (rc == 0)
		rc = job->work(s->ops, s->db, job->owner, &err);
	if (rc == -EHOSTUNREACH && s->db != NULL)
		store_leave(s, &err);
	pthread_mutex_lock(&s->lock);
	if (job->is_left) {
		free(job);
		return;
	}
	job->rc = rc;
	job->err = err;
	job->is_done = true;
	pthread_cond_broadcast(&s->done);
}

static struct fleet_batch take_first(struct collect_store *s)
{
	struct store_waiting *first = s->first;
	struct fleet_batch batch = first->batch;

	s->first = first->next;
	if (s->first == NULL)
		s->last = &s->first;
	s->state.waiting--;
	s->state.waiting_bytes -= batch.bytes;
	free(first);
	return batch;
}

/* Writes what waits, some of it together, with the lock given back meanwhile. */
static void write_waiting(struct collect_store *s)
{
	struct fleet_batch batches[STORE_TOGETHER];
	size_t count = 0;

	while (s->first != NULL && count < STORE_TOGETHER)
		batches[count++] = take_first(s);
	pthread_mutex_unlock(&s->lock);
	store_write(s, batches, count);
	pthread_mutex_lock(&s->lock);
}

/* What there is to do without being asked: try again, replay, tidy. Returns when to come again. */
static struct mono do_chores(struct collect_store *s)
{
	struct err err = ERR_EMPTY;
	struct mono now = store_now();

	if (s->db == NULL && store_reach(s, &err) < 0)
		return s->retry_at.ns > now.ns ? s->retry_at : (struct mono){ now.ns + NS_PER_S };
	if (store_replay(s))
		return now;
	if (now.ns >= s->tidy_at.ns)
		store_tidy(s);
	return s->tidy_at;
}

static void *thread_main(void *self)
{
	struct collect_store *s = self;
	struct mono next = { 0 };

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct mono now = store_now();
		struct timespec until;

		s->alive_at = now;
		if (s->job != NULL) {
			run_job(s);
			next = now; /* it may have found the store away */
		} else if (s->is_ending && (s->first == NULL || now.ns >= s->end_at.ns)) {
			break;
		} else if (s->first != NULL) {
			write_waiting(s);
			next = now;
		} else if (now.ns >= next.ns) {
			pthread_mutex_unlock(&s->lock);
			next = do_chores(s);
			pthread_mutex_lock(&s->lock);
		} else {
			until = deadline(next);
			pthread_cond_timedwait(&s->wake, &s->lock, &until);
		}
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void store_free(struct collect_store *s)
{
	while (s->first != NULL) {
		struct fleet_batch batch = take_first(s);

		store_set_aside(s, &batch, 1);
		fleet_batch_free(&batch);
	}
	if (s->db != NULL)
		s->ops->close(s->db);
	spool_close(s->spool);
	pthread_cond_destroy(&s->wake);
	pthread_cond_destroy(&s->done);
	pthread_mutex_destroy(&s->lock);
	text_free(&s->said);
	free(s->url);
	free(s->password);
	free(s->late);
	free(s);
}

static struct collect_store *store_make(const struct collect_settings *settings, const char *url)
{
	struct collect_store *s = calloc(1, sizeof(*s));
	pthread_condattr_t clock;

	if (s == NULL)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &clock);
	pthread_cond_init(&s->done, &clock);
	pthread_condattr_destroy(&clock);
	s->last = &s->first;
	s->limits = limits_of(settings);
	s->url = strdup(url);
	s->password = strdup(settings->store_password);
	if (s->url == NULL || s->password == NULL) {
		store_free(s);
		return NULL;
	}
	return s;
}

/* A thread that no signal interrupts: they are the main thread's. */
static int start_thread(struct collect_store *s, struct err *err)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&s->thread, NULL, thread_main, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc == 0 ? 0 : err_set(err, -rc, "cannot start the store's thread: %s", strerror(rc));
}

/* What waits on disk is newer than what the store remembers: it goes in before anybody asks. */
static int catch_up(const struct fleet_store_ops *ops, void *db, void *owner, struct err *err)
{
	struct collect_store *s = owner;

	(void)ops, (void)db;
	while (store_replay(s))
		;
	if (!store_is_behind(s))
		return 0;
	pthread_mutex_lock(&s->lock);
	err_set(err, -EHOSTUNREACH, "%s",
		s->state.why[0] != '\0' ? s->state.why : "what waits on disk cannot be read");
	pthread_mutex_unlock(&s->lock);
	return -EHOSTUNREACH;
}

/* Is the store there, with all that waited for it? Waits for one that is away. */
static int wait_for_store(struct collect_store *s, uint64_t wait_ns, struct err *err)
{
	struct mono began = store_now();
	struct timespec pause = { 0, 200 * (long)NS_PER_MS };
	int rc;

	for (;;) {
		rc = collect_store_do(s, catch_up, s, UINT64_MAX, err);
		if (rc != -EHOSTUNREACH || mono_elapsed_ns(began, store_now()) >= wait_ns)
			return rc;
		nanosleep(&pause, NULL);
	}
}

int collect_store_open(const struct collect_settings *settings, const char *url, uint64_t wait_ns,
		       struct collect_store **out, struct err *err)
{
	struct collect_store *s = store_make(settings, url);
	int rc;

	if (s == NULL)
		return err_set(err, -ENOMEM, "cannot open the store: no memory");
	rc = fleet_store_find(url, &s->ops, err);
	if (rc == 0 && settings->spool[0] != '\0')
		rc = spool_open(settings->spool, settings->spool_bytes, &s->spool, err);
	if (rc == 0)
		rc = start_thread(s, err);
	if (rc < 0) {
		store_free(s);
		return rc;
	}
	rc = wait_for_store(s, wait_ns, err);
	if (rc < 0) {
		collect_store_close(s, 0);
		return rc;
	}
	*out = s;
	return 0;
}

void collect_store_set(struct collect_store *s, const struct collect_settings *settings)
{
	pthread_mutex_lock(&s->lock);
	s->limits = limits_of(settings);
	pthread_mutex_unlock(&s->lock);
}

void collect_store_put(struct collect_store *s, struct fleet_batch *batch)
{
	struct store_waiting *added = malloc(sizeof(*added));
	bool has_room;

	pthread_mutex_lock(&s->lock);
	has_room = added != NULL && s->state.waiting_bytes + batch->bytes <= STORE_QUEUE_BYTES;
	if (has_room) {
		*added = (struct store_waiting){ .batch = *batch };
		*batch = FLEET_BATCH_EMPTY;
		*s->last = added;
		s->last = &added->next;
		s->state.waiting++;
		s->state.waiting_bytes += added->batch.bytes;
		pthread_cond_signal(&s->wake);
	} else {
		s->state.lost++;
	}
	pthread_mutex_unlock(&s->lock);
	if (has_room)
		return;
	free(added);
	fleet_batch_free(batch);
	store_say(s, "a visit is lost: the store is slow, and %llu bytes wait for it",
		  (unsigned long long)STORE_QUEUE_BYTES);
}

/* Waits for a job that was handed over; the lock is held. 0: it is done; -ETIMEDOUT: it was not begun, or may be left. */
static int wait_for_job(struct collect_store *s, struct store_job *job, uint64_t wait_ns,
			bool may_leave)
{
	struct mono now = store_now();
	struct mono until = { wait_ns > UINT64_MAX - now.ns ? UINT64_MAX : now.ns + wait_ns };
	struct timespec at = deadline((struct mono){ until.ns < INT64_MAX ? until.ns : INT64_MAX });

	while (!job->is_done) {
		int rc = pthread_cond_timedwait(&s->done, &s->lock, &at);

		if (rc != ETIMEDOUT || job->is_done)
			continue;
		if (s->job == job) { /* not begun */
			s->job = NULL;
			free(job);
			return -ETIMEDOUT;
		}
		if (may_leave) {
			job->is_left = true;
			return -ETIMEDOUT;
		}
		at = deadline((struct mono){ INT64_MAX }); /* it runs with what is its owner's */
	}
	return 0;
}

static struct store_job *hand_over(struct collect_store *s, store_work_fn *work, void *owner)
{
	struct store_job *job = calloc(1, sizeof(*job));

	if (job == NULL)
		return NULL;
	job->work = work;
	job->owner = owner != NULL ? owner : job;
	s->job = job;
	pthread_cond_signal(&s->wake);
	return job;
}

int collect_store_do(struct collect_store *s, store_work_fn *work, void *owner, uint64_t wait_ns,
		     struct err *err)
{
	struct store_job *job;
	int rc;

	pthread_mutex_lock(&s->lock);
	job = hand_over(s, work, owner);
	rc = job != NULL ? wait_for_job(s, job, wait_ns, false) : -ENOMEM;
	pthread_mutex_unlock(&s->lock);
	if (rc < 0)
		return err_set(err, rc, "cannot ask the store: %s", strerror(-rc));
	rc = job->rc;
	if (rc < 0)
		*err = job->err;
	free(job);
	return rc;
}

static int take_place(const struct fleet_store_ops *ops, void *db, void *owner, struct err *err)
{
	struct store_job *job = owner;

	return ops->take_place(db, job->reading, job->slot, job->allowance, &job->has_place, err);
}

bool collect_store_take_place(struct collect_store *s, uint32_t reading, int64_t slot,
			      uint32_t allowance)
{
	struct store_job *job = NULL;
	bool has_place = false;
	int rc;

	if (s->has_late_slot && s->late_slot == slot)
		return false;
	pthread_mutex_lock(&s->lock);
	if (!s->state.is_away)
		job = hand_over(s, take_place, NULL);
	if (job == NULL) {
		pthread_mutex_unlock(&s->lock);
		return false;
	}
	job->reading = reading;
	job->slot = slot;
	job->allowance = allowance;
	rc = wait_for_job(s, job, PLACE_WAIT_NS, true);
	if (rc == 0) {
		has_place = job->rc == 0 && job->has_place;
		free(job);
	}
	pthread_mutex_unlock(&s->lock);
	if (rc < 0) {
		s->has_late_slot = true;
		s->late_slot = slot;
	}
	return has_place;
}

void collect_store_turn(struct collect_store *s, void (*say)(void *owner, const char *text),
			void *owner)
{
	SCOPED(text_free) struct text said = TEXT_EMPTY;
	char *line, *rest;

	pthread_mutex_lock(&s->lock);
	said = s->said;
	s->said = TEXT_EMPTY;
	pthread_mutex_unlock(&s->lock);
	if (said.len == 0)
		return;
	for (line = strtok_r(said.bytes, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest))
		say(owner, line);
}

void collect_store_state(struct collect_store *s, struct store_state *out)
{
	pthread_mutex_lock(&s->lock);
	*out = s->state;
	pthread_mutex_unlock(&s->lock);
}

void collect_store_close(struct collect_store *s, uint64_t wait_ns)
{
	if (s == NULL)
		return;
	pthread_mutex_lock(&s->lock);
	s->is_ending = true;
	s->end_at = (struct mono){ store_now().ns + wait_ns };
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	store_free(s);
}
