/* fuzz_name.c - a foreign name on its way to a terminal and into JSON: nothing that a terminal obeys comes through,
 * every cut keeps to its columns, and the JSON is UTF-8. The first byte says to how many columns it is cut. */
#include <stdlib.h>

#include "core/scoped.h"
#include "core/text.h"
#include "format/json.h"
#include "fuzz/fuzz.h"

/* Only what may be shown, and at most so wide. */
static void check_shown(const struct text *t, size_t columns, int is_ascii)
{
	for (size_t at = 0; at < t->len;) {
		uint32_t point = 0;
		size_t used = text_decode(t->bytes + at, t->len - at, &point);

		if (used == 0 || text_point_columns(point) == TEXT_HIDDEN || (is_ascii && used > 1))
			abort();
		at += used;
	}
	if (text_columns(text_chars(t), t->len) > columns)
		abort();
}

static int check_utf8(void *owner, const char *bytes, size_t len)
{
	struct text *all = owner;

	text_add(all, bytes, len);
	return 0;
}

static void check_json(struct str name)
{
	SCOPED(text_free) struct text all = TEXT_EMPTY;
	struct json j;

	json_begin(&j, check_utf8, &all, 0);
	json_str(&j, name);
	if (json_end(&j) != 0)
		abort();
	for (size_t at = 0; at < all.len;) {
		uint32_t point = 0;
		size_t used = text_decode(all.bytes + at, all.len - at, &point);

		if (used == 0 || (point < 0x20 && point != '\n'))
			abort();
		at += used;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	SCOPED(text_free) struct text whole = TEXT_EMPTY;
	SCOPED(text_free) struct text cut = TEXT_EMPTY;
	SCOPED(text_free) struct text function = TEXT_EMPTY;
	struct str name;
	size_t columns;

	if (size == 0 || size > STR_MAX_BYTES)
		return 0;
	columns = bytes[0] % 100;
	name = (struct str){ (const char *)bytes + 1, (uint32_t)(size - 1) };
	text_put_name(&whole, name);
	check_shown(&whole, SIZE_MAX, 0);
	text_put_cut(&cut, name, columns);
	check_shown(&cut, columns, 0);
	text_put_function(&function, name, columns);
	check_shown(&function, columns, 0);
	text_make_ascii(&whole);
	check_shown(&whole, SIZE_MAX, 1);
	check_json(name);
	return 0;
}
