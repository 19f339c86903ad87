/* parser.c - what the parser child says, as tables: checked before anybody uses it. */
#include "sense/parser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/scoped.h"
#include "core/units.h"
#include "sense/parser_link.h"
#include "sense/places_names.h"

int parser_file_identify(struct parser_file *file)
{
	struct stat st;

	if (fstat(file->fd, &st) < 0)
		return -errno;
	file->id = (struct parser_file_id){ .device = st.st_dev,
					    .inode = st.st_ino,
					    .bytes = (uint64_t)st.st_size,
					    .changed_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S +
							  (uint64_t)st.st_mtim.tv_nsec };
	return 0;
}

int parser_open(bool is_patient, struct parser **out)
{
	struct parser *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return -ENOMEM;
	parser_link_open(&p->link, is_patient);
	*out = p;
	return 0;
}

void parser_call(struct parser *p, const char *comm)
{
	p->link.comm = comm;
}

void parser_close(struct parser *p)
{
	if (p == NULL)
		return;
	parser_link_close(&p->link);
	free(p);
}

void parser_mind(struct parser *p)
{
	parser_link_mind(&p->link);
}

void parser_facts(const struct parser *p, struct parser_facts *out)
{
	*out = (struct parser_facts){ .pid = p->link.pid,
				      .deaths = p->link.deaths,
				      .live_ns = parser_link_live_ns(&p->link),
				      .spent_ns = parser_link_spent_ns(&p->link) };
}

int parser_ask_file(struct parser *p, const struct parser_file *file, struct parser_ask *question,
		    struct parser_reply *out)
{
	bool has_file = file->fd >= 0 || question->question.kind != PARSER_PLAIN;
	int fds[PARSER_MAX_FILES] = { file->fd };
	int rc;

	memcpy(fds + 1, file->debug_fds, file->debug_count * sizeof(int));
	question->id = file->id;
	question->fds = fds;
	question->question.file_count = has_file ? 1 + file->debug_count : 0;
	question->question.linked_mask = file->linked_mask << 1;
	question->most_wait_ns = PARSER_WAIT_NS;
	rc = parser_link_ask(&p->link, question, out);
	question->fds = NULL; /* they end here */
	if (rc < 0)
		return rc;
	/* These mean something else of us. */
	rc = out->answer.result;
	return rc == -EAGAIN || rc == -ENOMEM ? -EFBIG : rc;
}

bool parser_reply_count(const struct parser_reply *r, size_t at, size_t item_bytes,
			size_t *out_count)
{
	*out_count = r->answer.part_bytes[at] / item_bytes;
	return r->answer.part_bytes[at] % item_bytes == 0;
}

/* Takes a part out of the reply. */
static void *take_part(struct parser_reply *r, size_t at)
{
	void *bytes = r->parts[at];

	r->parts[at] = NULL;
	return bytes;
}

static bool is_flag(const bool *flag)
{
	unsigned char byte;

	memcpy(&byte, flag, 1);
	return byte <= 1;
}

/* The tables that a reply holds, and owns until the end of this. */
static int take_tables(struct parser_reply *r, struct tables *out)
{
	SCOPED(tables_free) struct tables t = r->head.tables;
	size_t counts[PARSER_MAX_PARTS] = { 0 };
	static const size_t items[PARSER_MAX_PARTS] = {
		sizeof(*t.rows),      sizeof(*t.rule_sets), 1,
		sizeof(*t.functions), sizeof(*t.symbols),   1
	};
	bool is_whole = r->answer.head_bytes == sizeof(t) && is_flag(&r->head.tables.has_symtab) &&
			is_flag(&r->head.tables.has_lines) &&
			is_flag(&r->head.tables.has_debug_lines) &&
			r->head.tables.debug_file <= PARSER_MAX_DEBUG_FILES;

	for (size_t i = 0; i < PARSER_MAX_PARTS; i++)
		is_whole = parser_reply_count(r, i, items[i], &counts[i]) && is_whole;
	t.rows = take_part(r, 0);
	t.row_count = counts[0];
	t.rule_sets = take_part(r, 1);
	t.rule_set_count = counts[1];
	t.exprs = take_part(r, 2);
	t.expr_bytes = counts[2];
	t.functions = take_part(r, 3);
	t.function_count = counts[3];
	t.symbols = take_part(r, 4);
	t.symbol_count = counts[4];
	t.names = take_part(r, 5);
	t.name_bytes = counts[5];
	if (!is_whole || !tables_check(&t))
		return -EIO;
	*out = t;
	t = (struct tables){ 0 };
	return 0;
}

