/* digest.c - a recording as one number, by the descriptors of its tables (FNV-1a). */
#include "fault/digest.h"

#include <stdbool.h>
#include <string.h>

#include "core/fields.h"
#include "core/scoped.h"

static void mix(uint64_t *sum, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*sum = (*sum ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
}

static void mix_member(uint64_t *sum, enum field_type type, const char *member)
{
	static const size_t sizes[] = {
		[FIELD_U32] = sizeof(uint32_t), [FIELD_U64] = sizeof(uint64_t),
		[FIELD_I64] = sizeof(int64_t),	[FIELD_BOOL] = sizeof(bool),
		[FIELD_F64] = sizeof(double),	[FIELD_BATCHES] = BATCH_COUNT * sizeof(uint64_t),
	};
	struct histogram histogram;
	struct str text;

	if (type == FIELD_STR) {
		memcpy(&text, member, sizeof(text));
		mix(sum, &text.len, sizeof(text.len));
		mix(sum, text.bytes, text.len);
	} else if (type == FIELD_STEPS) {
		memcpy(&histogram, member, sizeof(histogram));
		for (uint32_t i = 0; i < histogram.count; i++) {
			mix(sum, &histogram.steps[i].weight, sizeof(uint64_t));
			mix(sum, &histogram.steps[i].at, sizeof(uint32_t));
		}
	} else {
		mix(sum, member, sizes[type]);
	}
}

uint64_t digest_of(const struct recording *r)
{
	const struct {
		const struct table *table;
		const void *rows;
		uint32_t count;
	} all[] = {
		{ &table_recording, &r->label, 1 },
		{ &table_node, r->nodes, r->node_count },
		{ &table_frame, r->frames, r->frame_count },
		{ &table_slot, r->slots, r->slot_count },
		{ &table_context, r->contexts, r->context_count },
		{ &table_ledger, r->ledger, r->ledger_count },
		{ &table_watch, &r->watch, 1 },
		{ &table_watched, r->watched, r->watched_count },
		{ &table_window, r->windows, r->window_count },
		{ &table_slow_frame, r->slow, r->slow_count },
		{ &table_slow_part, r->slow_parts, r->slow_part_count },
	};
	uint64_t sum = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		const struct table *t = all[i].table;

		mix(&sum, &all[i].count, sizeof(all[i].count));
		for (uint32_t j = 0; j < all[i].count; j++)
			for (size_t f = 0; f < t->field_count; f++)
				mix_member(&sum, t->fields[f].type,
					   (const char *)all[i].rows + j * t->row_bytes +
						   t->fields[f].offset);
	}
	return sum;
}
