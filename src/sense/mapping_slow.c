/* mapping_slow.c - takes the slow frames that a process with libtare keeps for the recorder. */
#include "sense/mapping_reader.h"

/* What a process says of a slow frame is cut to what can be. */
static void tame_slow(struct mapping_slow *slow, uint32_t names)
{
	uint64_t left_ns = slow->ns;
	uint32_t kept = 0;

	slow->part_count = mapping_at_most(slow->part_count, MAPPING_PARTS);
	for (uint32_t i = 0; i < slow->part_count; i++) {
		struct mapping_part part = slow->parts[i];

		if (part.id >= names)
			continue;
		if (part.own_ns > left_ns)
			part.own_ns = left_ns;
		left_ns -= part.own_ns;
		slow->parts[kept++] = part;
	}
	slow->part_count = kept;
	if (slow->others_ns > left_ns)
		slow->others_ns = left_ns;
}

static void copy_words(uint64_t *to, const uint64_t *from, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(*to); i++)
		to[i] = MAPPING_READ(from[i]);
}

bool mapping_reader_take_slow(struct mapping_reader *reader, struct mapping_slow *out,
			      uint32_t *out_tid)
{
	uint32_t slots = mapping_slot_count(reader);

	for (uint32_t tried = 0; tried < slots; tried++) {
		uint32_t at = (reader->next_slot + tried) % slots;
		struct mapping_slot *slot = &reader->shared->slots[at];
		uint64_t written = __atomic_load_n(&slot->slow_count, __ATOMIC_ACQUIRE);
		uint64_t taken = MAPPING_READ(slot->read_count);

		if (written == taken)
			continue;
		if (written - taken > MAPPING_SLOW) { /* not a count of ours: begin anew */
			reader->torn++;
			MAPPING_WRITE(slot->read_count, written);
			continue;
		}
		copy_words((uint64_t *)out, (const uint64_t *)&slot->slow[taken % MAPPING_SLOW],
			   sizeof(*out));
		*out_tid = MAPPING_READ(slot->tid);
		if (out->serial > reader->first_frames[at])
			out->serial -= reader->first_frames[at];
		__atomic_store_n(&slot->read_count, taken + 1, __ATOMIC_RELEASE);
		tame_slow(out, mapping_reader_names(reader));
		reader->next_slot = at;
		return true;
	}
	return false;
}
