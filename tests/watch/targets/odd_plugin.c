/* odd_plugin.c - a library that odd_life loads, calls and unloads again and again. */
#include <stdint.h>

__attribute__((visibility("default"))) uint64_t plugged(uint64_t x);

uint64_t plugged(uint64_t x)
{
	return (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15) + 3;
}
