/* save_recording.h - puts a recording that was made by hand into a file, by the store's own code. */
#ifndef TARE_TESTS_SAVE_RECORDING_H
#define TARE_TESTS_SAVE_RECORDING_H

#include <stdint.h>

#include "core/err.h"
#include "core/recording.h"

/* Makes `path` with all rows of `r` in one save; the file may take `limit_bytes`. Errors as of store_ops.create and save. */
int save_recording(const struct recording *r, const char *path, uint64_t limit_bytes,
		   struct err *err);

#endif
