/* profile_stage.h - a profile under test and the truth about what went into it; for the test_profile programs. */
#ifndef TARE_TESTS_UNIT_PROFILE_STAGE_H
#define TARE_TESTS_UNIT_PROFILE_STAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/profile.h"
#include "core/scoped.h"
#include "made_paths.h"

#define BASE_NS UINT64_C(10000000)

/* A profile under test, and the truth about what went in. */
struct stage {
	struct profile *profile;
	struct rng world;
	uint64_t clock_ns; /* elapsed */
	uint64_t given_ns; /* weight of all ticks */
	uint64_t wanted;   /* ticks whose stack was asked for */
};

static inline struct profile_settings roomy(uint64_t seed)
{
	return (struct profile_settings){
		.limits = { .slots = 64, .contexts = 64, .paths = { 2048, 1024, 65536 } },
		.base_ns = BASE_NS,
		.seed = seed,
	};
}

static inline void stage_open(struct stage *s, const struct profile_settings *settings)
{
	*s = (struct stage){ .profile = NULL };
	rng_seed(&s->world, settings->seed + 1000);
	assert_int_equal(profile_open(settings, &s->profile, NULL), 0);
}

static inline uint64_t sum_of(const uint64_t weight_ns[STATE_COUNT])
{
	uint64_t sum = 0;

	for (int i = 0; i < STATE_COUNT; i++)
		sum += weight_ns[i];
	return sum;
}

/* States that have weight of an open group. */
static inline uint64_t open_groups(const struct timeline *t)
{
	uint64_t pending_ns[STATE_COUNT] = { 0 }, count = 0;

	for (uint32_t i = 0; i < t->used; i++)
		for (int s = 0; s < STATE_COUNT; s++)
			pending_ns[s] += t->slots[i].pending_ns[s];
	for (int s = 0; s < STATE_COUNT; s++)
		count += pending_ns[s] > 0;
	return count;
}

/* Everything must add up to the nanosecond, and every reference must be somebody's. */
static inline void assert_whole(const struct stage *s)
{
	const struct timeline *t = profile_timeline(s->profile);
	const struct contexts *c = profile_contexts(s->profile);
	const struct paths *p = profile_paths(s->profile);
	uint64_t closed_ns = 0, pending_ns = 0, contexts_ns = 0, kept = 0, slots_kept = 0;
	uint64_t batch_ns[BATCH_COUNT] = { 0 }, state_ns[STATE_COUNT] = { 0 };
	struct label label = { .pid = 0 };

	profile_label(s->profile, &label);

	for (uint32_t i = 0; i < t->used; i++) {
		const struct slot *slot = &t->slots[i];

		closed_ns += sum_of(slot->weight_ns);
		batch_ns[i / (t->count / label.batches)] += sum_of(slot->weight_ns);
		pending_ns += sum_of(slot->pending_ns);
		slots_kept += slot->kept;
		for (int state = 0; state < STATE_COUNT; state++)
			state_ns[state] += slot->weight_ns[state];
		assert_int_equal(slot->node == PATHS_NONE, sum_of(slot->weight_ns) == 0);
		assert_true(slot->node == PATHS_NONE || paths_references(p, slot->node) > 0);
	}
	for (uint32_t i = 0; i < c->capacity; i++) {
		contexts_ns += c->entries[i].certain_ns + c->entries[i].uncertain_ns;
		kept += c->entries[i].kept;
		for (int b = 0; b < BATCH_COUNT; b++)
			batch_ns[b] -= c->entries[i].batch_ns[b];
		for (int state = 0; state < STATE_COUNT; state++)
			state_ns[state] -= c->entries[i].weight_ns[state];
	}
	for (int b = 0; b < BATCH_COUNT; b++)
		assert_true(batch_ns[b] == 0);
	for (int state = 0; state < STATE_COUNT; state++)
		assert_true(state_ns[state] == 0); /* contexts have the slots' sums by state */
	assert_true(closed_ns + pending_ns == s->given_ns);
	assert_true(contexts_ns == closed_ns);
	assert_true(label.weight_ns == s->given_ns);
	assert_int_equal(label.kept, s->wanted);
	assert_int_equal(slots_kept, s->wanted);
	/* the samples of open groups are not counted for a context yet */
	assert_in_range(s->wanted - kept, 0, open_groups(t));
}

/* The references of all nodes together, against those of slots, contexts, open group and the two of its own. */
static inline void assert_references_are_owned(const struct stage *s)
{
	const struct timeline *t = profile_timeline(s->profile);
	const struct contexts *c = profile_contexts(s->profile);
	const struct paths *p = profile_paths(s->profile);
	struct changes all = CHANGES_EMPTY;
	uint64_t references = 0, owned = 2 + c->used;

	for (uint32_t i = 0; i < t->used; i++)
		owned += t->slots[i].node != PATHS_NONE;
	assert_int_equal(paths_changes(p, &all), 0); /* nothing was saved yet: all nodes */
	for (uint32_t i = 0; i < all.node_count; i++)
		references += paths_references(p, all.nodes[i].id);
	assert_int_equal(all.node_count, paths_used(p).nodes);
	assert_in_range(references, owned, owned + open_groups(t));
	changes_free(&all);
}

static inline bool give(struct stage *s, const struct tick *tick, const struct frame *path,
			size_t depth)
{
	bool is_wanted = profile_wants(s->profile, tick);

	s->wanted += is_wanted;
	s->given_ns += tick->weight_ns;
	profile_add(s->profile, tick, is_wanted ? path : NULL, is_wanted ? depth : 0);
	return is_wanted;
}

/* A running tick of about one base period. */
static inline bool run(struct stage *s, const char *text)
{
	struct frame path[16];
	size_t depth = made_path(text, path, ARRAY_LEN(path));
	struct tick tick = { .weight_ns = BASE_NS - 1000 + rng_below(&s->world, 2001) };

	s->clock_ns += tick.weight_ns;
	tick.from_ns = tick.at_ns = s->clock_ns;
	return give(s, &tick, path, depth);
}

/* The entry whose path reads like this, or NULL. */
static inline const struct context *entry_of(const struct stage *s, const char *text)
{
	struct frame path[16];
	size_t depth = made_path(text, path, ARRAY_LEN(path));
	const struct contexts *c = profile_contexts(s->profile);
	uint32_t entry;

	if (text[0] == '[') {
		path[0] = (struct frame){ .kind = FRAME_MARKER, .name = path[0].name };
		path[0].key = frame_key(&path[0], 0);
	}
	entry = contexts_find(c, paths_find(profile_paths(s->profile), path, depth));
	return entry == PATHS_NONE ? NULL : &c->entries[entry];
}

static inline uint64_t weight_of(const struct context *e)
{
	return e == NULL ? 0 : e->certain_ns + e->uncertain_ns;
}

/* The depth of a node's path, and what its deepest frame is called. */
static inline uint32_t name_of(const struct stage *s, uint32_t node, char *out, size_t size)
{
	const struct paths *p = profile_paths(s->profile);
	struct frame f = paths_frame(p, paths_frame_id(p, node));

	snprintf(out, size, "%.*s", (int)f.name.len, f.name.bytes);
	return paths_depth(p, node);
}

#endif
