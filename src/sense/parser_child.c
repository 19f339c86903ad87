/* parser_child.c - reads files that others wrote, without any rights, one question after another. */
#include "sense/parser_child.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/debugfile.h"
#include "sense/dwarflines.h"
#include "sense/elffile.h"
#include "sense/grow.h"
#include "sense/names_file.h"
#include "sense/parser.h"
#include "sense/parser_say.h"
#include "sense/sandbox.h"

#define DESCRIPTORS  16u
#define MEMORY_BYTES (UINT64_C(512) << 20)
#define MAX_PLACES   (PARSER_MAX_LINES_BYTES / sizeof(struct parser_place))
#define MAX_NAMES    (PARSER_MAX_NAMES_BYTES / sizeof(struct parser_name))

static void read_all(void *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t count = read(PARSER_SOCKET, (char *)bytes + at, len - at);

		if (count <= 0)
			_exit(1);
		at += (size_t)count;
	}
}

static bool is_linked(const struct parser_asked *a, size_t file)
{
	return (a->question.linked_mask >> file & 1) != 0;
}

/* ---- tables ---- */

static void say_tables(uint32_t kind, int rc, const struct tables *t)
{
	struct tables head = *t;
	struct parser_saying what = {
		.head = &head,
		.head_bytes = sizeof(head),
		.parts = { { t->rows, t->row_count * sizeof(*t->rows) },
			   { t->rule_sets, t->rule_set_count * sizeof(*t->rule_sets) },
			   { t->exprs, t->expr_bytes },
			   { t->functions, t->function_count * sizeof(*t->functions) },
			   { t->symbols, t->symbol_count * sizeof(*t->symbols) },
			   { t->names, t->name_bytes } }
	};

	/* Addresses mean nothing over there. */
	head.rows = NULL;
	head.rule_sets = NULL;
	head.exprs = NULL;
	head.functions = NULL;
	head.symbols = NULL;
	head.names = NULL;
	if (rc == 0 && tables_bytes(t) > PARSER_MAX_BYTES)
		rc = -EFBIG;
	parser_say(kind, rc, &what);
}

static void answer_id(const struct parser_asked *a)
{
	struct tables t = { 0 };

	say_tables(PARSER_ID, elffile_read_id(a->fds[0], &t), &t);
}

static void answer_tables(const struct parser_asked *a)
{
	SCOPED(tables_free) struct tables t = { 0 };
	int rc = elffile_read(a->fds[0], &t);

	for (uint32_t i = 1; rc == 0 && i < a->question.file_count && !t.has_symtab; i++)
		if (debugfile_use(a->fds[i], is_linked(a, i), &t) == 0)
			t.debug_file = i;
	if (rc == 0)
		(void)elffile_add_plt(a->fds[0], &t);
	say_tables(PARSER_TABLES, rc, &t);
}

/* ---- lines ---- */

struct places {
	const struct parser_asked *asked;
	struct parser_place *items; /* owned */
	size_t count, room;
	char *text; /* owned */
	size_t text_bytes, text_room;
	const char *last_file; /* of the last place: libdw gives one file's name at one address */
};

