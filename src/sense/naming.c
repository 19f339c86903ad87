/* naming.c - strings and frames, each kept once. */
#include "sense/naming.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 65536u

/* Memory that is only ever added to, so that pointers stay. */
struct chunk {
	struct chunk *next;
	size_t used;
	char bytes[];
};

struct kept_str {
	uint64_t hash;
	struct str str; /* .bytes NULL: free */
};

struct naming {
	struct chunk *chunks;
	size_t chunk_bytes;
	struct kept_str *strs; /* open addressing, room is a power of two */
	size_t str_count, str_room;
	const struct frame **frames;
	size_t frame_count, frame_room;
	struct frame other;
};

static uint64_t hash_bytes(const char *bytes, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)bytes[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 32;
}

int naming_open(struct naming **out)
{
	struct naming *n = calloc(1, sizeof(*n));

	if (n == NULL)
		return -ENOMEM;
	n->str_room = n->frame_room = 1024;
	n->strs = calloc(n->str_room, sizeof(*n->strs));
	n->frames = calloc(n->frame_room, sizeof(*n->frames));
	if (n->strs == NULL || n->frames == NULL) {
		naming_close(n);
		return -ENOMEM;
	}
	n->other = (struct frame){ .kind = FRAME_NATIVE, .name = STR_LITERAL("(other)") };
	n->other.key = frame_key(&n->other, 0);
	*out = n;
	return 0;
}

void naming_close(struct naming *n)
{
	if (n == NULL)
		return;
	while (n->chunks != NULL) {
		struct chunk *next = n->chunks->next;

		free(n->chunks);
		n->chunks = next;
	}
	free(n->strs);
	free(n->frames);
	free(n);
}

/* `len` bytes, aligned for a struct frame; NULL: no room. */
static void *take(struct naming *n, size_t len)
{
	size_t want = (len + 7) & ~(size_t)7;
	struct chunk *c = n->chunks;

	if (c == NULL || CHUNK_BYTES - c->used < want) {
		size_t bytes = sizeof(*c) + CHUNK_BYTES;

		if (want > CHUNK_BYTES || n->chunk_bytes + bytes > NAMING_MAX_BYTES)
			return NULL;
		c = malloc(bytes);
		if (c == NULL)
			return NULL;
		*c = (struct chunk){ .next = n->chunks };
		n->chunks = c;
		n->chunk_bytes += bytes;
	}
	c->used += want;
	return c->bytes + c->used - want;
}

static size_t find_str(const struct kept_str *strs, size_t room, uint64_t hash, const char *bytes,
		       size_t len)
{
	size_t at = hash & (room - 1);

	while (strs[at].str.bytes != NULL && (strs[at].hash != hash || strs[at].str.len != len ||
					      memcmp(strs[at].str.bytes, bytes, len) != 0))
		at = (at + 1) & (room - 1);
	return at;
}

static int widen_strs(struct naming *n)
{
	size_t room = n->str_room * 2;
	struct kept_str *wider;

	if (n->str_count < n->str_room / 2)
		return 0;
	wider = calloc(room, sizeof(*wider));
	if (wider == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n->str_room; i++) {
		const struct kept_str *k = &n->strs[i];

		if (k->str.bytes != NULL)
			wider[find_str(wider, room, k->hash, k->str.bytes, k->str.len)] = *k;
	}
	free(n->strs);
	n->strs = wider;
	n->str_room = room;
	return 0;
}

struct str naming_keep(struct naming *n, const char *bytes, size_t len)
{
	uint64_t hash;
	size_t at;
	char *copy;

	if (len == 0)
		return STR_EMPTY;
	if (len > STR_MAX_BYTES)
		len = STR_MAX_BYTES;
	hash = hash_bytes(bytes, len);
	at = find_str(n->strs, n->str_room, hash, bytes, len);
	if (n->strs[at].str.bytes != NULL)
		return n->strs[at].str;
	copy = widen_strs(n) == 0 ? take(n, len) : NULL;
	if (copy == NULL)
		return STR_LITERAL("(other)");
	memcpy(copy, bytes, len);
	at = find_str(n->strs, n->str_room, hash, copy, len);
	n->strs[at] = (struct kept_str){ hash, { copy, (uint32_t)len } };
	n->str_count++;
	return n->strs[at].str;
}

/* Strings are kept once, so equal ones are the same pointer. */
static bool is_equal(const struct frame *a, const struct frame *b)
{
	return a->key == b->key && a->kind == b->kind && a->line == b->line &&
	       a->name.bytes == b->name.bytes && a->module.bytes == b->module.bytes &&
	       a->file.bytes == b->file.bytes;
}

static size_t find_frame(const struct frame **frames, size_t room, const struct frame *frame)
{
	size_t at = (frame->key ^ frame->key >> 32) & (room - 1);

	while (frames[at] != NULL && !is_equal(frames[at], frame))
		at = (at + 1) & (room - 1);
	return at;
}

static int widen_frames(struct naming *n)
{
	size_t room = n->frame_room * 2;
	const struct frame **wider;

	if (n->frame_count < n->frame_room / 2)
		return 0;
	if (n->frame_count >= NAMING_MAX_FRAMES)
		return -E2BIG;
	wider = calloc(room, sizeof(*wider));
	if (wider == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n->frame_room; i++)
		if (n->frames[i] != NULL)
			wider[find_frame(wider, room, n->frames[i])] = n->frames[i];
	free(n->frames);
	n->frames = wider;
	n->frame_room = room;
	return 0;
}

const struct frame *naming_frame(struct naming *n, const struct frame *frame)
{
	struct frame kept = *frame;
	struct frame *copy;
	size_t at;

	kept.name = naming_keep(n, frame->name.bytes, frame->name.len);
	kept.module = naming_keep(n, frame->module.bytes, frame->module.len);
	kept.file = naming_keep(n, frame->file.bytes, frame->file.len);
	kept.key = frame_key(&kept, 0);
	at = find_frame(n->frames, n->frame_room, &kept);
	if (n->frames[at] != NULL)
		return n->frames[at];
	copy = widen_frames(n) == 0 ? take(n, sizeof(kept)) : NULL;
	if (copy == NULL)
		return &n->other;
	*copy = kept;
	n->frames[find_frame(n->frames, n->frame_room, copy)] = copy;
	n->frame_count++;
	return copy;
}
