/* names.h - every string and frame that this sampler has given out, kept once until the end. Bounded: beyond the
 * ceilings names become "(other)". Owned by struct spaces; one thread. */
#ifndef TARE_SENSE_NAMES_H
#define TARE_SENSE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "core/frame.h"

#define NAMES_MAX_BYTES	 (16u << 20)
#define NAMES_MAX_FRAMES (1u << 18)

struct names; /* opaque */

/* -ENOMEM. */
int names_open(struct names **out);

/* Accepts NULL. */
void names_close(struct names *n);

/* The kept copy of `bytes` (cut at STR_MAX_BYTES); equal bytes give the same pointer. STR_EMPTY for nothing; the
 * literal "(other)" when there is no room. Lives until names_close(). */
struct str names_keep(struct names *n, const char *bytes, size_t len);

/* The kept frame equal to `frame`, its strings kept too and its key filled. Never NULL: "(other)" when there is no
 * room. Lives until names_close(). */
const struct frame *names_frame(struct names *n, const struct frame *frame);

#endif
