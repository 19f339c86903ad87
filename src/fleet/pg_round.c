/* pg_round.c - texts of the statements to be planned, a round at a time, so that they never take more than their budget; and the functions
 * of a database that was entered for its plans. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/pg_capture.h"

#define TEXT_BYTES_ASSUMED 1024u /* of a statement whose text was not read yet */

void capture_forget_round(struct pg_capture *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->rows[i].text);
		free(c->rows[i].path);
		c->rows[i].text = c->rows[i].path = NULL;
	}
}

void capture_begin_round(struct pg_body *b, struct pg_capture *c)
{
	uint64_t bytes = 0;

	capture_forget_round(c);
	for (c->round_end = c->at; c->round_end < c->count; c->round_end++) {
		uint64_t more = c->rows[c->round_end].wanted.row->statement->text_bytes;

		bytes += more > 0 ? more : TEXT_BYTES_ASSUMED;
		if (bytes > b->settings.limits.text_bytes && c->round_end > c->at)
			return;
	}
}

int capture_ask_round(struct pg_body *b, struct pg_capture *c, struct ask *out)
{
	size_t count = c->round_end - c->at;
	struct text_wanted *wanted = reallocarray(NULL, count, sizeof(*wanted));
	int code;

	if (wanted == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		wanted[i] = c->rows[c->at + i].wanted;
	code = pg_ask_texts(b, wanted, count, b->settings.limits.text_bytes, out);
	free(wanted);
	return code;
}

static char *copy_of(struct str s)
{
	char *copy = calloc(1, (size_t)s.len + 1);

	if (copy != NULL && s.len > 0)
		memcpy(copy, s.bytes, s.len);
	return copy;
}

static bool is_same_key(const struct statement_key *a, const struct statement_key *b)
{
	return a->queryid == b->queryid && a->dbid == b->dbid && a->userid == b->userid &&
	       a->is_toplevel == b->is_toplevel;
}

int capture_take_text(struct pg_body *b, struct pg_capture *c, const struct cell *cells)
{
	struct text_found found;

	if (!pg_read_text(cells, &found) || !found.has_text)
		return 0;
	if (names_put(&b->names, found.key.dbid, false, found.database) != 0 ||
	    names_put(&b->names, found.key.userid, true, found.user) != 0)
		return -ENOMEM;
	for (size_t i = c->at; i < c->round_end; i++) {
		struct captured *row = &c->rows[i];

		if (row->text != NULL || !is_same_key(&row->wanted.key, &found.key))
			continue;
		row->text = copy_of(found.text);
		row->path = copy_of(found.search_path);
		row->text_len = found.text.len;
		return row->text != NULL && row->path != NULL ? 0 : -ENOMEM;
	}
	return 0;
}

static struct entered_known *entered_of(struct entered_known *rows, size_t count, uint32_t dbid)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].dbid == dbid)
			return &rows[i];
	return NULL;
}

bool capture_wants_functions(const struct pg_body *b)
{
	return pg_body_wants(b, READING_FUNCTIONS) && b->facts.tracks_functions &&
	       b->now[COUNTED_FUNCTIONS].is_done;
}

int capture_note_entered(struct pg_body *b, struct pg_capture *c)
{
	struct entered_known *rows, *row;

	if (b->entered == NULL && b->server->entered_count > 0) {
		b->entered = reallocarray(NULL, b->server->entered_count, sizeof(*rows));
		if (b->entered == NULL)
			return -ENOMEM;
		memcpy(b->entered, b->server->entered, b->server->entered_count * sizeof(*rows));
		b->entered_count = b->server->entered_count;
	}
	row = entered_of(b->entered, b->entered_count, c->dbid);
	if (row == NULL) {
		rows = reallocarray(b->entered, b->entered_count + 1, sizeof(*rows));
		if (rows == NULL)
			return -ENOMEM;
		b->entered = rows;
		row = &rows[b->entered_count++];
	}
	*row = (struct entered_known){ c->dbid, b->now[COUNTED_FUNCTIONS].visit };
	return 0;
}

int capture_ask_functions(struct pg_body *b, struct pg_capture *c, struct ask *out)
{
	const struct entered_known *known =
		entered_of(b->server->entered, b->server->entered_count, c->dbid);

	c->has_functions_before = known != NULL;
	if (known != NULL)
		c->functions_before = known->at;
	out->reading = READING_FUNCTIONS;
	b->is_optional = true;
	return pg_ask_functions(b, out);
}
