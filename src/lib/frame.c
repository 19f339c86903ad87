/* frame.c - frames, their parts, slow frames, and tasks. */
#include <errno.h>

#include "lib/inside.h"

/* A part of the frame in progress; what an earlier frame left is void. */
void tare_in_add_part(struct mapping_slot *slot, uint32_t id, uint64_t ns, uint32_t timed)
{
	struct mapping_entry *entry = &slot->entries[id];
	uint64_t serial = MAPPING_READ(slot->frame_serial);

	if (MAPPING_READ(entry->frame_serial) != serial) {
		MAPPING_WRITE(entry->frame_serial, serial);
		MAPPING_WRITE(entry->frame_ns, 0);
		MAPPING_WRITE(entry->frame_timed, 0);
	}
	tare_in_add(&entry->frame_ns, ns);
	MAPPING_WRITE(entry->frame_timed, MAPPING_READ(entry->frame_timed) + timed);
}

/* How long a scope has been open in this frame. */
static uint64_t span_ns(const struct mapping_slot *slot, const struct mapping_open *open,
			uint64_t now_ns)
{
	uint64_t from_ns = MAPPING_READ(slot->frame_start_ns);
	uint64_t start_ns = MAPPING_READ(open->start_ns);

	if (start_ns > from_ns)
		from_ns = start_ns;
	return now_ns > from_ns ? now_ns - from_ns : 0;
}

static uint64_t less(uint64_t from, uint64_t by)
{
	return from > by ? from - by : 0;
}

void tare_in_end_part(struct mapping_slot *slot, uint32_t depth, uint64_t now_ns)
{
	struct mapping_open *open = &slot->open[depth % MAPPING_DEPTH];
	uint32_t id = MAPPING_READ(open->id) % MAPPING_NAMES;
	uint64_t span = span_ns(slot, open, now_ns);

	tare_in_add_part(slot, id, less(span, MAPPING_READ(open->frame_nested_ns)), 1);
	while (depth-- > 0) {
		struct mapping_open *outer = &slot->open[depth % MAPPING_DEPTH];

		if (MAPPING_READ(outer->is_timed) == 0)
			continue;
		tare_in_add(&outer->frame_nested_ns, span);
		return;
	}
}

void tare_in_cut_scopes(struct mapping_slot *slot, uint64_t now_ns)
{
	uint32_t depth = tare_in_self.depth < MAPPING_DEPTH ? tare_in_self.depth : MAPPING_DEPTH;
	uint64_t inner_ns = 0;

	while (depth-- > 0) {
		struct mapping_open *open = &slot->open[depth];
		uint32_t id = MAPPING_READ(open->id) % MAPPING_NAMES;
		uint64_t span;

		if (MAPPING_READ(open->is_timed) == 0 || id >= tare_in_self.ready)
			continue;
		span = span_ns(slot, open, now_ns);
		tare_in_add_part(slot, id,
				 less(span, MAPPING_READ(open->frame_nested_ns) + inner_ns), 0);
		MAPPING_WRITE(open->frame_nested_ns, 0);
		inner_ns = span;
	}
}

/* Puts a part among the largest; returns what fell out. */
static uint64_t rank_part(struct mapping_slow *slow, struct mapping_part part)
{
	uint32_t at = slow->part_count;
	uint64_t out_ns = 0;

	if (at == MAPPING_PARTS) {
		if (part.own_ns <= slow->parts[at - 1].own_ns)
			return part.own_ns;
		out_ns = slow->parts[--at].own_ns;
	} else {
		slow->part_count++;
	}
	for (; at > 0 && slow->parts[at - 1].own_ns < part.own_ns; at--)
		slow->parts[at] = slow->parts[at - 1];
	slow->parts[at] = part;
	return out_ns;
}

static void write_words(uint64_t *to, const uint64_t *from, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(*to); i++)
		MAPPING_WRITE(to[i], from[i]);
}

/* Keeps a slow frame until the recorder comes for it; without room it is counted. */
static void keep_slow(struct mapping_slot *slot, uint64_t ns)
{
	struct mapping_slow slow = { .serial = MAPPING_READ(slot->frame_serial),
				     .start_ns = MAPPING_READ(slot->frame_start_ns),
				     .ns = ns };
	uint64_t count = MAPPING_READ(slot->slow_count);

	if (count - __atomic_load_n(&slot->read_count, __ATOMIC_ACQUIRE) >= MAPPING_SLOW) {
		tare_in_add(&slot->slow_lost, 1);
		return;
	}
	for (uint32_t id = 0; id < tare_in_self.ready; id++) {
		struct mapping_entry *entry = &slot->entries[id];
		struct mapping_part part = { id, MAPPING_READ(entry->frame_timed),
					     MAPPING_READ(entry->frame_ns) };

		if (MAPPING_READ(entry->frame_serial) == slow.serial && part.own_ns > 0)
			slow.others_ns += rank_part(&slow, part);
	}
	write_words((uint64_t *)&slot->slow[count % MAPPING_SLOW], (const uint64_t *)&slow,
		    sizeof(slow));
	__atomic_store_n(&slot->slow_count, count + 1, __ATOMIC_RELEASE);
}

