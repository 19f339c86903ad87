/* paths.c - the trie of call paths: nodes over frames, found by a hash chained from the root. */
#include "core/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/names.h"

#define MAX_NODES (UINT32_C(1) << 26)

struct node {
	uint64_t hash; /* of the whole path down to here */
	uint32_t parent;
	uint32_t frame;
	uint32_t depth; /* a root has 1; 0: free */
	uint32_t references;
	uint32_t children;
	uint32_t next; /* in its bucket, or in the free list */
};

struct paths {
	struct paths_limits limits;
	struct names names;
	struct node *nodes; /* owned */
	uint32_t used;
	uint32_t first_free;
	uint32_t *buckets; /* owned: hash -> first node */
	uint32_t bucket_mask;
	struct dirty dirty;
};

/* The hash of a path that is one frame longer. Two different paths share one with a chance of 2^-64. */
static uint64_t chain(uint64_t hash, const struct frame *f)
{
	uint64_t lengths = (uint64_t)names_kept_bytes(f->name) << 32 | names_kept_bytes(f->module);

	hash ^= f->key + lengths * UINT64_C(0xd6e8feb86659fd93);
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint32_t *chain_of(const struct paths *p, uint64_t hash)
{
	return &p->buckets[(uint32_t)(hash >> 32) & p->bucket_mask];
}

int paths_open(const struct paths_limits *limits, struct paths **out)
{
	if (limits->nodes == 0 || limits->nodes > MAX_NODES)
		return -EINVAL;

	struct paths *p = calloc(1, sizeof(*p));
	uint32_t buckets = 16;

	if (p == NULL)
		return -ENOMEM;

	int code = names_open(&p->names, limits->frames, limits->name_bytes);

	while (buckets < limits->nodes)
		buckets *= 2;
	p->limits = *limits;
	p->bucket_mask = buckets - 1;
	if (code == 0)
		code = dirty_init(&p->dirty, limits->nodes);
	p->nodes = calloc(limits->nodes, sizeof(*p->nodes));
	p->buckets = malloc(buckets * sizeof(*p->buckets));
	if (code == 0 && (p->nodes == NULL || p->buckets == NULL))
		code = -ENOMEM;
	if (code < 0) {
		paths_close(p);
		return code;
	}
	memset(p->buckets, 0xff, buckets * sizeof(*p->buckets)); /* PATHS_NONE */
	for (uint32_t i = 0; i < limits->nodes; i++)
		p->nodes[i].next = i + 1 < limits->nodes ? i + 1 : PATHS_NONE;
	*out = p;
	return 0;
}

void paths_close(struct paths *p)
{
	if (p == NULL)
		return;
	names_close(&p->names);
	dirty_free(&p->dirty);
	free(p->nodes);
	free(p->buckets);
	free(p);
}

uint32_t paths_find(const struct paths *p, const struct frame *path, size_t depth)
{
	uint64_t hash = 0;

	if (depth == 0)
		return PATHS_NONE;
	for (size_t i = 0; i < depth; i++)
		hash = chain(hash, &path[i]);
	for (uint32_t id = *chain_of(p, hash); id != PATHS_NONE; id = p->nodes[id].next) {
		const struct node *n = &p->nodes[id];

		if (n->hash == hash && n->depth == depth &&
		    names_is(&p->names, n->frame, &path[depth - 1]))
			return id;
	}
	return PATHS_NONE;
}

/* The child of `parent` that shows this frame; `hash` is that of the child's path. */
static uint32_t find_child(const struct paths *p, uint32_t parent, uint64_t hash,
			   const struct frame *f)
{
	uint32_t id = *chain_of(p, hash);

	while (id != PATHS_NONE && (p->nodes[id].hash != hash || p->nodes[id].parent != parent ||
				    !names_is(&p->names, p->nodes[id].frame, f)))
		id = p->nodes[id].next;
	return id;
}

/* The deepest stored node of a path, its hash and its depth. */
struct stored {
	uint32_t node;
	uint64_t hash;
	size_t depth;
};

static struct stored find_stored(const struct paths *p, const struct frame *path, size_t depth)
{
	struct stored deepest = { .node = PATHS_NONE };

	while (deepest.depth < depth) {
		const struct frame *f = &path[deepest.depth];
		uint64_t hash = chain(deepest.hash, f);
		uint32_t child = find_child(p, deepest.node, hash, f);

		if (child == PATHS_NONE)
			break;
		deepest.node = child;
		deepest.hash = hash;
		deepest.depth++;
	}
	return deepest;
}

size_t paths_stored_depth(const struct paths *p, const struct frame *path, size_t depth)
{
	return find_stored(p, path, depth).depth;
}

/* Adds one child, with no reference yet. PATHS_NONE: no room. */
static uint32_t add_child(struct paths *p, const struct stored *parent, uint64_t hash,
			  const struct frame *f)
{
	uint32_t id = p->first_free;
	uint32_t frame = id == PATHS_NONE ? NAMES_NONE : names_add(&p->names, f);

	if (frame == NAMES_NONE)
		return PATHS_NONE;

	struct node *n = &p->nodes[id];
	uint32_t *bucket = chain_of(p, hash);

	p->first_free = n->next;
	*n = (struct node){
		.hash = hash,
		.parent = parent->node,
		.frame = frame,
		.depth = (uint32_t)parent->depth + 1,
		.next = *bucket,
	};
	*bucket = id;
	if (parent->node != PATHS_NONE)
		p->nodes[parent->node].children++;
	p->used++;
	dirty_set(&p->dirty, id);
	return id;
}

/* Frees a node and those above it for as long as nobody needs them. */
static void free_unneeded(struct paths *p, uint32_t id)
{
	while (id != PATHS_NONE && p->nodes[id].references == 0 && p->nodes[id].children == 0) {
		struct node *n = &p->nodes[id];
		uint32_t parent = n->parent;
		uint32_t *link = chain_of(p, n->hash);

		while (*link != id)
			link = &p->nodes[*link].next;
		*link = n->next;
		names_unref(&p->names, n->frame);
		n->depth = 0;
		n->next = p->first_free;
		p->first_free = id;
		p->used--;
		dirty_set(&p->dirty, id);
		if (parent != PATHS_NONE)
			p->nodes[parent].children--;
		id = parent;
	}
}

int paths_add(struct paths *p, const struct frame *path, size_t depth, uint32_t *out_node)
{
	uint32_t known = paths_find(p, path, depth);

	if (known != PATHS_NONE) {
		p->nodes[known].references++;
		*out_node = known;
		return 0;
	}

	struct stored at = find_stored(p, path, depth);

	while (at.depth < depth) {
		const struct frame *f = &path[at.depth];
		uint64_t hash = chain(at.hash, f);
		uint32_t child = add_child(p, &at, hash, f);

		if (child == PATHS_NONE) {
			free_unneeded(p, at.node);
			return -ENOSPC;
		}
		at = (struct stored){ .node = child, .hash = hash, .depth = at.depth + 1 };
	}
	p->nodes[at.node].references++;
	*out_node = at.node;
	return 0;
}

/* Is the same frame among those before it? */
static bool is_repeated(const struct frame *path, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (path[i].key == path[at].key)
			return true;
	}
	return false;
}

