/* writer.h - a process that saves one numbered recording after the other, as the recorder would, and says so. */
#ifndef TARE_TESTS_WRITER_H
#define TARE_TESTS_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fault/shadow.h"

#define WRITER_LIMIT_BYTES (1u << 20)

/* What a writer says after each thing done; whole messages, in a pipe. */
struct ack {
	uint64_t saves;	    /* done so far */
	uint64_t bytes;	    /* on disk then */
	int32_t code;	    /* of what was done: 0 or a negative errno */
	uint32_t is_paused; /* the save was */
	uint32_t is_closed; /* the last word */
};

struct writer {
	pid_t pid;
	int acks; /* read end of the pipe */
	int go;	  /* write end: a byte lets a writer with is_stepped do its next save */
};

struct writer_settings {
	const char *path;
	uint64_t seed;
	uint64_t saves; /* then it closes; UINT64_MAX: never */
	uint64_t limit_bytes;
	uint32_t changes; /* of the shadow a save */
	bool may_overwrite;
	bool is_stepped;
};

/* The shadow that a writer with this seed works on. */
struct shadow_settings writer_shadow(uint64_t seed, uint64_t limit_bytes);

/* Starts it. False: it cannot. */
bool writer_start(struct writer *w, const struct writer_settings *settings);

/* The next ack; false: it is gone. */
bool writer_ack(struct writer *w, struct ack *out);

/* Lets a stepped one do one save, and waits for its ack. */
bool writer_step(struct writer *w, struct ack *out);

/* Ends it with a signal (0: waits for its own end) and returns its status. */
int writer_end(struct writer *w, int signal);

/* Loads `path`, and is it what the writer's shadow was after as many saves as its label says? "" or what differs.
 * *out_saves: that number. */
const char *writer_differs(const struct writer_settings *settings, uint64_t *out_saves);

/* "ok", or what SQLite's integrity_check says. */
const char *writer_integrity(const char *path);

#endif
