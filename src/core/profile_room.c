/* profile_room.c - what a profile takes and gives up: memory while it grows, and paths, contexts and slots when room runs
 * out. */
#include <errno.h>
#include <stdio.h>

#include "core/leb128.h"
#include "core/profile_parts.h"

/* Of the 512 frames of a path that was deeper: so many from the root, then the marker, then the innermost. */
#define ROOT_FRAMES  (PROFILE_MAX_DEPTH / 2)
#define INNER_FRAMES (PROFILE_MAX_DEPTH - ROOT_FRAMES - 1)

/* Worst bytes of a row in a file, where a task's number takes four of them. */
#define SLOT_ROW_BYTES	  74u
#define CONTEXT_ROW_BYTES 85u

/* Room for twice the time at the same detail. False: it has all it may, or memory ran out. */
static bool grow_timeline(struct profile *p)
{
	if (p->timeline.count >= p->limits.slots ||
	    timeline_resize(&p->timeline, p->paths, &p->rng, p->timeline.count * 2) < 0)
		return false;
	contexts_halve_batches(&p->contexts, p->batches);
	return true;
}

void profile_reach(struct profile *p, uint64_t at_ns)
{
	const struct timeline *t = &p->timeline;
	uint32_t halvings;

	while (at_ns > t->span_ns && (at_ns - 1) / t->span_ns >= t->count && grow_timeline(p))
		;
	halvings = timeline_reach(&p->timeline, p->paths, &p->rng, at_ns);
	for (; halvings > 0; halvings--)
		contexts_halve_batches(&p->contexts, p->batches);
}

void profile_grow_contexts(struct profile *p, uint32_t node)
{
	struct contexts *c = &p->contexts;
	uint64_t twice = (uint64_t)c->capacity * 2;

	if (c->used < c->capacity || c->capacity >= p->limits.contexts ||
	    contexts_find(c, node) != PATHS_NONE)
		return;
	/* Out of memory: it stays as large as it is. */
	contexts_resize(c, p->paths, &p->rng,
			twice < p->limits.contexts ? (uint32_t)twice : p->limits.contexts);
}

static bool merge_above(struct profile *p, uint32_t least)
{
	return p->contexts.used > least && contexts_merge_lightest(&p->contexts, p->paths, &p->rng);
}

/* Gives up the least: the two lightest contexts, what others yield, or half of the timeline's detail (once a path, and
 * never below an eighth of it: deep paths alone must not take the time axis away). False: nothing is left that should
 * yield. */
static bool make_room(struct profile *p, bool *has_halved)
{
	struct profile *host = p->host != NULL ? p->host : p;

	if (merge_above(p, p->limits.contexts / 2))
		return true;
	if (host->yield != NULL && host->yield(host->yields))
		return true;
	if (merge_above(p, p->limits.contexts / 8) || merge_above(host, host->limits.contexts / 8))
		return true;
	if (*has_halved || p->timeline.used <= TIMELINE_MIN_SLOTS ||
	    p->timeline.used <= p->limits.slots / 4)
		return false;
	timeline_halve(&p->timeline, p->paths, &p->rng);
	contexts_halve_batches(&p->contexts, p->batches);
	*has_halved = true;
	return true;
}

static bool is_less(struct paths_used now, struct paths_used before)
{
	return now.nodes < before.nodes || now.frames < before.frames ||
	       now.name_bytes < before.name_bytes;
}

/* Stores the path, others yielding to it for as long as they should. -ENOSPC. */
static int add_with_room(struct profile *p, const struct frame *path, size_t depth,
			 uint32_t *out_node)
{
	bool has_halved = false;
	int code = paths_add(p->paths, path, depth, out_node);

	if (code == 0 || paths_is_too_big(p->paths, path, depth))
		return code;
	while (code < 0) {
		struct paths_used before = paths_used(p->paths);

		do {
			if (!make_room(p, &has_halved))
				return code;
		} while (!is_less(paths_used(p->paths), before));
		code = paths_add(p->paths, path, depth, out_node);
	}
	return 0;
}

/* "[cut k]", with its name in `text`. */
static struct frame cut_marker(char text[32], size_t cut)
{
	int len = snprintf(text, 32, "[cut %zu]", cut);

	return profile_marker((struct str){ text, (uint32_t)len });
}

/* A path as it is to be stored: at most PROFILE_MAX_DEPTH frames. */
struct wanted_path {
	const struct frame *frames;
	size_t depth;
	size_t cut; /* frames that the marker in its middle stands for */
};