static void places_drop(struct places *p)
{
	free(p->items);
	free(p->text);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Puts the file's name into the text, unless it is that of the place before. */
static bool keep_file(struct places *p, const char *file, struct parser_place *place)
{
	uint32_t len = (uint32_t)strnlen(file, STR_MAX_BYTES);
	void *text = p->text;

	if (p->count > 0 && p->last_file == file) {
		place->file_at = p->items[p->count - 1].file_at;
		place->file_bytes = p->items[p->count - 1].file_bytes;
		return true;
	}
	if (len == 0 ||
	    grow(&text, &p->text_room, p->text_bytes + len, PARSER_MAX_LINES_BYTES, 1) < 0)
		return false;
	p->text = text;
	memcpy(p->text + p->text_bytes, file, len);
	place->file_at = (uint32_t)p->text_bytes;
	place->file_bytes = len;
	p->text_bytes += len;
	p->last_file = file;
	return true;
}

static void take_place(void *owner, uint64_t address, uint32_t line, const char *file)
{
	struct places *p = owner;
	struct parser_place place = { .address = address, .line = line };
	void *items = p->items;

	if (bsearch(&address, p->asked->wanted, p->asked->question.wanted_count, sizeof(uint64_t),
		    by_number) == NULL ||
	    !keep_file(p, file, &place) ||
	    grow(&items, &p->room, p->count + 1, MAX_PLACES, sizeof(place)) < 0)
		return;
	p->items = items;
	p->items[p->count++] = place;
}

static void answer_lines(const struct parser_asked *a)
{
	SCOPED(places_drop) struct places p = { .asked = a };
	int rc = dwarflines_read(a->fds[0], a->question.address, take_place, &p);
	struct parser_saying what = { .parts = { { p.items, p.count * sizeof(*p.items) },
						 { p.text, p.text_bytes } } };

	parser_say(PARSER_LINES, rc, &what);
}

/* ---- names ---- */

struct names {
	struct parser_name *rows; /* owned */
	size_t count, room;
	char *text; /* owned */
	size_t text_bytes, text_room;
	struct str last_version; /* in libelf's memory */
	uint32_t last_version_at;
};

static void names_drop(struct names *n)
{
	free(n->rows);
	free(n->text);
}

static int keep_text(struct names *n, struct str s, uint32_t *out_at)
{
	void *text = n->text;
	int rc = grow(&text, &n->text_room, n->text_bytes + s.len, PARSER_MAX_NAMES_BYTES, 1);

	if (rc < 0)
		return rc;
	n->text = text;
	if (s.len > 0)
		memcpy(n->text + n->text_bytes, s.bytes, s.len);
	*out_at = (uint32_t)n->text_bytes;
	n->text_bytes += s.len;
	return 0;
}

static int add_name(struct names *n, const struct place_names_row *row)
{
	struct parser_name name = { .address = row->address,
				    .bytes = row->bytes,
				    .name_bytes = (uint16_t)row->name.len,
				    .version_bytes = (uint16_t)row->version.len,
				    .kind = (uint8_t)row->kind,
				    .rank = row->rank,
				    .is_default = row->is_default };
	int rc = keep_text(n, row->name, &name.name_at);
	void *rows;

	/* Neighbours mostly have one version: its text once. */
	if (rc == 0 && row->version.len > 0 && row->version.bytes != n->last_version.bytes) {
		rc = keep_text(n, row->version, &n->last_version_at);
		n->last_version = row->version;
	}
	name.version_at = n->last_version_at;
	rows = n->rows;
	if (rc == 0)
		rc = grow(&rows, &n->room, n->count + 1, MAX_NAMES, sizeof(name));
	n->rows = rows;
	if (rc == 0)
		n->rows[n->count++] = name;
	return rc;
}

static int read_names(const struct parser_asked *a, struct names *n, struct parser_names_head *out)
{
	SCOPED(names_file_close) struct names_file file = NAMES_FILE_EMPTY;
	struct place_names_row row;
	int rc = names_file_open(a->fds[0], &file);

	for (uint32_t i = 1;
	     rc == 0 && i < a->question.file_count && !file.has_symtab && out->debug_file == 0; i++)
		if (names_file_add_debug(&file, a->fds[i], is_linked(a, i)) == 0)
			out->debug_file = i;
	while (rc == 0 && names_file_next(&file, &row))
		rc = add_name(n, &row);
	if (rc < 0)
		return rc == -E2BIG ? -EFBIG : rc;
	memcpy(out->segments, file.segments, sizeof(out->segments));
	out->segment_count = file.segment_count;
	out->entry = file.entry;
	out->catch_bytes = file.catch_bytes;
	out->is_go = file.is_go;
	out->has_symtab = file.has_symtab;
	out->has_debug_info = file.has_debug_info;
	return n->count * sizeof(*n->rows) + n->text_bytes > PARSER_MAX_NAMES_BYTES ? -EFBIG : 0;
}

static void answer_names(const struct parser_asked *a)
{
	SCOPED(names_drop) struct names n = { .rows = NULL };
	struct parser_names_head head = { 0 };
	int rc = read_names(a, &n, &head);
	struct parser_saying what = { .head = &head,
				      .head_bytes = sizeof(head),
				      .parts = { { n.rows, n.count * sizeof(*n.rows) },
						 { n.text, n.text_bytes } } };

	parser_say(PARSER_NAMES, rc, &what);
}

/* ---- questions ---- */

static bool is_question(const struct parser_question *q)
{
	return (q->file_count > 0 || q->kind == PARSER_PLAIN) &&
	       q->file_count <= PARSER_MAX_FILES && q->wanted_count <= PARSER_MAX_WANTED &&
	       q->text_bytes <= PARSER_MAX_TEXT;
}

/* What stands behind a question; NULL: nothing. */
static void *read_more(size_t count, size_t item_bytes)
{
	void *items = count > 0 ? calloc(count, item_bytes) : NULL;

	if (count > 0 && items == NULL)
		_exit(1);
	read_all(items, count * item_bytes);
	return items;
}

/* Waits for the next one; the end of the socket is our end. */
static void hear(struct parser_asked *out)
{
	struct iovec bytes = { &out->question, sizeof(out->question) };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(PARSER_MAX_FILES * sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	ssize_t count;

	do
		count = recvmsg(PARSER_SOCKET, &message, MSG_WAITALL);
	while (count < 0 && errno == EINTR);
	if (count != (ssize_t)sizeof(out->question) || !is_question(&out->question) ||
	    (out->question.file_count > 0 &&
	     message.msg_controllen < CMSG_LEN(out->question.file_count * sizeof(int))))
		_exit(count == 0 ? 0 : 1);
	if (out->question.file_count > 0)
		memcpy(out->fds, CMSG_DATA(&control.header),
		       out->question.file_count * sizeof(int));
	out->wanted = read_more(out->question.wanted_count, sizeof(*out->wanted));
	out->text = read_more(out->question.text_bytes, 1);
}

static void answer(const struct parser_asked *a, struct parser_memory *memory)
{
	switch ((enum parser_kind)a->question.kind) {
	case PARSER_ID:
		answer_id(a);
		return;
	case PARSER_TABLES:
		answer_tables(a);
		return;
	case PARSER_LINES:
		answer_lines(a);
		return;
	case PARSER_NAMES:
		answer_names(a);
		return;
	case PARSER_PLAIN:
		parser_answer_plain(a);
		return;
	case PARSER_INLINED:
		parser_answer_inlined(a, memory);
		return;
	case PARSER_JIT:
		parser_answer_jit(a, memory);
		return;
	}
	_exit(1);
}

_Noreturn void parser_child_run(int socket)
{
	const struct sandbox_limits limits = { .memory_bytes = MEMORY_BYTES,
					       .cpu_s = SANDBOX_NO_LIMIT,
					       .descriptors = DESCRIPTORS,
					       .may_receive = true };
	struct parser_memory memory = { .turns = 0 };

	for (size_t i = 0; i < PARSER_MAX_DWARFS; i++)
		memory.dwarfs[i] = DWARFFILE_EMPTY;
	/* Nothing of the recorder's stays open: a counter or a lock that a child holds lives on with it. */
	if (dup2(socket, PARSER_SOCKET) < 0 || close_range(PARSER_SOCKET + 1, ~0U, 0) < 0 ||
	    sandbox_enter(&limits) < 0)
		_exit(1);
	for (;;) {
		struct parser_asked asked;

		hear(&asked);
		answer(&asked, &memory);
		for (size_t i = 0; i < asked.question.file_count; i++)
			close(asked.fds[i]);
		free(asked.wanted);
		free(asked.text);
		malloc_trim(0); /* what was read of the file is many times the tables */
	}
}
