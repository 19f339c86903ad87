/* fuzz_tare.c - any bytes as a recording. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/recording.h"
#include "fuzz/fuzz.h"
#include "store/store.h"

/* What a reader of the recording would do: look at every byte of it. */
static uint64_t look(const struct recording *r)
{
	uint64_t sum = r->label.command.len;

	for (uint32_t i = 0; i < r->frame_count; i++)
		for (uint32_t at = 0; at < r->frames[i].name.len; at++)
			sum += (unsigned char)r->frames[i].name.bytes[at];
	for (uint32_t i = 0; i < r->node_count; i++) {
		const struct node_row *node = &r->nodes[i];

		if (recording_frame(r, node->frame) == NULL)
			abort();
		for (uint32_t steps = 0; node->parent != NO_ID; steps++) {
			node = recording_node(r, node->parent);
			if (node == NULL || steps > r->node_count)
				abort();
			if (steps > 64)
				break;
		}
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char path[64] = "/dev/shm/tare-fuzz-XXXXXX";
	struct recording recording = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	int fd = mkstemp(path), rc;

	if (fd < 0)
		return 0;
	rc = write(fd, bytes, size) == (ssize_t)size ? store_sqlite.load(path, &recording, &err)
						     : -1;
	close(fd);
	unlink(path);
	if (rc == 0 && look(&recording) == UINT64_MAX)
		abort();
	recording_free(&recording);
	return 0;
}
