/* debuginfod_child.h - the child's side of debuginfod.h, and what the two say to one another. For debuginfod*.c only. */
#ifndef TARE_SENSE_DEBUGINFOD_CHILD_H
#define TARE_SENSE_DEBUGINFOD_CHILD_H

#include <stdint.h>

#include "sense/tables.h"

/* A question. */
struct debuginfod_ask {
	uint32_t build_id_bytes, spare;
	uint8_t build_id[TABLES_MAX_BUILD_ID];
};

/* An answer; with result 0 comes a descriptor. The very first one says whether the library is there. */
struct debuginfod_answer {
	int32_t result; /* 0 or a negative errno */
	uint32_t build_id_bytes;
	uint8_t build_id[TABLES_MAX_BUILD_ID];
};

/* Gives up its rights, and asks servers until `socket` is closed. Call it in a child process; does not return. */
_Noreturn void debuginfod_child_run(int socket, uint32_t most_file_s);

#endif
