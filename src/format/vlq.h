/* vlq.h - whole numbers as letters, for a page that carries many of them: five bits a letter, the lowest first, in the alphabet
 * of base64; of a letter whose value is 32 or more, another follows. As source maps have them (ECMA-426), but without a sign
 * bit where there is no sign. None of the letters means anything in HTML, JSON or a URL. Pure. */
#ifndef TARE_FORMAT_VLQ_H
#define TARE_FORMAT_VLQ_H

#include <stdint.h>

#include "core/text.h"

/* Appends one number. */
void vlq_put(struct text *t, uint64_t value);

/* Appends one that may be negative: 0, -1, 1, -2 ... as 0, 1, 2, 3 ... */
void vlq_put_signed(struct text *t, int64_t value);

#endif
