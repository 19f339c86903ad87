/* payload.h - texts and plans as they were, from their payload rows. */
#ifndef TARE_CLI_PAYLOAD_H
#define TARE_CLI_PAYLOAD_H

#include "core/fleet.h"
#include "core/text.h"

/* Appends the bytes of a payload. -ENOENT: its content was dropped; -E2BIG: it is said to be larger than `most_bytes`; -EBADMSG: it is not what it
 * says it is (foreign bytes: nothing is allocated on their word alone); -ENOMEM. */
int payload_read(const struct payload_row *row, uint64_t most_bytes, struct text *out);

#endif
