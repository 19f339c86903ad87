/* fuzz_fleet_batch.c - any bytes as a packed batch; what is taken packs to the same bytes again. The head's length and CRC are
 * made right, so that the body is reached. */
#include <stdlib.h>
#include <string.h>

#include "core/crc.h"
#include "core/fleet_batch.h"
#include "fuzz/fuzz.h"

#define HEADER_BYTES 16u

static void put_u32(uint8_t *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fleet_batch batch = FLEET_BATCH_EMPTY, again = FLEET_BATCH_EMPTY;
	struct err err = ERR_EMPTY;
	uint8_t *packed = malloc(size + HEADER_BYTES);
	void *repacked = NULL;
	size_t len = 0;

	if (packed == NULL)
		return 0;
	memcpy(packed, "tarebat1", 8);
	put_u32(packed + 8, (uint32_t)size);
	put_u32(packed + 12, crc32_of(0, bytes, size));
	memcpy(packed + HEADER_BYTES, bytes, size);
	if (fleet_batch_unpack(bytes, size, &batch, &err) == 0)
		fleet_batch_free(&batch);
	if (fleet_batch_unpack(packed, size + HEADER_BYTES, &batch, &err) == 0) {
		if (fleet_batch_pack(&batch, &repacked, &len) != 0)
			abort();
		if (fleet_batch_unpack(repacked, len, &again, &err) != 0)
			abort();
		for (size_t i = 0; i < batch.block_count; i++)
			if (again.blocks[i].count != batch.blocks[i].count)
				abort();
	}
	fleet_batch_free(&batch);
	fleet_batch_free(&again);
	free(repacked);
	free(packed);
	return 0;
}