/* A run of a task, or a frame: each is timed, so it is an "other" of weight 1. */
static void book_run(struct mapping_slot *slot, uint32_t id, uint64_t ns)
{
	struct mapping_entry *entry = &slot->entries[id];
	struct mapping_pace *pace = &slot->paces[id];
	uint64_t word = MAPPING_READ(tare_in_shared->orders.window);

	if (MAPPING_READ(pace->window) != word) {
		MAPPING_WRITE(pace->window, word);
		MAPPING_WRITE(entry->weight, 1);
		tare_in_begin_max(entry, mapping_window_number(word));
	}
	tare_in_add(&pace->calls, 1);
	tare_in_book(slot, id, ns, 0, 1, false);
}

/* The frame's row. TARE_IN_NO_NAME: no place. */
static uint32_t frame_id(void)
{
	static uint32_t id_place;
	uint32_t id = tare_in_name(MAPPING_FRAME, "frame", &id_place);

	return id != TARE_IN_NO_NAME && tare_in_take_place(id + 1) == 0 ? id : TARE_IN_NO_NAME;
}

static void end_frame(struct mapping_slot *slot, uint32_t id, uint64_t now_ns)
{
	uint64_t start_ns = MAPPING_READ(slot->frame_start_ns);
	uint64_t slow_ns = MAPPING_READ(tare_in_shared->orders.slow_ns);

	if (now_ns < start_ns) {
		tare_in_add(&slot->entries[id].backwards, 1);
		return;
	}
	tare_in_cut_scopes(slot, now_ns);
	book_run(slot, id, now_ns - start_ns);
	if (slow_ns != 0 && now_ns - start_ns >= slow_ns)
		keep_slow(slot, now_ns - start_ns);
	tare_in_check_lease(now_ns);
}

void tare_frame_mark(void)
{
	int saved = errno;
	bool is_at_work = tare_in_is_at_work();
	uint32_t id = is_at_work ? frame_id() : TARE_IN_NO_NAME;

	if (is_at_work && id == TARE_IN_NO_NAME) {
		tare_in_lose_call();
	} else if (is_at_work) {
		struct mapping_slot *slot = tare_in_self.slot;
		uint64_t epoch = MAPPING_READ(tare_in_shared->orders.epoch);
		uint64_t scale = tare_in_tick_scale();
		uint64_t now_ns = tare_in_now_ns(scale);

		/* What began under another recorder, or by another clock, is no frame. */
		if (MAPPING_READ(slot->frame_start_ns) != 0 &&
		    MAPPING_READ(slot->frame_epoch) == epoch &&
		    MAPPING_READ(slot->frame_scale) == scale)
			end_frame(slot, id, now_ns);
		MAPPING_WRITE(slot->frame_serial, MAPPING_READ(slot->frame_serial) + 1);
		MAPPING_WRITE(slot->frame_epoch, epoch);
		MAPPING_WRITE(slot->frame_scale, scale);
		MAPPING_WRITE(slot->frame_start_ns, now_ns);
	}
	errno = saved;
}

int tare_task_open(const char *name)
{
	int saved = errno;
	uint32_t id;

	if (!tare_in_is_at_work())
		return 0;
	tare_task_end();
	id = tare_in_name(MAPPING_TASK, name, NULL);
	if (id == TARE_IN_NO_NAME || tare_in_take_place(id + 1) != 0) {
		tare_in_lose_call();
		errno = saved;
		return -ENOMEM;
	}
	MAPPING_WRITE(tare_in_self.slot->task_scale, tare_in_tick_scale());
	MAPPING_WRITE(tare_in_self.slot->task_start_ns, tare_in_now_ns(tare_in_tick_scale()));
	MAPPING_WRITE(tare_in_self.slot->task, id + 1);
	errno = saved;
	return 0;
}

void tare_task_end(void)
{
	struct mapping_slot *slot = tare_in_self.slot;
	uint64_t scale, now_ns, start_ns;
	uint32_t id;

	if (slot == NULL || MAPPING_READ(slot->task) == 0 || !tare_in_is_own())
		return;
	id = MAPPING_READ(slot->task) - 1;
	MAPPING_WRITE(slot->task, 0);
	if (id >= tare_in_self.ready)
		return; /* not a number of ours */
	scale = MAPPING_READ(slot->task_scale);
	start_ns = MAPPING_READ(slot->task_start_ns);
	now_ns = tare_in_now_ns(tare_in_tick_scale());
	if (scale != tare_in_tick_scale() || now_ns < start_ns)
		tare_in_add(&slot->entries[id].backwards, 1);
	else
		book_run(slot, id, now_ns - start_ns);
}
