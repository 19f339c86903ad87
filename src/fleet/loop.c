/* loop.c - epoll, one timerfd for the next alarm, and a binary heap of alarms. */
#include "fleet/loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_A_WAIT 8 /* few: what a wait leaves comes first in the next one */
#define TURN_MOST_NS  (20 * NS_PER_MS)

struct loop {
	int epoll, timer;
	struct loop_alarm **heap; /* owned; alarms are borrowed */
	size_t count, room;
	uint64_t timer_at_ns; /* what the timer is set to; 0: nothing */
	struct epoll_event batch[EVENTS_A_WAIT];
	int batch_at, batch_count;
	uint64_t longest_ns;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

struct mono loop_now(void)
{
	return (struct mono){ clock_ns(CLOCK_MONOTONIC) };
}

struct wall loop_wall(void)
{
	return (struct wall){ (int64_t)clock_ns(CLOCK_REALTIME) };
}

uint64_t loop_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int loop_open(struct loop **out, struct err *err)
{
	struct loop *l = calloc(1, sizeof(*l));
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };

	if (l == NULL)
		return err_set(err, -ENOMEM, "cannot wait for servers: out of memory");
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (l->epoll < 0 || l->timer < 0 ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->timer, &event) < 0) {
		int code = -errno;

		loop_close(l);
		return err_set(err, code, "cannot wait for servers: %s", strerror(-code));
	}
	*out = l;
	return 0;
}

void loop_close(struct loop *l)
{
	if (l == NULL)
		return;
	if (l->epoll >= 0)
		close(l->epoll);
	if (l->timer >= 0)
		close(l->timer);
	free(l->heap);
	free(l);
}

int loop_watch(struct loop *l, struct loop_watch *w, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = w };

	if (w->fd == fd && w->events == events)
		return 0;
	if (w->fd >= 0 && w->fd != fd)
		loop_unwatch(l, w);
	if (epoll_ctl(l->epoll, w->fd == fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	w->fd = fd;
	w->events = events;
	return 0;
}

void loop_unwatch(struct loop *l, struct loop_watch *w)
{
	if (w->fd < 0)
		return;
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	for (int i = l->batch_at; i < l->batch_count; i++)
		if (l->batch[i].data.ptr == w)
			l->batch[i].events = 0;
	w->fd = -1;
	w->events = 0;
}

static void put(struct loop *l, size_t at, struct loop_alarm *a)
{
	l->heap[at] = a;
	a->place = at + 1;
}

static void rise(struct loop *l, size_t at)
{
	struct loop_alarm *a = l->heap[at];

	while (at > 0 && l->heap[(at - 1) / 2]->at_mono_ns > a->at_mono_ns) {
		put(l, at, l->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	put(l, at, a);
}

static void sink(struct loop *l, size_t at)
{
	struct loop_alarm *a = l->heap[at];

	for (size_t child = 2 * at + 1; child < l->count; child = 2 * at + 1) {
		if (child + 1 < l->count &&
		    l->heap[child + 1]->at_mono_ns < l->heap[child]->at_mono_ns)
			child++;
		if (l->heap[child]->at_mono_ns >= a->at_mono_ns)
			break;
		put(l, at, l->heap[child]);
		at = child;
	}
	put(l, at, a);
}

int loop_set(struct loop *l, struct loop_alarm *a, uint64_t at_mono_ns)
{
	if (a->place == 0) {
		if (l->count == l->room) {
			size_t room = l->room == 0 ? 256 : l->room * 2;
			struct loop_alarm **heap =
				reallocarray(l->heap, room, sizeof(struct loop_alarm *));

			if (heap == NULL)
				return -ENOMEM;
			l->heap = heap;
			l->room = room;
		}
		put(l, l->count++, a);
	}
	a->at_mono_ns = at_mono_ns;
	rise(l, a->place - 1);
	sink(l, a->place - 1);
	return 0;
}

void loop_put_off(struct loop *l, struct loop_alarm *a)
{
	size_t at = a->place - 1;
	struct loop_alarm *last;

	if (a->place == 0)
		return;
	a->place = 0;
	last = l->heap[--l->count];
	if (last == a)
		return;
	put(l, at, last);
	rise(l, at);
	sink(l, last->place - 1);
}

/* The timer rings at the first alarm, at once when that is over. */
static void set_timer(struct loop *l)
{
	uint64_t at_ns = l->count > 0 ? l->heap[0]->at_mono_ns : 0;
	struct itimerspec when = { 0 };

	if (l->count > 0 && at_ns == 0)
		at_ns = 1;
	if (at_ns == l->timer_at_ns)
		return;
	l->timer_at_ns = at_ns;
	when.it_value.tv_sec = (time_t)(at_ns / NS_PER_S);
	when.it_value.tv_nsec = (long)(at_ns % NS_PER_S);
	timerfd_settime(l->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void ring_alarms(struct loop *l, uint64_t began_ns)
{
	uint64_t now_ns = loop_now().ns;

	while (l->count > 0 && l->heap[0]->at_mono_ns <= now_ns &&
	       now_ns < began_ns + TURN_MOST_NS) {
		struct loop_alarm *a = l->heap[0];

		loop_put_off(l, a);
		a->ring(a->owner);
		now_ns = loop_now().ns;
	}
}

static void handle_batch(struct loop *l)
{
	/* A handler may take events of others out of the batch, and there is no more of it than one turn can take. */
	for (l->batch_at = 0; l->batch_at < l->batch_count; l->batch_at++) {
		struct epoll_event *event = &l->batch[l->batch_at];
		struct loop_watch *w = event->data.ptr;
		uint64_t rings;

		if (w == NULL) {
			if (read(l->timer, &rings, sizeof(rings)) > 0)
				l->timer_at_ns = 0;
		} else if (event->events != 0) {
			w->ready(w->owner, event->events);
		}
	}
	l->batch_at = l->batch_count = 0;
}

int loop_turn(struct loop *l, uint64_t most_ns, struct err *err)
{
	uint64_t began_ns, took_ns, most_ms = (most_ns + NS_PER_MS - 1) / NS_PER_MS;
	int count;

	set_timer(l);
	count = epoll_wait(l->epoll, l->batch, EVENTS_A_WAIT,
			   most_ms > 60000 ? 60000 : (int)most_ms);
	if (count < 0 && errno != EINTR)
		return err_set(err, -errno, "cannot wait for servers: %s", strerror(errno));
	began_ns = loop_now().ns;
	l->batch_count = count > 0 ? count : 0;
	handle_batch(l);
	ring_alarms(l, began_ns);
	set_timer(l);
	took_ns = loop_now().ns - began_ns;
	if (took_ns > l->longest_ns)
		l->longest_ns = took_ns;
	return 0;
}

int loop_fd(const struct loop *l)
{
	return l->epoll;
}

uint64_t loop_longest_ns(const struct loop *l)
{
	return l->longest_ns;
}
