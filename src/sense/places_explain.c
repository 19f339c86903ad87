/* places_explain.c - why a wish led to nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sense/grow.h"
#include "sense/places_search.h"

static void put_file(struct search *s, uint32_t file)
{
	struct str name = places_file_name(&s->files.items[file]);

	text_add(&s->text, name.bytes, name.len);
}

/* "not found: no function of php8.2 or its 31 libraries is called so" */
static void say_not_found(struct search *s, const struct wish *w)
{
	size_t libraries = s->files.count - 1, unread = 0;

	for (size_t i = 0; i < s->files.count; i++)
		unread += s->files.items[i].error != 0;
	text_put(&s->text, "not found: no function of ");
	put_file(s, 0);
	if (libraries > 0)
		text_printf(&s->text, " or its %zu librar%s", libraries,
			    libraries == 1 ? "y" : "ies");
	text_put(&s->text, w->pattern.kind == PATTERN_EXACT ? " is called so" : " fits it");
	if (unread > 0)
		text_printf(&s->text, "; %zu of them could not be read", unread);
}

static void say_other(struct search *s, const struct wish *w)
{
	put_file(s, w->seen_in);
	switch (w->seen) {
	case PLACE_NAMES_UNDEFINED:
		text_put(&s->text, " only calls it, and no file here has it");
		break;
	case PLACE_NAMES_LABEL:
		text_put(&s->text, " has it as a label, not as a function: what lies there may be "
				   "no instruction");
		break;
	default:
		text_put(&s->text, " has it as a variable, not as a function");
	}
}

static int explain(struct search *s, uint32_t at)
{
	const struct wish *w = &s->wishes[at];
	struct found row = { .pattern = at, .file = NO_FILE, .first = PLACE_OTHER };
	void *found = s->found;
	int rc = grow(&found, &s->room, s->count + 1, SEARCH_MAX_FOUND + PATTERN_MAX_BYTES,
		      sizeof(row));

	if (rc < 0)
		return rc == -E2BIG ? 0 : rc;
	s->found = found;
	row.name = row.symbol = search_keep(s, w->pattern.name.bytes, w->pattern.name.len);
	row.why_not.at = s->text.len;
	if (w->seen_in != NO_FILE)
		say_other(s, w);
	else
		say_not_found(s, w);
	row.why_not.len = (uint32_t)(s->text.len - row.why_not.at);
	s->found[s->count++] = row;
	return 0;
}

int search_explain(struct search *s)
{
	int rc = 0;

	for (uint32_t i = 0; i < s->wish_count && rc == 0; i++)
		if (!s->wishes[i].has_found)
			rc = explain(s, i);
	return rc;
}
