/* shadow.c - random changes of a recording, and what it must then look like. */
#include "fault/shadow.h"

#include <stdlib.h>
#include <string.h>

#include "core/ledger.h"
#include "fault/shadow_watch.h"

#define WATCH_STEPS 400u /* that fill a watch */

/* What a row is to the store. */
struct life {
	bool is_there, is_saved, is_dirty;
	uint32_t users; /* rows that point at it */
};

struct shadow {
	struct shadow_settings settings;
	struct rng rng;
	struct frame_row *frames;
	struct node_row *nodes;
	struct slot_row *slots;
	struct context_row *contexts;
	struct ledger_row ledger[LEDGER_WINDOWS];
	struct life *frame_lives, *node_lives, *slot_lives, *context_lives;
	struct life ledger_lives[LEDGER_WINDOWS];
	uint32_t slots_used, slots_from, ledger_used, ledger_from;
	uint64_t name_bytes;
	char *heap;		    /* strings, a fixed place for each frame */
	struct shadow_watch *watch; /* NULL: none */
};

static uint64_t number(struct shadow *s)
{
	if (s->settings.number_bits == 0)
		return INT64_MAX;
	return rng_below(&s->rng, UINT64_C(1) << (1 + rng_below(&s->rng, s->settings.number_bits)));
}

static uint32_t small_number(struct shadow *s)
{
	return s->settings.number_bits == 0 ? NO_ID - 1 : (uint32_t)rng_below(&s->rng, 1000);
}

struct shadow *shadow_open(const struct shadow_settings *settings)
{
	const struct profile_limits *l = &settings->limits;
	struct shadow *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->settings = *settings;
	rng_seed(&s->rng, settings->seed);
	s->slots_from = s->ledger_from = NO_ID;
	s->frames = calloc(l->paths.frames, sizeof(*s->frames));
	s->frame_lives = calloc(l->paths.frames, sizeof(*s->frame_lives));
	s->nodes = calloc(l->paths.nodes, sizeof(*s->nodes));
	s->node_lives = calloc(l->paths.nodes, sizeof(*s->node_lives));
	s->slots = calloc(l->slots, sizeof(*s->slots));
	s->slot_lives = calloc(l->slots, sizeof(*s->slot_lives));
	s->contexts = calloc(l->contexts, sizeof(*s->contexts));
	s->context_lives = calloc(l->contexts, sizeof(*s->context_lives));
	s->heap = calloc(l->paths.frames, (size_t)settings->name_bytes * 3);
	if (settings->watched > 0)
		s->watch = shadow_watch_open(settings->watched, settings->name_bytes,
					     settings->number_bits);
	if ((settings->watched > 0 && s->watch == NULL) || s->frames == NULL ||
	    s->frame_lives == NULL || s->nodes == NULL || s->node_lives == NULL ||
	    s->slots == NULL || s->slot_lives == NULL || s->contexts == NULL ||
	    s->context_lives == NULL || s->heap == NULL) {
		shadow_close(s);
		return NULL;
	}
	return s;
}

void shadow_close(struct shadow *s)
{
	if (s == NULL)
		return;
	free(s->frames);
	free(s->frame_lives);
	free(s->nodes);
	free(s->node_lives);
	free(s->slots);
	free(s->slot_lives);
	free(s->contexts);
	free(s->context_lives);
	free(s->heap);
	shadow_watch_close(s->watch);
	free(s);
}

/* A random string at `place`; printable, or any bytes. */
static struct str random_name(struct shadow *s, char *place)
{
	uint32_t len = 1 + (uint32_t)rng_below(&s->rng, s->settings.name_bytes);
	bool is_odd = s->settings.has_odd_names && rng_below(&s->rng, 4) == 0;

	if (s->settings.number_bits == 0)
		len = s->settings.name_bytes;
	if (is_odd && rng_below(&s->rng, 4) == 0)
		len = 0;
	for (uint32_t i = 0; i < len; i++)
		place[i] = (char)(is_odd ? rng_below(&s->rng, 256) : 'a' + rng_below(&s->rng, 26));
	return (struct str){ place, len };
}

static uint64_t frame_name_bytes(const struct frame_row *f)
{
	return (uint64_t)f->name.len + f->module.len + f->file.len;
}

