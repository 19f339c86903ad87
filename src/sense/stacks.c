/* stacks.c - looks through the symbols of a program's files for what switches stacks. */
#include "sense/stacks.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/places_files.h"
#include "sense/places_names.h"

enum shown {
	WHERE_USED, /* every C library has it: it says something of who uses it, or has it built in */
	ANYWHERE,
};

static const struct {
	const char *name;
	enum shown shown;
} switchers[] = {
	{ "makecontext", WHERE_USED },
	{ "swapcontext", WHERE_USED },
	{ "make_fcontext", ANYWHERE }, /* Boost.Context, and what is made of it */
	{ "jump_fcontext", ANYWHERE },
	{ "ontop_fcontext", ANYWHERE },
	{ "bthread_jump_fcontext", ANYWHERE },
	{ "zend_jump_fcontext", ANYWHERE },
	{ "zend_fiber_switch_context", ANYWHERE }, /* PHP from 8.1 on: fibers */
	{ "rb_fiber_resume", ANYWHERE },	   /* Ruby */
	{ "PyInit__greenlet", ANYWHERE },	   /* Python: greenlet, gevent */
	{ "coro_transfer", ANYWHERE },		   /* libcoro, Perl's Coro */
	{ "co_switch", ANYWHERE },		   /* libco */
	{ "qemu_coroutine_switch", ANYWHERE },
};

/* OpenSSL switches stacks for asynchronous jobs only: next to no program asks for them, and very many link it. */
static bool is_excused(const struct places_file *file)
{
	static const char prefix[] = "libcrypto.so";
	struct str name = places_file_name(file);

	return name.len >= sizeof(prefix) - 1 &&
	       memcmp(name.bytes, prefix, sizeof(prefix) - 1) == 0;
}

static bool is_called(struct str name, const char *chars)
{
	return name.len == strlen(chars) && memcmp(name.bytes, chars, name.len) == 0;
}

/* What this symbol shows, or NULL. `is_program`: the file is the program itself, and may be linked with all it uses. */
static const char *shown_by(const struct place_names_row *row, bool is_program)
{
	bool is_used = row->kind == PLACE_NAMES_UNDEFINED || is_program;

	for (size_t i = 0; i < ARRAY_LEN(switchers); i++)
		if ((is_used || switchers[i].shown == ANYWHERE) &&
		    is_called(row->name, switchers[i].name))
			return switchers[i].name;
	return NULL;
}

static void parser_free(struct parser **parser)
{
	parser_close(*parser);
}

/* Static, or NULL. */
static const char *look_into(struct parser *parser, const struct places_file *file, bool is_program)
{
	SCOPED(place_names_close) struct place_names names = PLACE_NAMES_EMPTY;
	struct str seen = { file->seen, (uint32_t)strlen(file->seen) };
	struct place_names_row row;
	const char *shown = NULL;
	int fd = is_excused(file) ? -1 : places_file_open(file);

	if (fd < 0)
		return NULL;
	if (place_names_open(parser, fd, seen, &names) == 0)
		while (shown == NULL && place_names_next(&names, &row))
			shown = shown_by(&row, is_program);
	close(fd);
	return shown;
}

bool stacks_find(const struct stacks_program *of, char *out, size_t size)
{
	SCOPED(places_files_free) struct places_files files = PLACES_FILES_EMPTY;
	SCOPED(parser_free) struct parser *parser = NULL;
	struct err err = ERR_EMPTY;
	int code = of->program != NULL ? places_files_of_program(of->program, &files, &err)
				       : places_files_of_pid(of->pid, &files, &err);

	if (code == 0)
		code = parser_open(true, &parser);
	for (size_t i = 0; code == 0 && i < files.count; i++) {
		const char *shown = look_into(parser, &files.items[i], i == 0);
		struct str name = places_file_name(&files.items[i]);

		if (shown == NULL)
			continue;
		snprintf(out, size, "%s, in %.*s", shown, (int)name.len, name.bytes);
		return true;
	}
	return false;
}
