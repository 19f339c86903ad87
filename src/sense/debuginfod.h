/* debuginfod.h - debug files from symbol servers, by build-id: asked for by a child process while the run goes on, and never waited
 * for. Only on request: a server learns which programs run here. One thread. */
#ifndef TARE_SENSE_DEBUGINFOD_H
#define TARE_SENSE_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "sense/tables.h"

#define DEBUGINFOD_FILE_S    30u   /* for one file */
#define DEBUGINFOD_ALL_S     120u  /* for all of a run: then the rest goes without */
#define DEBUGINFOD_MAX_FILES 1024u /* asked for in one run */

struct debuginfod; /* opaque */

/* Starts the child, which asks the servers of DEBUGINFOD_URLS through libdebuginfod.so.1. -ENOENT: there is no such library;
 * -EINVAL: no server is named; -ENOMEM and others of fork(). */
int debuginfod_open(struct debuginfod **out, struct err *err);

/* Ends the child. Accepts NULL. */
void debuginfod_close(struct debuginfod *d);

/* Asks for the debug file of a build, once; beyond the ceilings it is not asked for. */
void debuginfod_want(struct debuginfod *d, const uint8_t *build_id, size_t bytes);

/* One that has come. */
struct debuginfod_file {
	uint8_t build_id[TABLES_MAX_BUILD_ID];
	size_t build_id_bytes;
	int fd; /* the caller's from then on */
};

/* Takes the next file that has come. False: none has, for now. Never waits; kills a child that takes too long. */
bool debuginfod_take(struct debuginfod *d, struct debuginfod_file *out);

/* How many are asked for, and have not come or been refused. */
size_t debuginfod_outstanding(const struct debuginfod *d);

#endif
