/* made_paths.h - call paths from text, for tests: "thread;main;work". */
#ifndef TARE_TESTS_UNIT_MADE_PATHS_H
#define TARE_TESTS_UNIT_MADE_PATHS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/frame.h"

/* A function of this name, borrowed. */
static inline struct frame made_frame(const char *name, size_t len)
{
	struct frame f = { .kind = FRAME_NATIVE,
			   .name = { name, (uint32_t)len },
			   .module = STR_LITERAL("job") };

	f.key = frame_key(&f, 0);
	return f;
}

/* Cuts `text` at its semicolons into at most `room` frames; returns how many. Names are borrowed from it. */
static inline size_t made_path(const char *text, struct frame *out, size_t room)
{
	size_t depth = 0;

	while (depth < room) {
		size_t len = strcspn(text, ";");

		out[depth++] = made_frame(text, len);
		if (text[len] == '\0')
			break;
		text += len + 1;
	}
	return depth;
}

#endif
