/* profile.c - keep, timeline, contexts and paths joined into one task's profile. */
#include "core/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the 512 frames of a path that was deeper: so many from the root, then the marker, then the innermost. */
#define ROOT_FRAMES  (PROFILE_MAX_DEPTH / 2)
#define INNER_FRAMES (PROFILE_MAX_DEPTH - ROOT_FRAMES - 1)

/* The open group's sample. */
struct held {
	uint32_t node;	  /* counted; PATHS_NONE: nothing was kept in it yet */
	enum state state; /* of the kept tick */
	bool is_counted;  /* the same tick counts for a group that closed before */
};

#define HELD_EMPTY ((struct held){ .node = PATHS_NONE })

struct profile {
	struct profile_limits limits;
	struct rng rng;
	struct keep keep;
	struct timeline timeline;
	struct contexts contexts;
	struct paths *paths; /* owned */
	struct held held;
	uint32_t no_stack, cut; /* nodes of our own, counted */
	uint32_t batches;	/* in use */
	uint64_t weight_ns;	/* of all ticks */
	uint64_t kept;
	bool is_asked; /* profile_wants() has been called for the tick that comes */
	char deep_text[32], full_text[32]; /* names of the markers in `shortened` */
	struct frame shortened[PROFILE_MAX_DEPTH];
};

static int check_limits(const struct profile_settings *s, struct err *err)
{
	const struct profile_limits *l = &s->limits;

	if (l->slots < TIMELINE_MIN_SLOTS || l->slots > TIMELINE_MAX_SLOTS ||
	    (l->slots & (l->slots - 1)) != 0)
		return err_set(err, -EINVAL,
			       "cannot use %u slots: a power of two from %u to %u is needed",
			       l->slots, TIMELINE_MIN_SLOTS, TIMELINE_MAX_SLOTS);
	if (s->base_ns == 0)
		return err_set(err, -EINVAL, "cannot use a base period of 0 ns");
	if (l->contexts < PROFILE_MIN_CONTEXTS)
		return err_set(err, -EINVAL, "cannot use %u contexts: at least %u are needed",
			       l->contexts, PROFILE_MIN_CONTEXTS);
	if (l->paths.nodes < PROFILE_MIN_NODES || l->paths.frames < PROFILE_MIN_FRAMES ||
	    l->paths.name_bytes < PROFILE_MIN_NAME_BYTES)
		return err_set(err, -EINVAL,
			       "cannot use %u nodes, %u frames and %u bytes of names: at least "
			       "%u, %u and %u are needed",
			       l->paths.nodes, l->paths.frames, l->paths.name_bytes,
			       PROFILE_MIN_NODES, PROFILE_MIN_FRAMES, PROFILE_MIN_NAME_BYTES);
	return 0;
}

static struct frame marker(struct str name)
{
	struct frame f = { .kind = FRAME_MARKER, .name = name };

	f.key = frame_key(&f, 0);
	return f;
}

/* "[cut k]", with its name in `text`. */
static struct frame cut_marker(char text[32], size_t cut)
{
	int len = snprintf(text, 32, "[cut %zu]", cut);

	return marker((struct str){ text, (uint32_t)len });
}

static int open_parts(struct profile *p)
{
	const struct frame no_stack = marker(STR_LITERAL("[no stack]"));
	const struct frame cut = marker(STR_LITERAL("[cut]"));
	int code = paths_open(&p->limits.paths, &p->paths);

	if (code == 0)
		code = timeline_init(&p->timeline, p->limits.slots, p->keep.base_ns);
	if (code == 0)
		code = contexts_init(&p->contexts, p->limits.contexts);
	if (code == 0)
		code = paths_add(p->paths, &no_stack, 1, &p->no_stack);
	if (code == 0)
		code = paths_add(p->paths, &cut, 1, &p->cut);
	return code;
}

int profile_open(const struct profile_settings *settings, struct profile **out, struct err *err)
{
	int code = check_limits(settings, err);

	if (code < 0)
		return code;

	struct profile *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return err_set(err, -ENOMEM, "cannot take memory for a profile");
	p->limits = settings->limits;
	p->held = HELD_EMPTY;
	p->batches = settings->limits.slots < BATCH_COUNT ? settings->limits.slots : BATCH_COUNT;
	rng_seed(&p->rng, settings->seed);
	keep_init(&p->keep, settings->base_ns, settings->limits.slots, settings->keeps_all);
	code = open_parts(p);
	if (code < 0) {
		profile_close(p);
		return err_set(err, code,
			       code == -ENOMEM ? "cannot take memory for a profile"
					       : "cannot use limits that large for a profile");
	}
	*out = p;
	return 0;
}

void profile_close(struct profile *p)
{
	if (p == NULL)
		return;
	timeline_free(&p->timeline, p->paths);
	contexts_free(&p->contexts, p->paths);
	paths_close(p->paths);
	free(p);
}

static void reach(struct profile *p, uint64_t at_ns)
{
	uint32_t halvings = timeline_reach(&p->timeline, p->paths, &p->rng, at_ns);

	for (; halvings > 0; halvings--)
		contexts_halve_batches(&p->contexts, p->batches);
}

/* Gives up the least: the two lightest contexts, or half of the timeline's detail (once a path, and never below an
 * eighth of it: deep paths alone must not take the time axis away). False: nothing is left that should yield. */
