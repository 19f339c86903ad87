/* crc.c - CRC-32, reflected, polynomial 0xEDB88320, four bits at a time: sixteen words instead of a table of 256. */
#include "core/crc.h"

uint32_t crc32_of(uint32_t crc, const void *bytes, size_t len)
{
	static const uint32_t steps[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	const uint8_t *at = bytes;

	crc = ~crc;
	for (size_t i = 0; i < len; i++) {
		crc ^= at[i];
		crc = crc >> 4 ^ steps[crc & 15];
		crc = crc >> 4 ^ steps[crc & 15];
	}
	return ~crc;
}
