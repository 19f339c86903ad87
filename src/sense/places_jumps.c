/* places_jumps.c - relative jumps, by every byte that may begin one. */
#include "sense/places_jumps.h"

#include <string.h>

#define JUMP_8	1u
#define JUMP_32 2u
#define JUMP_0F 3u

/* What may begin with each byte. */
static void fill_kinds(uint8_t kinds[256])
{
	memset(kinds, 0, 256);
	memset(kinds + 0x70, JUMP_8, 16);
	memset(kinds + 0xe0, JUMP_8, 4);
	kinds[0xeb] = JUMP_8;
	kinds[0xe8] = kinds[0xe9] = JUMP_32;
	kinds[0x0f] = JUMP_0F;
}

/* Bytes from `at` to behind the jump that may begin there, and how far it goes. 0: none, or it is not all there. */
static size_t read_jump(const uint8_t *bytes, size_t left, uint8_t kind, int64_t *out_distance)
{
	size_t opcode_bytes = kind == JUMP_0F ? 2 : 1;
	int32_t distance;

	if (kind == JUMP_8) {
		*out_distance = left >= 2 ? (int8_t)bytes[1] : 0;
		return left >= 2 ? 2 : 0;
	}
	if (left < opcode_bytes + sizeof(distance) ||
	    (kind == JUMP_0F && (bytes[1] < 0x80 || bytes[1] > 0x8f)))
		return 0;
	memcpy(&distance, bytes + opcode_bytes, sizeof(distance));
	*out_distance = distance;
	return opcode_bytes + sizeof(distance);
}

/* The last range that begins before `target`. */
static void veto(struct places_range *ranges, size_t count, uint64_t target)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].start < target)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0 && target <= ranges[low - 1].end)
		ranges[low - 1].is_entered = true;
}

void places_jumps_veto(const uint8_t *bytes, size_t length, uint64_t address,
		       struct places_range *ranges, size_t count)
{
	uint64_t low, high;
	uint8_t kinds[256];

	if (count == 0)
		return;
	fill_kinds(kinds);
	low = ranges[0].start;
	high = ranges[count - 1].end;
	for (size_t at = 0; at < length; at++) {
		int64_t distance = 0;
		uint64_t target;
		size_t size;

		if (kinds[bytes[at]] == 0)
			continue;
		size = read_jump(bytes + at, length - at, kinds[bytes[at]], &distance);
		target = address + at + size + (uint64_t)distance;
		if (size > 0 && target > low && target <= high)
			veto(ranges, count, target);
	}
}
