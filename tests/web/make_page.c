/* make_page.c - writes recordings that pages are made of in tests.
 * Usage: make_page KIND FILE [NAMES]     KIND: night, record-crowd, watch-crowd, fleet-crowd; with NAMES, a file of names that end
 *                                        in NUL: record-names, watch-names, fleet-names
 *        make_page shown - NAMES         prints the names as text.h makes them harmless, each with a NUL behind it */
#include "web/make_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/save_recording.h"
#include "core/scoped.h"
#include "core/text.h"

#define NAMES_MOST_BYTES (1u << 20)
#define NAMES_MOST	 1024u

/* Reads the names; they live as long as the program. */
static int read_names(const char *path, struct names *out)
{
	static char bytes[NAMES_MOST_BYTES];
	static struct str rows[NAMES_MOST];
	FILE *in = fopen(path, "re");
	size_t len, at = 0;

	if (in == NULL)
		return -1;
	len = fread(bytes, 1, sizeof(bytes), in);
	(void)fclose(in);
	*out = (struct names){ rows, 0 };
	while (at < len && out->count < NAMES_MOST) {
		size_t end = at + strnlen(bytes + at, len - at);

		rows[out->count++] = (struct str){ bytes + at, (uint32_t)(end - at) };
		at = end + 1;
	}
	return out->count > 0 ? 0 : -1;
}

static int print_shown(const struct names *names)
{
	for (uint32_t i = 0; i < names->count; i++) {
		SCOPED(text_free) struct text shown = TEXT_EMPTY;

		text_put_name(&shown, names->rows[i]);
		(void)fwrite(text_chars(&shown), 1, shown.len + 1, stdout);
	}
	return fflush(stdout) == 0 ? 0 : 2;
}

static int save_or_say(const struct recording *r, const char *path)
{
	struct err err = ERR_EMPTY;

	if (save_recording(r, path, 64 << 20, &err) == 0)
		return 0;
	fprintf(stderr, "make_page: %s\n", err.msg);
	return 2;
}

static int make_record(const char *kind, const char *path, const struct names *names)
{
	SCOPED(build_free) struct build b;

	build_begin(&b);
	if (strcmp(kind, "night") == 0)
		page_night(&b);
	else if (strcmp(kind, "record-crowd") == 0)
		page_record_crowd(&b);
	else
		page_record_names(&b, names);
	return save_or_say(&b.r, path);
}

static int make_watch(const char *kind, const char *path, const struct names *names)
{
	SCOPED(build_watch_free) struct build_watch b;

	build_watch_begin(&b);
	if (strcmp(kind, "watch-crowd") == 0)
		page_watch_crowd(&b);
	else
		page_watch_names(&b, names);
	build_watch_sort(&b);
	return save_or_say(&b.r, path);
}

static int make_fleet(const char *kind, const char *path, const struct names *names)
{
	if (strcmp(kind, "fleet-crowd") == 0)
		page_fleet_crowd(path);
	else
		page_fleet_names(path, names);
	return 0;
}

static const struct {
	const char *kind;
	bool has_names;
	int (*make)(const char *kind, const char *path, const struct names *names);
} kinds[] = {
	{ "night", false, make_record },       { "record-crowd", false, make_record },
	{ "record-names", true, make_record }, { "watch-crowd", false, make_watch },
	{ "watch-names", true, make_watch },   { "fleet-crowd", false, make_fleet },
	{ "fleet-names", true, make_fleet },
};

int main(int argc, char **argv)
{
	struct names names = { NULL, 0 };

	if (argc == 4 && read_names(argv[3], &names) != 0) {
		fprintf(stderr, "make_page: there are no names in '%s'\n", argv[3]);
		return 2;
	}
	if (argc == 4 && strcmp(argv[1], "shown") == 0)
		return print_shown(&names);
	for (size_t i = 0; argc >= 3 && i < ARRAY_LEN(kinds); i++)
		if (strcmp(argv[1], kinds[i].kind) == 0 && kinds[i].has_names == (argc == 4))
			return kinds[i].make(argv[1], argv[2], &names);
	fprintf(stderr, "usage: make_page KIND FILE [NAMES]\n");
	return 2;
}
