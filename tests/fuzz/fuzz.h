/* fuzz.h - what every fuzz target defines. */
#ifndef TARE_TESTS_FUZZ_H
#define TARE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Feeds one input, of any bytes, to the parser under test, from a fresh state. Borrowed during the call. Always 0.
 * The name is libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
