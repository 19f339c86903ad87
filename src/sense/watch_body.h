/* watch_body.h - what the program of bodies (watch_body.c) and who runs it say to each other: one struct watch_body_ask, one
 * struct watch_body_told, over the socket that the program finds as descriptor WATCH_BODY_SOCKET. */
#ifndef TARE_SENSE_WATCH_BODY_H
#define TARE_SENSE_WATCH_BODY_H

#include <stdint.h>

#define WATCH_BODY_SOCKET 3
#define WATCH_BODY_CPU_US \
	450000 /* the kernel ends it when it has used so much since WATCH_BODY_ANEW */
#define WATCH_BODY_NAMES 240u /* further names at most */

/* What can be called. */
enum watch_body {
	WATCH_BODY_PLAIN,    /* what the next two are without their scope */
	WATCH_BODY_COUNTED,  /* a scope called "counted" */
	WATCH_BODY_TIMED,    /* the same, called "timed" */
	WATCH_BODY_TASK,     /* a task called "task", begun and ended */
	WATCH_BODY_FRAME,    /* a mark */
	WATCH_BODY_NAMES_OF, /* makes names, `calls` of them */
	WATCH_BODY_ANEW,     /* begins its limit of CPU time anew */
	WATCH_BODY_FAILS,    /* ends the program by a signal: for tests */
	WATCH_BODY_HANGS,    /* never returns: for tests */
	WATCH_BODY_PROBED,   /* + 4 x enum place_first + enum watch_probed */
};

/* Four functions that are the same; what is done to each is the caller's. */
enum watch_probed {
	WATCH_PROBED_PLAIN,   /* no probe */
	WATCH_PROBED_HOOKED,  /* a probe that does nothing */
	WATCH_PROBED_UNTIMED, /* a probe that counts */
	WATCH_PROBED_TIMED,   /* a probe that times every call */
};
#define WATCH_PROBED_COUNT 4

/* Bytes of their code, by enum place_first. */
static const uint8_t watch_body_bytes[] = { 6, 6, 3 };

struct watch_body_ask {
	uint32_t body;	 /* enum watch_body */
	uint32_t calls;	 /* 0: only where it is */
	uint32_t warm;	 /* calls before, which are not timed */
	uint64_t number; /* comes back with the answer */
};

struct watch_body_told {
	uint64_t ns;	 /* CPU time that the calls took together */
	uint64_t cpu_ns; /* that the program took so far */
	uint64_t offset; /* of the body's code in the file of the program; 0: no such body here */
	uint64_t pid;	 /* the program's */
	uint64_t number; /* of the ask */
};

#endif
