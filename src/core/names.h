/* names.h - the frames of call paths and their texts, in a fixed arena: a part of paths. Each frame is stored once
 * and counted; its name, module and file lie together in one text, which is compacted when its end is reached.
 * A frame is known by its key, and by the lengths of its name and module as a guard. Single-threaded. */
#ifndef TARE_CORE_NAMES_H
#define TARE_CORE_NAMES_H

#include <stdbool.h>

#include "core/dirty.h"
#include "core/frame.h"

#define NAMES_NONE UINT32_MAX

struct name_entry {
	uint64_t key;
	uint32_t references;   /* nodes that show it; 0: free */
	uint32_t next;	       /* in its bucket, or in the free list */
	uint32_t older, newer; /* neighbours in the text */
	uint32_t at;	       /* where its bytes begin: name, module, file */
	uint32_t name_len, module_len, file_len;
	uint32_t kind, pid, tid, line;
};

struct names {
	struct name_entry *entries; /* owned */
	uint32_t capacity;	    /* most frames */
	uint32_t used;
	uint32_t first_free;
	uint32_t *buckets; /* owned: key -> first entry */
	uint32_t bucket_mask;
	char *text;		 /* owned */
	uint32_t text_limit;	 /* most live bytes */
	uint32_t text_room;	 /* a quarter more, so that compacting is rare */
	uint32_t text_live;	 /* bytes of live frames */
	uint32_t text_end;	 /* where the next one goes */
	uint32_t oldest, newest; /* ends of the list in the order of the text */
	struct dirty dirty;
};

/* Takes all memory at once. -ENOMEM, -EINVAL for 0. */
int names_open(struct names *n, uint32_t frames, uint32_t text_bytes);

/* Accepts the all-zero value, and may run twice. */
void names_close(struct names *n);

/* How many bytes of a text are kept. */
static inline uint32_t names_kept_bytes(struct str text)
{
	return text.len < STR_MAX_BYTES ? text.len : STR_MAX_BYTES;
}

/* Is entry `id` this frame? */
static inline bool names_is(const struct names *n, uint32_t id, const struct frame *f)
{
	const struct name_entry *e = &n->entries[id];

	return e->key == f->key && e->name_len == names_kept_bytes(f->name) &&
	       e->module_len == names_kept_bytes(f->module);
}

/* Finds or stores a frame and takes one reference. NAMES_NONE: no room, nothing changed. */
uint32_t names_add(struct names *n, const struct frame *f);

/* Shows what was stored as `from` as `to` from now on; it is no more found as what it was. Strings of `to` must not be those of
 * names_frame(). False: there is no such frame, or no room; nothing changed. */
bool names_rename(struct names *n, const struct frame *from, const struct frame *to);

/* One reference less; the last one frees it. */
void names_unref(struct names *n, uint32_t id);

/* A stored frame; its strings are borrowed until the next names_add(). */
struct frame names_frame(const struct names *n, uint32_t id);

#endif
