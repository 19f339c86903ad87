/* workers.c - threads that take jobs from a list and put them on another; an eventfd wakes the loop. */
#include "fleet/workers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES   (512 * 1024)
#define CLOSE_WAIT_NS NS_PER_S

/* What threads share with the loop; freed by the last who leaves, since a thread may be stuck in a job for longer than we live. */
struct shop {
	pthread_mutex_t lock;
	pthread_cond_t has_work, has_left;
	struct job *first, **last; /* waiting */
	struct job *finished, **finished_last;
	unsigned threads, idle, busy, waiting, most;
	bool is_closed;
	int event;
};

struct workers {
	struct loop *loop; /* borrowed */
	struct loop_watch watch;
	struct shop *shop;
};

static void shop_free(struct shop *s)
{
	if (s->event >= 0)
		close(s->event);
	pthread_cond_destroy(&s->has_left);
	pthread_cond_destroy(&s->has_work);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* With the lock held. NULL: closed. */
static struct job *wait_for_job(struct shop *s)
{
	struct job *job;

	while (s->first == NULL && !s->is_closed) {
		s->idle++;
		pthread_cond_wait(&s->has_work, &s->lock);
		s->idle--;
	}
	if (s->is_closed)
		return NULL;
	job = s->first;
	s->first = job->next;
	if (s->first == NULL)
		s->last = &s->first;
	s->waiting--;
	job->next = NULL;
	job->is_waiting = false;
	return job;
}

static void finish(struct shop *s, struct job *job)
{
	uint64_t one = 1;

	*s->finished_last = job;
	s->finished_last = &job->next;
	if (!s->is_closed && write(s->event, &one, sizeof(one)) < 0)
		return; /* the counter is full: the loop is awake anyway */
}

static void *work(void *argument)
{
	struct shop *s = argument;
	struct job *job;
	bool is_last;

	pthread_mutex_lock(&s->lock);
	while ((job = wait_for_job(s)) != NULL) {
		s->busy++;
		pthread_mutex_unlock(&s->lock);
		job->work(job);
		pthread_mutex_lock(&s->lock);
		s->busy--;
		finish(s, job);
		pthread_cond_signal(&s->has_left);
	}
	s->threads--;
	is_last = s->threads == 0 && s->most == 0;
	pthread_cond_signal(&s->has_left);
	pthread_mutex_unlock(&s->lock);
	if (is_last)
		shop_free(s);
	return NULL;
}

/* In the loop's thread: what is finished. */
static void collect(void *owner, uint32_t events)
{
	struct shop *s = ((struct workers *)owner)->shop;
	struct job *job, *next;
	uint64_t count;

	(void)events;
	if (read(s->event, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return;
	pthread_mutex_lock(&s->lock);
	job = s->finished;
	s->finished = NULL;
	s->finished_last = &s->finished;
	pthread_mutex_unlock(&s->lock);
	for (; job != NULL; job = next) {
		next = job->next;
		job->next = NULL;
		job->done(job);
	}
}

static int shop_open(unsigned most, struct shop **out)
{
	struct shop *s = calloc(1, sizeof(*s));
	pthread_condattr_t attributes;

	if (s == NULL)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&s->has_work, NULL);
	pthread_cond_init(&s->has_left, &attributes);
	pthread_condattr_destroy(&attributes);
	s->last = &s->first;
	s->finished_last = &s->finished;
	s->most = most;
	s->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (s->event < 0) {
		int code = -errno;

		shop_free(s);
		return code;
	}
	*out = s;
	return 0;
}

int workers_open(struct loop *loop, unsigned most, struct workers **out, struct err *err)
{
	struct workers *w = calloc(1, sizeof(*w));
	struct shop *s = NULL;
	int code = w == NULL ? -ENOMEM : shop_open(most, &s);

	if (code == 0 && w != NULL && s != NULL) {
		w->loop = loop;
		w->shop = s;
		w->watch = (struct loop_watch){ .fd = -1, .ready = collect, .owner = w };
		code = loop_watch(loop, &w->watch, s->event, EPOLLIN);
	}
	if (code != 0) {
		if (s != NULL)
			shop_free(s);
		free(w);
		return err_set(err, code, "cannot set up threads: %s", strerror(-code));
	}
	*out = w;
	return 0;
}

/* With the lock held. Signals are for the main thread. */
static int start_thread(struct shop *s)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int code;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&thread, &attributes, work, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (code == 0)
		s->threads++;
	return -code;
}

int workers_do(struct workers *w, struct job *job)
{
	struct shop *s = w->shop;
	int code = 0;

	pthread_mutex_lock(&s->lock);
	if (s->waiting >= s->idle && s->threads < s->most)
		code = start_thread(s);
	if (s->threads == 0) {
		pthread_mutex_unlock(&s->lock);
		return code != 0 ? code : -EAGAIN;
	}
	job->next = NULL;
	job->is_waiting = true;
	*s->last = job;
	s->last = &job->next;
	s->waiting++;
	pthread_cond_signal(&s->has_work);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

bool workers_take_back(struct workers *w, struct job *job)
{
	struct shop *s = w->shop;
	bool was_waiting;

	pthread_mutex_lock(&s->lock);
	was_waiting = job->is_waiting;
	if (was_waiting) {
		struct job **at = &s->first;

		while (*at != job)
			at = &(*at)->next;
		*at = job->next;
		if (job->next == NULL)
			s->last = at;
		s->waiting--;
		job->next = NULL;
		job->is_waiting = false;
	}
	pthread_mutex_unlock(&s->lock);
	return was_waiting;
}

/* With the lock held: until nobody is at work, or the time is over. */
static void wait_for_busy(struct shop *s)
{
	uint64_t until_ns = loop_now().ns + CLOSE_WAIT_NS;
	struct timespec until = { (time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S) };

	while (s->busy > 0)
		if (pthread_cond_timedwait(&s->has_left, &s->lock, &until) == ETIMEDOUT)
			return;
}

void workers_close(struct workers *w)
{
	struct shop *s;
	bool is_last;

	if (w == NULL)
		return;
	s = w->shop;
	pthread_mutex_lock(&s->lock);
	for (struct job *job = s->first; job != NULL; job = job->next)
		job->is_waiting = false;
	s->first = NULL;
	s->last = &s->first;
	s->waiting = 0;
	wait_for_busy(s);
	pthread_mutex_unlock(&s->lock);
	collect(w, 0);
	loop_unwatch(w->loop, &w->watch);
	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	s->most = 0;
	is_last = s->threads == 0;
	pthread_cond_broadcast(&s->has_work);
	pthread_mutex_unlock(&s->lock);
	if (is_last)
		shop_free(s);
	free(w);
}
