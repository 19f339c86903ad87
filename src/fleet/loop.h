/* loop.h - one thread's waiting place: descriptors (epoll), alarms (a heap: O(log n) each), and no turn over 50 ms. Nothing here blocks but
 * loop_turn(), and that only as long as it may. One thread. */
#ifndef TARE_FLEET_LOOP_H
#define TARE_FLEET_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/units.h"

struct loop; /* opaque */

/* A descriptor that is waited for. All zero but fd = -1: none. Stays where it is in memory while it is watched. */
struct loop_watch {
	int fd;
	uint32_t events; /* EPOLLIN, EPOLLOUT */
	void (*ready)(void *owner, uint32_t events);
	void *owner;
};

/* An alarm. All zero but `ring` and `owner`: not set. Stays where it is in memory while it is set. */
struct loop_alarm {
	uint64_t at_mono_ns;
	size_t place; /* in the heap, plus 1; 0: not set */
	void (*ring)(void *owner);
	void *owner;
};

/* -errno with the cause. */
int loop_open(struct loop **out, struct err *err);

/* Everything must be unwatched and put off before, or is forgotten. Accepts NULL. */
void loop_close(struct loop *l);

/* Watches `fd` for `events`, or changes what it is watched for; another fd than before replaces it. 0 or -errno. */
int loop_watch(struct loop *l, struct loop_watch *w, int fd, uint32_t events);

/* No event of it comes after this, not even one that is on its way. May run twice; before the descriptor is closed. */
void loop_unwatch(struct loop *l, struct loop_watch *w);

/* Sets or moves an alarm. 0 or -ENOMEM (then it is not set). */
int loop_set(struct loop *l, struct loop_alarm *a, uint64_t at_mono_ns);

/* May run twice. */
void loop_put_off(struct loop *l, struct loop_alarm *a);

/* Waits up to `most_ns` for events or the next alarm, then handles what is there; what would take it over its time is left to the next
 * turn. 0 or -errno. */
int loop_turn(struct loop *l, uint64_t most_ns, struct err *err);

/* Readable when loop_turn() has something to do. */
int loop_fd(const struct loop *l);

/* The longest turn so far, without the waiting. */
uint64_t loop_longest_ns(const struct loop *l);

/* The clocks. */
struct mono loop_now(void);
struct wall loop_wall(void);
uint64_t loop_cpu_ns(void); /* of the calling thread */

#endif