/* Takes frames out of the middle of a path that is too deep. */
static struct wanted_path cut_middle(struct profile *p, const struct frame *path, size_t depth)
{
	size_t cut = depth - ROOT_FRAMES - INNER_FRAMES;

	for (size_t i = 0; i < ROOT_FRAMES; i++)
		p->shortened->frames[i] = path[i];
	p->shortened->frames[ROOT_FRAMES] = cut_marker(p->shortened->deep_text, cut);
	for (size_t i = 0; i < INNER_FRAMES; i++)
		p->shortened->frames[ROOT_FRAMES + 1 + i] = path[depth - INNER_FRAMES + i];
	return (struct wanted_path){ p->shortened->frames, PROFILE_MAX_DEPTH, cut };
}

/* What can be had of a path that has no room: its deepest stored ancestor with a marker under it, or without. */
static uint32_t add_cut(struct profile *p, const struct wanted_path *path)
{
	size_t stored = paths_stored_depth(p->paths, path->frames, path->depth);
	size_t cut = path->depth - stored;
	uint32_t node = stored == 0 ? p->cut : paths_find(p->paths, path->frames, stored);

	if (path->cut > 0 && stored <= ROOT_FRAMES)
		cut += path->cut - 1; /* the marker in the middle was no frame */
	for (size_t i = 0; i < stored; i++)
		p->shortened->frames[i] = path->frames[i];
	p->shortened->frames[stored] = cut_marker(p->shortened->full_text, cut);
	if (paths_add(p->paths, p->shortened->frames, stored + 1, &node) < 0)
		paths_ref(p->paths, node);
	return node;
}

uint32_t profile_add_path(struct profile *p, const struct frame *frames, size_t depth)
{
	struct wanted_path path = { frames, depth, 0 };
	uint32_t node;

	if (frames == NULL || depth == 0) {
		paths_ref(p->paths, p->no_stack);
		return p->no_stack;
	}
	if (depth > PROFILE_MAX_DEPTH)
		path = cut_middle(p, frames, depth);
	if (add_with_room(p, path.frames, path.depth, &node) == 0)
		return node;
	return add_cut(p, &path);
}

/* The same time in half as many slots; batches stay, unless there are more of them than slots then. */
static bool halve_slots(struct profile *p)
{
	uint32_t count = p->timeline.count / 2;

	if (count < TIMELINE_MIN_SLOTS)
		return false;
	timeline_halve(&p->timeline, p->paths, &p->rng);
	if (timeline_resize(&p->timeline, p->paths, &p->rng, count) < 0) {
		contexts_halve_batches(&p->contexts, p->batches); /* it spans twice the time */
	} else if (count < p->batches) {
		contexts_halve_batches(&p->contexts, p->batches);
		p->batches = count;
	}
	p->limits.slots = p->timeline.count;
	return true;
}

static bool halve_contexts(struct profile *p)
{
	uint32_t half = p->contexts.capacity / 2;
	uint32_t capacity = half > PROFILE_LEAST_CONTEXTS ? half : PROFILE_LEAST_CONTEXTS;

	if (p->contexts.capacity <= capacity ||
	    contexts_resize(&p->contexts, p->paths, &p->rng, capacity) < 0)
		return false;
	p->limits.contexts = capacity;
	return true;
}

bool profile_halve(struct profile *p)
{
	bool has_halved = halve_slots(p);

	return halve_contexts(p) || has_halved;
}

static uint64_t batch_bytes(const struct context *c)
{
	uint64_t bytes = 0;

	for (uint32_t b = 0; b < BATCH_COUNT; b++)
		bytes += c->batch_ns[b] > 0 ? 1 + leb128_bytes(c->batch_ns[b]) : 0;
	return bytes;
}

uint64_t profile_row_bytes(const struct profile *p)
{
	uint64_t bytes = (uint64_t)p->timeline.used * SLOT_ROW_BYTES;

	for (uint32_t i = 0; i < p->contexts.capacity; i++)
		if (p->contexts.entries[i].node != PATHS_NONE)
			bytes += CONTEXT_ROW_BYTES + batch_bytes(&p->contexts.entries[i]);
	return bytes;
}

bool profile_is_rewritten(struct profile *p)
{
	if (!p->timeline.has_shrunk && !contexts_have_gone(&p->contexts))
		return false;
	timeline_mark_all(&p->timeline);
	contexts_mark_all(&p->contexts);
	return true;
}
