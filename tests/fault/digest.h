/* digest.h - one number for a whole recording: the same rows, the same number. */
#ifndef TARE_TESTS_DIGEST_H
#define TARE_TESTS_DIGEST_H

#include <stdint.h>

#include "core/recording.h"

/* Every column of every row, the label's too. */
uint64_t digest_of(const struct recording *r);

#endif
