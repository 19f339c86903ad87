/* fuzz_tare.c - any bytes as a recording. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/calls.h"
#include "core/recording.h"
#include "core/watchlist.h"
#include "fuzz/fuzz.h"
#include "store/store.h"

/* A watch: every reference leads somewhere, histograms are in order, parts are their frame. */
static uint64_t look_at_watch(const struct recording *r)
{
	uint64_t sum = 0, parts_ns = 0, slow_ns = 0;

	for (uint32_t i = 0; i < r->watched_count; i++)
		for (uint32_t at = 0; at < r->watched[i].name.len; at++)
			sum += (unsigned char)r->watched[i].name.bytes[at];
	for (uint32_t i = 0; i < r->window_count; i++) {
		const struct histogram *h = &r->windows[i].histogram;
		struct calls_row row = watchlist_calls_row(&r->windows[i]);
		bool is_below;

		if (recording_watched(r, r->windows[i].watched) == NULL || h->count > BUCKET_COUNT)
			abort();
		for (uint32_t at = 0; at < h->count; at++)
			if (h->steps[at].at >= BUCKET_COUNT || h->steps[at].weight == 0 ||
			    (at > 0 && h->steps[at].at <= h->steps[at - 1].at))
				abort();
		sum += calls_percentile(&row, 0.99, 19, &is_below).ns;
		sum += (uint64_t)calls_estimate(&row, 19).timed;
	}
	for (uint32_t i = 0; i < r->slow_part_count; i++) {
		if (recording_watched(r, r->slow_parts[i].watched) == NULL)
			abort();
		parts_ns += r->slow_parts[i].own_ns;
	}
	for (uint32_t i = 0; i < r->slow_count; i++) {
		slow_ns += r->slow[i].duration_ns;
		parts_ns += r->slow[i].rest_ns + r->slow[i].other_ns;
	}
	if (parts_ns != slow_ns)
		abort();
	return sum;
}

/* What a reader of the recording would do: look at every byte of it. */
static uint64_t look(const struct recording *r)
{
	uint64_t sum = r->label.command.len + look_at_watch(r);

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
