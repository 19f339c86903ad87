/* task_names.c - counts by name of tasks. */
#include "core/task_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"

#define PLACES	   4096u /* a power of two, four times the names */
#define ROW_BYTES  50u	 /* of a row in a file, beside its name and its counts by duration */
#define MARK_BYTES 4u	 /* the CRC behind those counts */

static const struct str other = STR_LITERAL("(other)");

int task_names_init(struct task_names *t, uint64_t most_bytes)
{
	*t = (struct task_names){ .most_bytes = most_bytes };
	t->names = calloc(TASK_NAMES_MOST + 1, sizeof(*t->names));
	t->places = malloc(PLACES * sizeof(*t->places));
	if (t->names == NULL || t->places == NULL) {
		task_names_free(t);
		return -ENOMEM;
	}
	memset(t->places, 0xff, PLACES * sizeof(*t->places)); /* NO_ID */
	return 0;
}

void task_names_free(struct task_names *t)
{
	for (uint32_t i = 0; t->names != NULL && i < t->count; i++)
		if (t->names[i].row.name.bytes != other.bytes)
			free((void *)(uintptr_t)t->names[i].row.name.bytes);
	free(t->names);
	free(t->places);
	*t = TASK_NAMES_EMPTY;
}

struct str task_name_cut(struct str name)
{
	if (name.len <= TASK_NAME_MOST_BYTES)
		return name;
	name.len = TASK_NAME_MOST_BYTES;
	/* What follows the cut is inside a letter: go back to its start. Other bytes than UTF-8 are cut as they are. */
	for (uint32_t back = 0; back < 3 && ((uint8_t)name.bytes[name.len] & 0xc0) == 0x80; back++)
		name.len--;
	return name;
}

static bool is_same(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0);
}

/* Where the name stands in the table, or the free place where it would. */
static uint32_t *place_of(const struct task_names *t, struct str name)
{
	const struct frame f = { .kind = FRAME_MARKER, .name = name };
	uint32_t at = (uint32_t)(frame_key(&f, 0) >> 32) & (PLACES - 1);

	while (t->places[at] != NO_ID && !is_same(t->names[t->places[at]].row.name, name))
		at = (at + 1) & (PLACES - 1);
	return &t->places[at];
}

static uint64_t bytes_of_counts(const struct task_name_row *row)
{
	uint64_t bytes = 0;

	/* A place, and a count that is below 2^28 in any run. */
	for (uint32_t i = 0; i < BATCH_COUNT; i++)
		bytes += row->log2_count[i] > 0 ? 5 : 0;
	return bytes;
}

static uint32_t enter(struct task_names *t, uint32_t *place, struct str name)
{
	struct task_name *n = &t->names[t->count];

	*n = (struct task_name){ .row = { .id = t->count, .name = name }, .is_changed = true };
	t->bytes += ROW_BYTES + MARK_BYTES + name.len;
	*place = t->count;
	return t->count++;
}

/* The row that all share who have none of their own; the room for it is always there. */
static uint32_t find_other(struct task_names *t)
{
	uint32_t *place = place_of(t, other);

	return *place != NO_ID ? *place : enter(t, place, other);
}

uint32_t task_names_find(struct task_names *t, struct str name)
{
	struct str kept = task_name_cut(name);
	uint32_t *place = place_of(t, kept);
	char *copy;

	if (*place != NO_ID)
		return *place;
	if (is_same(kept, other) || t->count >= TASK_NAMES_MOST ||
	    t->bytes + ROW_BYTES + MARK_BYTES + kept.len > t->most_bytes)
		return find_other(t);
	copy = malloc(kept.len + 1u);
	if (copy == NULL)
		return find_other(t);
	memcpy(copy, kept.len > 0 ? kept.bytes : "", kept.len);
	copy[kept.len] = '\0';
	return enter(t, place, (struct str){ copy, kept.len });
}

void task_names_begin(struct task_names *t, uint32_t at)
{
	t->names[at].row.begun++;
	t->names[at].is_changed = true;
}

uint32_t task_log2_place(uint64_t duration_ns)
{
	uint32_t octave = bucket_octave(duration_ns | 1);

	if (octave < TASK_LOG2_FIRST)
		return 0;
	octave -= TASK_LOG2_FIRST;
	return octave < BATCH_COUNT ? octave : BATCH_COUNT - 1;
}

void task_names_end(struct task_names *t, uint32_t at, uint64_t duration_ns)
{
	struct task_name_row *row = &t->names[at].row;

	t->bytes -= bytes_of_counts(row);
	row->ended++;
	row->total_ns += duration_ns;
	if (duration_ns > row->longest_ns)
		row->longest_ns = duration_ns;
	row->log2_count[task_log2_place(duration_ns)]++;
	t->bytes += bytes_of_counts(row);
	t->names[at].is_changed = true;
}

int task_names_changes(const struct task_names *t, struct changes *out)
{
	const struct changes before = *out;

	for (uint32_t i = 0; i < t->count; i++) {
		struct task_name_row *row;

		if (!t->names[i].is_changed)
			continue;
		row = changes_task_name(out);
		if (row == NULL) {
			changes_rewind(out, &before);
			return -ENOMEM;
		}
		*row = t->names[i].row;
	}
	return 0;
}

void task_names_saved(struct task_names *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		t->names[i].is_changed = false;
}
