/* names.c - frames and their texts in a fixed arena. */
#include "core/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FRAMES     (UINT32_C(1) << 24)
#define MAX_TEXT_BYTES (UINT32_C(1) << 30)

static uint32_t *chain_of(const struct names *n, uint64_t key)
{
	return &n->buckets[(uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & n->bucket_mask];
}

int names_open(struct names *n, uint32_t frames, uint32_t text_bytes)
{
	if (frames == 0 || frames > MAX_FRAMES || text_bytes == 0 || text_bytes > MAX_TEXT_BYTES)
		return -EINVAL;

	uint32_t buckets = 16;

	while (buckets < frames)
		buckets *= 2;
	*n = (struct names){
		.capacity = frames,
		.bucket_mask = buckets - 1,
		.text_limit = text_bytes,
		.text_room = text_bytes + text_bytes / 4,
		.oldest = NAMES_NONE,
		.newest = NAMES_NONE,
	};
	n->entries = calloc(frames, sizeof(*n->entries));
	n->buckets = malloc(buckets * sizeof(*n->buckets));
	n->text = malloc(n->text_room);
	if (n->entries == NULL || n->buckets == NULL || n->text == NULL ||
	    dirty_init(&n->dirty, frames) < 0) {
		names_close(n);
		return -ENOMEM;
	}
	memset(n->buckets, 0xff, buckets * sizeof(*n->buckets)); /* NAMES_NONE */
	for (uint32_t i = 0; i < frames; i++)
		n->entries[i].next = i + 1 < frames ? i + 1 : NAMES_NONE;
	return 0;
}

void names_close(struct names *n)
{
	free(n->entries);
	free(n->buckets);
	free(n->text);
	dirty_free(&n->dirty);
	*n = (struct names){ .entries = NULL };
}

static uint32_t bytes_of(const struct name_entry *e)
{
	return e->name_len + e->module_len + e->file_len;
}

/* Moves all live texts together, in the order in which they lie. */
static void compact(struct names *n)
{
	uint32_t end = 0;

	for (uint32_t id = n->oldest; id != NAMES_NONE; id = n->entries[id].newer) {
		struct name_entry *e = &n->entries[id];

		memmove(n->text + end, n->text + e->at, bytes_of(e));
		e->at = end;
		end += bytes_of(e);
	}
	n->text_end = end;
}

static uint32_t put_text(struct names *n, struct str text)
{
	uint32_t len = names_kept_bytes(text);

	if (len > 0)
		memcpy(n->text + n->text_end, text.bytes, len);
	n->text_end += len;
	return len;
}

static uint32_t find(const struct names *n, const struct frame *f)
{
	uint32_t id = *chain_of(n, f->key);

	while (id != NAMES_NONE && !names_is(n, id, f))
		id = n->entries[id].next;
	return id;
}

/* Puts the texts of `f` at the end; there is room. */
static void link_text(struct names *n, uint32_t id, const struct frame *f)
{
	struct name_entry *e = &n->entries[id];

	e->at = n->text_end;
	e->name_len = put_text(n, f->name);
	e->module_len = put_text(n, f->module);
	e->file_len = put_text(n, f->file);
	e->older = n->newest;
	e->newer = NAMES_NONE;
	if (n->newest == NAMES_NONE)
		n->oldest = id;
	else
		n->entries[n->newest].newer = id;
	n->newest = id;
	n->text_live += bytes_of(e);
}

static uint32_t bytes_wanted(const struct frame *f)
{
	return names_kept_bytes(f->name) + names_kept_bytes(f->module) + names_kept_bytes(f->file);
}

uint32_t names_add(struct names *n, const struct frame *f)
{
	uint32_t id = find(n, f);
	uint32_t bytes = bytes_wanted(f);

	if (id != NAMES_NONE) {
		n->entries[id].references++;
		return id;
	}
	if (n->first_free == NAMES_NONE || bytes > n->text_limit - n->text_live)
		return NAMES_NONE;
	if (bytes > n->text_room - n->text_end)
		compact(n);
	id = n->first_free;

	struct name_entry *e = &n->entries[id];
	uint32_t *bucket = chain_of(n, f->key);

	n->first_free = e->next;
	*e = (struct name_entry){
		.key = f->key,
		.references = 1,
		.next = *bucket,
		.kind = f->kind,
		.pid = f->pid,
		.tid = f->tid,
		.line = f->line,
	};
	link_text(n, id, f);
	*bucket = id;
	n->used++;
	dirty_set(&n->dirty, id);
	return id;
}

static void unlink_text(struct names *n, const struct name_entry *e)
{
	if (e->older == NAMES_NONE)
		n->oldest = e->newer;
	else
		n->entries[e->older].newer = e->newer;
	if (e->newer == NAMES_NONE)
		n->newest = e->older;
	else
		n->entries[e->newer].older = e->older;
	n->text_live -= bytes_of(e);
}

bool names_rename(struct names *n, const struct frame *from, const struct frame *to)
{
	uint32_t id = find(n, from), bytes = bytes_wanted(to);

	if (id == NAMES_NONE)
		return false;

	struct name_entry *e = &n->entries[id];

	if (bytes > n->text_limit - (n->text_live - bytes_of(e)))
		return false;
	unlink_text(n, e);
	if (bytes > n->text_room - n->text_end)
		compact(n);
	link_text(n, id, to);
	e->kind = to->kind;
	e->line = to->line;
	dirty_set(&n->dirty, id);
	return true;
}

void names_unref(struct names *n, uint32_t id)
{
	struct name_entry *e = &n->entries[id];

	if (--e->references > 0)
		return;

	uint32_t *link = chain_of(n, e->key);

	while (*link != id)
		link = &n->entries[*link].next;
	*link = e->next;
	unlink_text(n, e);
	e->next = n->first_free;
	n->first_free = id;
	n->used--;
	dirty_set(&n->dirty, id);
}

struct frame names_frame(const struct names *n, uint32_t id)
{
	const struct name_entry *e = &n->entries[id];
	const char *text = n->text + e->at;

	return (struct frame){
		.key = e->key,
		.kind = e->kind,
		.pid = e->pid,
		.tid = e->tid,
		.line = e->line,
		.name = { text, e->name_len },
		.module = { text + e->name_len, e->module_len },
		.file = { text + e->name_len + e->module_len, e->file_len },
	};
}
