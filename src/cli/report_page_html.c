/* report_page_html.c - text becomes HTML here and nowhere else. */
#include <string.h>

#include "cli/report_page.h"
#include "core/scoped.h"

#define PLUS_MINUS TEXT_NBSP "±" TEXT_NBSP

/* The entity of a byte that markup gives a meaning, or NULL. */
static const char *entity(char byte)
{
	switch (byte) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	case '`':
		return "&#96;";
	default:
		return NULL;
	}
}

static void put_bytes(struct text *t, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const char *words = entity(bytes[i]);

		if (words != NULL)
			text_put(t, words);
		else
			text_add(t, &bytes[i], 1);
	}
}

void page_put_text(struct text *t, const char *chars)
{
	put_bytes(t, chars, strlen(chars));
}

static bool begins(const char *chars, const char *start)
{
	return strncmp(chars, start, strlen(start)) == 0;
}

/* Where the number behind a "±" ends. */
static size_t number_length(const char *chars)
{
	return strspn(chars, "0123456789.,");
}

static void put_marked(struct text *t, const char *class, const char *chars, size_t len)
{
	text_put(t, "<span class=\"");
	text_put(t, class);
	text_put(t, "\">");
	put_bytes(t, chars, len);
	text_put(t, "</span>");
}

/* Bytes at `chars` that the page shows in a way of its own, which this appends; 0: none begin here. */
static size_t put_special(struct text *t, const char *chars)
{
	static const struct {
		const char *words, *class;
	} looks[] = {
		{ "⊘ not allowed", "deny" },	 { "— not measured", "none" },
		{ "— cannot know", "none" },	 { "—" TEXT_NBSP "cannot know", "none" },
		{ "not distinguishable", "pm" },
	};

	if (begins(chars, PLUS_MINUS) && number_length(chars + strlen(PLUS_MINUS)) > 0) {
		size_t len = strlen(PLUS_MINUS) + number_length(chars + strlen(PLUS_MINUS));

		while (strchr(".,", chars[len - 1]) != NULL)
			len--; /* the sentence's, not the number's */
		put_marked(t, "pm", chars, len);
		return len;
	}
	for (size_t i = 0; i < ARRAY_LEN(looks); i++)
		if (begins(chars, looks[i].words)) {
			put_marked(t, looks[i].class, chars, strlen(looks[i].words));
			return strlen(looks[i].words);
		}
	return 0;
}

void page_put_words(struct text *t, const char *chars, const char *code)
{
	const char *name = code != NULL && code[0] != '\0' ? strstr(chars, code) : NULL;

	while (*chars != '\0') {
		size_t len = 0;

		if (chars == name) {
			len = strlen(code);
			text_put(t, "<code>");
			put_bytes(t, chars, len);
			text_put(t, "</code>");
		} else {
			len = put_special(t, chars);
		}
		if (len == 0) {
			put_bytes(t, chars, 1);
			len = 1;
		}
		chars += len;
	}
}

static void put_code(struct text *t, const struct text *words)
{
	text_put(t, "<code>");
	page_put_text(t, text_chars(words));
	text_put(t, "</code>");
	t->has_failed |= words->has_failed;
}

void page_put_name(struct text *t, struct str name, size_t columns)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	text_put_cut(&words, name, columns);
	put_code(t, &words);
}

void page_put_function(struct text *t, struct str name, size_t columns)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	text_put_function(&words, name, columns);
	put_code(t, &words);
}

void page_put_whisker(struct text *t, const struct page_whisker *w)
{
	text_printf(t, "<span class=\"whisker\" data-wh=\"%.6g,%.6g,%.6g,%.6g,%s,%u,%d\"></span>",
		    w->value, w->error, w->axis, w->limit, w->colour, w->width, w->is_coarse);
}

void page_put_share(struct text *t, struct share share, uint64_t range_kept)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	text_put_share(&words, share, range_kept);
	page_put_words(t, text_chars(&words), NULL);
	t->has_failed |= words.has_failed;
}
