/* payload.c - zstd, with bounds. */
#include "cli/payload.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

int payload_read(const struct payload_row *row, uint64_t most_bytes, struct text *out)
{
	unsigned long long said;
	char *bytes;
	size_t got;

	if (row->content.len == 0)
		return -ENOENT;
	if (row->size_bytes > most_bytes)
		return -E2BIG;
	said = ZSTD_getFrameContentSize(row->content.bytes, row->content.len);
	if (said != row->size_bytes)
		return -EBADMSG;
	bytes = malloc(row->size_bytes + 1);
	if (bytes == NULL)
		return -ENOMEM;
	got = ZSTD_decompress(bytes, row->size_bytes, row->content.bytes, row->content.len);
	if (!ZSTD_isError(got) && got == row->size_bytes)
		text_add(out, bytes, got);
	free(bytes);
	if (ZSTD_isError(got) || got != row->size_bytes)
		return -EBADMSG;
	return out->has_failed ? -ENOMEM : 0;
}