/* A new frame in a free place, if its names have room. */
static bool add_frame(struct shadow *s, uint32_t id)
{
	char *place = s->heap + (size_t)id * s->settings.name_bytes * 3;
	struct frame_row f = { .id = id, .kind = (uint32_t)rng_below(&s->rng, 4) };

	if (s->frame_lives[id].is_there)
		return false;
	f.pid = f.kind == FRAME_THREAD ? 1 + (uint32_t)rng_below(&s->rng, 4000000) : 0;
	f.tid = f.pid;
	f.line = (uint32_t)rng_below(&s->rng, 100000);
	f.name = random_name(s, place);
	if (s->settings.number_bits > 0) {
		f.module = random_name(s, place + s->settings.name_bytes);
		f.file = random_name(s, place + 2 * (size_t)s->settings.name_bytes);
	}
	if (s->name_bytes + frame_name_bytes(&f) > s->settings.limits.paths.name_bytes)
		return false;
	s->name_bytes += frame_name_bytes(&f);
	s->frames[id] = f;
	s->frame_lives[id].is_there = s->frame_lives[id].is_dirty = true;
	return true;
}

static void drop_frame(struct shadow *s, uint32_t id)
{
	struct life *life = &s->frame_lives[id];

	if (!life->is_there || life->users > 0)
		return;
	life->is_there = false;
	life->is_dirty = true;
	s->name_bytes -= frame_name_bytes(&s->frames[id]);
}

/* A row that is there, near a random place; NO_ID: none. */
static uint32_t pick(struct shadow *s, const struct life *lives, uint32_t count)
{
	uint32_t from = (uint32_t)rng_below(&s->rng, count);

	for (uint32_t i = 0; i < count; i++)
		if (lives[(from + i) % count].is_there)
			return (from + i) % count;
	return NO_ID;
}

static uint32_t pick_node(struct shadow *s)
{
	return pick(s, s->node_lives, s->settings.limits.paths.nodes);
}

static void add_node(struct shadow *s, uint32_t id)
{
	uint32_t frame = pick(s, s->frame_lives, s->settings.limits.paths.frames);
	uint32_t parent = rng_below(&s->rng, 8) == 0 ? NO_ID : pick_node(s);

	if (s->node_lives[id].is_there || frame == NO_ID)
		return;
	s->nodes[id] = (struct node_row){ id, parent, frame };
	s->node_lives[id].is_there = s->node_lives[id].is_dirty = true;
	s->frame_lives[frame].users++;
	if (parent != NO_ID)
		s->node_lives[parent].users++;
}

static void drop_node(struct shadow *s, uint32_t id)
{
	struct life *life = &s->node_lives[id];

	if (!life->is_there || life->users > 0)
		return;
	life->is_there = false;
	life->is_dirty = true;
	s->frame_lives[s->nodes[id].frame].users--;
	if (s->nodes[id].parent != NO_ID)
		s->node_lives[s->nodes[id].parent].users--;
}

static void put_context(struct shadow *s, uint32_t id)
{
	struct context_row *c = &s->contexts[id];
	struct life *life = &s->context_lives[id];
	uint32_t node = pick_node(s);

	if (node == NO_ID)
		return;
	if (life->is_there)
		s->node_lives[c->node].users--;
	s->node_lives[node].users++;
	*c = (struct context_row){ TASK_RUN,  id,	 node,	    number(s), number(s),
				   number(s), number(s), number(s), number(s), { 0 } };
	for (uint32_t i = 0; i < BATCH_COUNT; i++)
		c->batch_ns[i] =
			s->settings.number_bits > 0 && rng_below(&s->rng, 3) == 0 ? 0 : number(s);
	life->is_there = life->is_dirty = true;
}

static void drop_context(struct shadow *s, uint32_t id)
{
	struct life *life = &s->context_lives[id];

	if (!life->is_there)
		return;
	s->node_lives[s->contexts[id].node].users--;
	life->is_there = false;
	life->is_dirty = true;
}

static void forget_slot(struct shadow *s, uint32_t id)
{
	if (s->slot_lives[id].is_there && s->slots[id].node != NO_ID)
		s->node_lives[s->slots[id].node].users--;
	s->slot_lives[id] = (struct life){ .is_there = false };
}

static void put_slot(struct shadow *s, uint32_t id)
{
	uint32_t node = rng_below(&s->rng, 8) == 0 ? NO_ID : pick_node(s);

	forget_slot(s, id);
	if (node != NO_ID)
		s->node_lives[node].users++;
	s->slots[id] = (struct slot_row){ TASK_RUN,	  id,	     node,	number(s),
					  number(s),	  number(s), number(s), small_number(s),
					  small_number(s) };
	s->slot_lives[id].is_there = s->slot_lives[id].is_dirty = true;
}

static void next_slot(struct shadow *s)
{
	if (s->slots_used < s->settings.limits.slots) {
		put_slot(s, s->slots_used++);
		return;
	}
	s->slots_used /= 2;
	for (uint32_t i = s->slots_used; i < s->settings.limits.slots; i++)
		forget_slot(s, i);
	if (s->slots_from > s->slots_used)
		s->slots_from = s->slots_used;
	for (uint32_t i = 0; i < s->slots_used; i++)
		put_slot(s, i);
}

