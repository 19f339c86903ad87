/* watch_bodies.h - runs the program of bodies (watch_body.c) from memory, and times its bodies by turns. It is a child's child
 * of ours, and that child has no signal to tell its end and is in no wait(): the caller's children stay its own. One
 * thread. */
#ifndef TARE_SENSE_WATCH_BODIES_H
#define TARE_SENSE_WATCH_BODIES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sense/watch_body.h"

/* The program as bytes of an ELF file. */
extern const unsigned char watch_body_file[];
extern const size_t watch_body_file_bytes;

#define WATCH_BODIES_ROUNDS 40u /* of each body, taken in turn */
#define WATCH_BODIES_LEAST  5u	/* under so many that ended it is unmeasured */
#define WATCH_BODIES_MOST   16u /* bodies at once */

struct watch_bodies {
	pid_t keeper; /* our child, which waits for the program; both are a session of their own */
	pid_t pid;    /* the program's */
	int socket;
	int file;	 /* the program's: a memfd that nobody else runs */
	char path[32];	 /* to open `file` by this process */
	uint64_t cpu_ns; /* that the program has said to have taken so far */
	uint64_t asked;	 /* how often it was */
	uint64_t
		until_ns; /* CLOCK_MONOTONIC: while it is measured, what has not ended then is given up */
};

#define WATCH_BODIES_EMPTY ((struct watch_bodies){ .keeper = 0, .socket = -1, .file = -1 })

/* One body's price. */
struct watch_body_price {
	uint32_t body;	     /* enum watch_body */
	uint64_t ps;	     /* of a call in most rounds: watch_bodies_middle(); 0: unmeasured */
	uint64_t fastest_ps; /* in the fastest round; 0: unmeasured */
	uint32_t calls;	     /* that made a round */
};

/* Starts the program and calls its first body once. A negative errno: it cannot be run here. */
int watch_bodies_open(struct watch_bodies *out);

/* Ends it. Returns the CPU time that it took. Accepts the empty value, and may run twice. */
uint64_t watch_bodies_close(struct watch_bodies *bodies);

/* Calls `body` so many times. -EPIPE: it ended instead; -ETIMEDOUT; -ENOENT: there is no such body on this machine. */
int watch_bodies_call(struct watch_bodies *bodies, uint32_t body, uint32_t calls,
		      struct watch_body_told *out);

/* Times `count` (1 … WATCH_BODIES_MOST) bodies by turns: warm rounds first, then WATCH_BODIES_ROUNDS of each. A failure
 * leaves all unmeasured, and is returned. */
int watch_bodies_measure(struct watch_bodies *bodies, struct watch_body_price *prices,
			 size_t count);

/* One round of a body in a program that runs on beside a recording: ps a call, after as many that are not timed, since it
 * has slept. Its limit of CPU time begins anew.
 * -ETIMEDOUT: it was not done within a fiftieth of a second, and may be tried again; else as watch_bodies_call(). */
int watch_bodies_round(struct watch_bodies *bodies, uint32_t body, uint32_t calls,
		       uint64_t *out_ps);

/* The mean of rounds without the fastest and the slowest tenth, of four and more one at each end at least. Entering the
 * kernel takes half as much again while another program has the other half of the same core, for a tenth of a second or
 * for many; the fastest round is one of a quiet moment, and what a program pays is the mean. Sorts `ps`. 0 of none. */
uint64_t watch_bodies_middle(uint64_t *ps, uint32_t count);

#endif
