/* stacks.h - can a program switch stacks inside a call: coroutines, fibers, threads of its own? The kernel keeps the return
 * addresses that its return probes took in order of the stack pointer, and on another stack gives back the wrong ones: the
 * program then ends. What can be told is told by symbols: what a file uses of the C library, and what well-known libraries
 * are made of. A program with code of its own for it, and without symbols, is not recognised. One thread. */
#ifndef TARE_SENSE_STACKS_H
#define TARE_SENSE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What is looked through. */
struct stacks_program {
	pid_t pid; /* its mapped files */
	const char *
		program; /* not NULL: what it is going to execute instead, and the libraries that needs; borrowed */
};

/* Does any of its files show that it can? Then `out` says by what: "swapcontext, in libfoo.so.1". Files that cannot be read
 * show nothing. `out` is untouched when nothing is shown. */
bool stacks_find(const struct stacks_program *of, char *out, size_t size);

#endif