static void put_window(struct shadow *s, uint32_t id)
{
	s->ledger[id] = (struct ledger_row){ id,	number(s), number(s), number(s),
					     number(s), number(s), number(s), number(s),
					     number(s), number(s), number(s) };
	s->ledger_lives[id].is_there = s->ledger_lives[id].is_dirty = true;
}

static void next_window(struct shadow *s)
{
	if (s->ledger_used < LEDGER_WINDOWS) {
		put_window(s, s->ledger_used++);
		return;
	}
	s->ledger_used /= 2;
	for (uint32_t i = s->ledger_used; i < LEDGER_WINDOWS; i++)
		s->ledger_lives[i] = (struct life){ .is_there = false };
	if (s->ledger_from > s->ledger_used)
		s->ledger_from = s->ledger_used;
	for (uint32_t i = 0; i < s->ledger_used; i++)
		put_window(s, i);
}

static void one_change(struct shadow *s)
{
	const struct profile_limits *l = &s->settings.limits;
	uint32_t context = (uint32_t)rng_below(&s->rng, l->contexts);

	switch (rng_below(&s->rng, 12)) {
	case 0:
	case 1:
		add_frame(s, (uint32_t)rng_below(&s->rng, l->paths.frames));
		break;
	case 2:
		drop_frame(s, (uint32_t)rng_below(&s->rng, l->paths.frames));
		break;
	case 3:
	case 4:
	case 5:
		add_node(s, (uint32_t)rng_below(&s->rng, l->paths.nodes));
		break;
	case 6:
		drop_node(s, (uint32_t)rng_below(&s->rng, l->paths.nodes));
		break;
	case 7:
	case 8:
		put_context(s, context);
		break;
	case 9:
		drop_context(s, context);
		break;
	case 10:
		next_slot(s);
		break;
	default:
		if (rng_below(&s->rng, 8) == 0)
			next_window(s);
		else if (s->slots_used > 0)
			put_slot(s, (uint32_t)rng_below(&s->rng, s->slots_used));
	}
}

void shadow_step(struct shadow *s, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		one_change(s);
		if (s->watch != NULL)
			shadow_watch_step(s->watch, &s->rng);
	}
}

/* 0 .. count - 1 in random order; NULL: out of memory. */
static uint32_t *shuffled(struct shadow *s, uint32_t count)
{
	uint32_t *order = calloc(count, sizeof(*order));

	for (uint32_t i = 0; i < count && order != NULL; i++) {
		uint32_t j = (uint32_t)rng_below(&s->rng, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	return order;
}

static void in_random_order(struct shadow *s, uint32_t count,
			    void (*put)(struct shadow *, uint32_t))
{
	uint32_t *order = shuffled(s, count);

	for (uint32_t i = 0; i < count && order != NULL; i++)
		put(s, order[i]);
	free(order);
}

static void try_frame(struct shadow *s, uint32_t id)
{
	add_frame(s, id);
}

void shadow_fill(struct shadow *s)
{
	const struct profile_limits *l = &s->settings.limits;

	in_random_order(s, l->paths.frames, try_frame);
	in_random_order(s, l->paths.nodes, add_node);
	in_random_order(s, l->contexts, put_context);
	in_random_order(s, l->slots, put_slot);
	in_random_order(s, LEDGER_WINDOWS, put_window);
	s->slots_used = l->slots;
	s->ledger_used = LEDGER_WINDOWS;
	for (uint32_t i = 0; s->watch != NULL && i < WATCH_STEPS; i++)
		shadow_watch_step(s->watch, &s->rng);
}

/* Appends the rows of one kind that changed, and the ids of those that went. */
#define TAKE(kind, kinds, gone, count)                                \
	for (uint32_t i = 0; i < (count); i++) {                      \
		struct life *life = &s->kind##_lives[i];              \
                                                                      \
		if (life->is_dirty && life->is_there) {               \
			struct kind##_row *row = changes_##kind(out); \
                                                                      \
			if (row == NULL)                              \
				return false;                         \
			*row = s->kinds[i];                           \
		} else if (life->is_dirty && life->is_saved) {        \
			uint32_t *id = gone(out);                     \
                                                                      \
			if (id == NULL)                               \
				return false;                         \
			*id = i;                                      \
		}                                                     \
	}

bool shadow_changes(struct shadow *s, struct changes *out)
{
	const struct profile_limits *l = &s->settings.limits;

	TAKE(frame, frames, changes_gone_frame, l->paths.frames)
	TAKE(node, nodes, changes_gone_node, l->paths.nodes)
	TAKE(context, contexts, changes_gone_context, l->contexts)
	/* Slots and windows go only by slots_from and ledger_from: their lives end unsaved. */
	TAKE(slot, slots, changes_gone_context, l->slots)
	TAKE(ledger, ledger, changes_gone_context, LEDGER_WINDOWS)
	if (s->slots_from < out->slots_from)
		out->slots_from = s->slots_from;
	if (s->ledger_from < out->ledger_from)
		out->ledger_from = s->ledger_from;
	return s->watch == NULL || shadow_watch_changes(s->watch, out);
}

static void forget_marks(struct life *lives, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		lives[i].is_saved = lives[i].is_there;
		lives[i].is_dirty = false;
	}
}

void shadow_saved(struct shadow *s)
{
	const struct profile_limits *l = &s->settings.limits;

	forget_marks(s->frame_lives, l->paths.frames);
	forget_marks(s->node_lives, l->paths.nodes);
	forget_marks(s->context_lives, l->contexts);
	forget_marks(s->slot_lives, l->slots);
	forget_marks(s->ledger_lives, LEDGER_WINDOWS);
	s->slots_from = s->ledger_from = NO_ID;
	if (s->watch != NULL)
		shadow_watch_saved(s->watch);
}

struct label shadow_label(const struct shadow *s, uint64_t number_of_save)
{
	return (struct label){
		.instrument = STR_LITERAL("record"),
		.command = STR_LITERAL("./job --with 'two words'"),
		.comm = STR_LITERAL("job\xff"),
		.host = STR_LITERAL("host"),
		.tare_version = STR_LITERAL("0.1.0"),
		.pid = 4711,
		.cpu_count = 2,
		.started_wall_ns = -5,
		.saved_wall_ns = INT64_MAX,
		.exit_status = -1,
		.slot_count = s->settings.limits.slots,
		.slot_ns = 10000000,
		.batches = BATCH_COUNT,
		.saves = number_of_save,
		.rng_0 = UINT64_MAX,
		.rng_1 = UINT64_C(1) << 63,
		.writer_pid = NO_ID,
	};
}

static bool is_same_str(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0);
}

