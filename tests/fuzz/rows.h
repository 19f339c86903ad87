/* rows.h - rows of a recording made of an input's bytes, and what must hold of everything that is printed. */
#ifndef TARE_TESTS_FUZZ_ROWS_H
#define TARE_TESTS_FUZZ_ROWS_H

#include <stdlib.h>
#include <string.h>

#include "core/fields.h"
#include "core/recording.h"
#include "core/scoped.h"
#include "core/text.h"

/* What is left of the input. */
struct input {
	const uint8_t *bytes;
	size_t left;
};

/* The next eight bytes, 0 behind the end; below 2^bits. Small and large numbers are as likely. */
static inline uint64_t take(struct input *in, unsigned bits)
{
	uint64_t word = 0;
	size_t used = in->left < sizeof(word) ? in->left : sizeof(word);
	unsigned shift;

	if (used > 0)
		memcpy(&word, in->bytes, used);
	in->bytes += used;
	in->left -= used;
	shift = (unsigned)(word >> 58) % bits;
	return (word & ((UINT64_C(1) << bits) - 1)) >> shift;
}

/* A name of up to 40 bytes of the input; some are words that mean something. */
static inline struct str take_name(struct input *in)
{
	static const struct str words[] = {
		STR_LITERAL("[broken]"),   STR_LITERAL("[cut 12]"),   STR_LITERAL("[kernel]"),
		STR_LITERAL("[no stack]"), STR_LITERAL("[x.so+0x1]"), STR_LITERAL("not allowed: x"),
		STR_LITERAL("cpu"),	   STR_LITERAL("signal")
	};
	size_t len = take(in, 6) % 48;
	struct str name;

	if (len >= 40 || in->left == 0)
		return words[len % ARRAY_LEN(words)];
	len = len < in->left ? len : in->left;
	name = (struct str){ (const char *)in->bytes, (uint32_t)len };
	in->bytes += len;
	in->left -= len;
	return name;
}

/* Every column of a row, by its type; keys too. */
static inline void fill_row(struct input *in, const struct table *table, void *row, unsigned bits)
{
	for (size_t i = 0; i < table->field_count; i++) {
		const struct field *f = &table->fields[i];
		char *at = (char *)row + f->offset;

		if (f->type == FIELD_U32)
			*(uint32_t *)at = (uint32_t)take(in, 32);
		else if (f->type == FIELD_U64)
			*(uint64_t *)at = take(in, bits);
		else if (f->type == FIELD_I64)
			*(int64_t *)at = (int64_t)take(in, 63) - (int64_t)take(in, 63);
		else if (f->type == FIELD_BOOL)
			*(bool *)at = take(in, 1) != 0;
		else if (f->type == FIELD_STR)
			*(struct str *)at = take_name(in);
		else if (f->type == FIELD_F64)
			*(double *)at = (double)take(in, bits) / (double)(1 + take(in, 20));
		else if (f->type == FIELD_STEPS)
			continue; /* who has a histogram makes it */
		else
			for (size_t b = 0; b < BATCH_COUNT; b++)
				((uint64_t *)at)[b] = take(in, 53);
	}
}

/* Nothing that a terminal obeys, and UTF-8. */
static inline void check_printed(const char *bytes, size_t len, bool is_json)
{
	for (size_t at = 0; at < len;) {
		uint32_t point = 0;
		size_t used = text_decode(bytes + at, len - at, &point);

		if (used == 0 ||
		    (point != '\n' && !is_json && text_point_columns(point) == TEXT_HIDDEN))
			abort();
		at += used;
	}
}

#endif
