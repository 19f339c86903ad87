/* parser_say.c - answers to questions about single names and addresses. */
#include "sense/parser_say.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/demangle.h"
#include "sense/dwarfinlined.h"
#include "sense/grow.h"
#include "sense/parser.h"

static void write_all(const void *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t count = write(PARSER_SOCKET, (const char *)bytes + at, len - at);

		if (count <= 0)
			_exit(1);
		at += (size_t)count;
	}
}

void parser_say(uint32_t kind, int result, const struct parser_saying *what)
{
	struct parser_answer answer = { .kind = kind, .result = result };

	if (result < 0) {
		write_all(&answer, sizeof(answer));
		return;
	}
	answer.head_bytes = (uint32_t)what->head_bytes;
	for (size_t i = 0; i < PARSER_MAX_PARTS; i++)
		answer.part_bytes[i] = what->parts[i].len;
	write_all(&answer, sizeof(answer));
	write_all(what->head, what->head_bytes);
	for (size_t i = 0; i < PARSER_MAX_PARTS; i++)
		write_all(what->parts[i].bytes, what->parts[i].len);
}

/* Items of an answer, and the text that they point into. */
struct told {
	void *items; /* owned */
	size_t count, room;
	char *text; /* owned */
	size_t text_bytes, text_room;
};

static void told_free(struct told *t)
{
	free(t->items);
	free(t->text);
}

static int tell_item(struct told *t, const void *item, size_t item_bytes)
{
	int rc = grow(&t->items, &t->room, t->count + 1, PARSER_MAX_CODE_BYTES / item_bytes,
		      item_bytes);

	if (rc == 0)
		memcpy((char *)t->items + t->count++ * item_bytes, item, item_bytes);
	return rc;
}

static int tell_text(struct told *t, const char *bytes, size_t len, uint32_t *out_at)
{
	void *text = t->text;
	int rc = grow(&text, &t->text_room, t->text_bytes + len, PARSER_MAX_CODE_BYTES / 2, 1);

	if (rc < 0)
		return rc;
	t->text = text;
	if (len > 0)
		memcpy(t->text + t->text_bytes, bytes, len);
	*out_at = (uint32_t)t->text_bytes;
	t->text_bytes += len;
	return 0;
}

static struct parser_saying saying_of(const struct told *t, size_t item_bytes)
{
	return (struct parser_saying){ .parts = { { t->items, t->count * item_bytes },
						  { t->text, t->text_bytes } } };
}

/* ---- names ---- */

void parser_answer_plain(const struct parser_asked *a)
{
	SCOPED(told_free) struct told t = { .items = NULL };
	struct parser_saying what;
	size_t len;
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < a->question.text_bytes; at += len + 1) {
		char plain[DEMANGLE_MAX_OUT];
		struct parser_plain item = { 0 };

		len = strnlen(a->text + at, a->question.text_bytes - at);
		item.bytes = (uint32_t)demangle_long(a->text + at, len, plain);
		if (tell_text(&t, plain, item.bytes, &item.at) < 0)
			item.bytes = 0;
		rc = tell_item(&t, &item, sizeof(item));
	}
	what = saying_of(&t, sizeof(struct parser_plain));
	parser_say(PARSER_PLAIN, rc, &what);
}

/* ---- inlined functions ---- */

static void tell_inlined(void *owner, const struct dwarfinlined *function)
{
	struct told *t = owner;
	char plain[DEMANGLE_MAX_OUT];
	struct parser_inlined item = { .line = function->line };
	const char *name = function->name;
	size_t len = strnlen(name, STR_MAX_BYTES), plain_len = demangle_long(name, len, plain);

	if (plain_len > 0) {
		name = plain;
		len = plain_len;
	}
	item.name_bytes = (uint32_t)len;
	if (function->file != NULL)
		item.file_bytes = (uint32_t)strnlen(function->file, STR_MAX_BYTES);
	if (tell_text(t, name, item.name_bytes, &item.name_at) == 0 &&
	    tell_text(t, function->file, item.file_bytes, &item.file_at) == 0)
		(void)tell_item(t, &item, sizeof(item));
}