int parser_read_id(struct parser *p, const struct parser_file *file, struct tables *out)
{
	SCOPED(parser_reply_free) struct parser_reply reply = { .head = { .bytes = { 0 } } };
	struct parser_file alone = { .id = file->id, .fd = file->fd };
	struct parser_ask question = { .question = { .kind = PARSER_ID } };
	int rc = parser_ask_file(p, &alone, &question, &reply);

	return rc < 0 ? rc : take_tables(&reply, out);
}

int parser_read_tables(struct parser *p, const struct parser_file *file, struct tables *out)
{
	SCOPED(parser_reply_free) struct parser_reply reply = { .head = { .bytes = { 0 } } };
	struct parser_ask question = { .question = { .kind = PARSER_TABLES },
				       .most_bytes = PARSER_MAX_BYTES };
	int rc = parser_ask_file(p, file, &question, &reply);

	return rc < 0 ? rc : take_tables(&reply, out);
}

static int give_places(const struct parser_reply *r, const struct parser_lines *lines)
{
	const struct parser_place *places = r->parts[0];
	const char *text = r->parts[1];
	size_t count;

	if (!parser_reply_count(r, 0, sizeof(*places), &count))
		return -EIO;
	for (size_t i = 0; i < count; i++) {
		const struct parser_place *place = &places[i];

		if (place->line == 0 || place->file_bytes == 0 ||
		    place->file_bytes > STR_MAX_BYTES ||
		    (uint64_t)place->file_at + place->file_bytes > r->answer.part_bytes[1])
			return -EIO;
		lines->take(lines->owner, place->address, place->line, text + place->file_at,
			    place->file_bytes);
	}
	return 0;
}

int parser_read_lines(struct parser *p, const struct parser_file *file,
		      const struct parser_lines *lines)
{
	SCOPED(parser_reply_free) struct parser_reply reply = { .head = { .bytes = { 0 } } };
	struct parser_ask question = { .question = { .kind = PARSER_LINES,
						     .address = lines->address,
						     .wanted_count =
							     lines->wanted_count < PARSER_MAX_WANTED
								     ? (uint32_t)lines->wanted_count
								     : PARSER_MAX_WANTED },
				       .wanted = lines->wanted,
				       .most_bytes = PARSER_MAX_LINES_BYTES };
	int rc = parser_ask_file(p, file, &question, &reply);

	return rc < 0 ? rc : give_places(&reply, lines);
}

/* ---- names ---- */

void parser_names_free(struct parser_names *n)
{
	free(n->rows);
	free(n->text);
	*n = (struct parser_names){ .rows = NULL };
}

static bool is_good_name(const struct parser_names *n, const struct parser_name *row)
{
	return row->name_bytes > 0 && row->name_bytes <= STR_MAX_BYTES &&
	       row->version_bytes <= STR_MAX_BYTES && row->kind <= PLACE_NAMES_UNDEFINED &&
	       (uint64_t)row->name_at + row->name_bytes <= n->text_bytes &&
	       (uint64_t)row->version_at + row->version_bytes <= n->text_bytes;
}

static int take_names(struct parser_reply *r, uint32_t debug_count, struct parser_names *out)
{
	SCOPED(parser_names_free) struct parser_names n = { .head = r->head.names };
	bool is_good = parser_reply_count(r, 0, sizeof(*n.rows), &n.count) &&
		       r->answer.head_bytes == sizeof(n.head);

	n.rows = take_part(r, 0);
	n.text = take_part(r, 1);
	n.text_bytes = r->answer.part_bytes[1];
	is_good = is_good && n.head.segment_count <= TABLES_MAX_SEGMENTS &&
		  n.head.debug_file <= debug_count;
	for (size_t i = 0; i < n.count && is_good; i++)
		is_good = is_good_name(&n, &n.rows[i]);
	if (!is_good)
		return -EIO;
	*out = n;
	n = (struct parser_names){ .rows = NULL };
	return 0;
}

int parser_read_names(struct parser *p, const struct parser_file *file, struct parser_names *out)
{
	SCOPED(parser_reply_free) struct parser_reply reply = { .head = { .bytes = { 0 } } };
	struct parser_ask question = { .question = { .kind = PARSER_NAMES },
				       .most_bytes = PARSER_MAX_NAMES_BYTES };
	int rc = parser_ask_file(p, file, &question, &reply);

	return rc < 0 ? rc : take_names(&reply, file->debug_count, out);
}
