/* sandbox.h - gives up everything but computing: for a child of ours that reads what others wrote. */
#ifndef TARE_SENSE_SANDBOX_H
#define TARE_SENSE_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Forks a child that sends no signal when it ends; wait for it with __WALL. As fork(): 0 in the child, or -errno. */
pid_t sandbox_fork(void);

#define SANDBOX_NO_LIMIT UINT32_MAX

/* What is left to a process that gives up the rest. */
struct sandbox_limits {
	uint64_t memory_bytes; /* of its address space */
	uint32_t cpu_s;	       /* of its whole life; SANDBOX_NO_LIMIT: who started it watches */
	uint32_t descriptors;  /* new ones have lower numbers than this */
	bool may_receive;      /* messages from its socket, descriptors with them */
};

/* What a child has that answers one question. */
extern const struct sandbox_limits sandbox_once;

/* For good, in the calling process, which may still open, connect and write what its user may: ends with its parent, no new
 * privileges, no capabilities (nor any that could be had again), no core. 0 or -errno. */
int sandbox_drop_rights(void);

/* For good, in the calling process: ends with its parent, no new privileges, no capabilities (nor any that could be had
 * again), no core, nothing above `limits`, and only the system calls that reading, writing to open descriptors and memory
 * need (a seccomp filter; others fail with EPERM). Returns 0 or -errno: then do not go on. */
int sandbox_enter(const struct sandbox_limits *limits);

#endif
