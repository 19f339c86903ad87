/* sandbox.h - gives up everything but computing: for a child of ours that reads what others wrote. */
#ifndef TARE_SENSE_SANDBOX_H
#define TARE_SENSE_SANDBOX_H

#include <sys/types.h>

/* Forks a child that sends no signal when it ends; wait for it with __WALL. As fork(): 0 in the child, or -errno. */
pid_t sandbox_fork(void);

/* For good, in the calling process: ends with its parent, no new privileges, no capabilities, no core, 256 MB, 2 s of
 * CPU, no new descriptors, and only the system calls that reading, writing to open descriptors and memory need (a
 * seccomp filter; others fail with EPERM). Returns 0 or -errno: then do not go on. */
int sandbox_enter(void);

#endif