static bool is_same_frame(const struct frame_row *a, const struct frame_row *b)
{
	return a->id == b->id && a->kind == b->kind && a->pid == b->pid && a->tid == b->tid &&
	       a->line == b->line && is_same_str(a->name, b->name) &&
	       is_same_str(a->module, b->module) && is_same_str(a->file, b->file);
}

static bool is_same_slot(const struct slot_row *a, const struct slot_row *b)
{
	return a->task == b->task && a->id == b->id && a->node == b->node &&
	       a->running_ns == b->running_ns && a->waiting_ns == b->waiting_ns &&
	       a->runnable_ns == b->runnable_ns && a->unsampled_ns == b->unsampled_ns &&
	       a->kept == b->kept && a->lost == b->lost;
}

static bool is_same_context(const struct context_row *a, const struct context_row *b)
{
	return a->task == b->task && a->id == b->id && a->node == b->node &&
	       a->certain_ns == b->certain_ns && a->uncertain_ns == b->uncertain_ns &&
	       a->running_ns == b->running_ns && a->waiting_ns == b->waiting_ns &&
	       a->runnable_ns == b->runnable_ns && a->kept == b->kept &&
	       memcmp(a->batch_ns, b->batch_ns, sizeof(a->batch_ns)) == 0;
}

static bool is_same_node(const struct node_row *a, const struct node_row *b)
{
	return a->id == b->id && a->parent == b->parent && a->frame == b->frame;
}

static bool is_same_ledger(const struct ledger_row *a, const struct ledger_row *b)
{
	return memcmp(&a->window_ns, &b->window_ns,
		      sizeof(*a) - offsetof(struct ledger_row, window_ns)) == 0 &&
	       a->id == b->id;
}

/* The rows that are there, in order, are those of the recording. */
#define COMPARE(kind, kinds, count)                                                          \
	for (uint32_t i = 0, at = 0; i <= (count); i++) {                                    \
		if (i == (count) && at != r->kind##_count)                                   \
			return #kind ": a row too many";                                     \
		if (i == (count) || !s->kind##_lives[i].is_there)                            \
			continue;                                                            \
		if (at == r->kind##_count || !is_same_##kind(&s->kinds[i], &r->kinds[at++])) \
			return #kind ": a row is missing or differs";                        \
	}

const char *shadow_differs(const struct shadow *s, const struct recording *r)
{
	const struct profile_limits *l = &s->settings.limits;

	COMPARE(frame, frames, l->paths.frames)
	COMPARE(node, nodes, l->paths.nodes)
	COMPARE(slot, slots, l->slots)
	COMPARE(context, contexts, l->contexts)
	COMPARE(ledger, ledger, LEDGER_WINDOWS)
	return s->watch != NULL ? shadow_watch_differs(s->watch, r) : "";
}
