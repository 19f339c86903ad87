/* words.h - what a mistyped name was meant to be. Pure and thread-safe. */
#ifndef TARE_CORE_WORDS_H
#define TARE_CORE_WORDS_H

#include <stddef.h>

/* Edit distance of two words (Wagner and Fischer, 1974). SIZE_MAX: `b` has 64 bytes or more. */
size_t words_distance(const char *a, const char *b);

#endif