bool paths_is_too_big(const struct paths *p, const struct frame *path, size_t depth)
{
	uint64_t frames = 0, bytes = 0;
	uint64_t most_frames = p->limits.frames / 2, most_bytes = p->limits.name_bytes / 2;

	if (depth > p->limits.nodes / 2)
		return true;
	for (size_t i = 0; i < depth && frames <= most_frames && bytes <= most_bytes; i++) {
		if (is_repeated(path, i))
			continue;
		frames++;
		bytes += names_kept_bytes(path[i].name) + names_kept_bytes(path[i].module) +
			 names_kept_bytes(path[i].file);
	}
	return frames > most_frames || bytes > most_bytes;
}

bool paths_rename(struct paths *p, const struct frame *from, const struct frame *to)
{
	return names_rename(&p->names, from, to);
}

void paths_ref(struct paths *p, uint32_t node)
{
	p->nodes[node].references++;
}

void paths_unref(struct paths *p, uint32_t node)
{
	p->nodes[node].references--;
	free_unneeded(p, node);
}

uint32_t paths_parent(const struct paths *p, uint32_t node)
{
	return p->nodes[node].parent;
}

uint32_t paths_frame_id(const struct paths *p, uint32_t node)
{
	return p->nodes[node].frame;
}

uint32_t paths_depth(const struct paths *p, uint32_t node)
{
	return p->nodes[node].depth;
}

uint32_t paths_references(const struct paths *p, uint32_t node)
{
	return p->nodes[node].references;
}

struct frame paths_frame(const struct paths *p, uint32_t frame_id)
{
	return names_frame(&p->names, frame_id);
}

struct paths_used paths_used(const struct paths *p)
{
	return (struct paths_used){
		.nodes = p->used,
		.frames = p->names.used,
		.name_bytes = p->names.text_live,
	};
}

static bool list_node(const struct paths *p, uint32_t id, struct changes *out)
{
	const struct node *n = &p->nodes[id];

	if (n->depth == 0) {
		uint32_t *gone = changes_gone_node(out);

		if (gone != NULL)
			*gone = id;
		return gone != NULL;
	}

	struct node_row *row = changes_node(out);

	if (row != NULL)
		*row = (struct node_row){ .id = id, .parent = n->parent, .frame = n->frame };
	return row != NULL;
}

static bool list_frame(const struct paths *p, uint32_t id, struct changes *out)
{
	if (p->names.entries[id].references == 0) {
		uint32_t *gone = changes_gone_frame(out);

		if (gone != NULL)
			*gone = id;
		return gone != NULL;
	}

	struct frame_row *row = changes_frame(out);
	struct frame f = names_frame(&p->names, id);

	if (row != NULL)
		*row = (struct frame_row){
			.id = id,
			.kind = f.kind,
			.pid = f.pid,
			.tid = f.tid,
			.line = f.line,
			.name = f.name,
			.module = f.module,
			.file = f.file,
		};
	return row != NULL;
}

int paths_changes(const struct paths *p, struct changes *out)
{
	const struct changes before = *out;
	const struct dirty *nodes = &p->dirty, *frames = &p->names.dirty;
	bool fits = true;

	for (uint32_t i = dirty_next(nodes, 0); fits && i < nodes->count;
	     i = dirty_next(nodes, i + 1))
		fits = list_node(p, i, out);
	for (uint32_t i = dirty_next(frames, 0); fits && i < frames->count;
	     i = dirty_next(frames, i + 1))
		fits = list_frame(p, i, out);
	if (!fits)
		changes_rewind(out, &before);
	return fits ? 0 : -ENOMEM;
}

void paths_saved(struct paths *p)
{
	dirty_clear(&p->dirty);
	dirty_clear(&p->names.dirty);
}
