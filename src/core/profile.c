/* profile.c - keep, timeline, contexts and paths joined into one task's profile. */
#include "core/profile.h"

#include <errno.h>
#include <stdlib.h>

#include "core/profile_parts.h"

/* What one that lies beside another begins with. */
#define FIRST_SLOTS    32u
#define FIRST_CONTEXTS PROFILE_LEAST_CONTEXTS

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

static uint32_t at_most(uint32_t value, uint32_t most)
{
	return value < most ? value : most;
}

/* Paths of its own, or those of its host. */
static int open_paths(struct profile *p)
{
	if (p->host != NULL) {
		p->paths = p->host->paths;
		p->shortened = p->host->shortened;
		return 0;
	}
	p->shortened = malloc(sizeof(*p->shortened));
	return p->shortened == NULL ? -ENOMEM : paths_open(&p->limits.paths, &p->paths);
}

static int open_parts(struct profile *p)
{
	const struct frame no_stack = profile_marker(STR_LITERAL("[no stack]"));
	const struct frame cut = profile_marker(STR_LITERAL("[cut]"));
	bool is_beside = p->host != NULL;
	uint32_t slots = is_beside ? at_most(FIRST_SLOTS, p->limits.slots) : p->limits.slots;
	uint32_t contexts =
		is_beside ? at_most(FIRST_CONTEXTS, p->limits.contexts) : p->limits.contexts;
	int code = open_paths(p);

	if (code == 0)
		code = timeline_init(&p->timeline, slots, p->keep[0].base_ns);
	if (code == 0)
		code = contexts_init(&p->contexts, contexts);
	if (code == 0)
		code = paths_add(p->paths, &no_stack, 1, &p->no_stack);
	if (code == 0)
		code = paths_add(p->paths, &cut, 1, &p->cut);
	return code;
}

static int open_with(const struct profile_settings *settings, struct profile *host,
		     struct profile **out, struct err *err)
{
	struct profile *p = calloc(1, sizeof(*p));
	int code;

	if (p == NULL)
		return err_set(err, -ENOMEM, "cannot take memory for a profile");
	p->host = host;
	p->limits = settings->limits;
	p->no_stack = p->cut = PATHS_NONE;
	p->batches = at_most(settings->limits.slots, BATCH_COUNT);
	rng_seed(&p->rng, settings->seed);
	for (int s = 0; s < STATE_COUNT; s++) {
		p->held[s] = HELD_EMPTY;
		keep_init(&p->keep[s], settings->base_ns, settings->limits.slots,
			  settings->keeps_all);
	}
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

int profile_open(const struct profile_settings *settings, struct profile **out, struct err *err)
{
	int code = check_limits(settings, err);

	return code < 0 ? code : open_with(settings, NULL, out, err);
}

int profile_open_beside(const struct profile_settings *settings, struct profile *host,
			struct profile **out, struct err *err)
{
	struct profile_settings own = *settings;
	int code;

	own.limits.paths = host->limits.paths;
	code = check_limits(&own, err);
	return code < 0 ? code : open_with(&own, host, out, err);
}

void profile_set_yield(struct profile *host, profile_yield_fn yield, void *owner)
{
	host->yield = yield;
	host->yields = owner;
}

/* What it holds of paths that others go on using. */
static void leave_paths(struct profile *p)
{
	uint32_t own[STATE_COUNT + 2] = { p->no_stack, p->cut };

	for (int s = 0; s < STATE_COUNT; s++)
		own[2 + s] = p->held[s].node;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i] != PATHS_NONE)
			paths_unref(p->paths, own[i]);
}

void profile_close(struct profile *p)
{
	if (p == NULL)
		return;
	timeline_free(&p->timeline, p->paths);
	contexts_free(&p->contexts, p->paths);
	if (p->host != NULL) {
		leave_paths(p);
	} else {
		paths_close(p->paths);
		free(p->shortened);
	}
	free(p);
}

bool profile_wants(struct profile *p, const struct tick *tick)
{
	struct keep *keep = &p->keep[tick->state];

	keep_tick(keep);
	p->is_asked = true;
	return keep_wants(keep, &p->rng, tick->weight_ns);
}

/* A group that is being closed: who gets the weight of its slots. */
struct closing {
	struct profile *profile;
	enum state state;
	uint32_t entry;
};

static void close_slot(void *owner, uint32_t slot, uint64_t weight_ns)
{
	const struct closing *closing = owner;
	struct profile *p = closing->profile;
	uint32_t batch = slot / (p->timeline.count / p->batches);

	contexts_add(&p->contexts, closing->entry, closing->state, batch, weight_ns);
}

static void close_group(struct profile *p, enum state state)
{
	struct held *held = &p->held[state];
	struct timeline_group group = { state, held->node };

	profile_grow_contexts(p, held->node);

	struct closing closing = {
		.profile = p,
		.state = state,
		.entry = contexts_entry(&p->contexts, p->paths, &p->rng, held->node),
	};

	timeline_close_group(&p->timeline, p->paths, &p->rng, &group, close_slot, &closing);
	if (!held->is_counted)
		contexts_count(&p->contexts, closing.entry);
	paths_unref(p->paths, held->node);
	*held = HELD_EMPTY;
}

/* Where in (from, at] the part of the tick ends that has `part_ns` of its weight. */
static uint64_t time_at(const struct tick *tick, uint64_t part_ns)
{
	uint64_t span_ns = tick->at_ns - tick->from_ns;

	if (span_ns == 0)
		return tick->at_ns;
	return tick->from_ns + (uint64_t)((unsigned __int128)span_ns * part_ns / tick->weight_ns);
}

/* This tick stands for the open group of its state. */
static void hold(struct profile *p, uint32_t node, enum state state, bool is_counted)
{
	paths_ref(p->paths, node);
	p->held[state] = (struct held){ .node = node, .is_counted = is_counted };
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
	profile_reach(p, t.at_ns);
	p->weight_ns += t.weight_ns;
	while (left_ns > 0) {
		struct keep_part part = keep_take(&p->keep[t.state], &p->rng, &left_ns);

		timeline_put(&p->timeline, time_at(&t, done_ns),
			     time_at(&t, done_ns + part.weight_ns), t.state, part.weight_ns);
		done_ns += part.weight_ns;
		if (part.covers) {
			bool is_first = node == PATHS_NONE;

			if (is_first)
				node = profile_add_path(p, path, depth);
			hold(p, node, t.state, !is_first);
		}
		if (part.closes)
			close_group(p, t.state);
	}
	if (node == PATHS_NONE)
		return;
	p->kept++;
	timeline_count_kept(&p->timeline, t.at_ns);
	paths_unref(p->paths, node);
}

void profile_lost(struct profile *p, uint64_t at_ns, uint64_t lost)
{
	profile_reach(p, at_ns);
	timeline_count_lost(&p->timeline, at_ns, lost);
}

bool profile_rename(struct profile *p, const struct frame *from, const struct frame *to)
{
	return paths_rename(p->paths, from, to);
}

void profile_label(const struct profile *p, struct label *label)
{
	label->weight_ns = p->weight_ns;
	label->ticks = 0;
	for (int s = 0; s < STATE_COUNT; s++)
		label->ticks += p->keep[s].ticks;
	label->kept = p->kept;
	label->one_in = p->keep[STATE_RUNNING].one_in;
	label->keeps_all = p->keep[STATE_RUNNING].keeps_all;
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
	int code = p->host == NULL ? paths_changes(p->paths, out) : 0;

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
	if (p->host == NULL)
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