static bool make_room(struct profile *p, bool *has_halved)
{
	if (p->contexts.used > p->limits.contexts / 8)
		return contexts_merge_lightest(&p->contexts, p->paths, &p->rng);
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
		p->shortened[i] = path[i];
	p->shortened[ROOT_FRAMES] = cut_marker(p->deep_text, cut);
	for (size_t i = 0; i < INNER_FRAMES; i++)
		p->shortened[ROOT_FRAMES + 1 + i] = path[depth - INNER_FRAMES + i];
	return (struct wanted_path){ p->shortened, PROFILE_MAX_DEPTH, cut };
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
		p->shortened[i] = path->frames[i];
	p->shortened[stored] = cut_marker(p->full_text, cut);
	if (paths_add(p->paths, p->shortened, stored + 1, &node) < 0)
		paths_ref(p->paths, node);
	return node;
}

/* The node of a kept tick's path, with a reference. */
static uint32_t add_path(struct profile *p, const struct frame *frames, size_t depth)
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

bool profile_wants(struct profile *p, const struct tick *tick)
{
	keep_tick(&p->keep);
	p->is_asked = true;
	return keep_wants(&p->keep, &p->rng, tick->weight_ns);
}

/* A group that is being closed: who gets the weight of its slots. */
struct closing {
	struct profile *profile;
	uint32_t entry;
};

static void close_slot(void *owner, uint32_t slot, const uint64_t weight_ns[STATE_COUNT])
{
	const struct closing *closing = owner;
	struct profile *p = closing->profile;
	uint32_t batch = slot / (p->limits.slots / p->batches);
	uint64_t sum_ns = 0;

	for (int s = 0; s < STATE_COUNT; s++)
		sum_ns += weight_ns[s];
	contexts_add(&p->contexts, closing->entry, p->held.state, batch, sum_ns);
}

static void close_group(struct profile *p)
{
	struct closing closing = {
		.profile = p,
		.entry = contexts_entry(&p->contexts, p->paths, &p->rng, p->held.node),
	};

	timeline_close_group(&p->timeline, p->paths, &p->rng, p->held.node, close_slot, &closing);
	if (!p->held.is_counted)
		contexts_count(&p->contexts, closing.entry);
	paths_unref(p->paths, p->held.node);
	p->held = HELD_EMPTY;
}

/* Where in (from, at] the part of the tick ends that has `part_ns` of its weight. */
static uint64_t time_at(const struct tick *tick, uint64_t part_ns)
{
	uint64_t span_ns = tick->at_ns - tick->from_ns;

	if (span_ns == 0)
		return tick->at_ns;
	return tick->from_ns + (uint64_t)((unsigned __int128)span_ns * part_ns / tick->weight_ns);
}

/* This tick stands for the open group. */
static void hold(struct profile *p, uint32_t node, enum state state, bool is_counted)
{
	paths_ref(p->paths, node);
	p->held = (struct held){
		.node = node,
		.state = state,
		.is_counted = is_counted,
	};
}

void profile_add(struct profile *p, const struct tick *tick, const struct frame *path, size_t depth)
{
	struct tick t = *tick;
	uint64_t left_ns = t.weight_ns, done_ns = 0;
	uint32_t node = PATHS_NONE;

	if (!p->is_asked)
		profile_wants(p, tick);
	p->is_asked = false;
	if (t.from_ns > t.at_ns)
		t.from_ns = t.at_ns;
	reach(p, t.at_ns);
	p->weight_ns += t.weight_ns;
	while (left_ns > 0) {
		struct keep_part part = keep_take(&p->keep, &p->rng, &left_ns);

		timeline_put(&p->timeline, time_at(&t, done_ns),
			     time_at(&t, done_ns + part.weight_ns), t.state, part.weight_ns);
		done_ns += part.weight_ns;
		if (part.covers) {
			bool is_first = node == PATHS_NONE;

			if (is_first)
				node = add_path(p, path, depth);
			hold(p, node, t.state, !is_first);
		}
		if (part.closes)
			close_group(p);
	}
	if (node == PATHS_NONE)
		return;
	p->kept++;
	timeline_count_kept(&p->timeline, t.at_ns);
	paths_unref(p->paths, node);
}

void profile_lost(struct profile *p, uint64_t at_ns, uint64_t lost)
{
	reach(p, at_ns);
	timeline_count_lost(&p->timeline, at_ns, lost);
}

void profile_label(const struct profile *p, struct label *label)
{
	label->weight_ns = p->weight_ns;
	label->ticks = p->keep.ticks;
	label->kept = p->kept;
	label->one_in = p->keep.one_in;
	label->keeps_all = p->keep.keeps_all;
	label->slot_count = p->timeline.count;
	label->slot_ns = p->timeline.span_ns;
	label->batches = p->batches;
	label->merges = p->contexts.merges;
	label->rng_0 = p->rng.s[0];
	label->rng_1 = p->rng.s[1];
	label->rng_2 = p->rng.s[2];
	label->rng_3 = p->rng.s[3];
}

int profile_changes(const struct profile *p, uint32_t task, struct changes *out)
{
	const struct changes before = *out;
	int code = paths_changes(p->paths, out);

	if (code == 0)
		code = timeline_changes(&p->timeline, task, out);
	if (code == 0)
		code = contexts_changes(&p->contexts, task, out);
	if (code < 0)
		changes_rewind(out, &before);
	return code;
}

void profile_saved(struct profile *p)
{
	paths_saved(p->paths);
	timeline_saved(&p->timeline);
	contexts_saved(&p->contexts);
}

const struct timeline *profile_timeline(const struct profile *p)
{
	return &p->timeline;
}

const struct contexts *profile_contexts(const struct profile *p)
{
	return &p->contexts;
}

const struct paths *profile_paths(const struct profile *p)
{
	return p->paths;
}
