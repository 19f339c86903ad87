/* process.h - watched processes and their address spaces. One thread. */
#ifndef TARE_SENSE_PROCESS_H
#define TARE_SENSE_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

#include "sense/jit.h"
#include "sense/maps.h"
#include "sense/naming.h"

#define PROCESSES_MAX 16384u

struct process {
	struct process *next;
	pid_t pid;
	struct maps *maps;
	struct jit *jit;	/* owned; NULL: no code of its own making was met */
	uint32_t unknown_count; /* addresses that lay in no mapping since the last reading */
	uint32_t patience;	/* read again when there were so many */
};

struct processes; /* opaque */

/* -ENOMEM. `names` is borrowed: paths are kept there. */
int processes_open(struct naming *names, struct processes **out);

/* Accepts NULL. */
void processes_close(struct processes *p);

/* The process, or NULL. */
struct process *processes_find(const struct processes *p, pid_t pid);

/* The process, new and without mappings if need be; NULL: too many, or no memory. */
struct process *processes_get(struct processes *p, pid_t pid);

#define PROCESSES_MAX_JITS 64u /* each has descriptors, and remembers addresses */

/* What a process says of code of its own making: opened when first asked for. NULL: too many have, or it is gone. */
struct jit *processes_jit(struct processes *p, struct process *process);

/* It runs another program: forgets that. */
void processes_drop_jit(struct processes *p, struct process *process);

/* Ends a process; unknown ones are fine. */
void processes_drop(struct processes *p, pid_t pid);

/* Gives `process` the mappings `maps`, whose ownership passes; NULL: an empty list (when even that has no memory, it
 * keeps the old one). */
void processes_set_maps(struct processes *p, struct process *process, struct maps *maps);

/* Adds what `event` tells. Modules of what it covers are dropped. */
void processes_map(struct processes *p, struct process *process, const struct mapping_event *event);

/* Reads /proc/PID/maps in place of what is known; modules of unchanged mappings stay. Does nothing for a dead
 * process. */
void processes_read(struct processes *p, struct process *process);

#endif
