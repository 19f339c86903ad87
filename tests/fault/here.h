/* here.h - a writer in this process: a shadow, and the recording that it saves. */
#ifndef TARE_TESTS_HERE_H
#define TARE_TESTS_HERE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "fault/shadow.h"
#include "store/store.h"

struct here {
	struct shadow *shadow;
	struct changes changes;
	void *db; /* NULL: not made, or closed */
	uint64_t saves;
	bool is_unsaved; /* the last save failed: the same changes come again */
};

/* Makes the shadow, and then the recording at `path`, over what is there. A shadow that cannot be made ends the test. */
int here_create(struct here *h, const char *path, uint64_t seed, uint64_t limit_bytes,
		struct err *err);

/* Makes `changes` random changes, unless the last save failed, and saves. */
int here_save(struct here *h, uint32_t changes, struct store_saved *saved, struct err *err);

/* Closes the recording only. */
void here_close(struct here *h);

/* Closes all. Accepts the empty value. */
void here_end(struct here *h);

#endif
