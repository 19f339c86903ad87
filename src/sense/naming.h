/* naming.h - every string and frame that this sampler has given out, kept once until the end. Bounded: beyond the
 * ceilings names become "(other)". Owned by struct spaces; one thread. */
#ifndef TARE_SENSE_NAMING_H
#define TARE_SENSE_NAMING_H

#include <stddef.h>
#include <stdint.h>

#include "core/frame.h"

#define NAMING_MAX_BYTES  (16u << 20)
#define NAMING_MAX_FRAMES (1u << 18)

struct naming; /* opaque */

/* -ENOMEM. */
int naming_open(struct naming **out);

/* Accepts NULL. */
void naming_close(struct naming *n);

/* The kept copy of `bytes` (cut at STR_MAX_BYTES); equal bytes give the same pointer. STR_EMPTY for nothing; the
 * literal "(other)" when there is no room. Lives until naming_close(). */
struct str naming_keep(struct naming *n, const char *bytes, size_t len);

/* The kept frame equal to `frame`, its strings kept too and its key filled. Never NULL: "(other)" when there is no
 * room. Lives until naming_close(). */
const struct frame *naming_frame(struct naming *n, const struct frame *frame);

#endif
