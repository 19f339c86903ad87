/* report_screen.c - lines of a terminal: columns are counted after everything is what the terminal can show. */
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "core/scoped.h"

void screen_free(struct screen *s)
{
	text_free(&s->line);
}

static struct text shown(const struct screen *s, const char *chars)
{
	struct text t = TEXT_EMPTY;

	text_put(&t, chars);
	if (s->is_ascii)
		text_make_ascii(&t);
	return t;
}

static void append(struct screen *s, const struct text *t)
{
	s->has_failed |= t->has_failed;
	text_add(&s->line, text_chars(t), t->len);
}

void screen_put(struct screen *s, const char *chars)
{
	SCOPED(text_free) struct text t = shown(s, chars);

	append(s, &t);
}

size_t screen_column(const struct screen *s)
{
	return text_columns(text_chars(&s->line), s->line.len);
}

void screen_to(struct screen *s, size_t column)
{
	size_t at = screen_column(s);

	if (at < column)
		text_blanks(&s->line, column - at);
}

void screen_put_right(struct screen *s, const char *chars, size_t end)
{
	SCOPED(text_free) struct text t = shown(s, chars);
	size_t width = text_columns(text_chars(&t), t.len);

	screen_to(s, end > width ? end - width : 0);
	append(s, &t);
}

static void put_short(struct text *t, struct str name, size_t columns, bool is_function)
{
	if (is_function)
		text_put_function(t, name, columns);
	else
		text_put_cut(t, name, columns);
}

void screen_put_name(struct screen *s, struct str name, size_t columns, bool is_function)
{
	SCOPED(text_free) struct text whole = TEXT_EMPTY;
	SCOPED(text_free) struct text part = TEXT_EMPTY;
	struct str plain;

	if (!s->is_ascii) {
		put_short(&part, name, columns, is_function);
		append(s, &part);
		return;
	}
	/* What the name becomes is cut, not the name; each "…" takes three columns then. */
	text_put_name(&whole, name);
	text_make_ascii(&whole);
	plain = (struct str){ text_chars(&whole), (uint32_t)whole.len };
	for (size_t room = columns; room > 0; room--) {
		text_clear(&part);
		put_short(&part, plain, room, is_function);
		text_make_ascii(&part);
		if (part.len <= columns)
			break;
	}
	append(s, &part);
}

void screen_end(struct screen *s)
{
	size_t len = s->line.len;

	while (len > 0 && s->line.bytes[len - 1] == ' ')
		len--;
	if (len > 0)
		fwrite(s->line.bytes, 1, len, s->out);
	fputc('\n', s->out);
	s->has_failed |= s->line.has_failed;
	text_clear(&s->line);
}

void screen_wrap(struct screen *s, const char *chars, size_t indent)
{
	SCOPED(text_free) struct text word = TEXT_EMPTY;
	bool is_first = true; /* of its line */

	while (*chars != '\0') {
		size_t len = strcspn(chars, " ");
		size_t width;

		text_clear(&word);
		text_add(&word, chars, len);
		if (s->is_ascii)
			text_make_ascii(&word); /* now, so that U+00A0 has kept it together */
		width = text_columns(text_chars(&word), word.len);
		if (!is_first && screen_column(s) + 1 + width > s->columns) {
			screen_end(s);
			screen_to(s, indent);
			is_first = true;
		}
		if (!is_first)
			text_put(&s->line, " ");
		append(s, &word);
		is_first = false;
		chars += len;
		chars += strspn(chars, " ");
	}
	screen_end(s);
}
