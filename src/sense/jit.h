/* jit.h - names of code that one process makes while it runs: from /tmp/perf-PID.map under its own root, and from jitdumps that it
 * has mapped. Files are read by the parser child (parser.h), and again when they grew; what is known of an address is remembered.
 * One thread. */
#ifndef TARE_SENSE_JIT_H
#define TARE_SENSE_JIT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sense/maps.h"
#include "sense/naming.h"
#include "sense/parser.h"

#define JIT_MAX_DUMPS 3u
#define JIT_MAX_ASKED (PARSER_MAX_JIT - 1)

struct jit; /* opaque: one process */

/* -ENOMEM; -ESRCH: it is gone. */
int jit_open(pid_t pid, struct jit **out);

/* Accepts NULL. */
void jit_close(struct jit *j);

/* Before the addresses of one stack are asked for: looks which files are there, and whether they grew. */
void jit_look(struct jit *j, const struct maps *maps);

/* What it takes to ask: who reads, and where names are kept. Borrowed. */
struct jit_of {
	struct parser *parser;
	struct naming *names;
	uint64_t at_ns; /* CLOCK_MONOTONIC of the sample; 0: now */
};

/* Has names of up to JIT_MAX_ASKED addresses read, as far as they are not known. */
void jit_ask(struct jit *j, const struct jit_of *of, const uint64_t *addresses, size_t count);

/* The frame of an address that jit_ask() was given last; NULL: nothing is known of it. Lives as long as the names. */
const struct frame *jit_find(const struct jit *j, uint64_t address, uint64_t at_ns);

/* Lines and records of all its files that say nothing. */
uint64_t jit_rejected(const struct jit *j);

#endif
