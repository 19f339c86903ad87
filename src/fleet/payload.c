/* payload.c - texts and plans as they are stored: once, by the digest of their bytes, compressed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <zstd.h>

#include "core/scoped.h"
#include "fleet/plans.h"

#define COMPRESSION_LEVEL 3

int payload_digest(const void *bytes, size_t len, struct digest *out)
{
	unsigned int digest_len = 0;
	struct digest digest;

	if (EVP_Digest(len > 0 ? bytes : "", len, digest.bytes, &digest_len, EVP_sha256(), NULL) !=
		    1 ||
	    digest_len != sizeof(digest.bytes))
		return -ENOMEM;
	*out = digest;
	return 0;
}

static void free_chars(char **chars)
{
	free(*chars);
	*chars = NULL;
}

static size_t strip_nuls(char *bytes, size_t len)
{
	size_t kept = 0;

	for (size_t i = 0; i < len; i++)
		if (bytes[i] != '\0')
			bytes[kept++] = bytes[i];
	return kept;
}

struct payload_press {
	ZSTD_CCtx *zstd;
};

int payload_press_open(struct payload_press **out)
{
	struct payload_press *press = calloc(1, sizeof(*press));

	if (press == NULL)
		return -ENOMEM;
	press->zstd = ZSTD_createCCtx();
	if (press->zstd == NULL) {
		free(press);
		return -ENOMEM;
	}
	*out = press;
	return 0;
}

void payload_press_close(struct payload_press *press)
{
	if (press != NULL)
		ZSTD_freeCCtx(press->zstd);
	free(press);
}

static int compress(struct payload_press *press, const char *bytes, size_t len, struct blob *out)
{
	size_t room = ZSTD_compressBound(len);
	SCOPED(free_chars) char *content = malloc(room);
	size_t used;
	char *fitted;

	if (content == NULL)
		return -ENOMEM;
	used = press != NULL ? ZSTD_compressCCtx(press->zstd, content, room, bytes, len,
						 COMPRESSION_LEVEL)
			     : ZSTD_compress(content, room, bytes, len, COMPRESSION_LEVEL);
	if (ZSTD_isError(used) || used > UINT32_MAX)
		return -ENOMEM;
	fitted = realloc(content, used);
	*out = (struct blob){ .bytes = fitted != NULL ? fitted : content, .len = (uint32_t)used };
	content = NULL;
	return 0;
}

int payload_make(struct payload_press *press, struct str bytes, uint64_t most_bytes,
		 struct payload_row *io_row)
{
	SCOPED(free_chars) char *stripped = calloc(bytes.len + (size_t)1, 1);
	struct payload_row row = *io_row;
	size_t len;

	if (stripped == NULL)
		return -ENOMEM;
	if (bytes.len > 0)
		memcpy(stripped, bytes.bytes, bytes.len);
	len = strip_nuls(stripped, bytes.len);
	row.size_bytes = len;
	if (payload_digest(stripped, len, &row.digest) != 0 ||
	    (len <= most_bytes && compress(press, stripped, len, &row.content) != 0))
		return -ENOMEM;
	*io_row = row;
	return 0;
}
