/* fuzz_units.c - values of options, as a user may type them. */
#include <string.h>

#include "core/units.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char text[64];
	uint64_t value;
	size_t len = size < sizeof(text) - 1 ? size : sizeof(text) - 1;

	memcpy(text, bytes, len);
	text[len] = '\0';
	units_parse_duration(text, &value);
	units_parse_size(text, &value);
	units_parse_share(text, &value);
	units_parse_count(text, &value);
	return 0;
}