/* The one that has this file open, or that was not used for longest: functions of several files are on one stack. */
static struct dwarffile *dwarf_of(struct parser_memory *memory, int fd)
{
	size_t best = 0;
	struct stat st;

	for (size_t i = 0; i < PARSER_MAX_DWARFS && fstat(fd, &st) == 0; i++) {
		const struct dwarffile *d = &memory->dwarfs[i];

		if (d->fd >= 0 && d->of.st_ino == st.st_ino && d->of.st_dev == st.st_dev) {
			best = i;
			break;
		}
		if (memory->dwarf_used[i] < memory->dwarf_used[best])
			best = i;
	}
	memory->dwarf_used[best] = ++memory->turns;
	return &memory->dwarfs[best];
}

void parser_answer_inlined(const struct parser_asked *a, struct parser_memory *memory)
{
	struct dwarffile *dwarf = dwarf_of(memory, a->fds[0]);

	SCOPED(told_free) struct told t = { .items = NULL };
	struct parser_saying what;
	int rc = dwarffile_open(dwarf, a->fds[0]);

	if (rc == 0)
		rc = dwarfinlined_read(dwarf, a->question.address, tell_inlined, &t);
	what = saying_of(&t, sizeof(struct parser_inlined));
	parser_say(PARSER_INLINED, rc, &what);
}

/* ---- code that was made at run time ---- */

static bool is_of(const struct jitfile *f, const struct stat *st)
{
	return f->inode == st->st_ino && f->device == st->st_dev;
}

/* What was read of the file before, or a place for it. */
static struct jitfile *place_of(struct parser_memory *memory, const struct stat *st)
{
	struct jitfile *best = &memory->jits[0];

	for (size_t i = 0; i < PARSER_MAX_JITS; i++) {
		struct jitfile *f = &memory->jits[i];

		if (is_of(f, st))
			return f;
		if (f->used < best->used)
			best = f;
	}
	return best;
}

/* Nothing is known there, for as long as it says. */
static void forget_code(struct jitfile_code *code)
{
	code->start = code->end = code->since_ns = 0;
	code->name_bytes = code->file_bytes = code->line = 0;
}

static void tell_jit(struct told *t, const struct jitfile_code *code)
{
	struct parser_jit item = { .start = code->start,
				   .end = code->end,
				   .since_ns = code->since_ns,
				   .until_ns = code->until_ns,
				   .name_bytes = code->name_bytes,
				   .file_bytes = code->file_bytes,
				   .line = code->line };

	if (tell_text(t, code->name, item.name_bytes, &item.name_at) < 0 ||
	    tell_text(t, code->file, item.file_bytes, &item.file_at) < 0)
		item = (struct parser_jit){ .start = 0 };
	(void)tell_item(t, &item, sizeof(item));
}

void parser_answer_jit(const struct parser_asked *a, struct parser_memory *memory)
{
	SCOPED(told_free) struct told t = { .items = NULL };
	const uint64_t *wanted = a->wanted; /* a time, then addresses */
	struct parser_jit_head head;
	struct parser_saying what;
	struct jitfile_code code;
	struct jitfile *f;
	struct stat st;
	int rc = fstat(a->fds[0], &st) < 0 ? -EIO : 0;

	if (rc < 0 || a->question.wanted_count < 2) {
		parser_say(PARSER_JIT, -EIO, NULL);
		return;
	}
	f = place_of(memory, &st);
	f->used = ++memory->turns;
	rc = jitfile_read(f, a->fds[0]);
	f->used = memory->turns; /* also when it began anew */
	for (size_t i = 1; rc == 0 && i < a->question.wanted_count; i++) {
		if (!jitfile_find(f, a->fds[0], wanted[i], wanted[0], &code))
			forget_code(&code);
		tell_jit(&t, &code);
	}
	head = (struct parser_jit_head){ f->index.count, f->index.rejected };
	what = saying_of(&t, sizeof(struct parser_jit));
	what.head = &head;
	what.head_bytes = sizeof(head);
	parser_say(PARSER_JIT, rc, &what);
}
