/* pg_texts.c - texts of statements that ran: each read once, within a budget of bytes, and which of them are our own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "core/units.h"
#include "fleet/cells.h"
#include "fleet/pg_body.h"
#include "fleet/plans.h"

#define TEXTS_MOST  2000u /* asked for in one visit */
#define NS_PER_HOUR (INT64_C(3600) * 1000000000)
#define NS_PER_DAY  (24 * NS_PER_HOUR)

const char *pg_name_of(const struct pg_body *b, uint32_t oid, bool is_role)
{
	const char *name = names_find(&b->names, oid, is_role);

	if (name == NULL)
		name = names_find(&b->server->names, oid, is_role);
	return name != NULL ? name : "";
}

static struct str str_of(const char *chars)
{
	return (struct str){ chars, (uint32_t)strlen(chars) };
}

int statement_put_query(struct pg_body *b, const struct statement_key *key,
			struct statement_known *known)
{
	struct query_row row = { .server = b->server->id, .key = *key };

	if (known->first_wall_ns == 0)
		known->first_wall_ns = b->settings.at.ns;
	known->seen_wall_ns = b->settings.at.ns;
	row.database = str_of(pg_name_of(b, key->dbid, false));
	row.user = str_of(pg_name_of(b, key->userid, true));
	row.text = known->text;
	row.text_bytes = known->text_bytes;
	row.command = str_of(known->command);
	row.first_wall_ns = known->first_wall_ns;
	row.seen_wall_ns = known->seen_wall_ns;
	return fleet_batch_add(b->batch, &table_query, BLOCK_PUT, &row);
}

int pg_put_payload(struct pg_body *b, enum payload_kind kind, struct str bytes,
		   struct digest *io_digest)
{
	const struct payload_known *known;
	struct payload_row row = { .server = b->server->id,
				   .kind = kind,
				   .seen_wall_ns = b->settings.at.ns };
	int code = fleet_digest_is_none(io_digest)
			   ? payload_digest(bytes.bytes, bytes.len, io_digest)
			   : 0;

	if (code != 0)
		return code;
	known = payloads_find(&b->server->payloads, io_digest);
	/* With a NUL in it it is another payload: these are stripped. */
	if (bytes.len > 0 && memchr(bytes.bytes, '\0', bytes.len) != NULL)
		known = NULL;
	else if (payloads_find(&b->payloads, io_digest) != NULL ||
		 (known != NULL && (int64_t)known->hour >= b->settings.at.ns / NS_PER_HOUR))
		return 0;
	code = payload_make(b->settings.press, bytes, b->settings.limits.payload_bytes, &row);
	if (code != 0)
		return code;
	*io_digest = row.digest;
	code = fleet_batch_add(b->batch, &table_payload, BLOCK_PUT, &row);
	free((void *)(uintptr_t)row.content.bytes);
	return code != 0 ? code : payloads_put(&b->payloads, &row.digest, b->settings.at);
}

static bool wants_text(const struct pg_body *b, const struct statement_known *known,
		       uint64_t *out_rank)
{
	(void)b;
	*out_rank = known->exec_ns[0];
	return known->state == TEXT_WANTED;
}

static int by_rank(const void *a, const void *b)
{
	const struct text_wanted *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	return memcmp(x->row->bytes, y->row->bytes,
		      x->row->key_len < y->row->key_len ? x->row->key_len : y->row->key_len);
}

/* Phases: the texts at home; when a text of a database without an encoding stops them all there: which database could give
 * them; entering it; the texts; and home again. */
enum text_phase { AT_HOME, LOOKING, GOING, AWAY, RETURNING, DONE };

static int ask_texts_step(struct pg_body *b, struct ask *out)
{
	struct text_wanted *wanted = NULL;
	size_t count = 0;
	int code = statements_pick(b, wants_text, &wanted, &count);

	if (code != 0)
		return code;
	if (count > 1)
		qsort(wanted, count, sizeof(*wanted), by_rank);
	if (count > TEXTS_MOST)
		count = TEXTS_MOST;
	if (count > 0 && b->phase == AT_HOME && b->texts_database[0] != '\0') {
		b->phase = GOING;
		code = pg_body_enter(b, out, b->texts_database);
	} else if (count > 0) {
		code = pg_ask_texts(b, wanted, count, b->settings.limits.text_bytes, out);
		b->is_optional = true;
	}
	free(wanted);
	return code;
}

static int ask_looking(struct pg_body *b, struct ask *out)
{
	text_clear(&b->sql);
	text_put(
		&b->sql,
		"SELECT " PG_MARK " datname FROM pg_database WHERE encoding = 0"
		" AND datallowconn AND NOT datistemplate AND has_database_privilege(oid, 'CONNECT')"
		" ORDER BY oid LIMIT 1");
	b->is_optional = true;
	return pg_body_ask(b, out, 1);
}

/* Rows that wait for their text, once each. */
static int settle(struct pg_body *b)
{
	for (size_t i = 0; i < b->emitted_count; i++) {
		struct emitted *e = &b->emitted[i];
		struct statement_known *known = e->row->statement;

		/* Ours, and its baseline came before that was known. */
		if (known->state == TEXT_OWN)
			continue;
		if (fleet_batch_add(b->batch, &table_statement, BLOCK_PUT, &e->out) != 0)
			return -ENOMEM;
		if (e->out.key.queryid != 0 &&
		    (known->seen_wall_ns == 0 ||
		     b->settings.at.ns - known->seen_wall_ns >= NS_PER_HOUR) &&
		    statement_put_query(b, &e->out.key, known) != 0)
			return -ENOMEM;
	}
	b->emitted_count = 0;
	return 0;
}

static int texts_ask(struct pg_body *b, struct ask *out, struct err *err)
{
	int code;

	(void)err;
	if (b->phase == AT_HOME &&
	    (!b->now[COUNTED_STATEMENTS].is_done || b->settings.at.ns < b->texts_again_wall_ns))
		b->phase = DONE;
	switch (b->phase) {
	case AT_HOME:
	case AWAY:
		code = ask_texts_step(b, out);
		if (code != 0)
			return code;
		if (b->phase == AWAY)
			return b->phase = RETURNING, pg_body_enter(b, out, "");
		break;
	case LOOKING:
		return ask_looking(b, out);
	case GOING:
		return pg_body_enter(b, out, b->texts_database);
	case RETURNING:
		return pg_body_enter(b, out, "");
	default:
		break;
	}
	b->phase = DONE;
	return settle(b);
}

/* What a text that came says of its statement. */
static int keep_text(struct pg_body *b, const struct text_found *found,
		     struct statement_known *known)
{
	enum plan_reason reason =
		plan_classify(found->text, false, known->command, sizeof(known->command));
	size_t len = 0;
	char *redacted = NULL;
	int code;

	known->state = TEXT_KNOWN;
	known->text = (struct digest){ { 0 } };
	if (reason == PLAN_UTILITY || reason == PLAN_MANY)
		known->no_plan.reason = reason;
	code = text_redact(found->text, &redacted, &len);
	if (code == -ENOMEM)
		return code;
	/* It can hold a password, or cannot be read: its queryid stands for it. */
	if (code == 0)
		code = pg_put_payload(b, PAYLOAD_TEXT, (struct str){ redacted, (uint32_t)len },
				      &known->text);
	else
		code = 0;
	free(redacted);
	return code;
}

static int take_text(struct pg_body *b, const struct text_found *found,
		     struct statement_known *known)
{
	int code = 0;

	known->text_bytes = found->bytes;
	if (found->is_own) {
		known->state = TEXT_OWN;
		return 0;
	}
	if (found->has_text)
		code = keep_text(b, found, known);
	else if (found->bytes > b->settings.limits.payload_bytes ||
		 found->bytes > b->settings.limits.text_bytes)
		known->state = TEXT_KNOWN; /* over the cap: only its size is kept */
	if (known->command[0] == '\0' && known->state == TEXT_KNOWN)
		memcpy(known->command, "?", 2);
	return code != 0 ? code : statement_put_query(b, &found->key, known);
}

static int texts_row(struct pg_body *b, const struct cell *cells, uint32_t count)
{
	struct text_found found;
	uint8_t packed[STATEMENT_KEY_MOST];
	size_t len;
	struct remembered *row;

	(void)count;
	if (b->phase == LOOKING) {
		cell_copy(cells[0], b->texts_database, sizeof(b->texts_database));
		return 0;
	}
	if (!pg_read_text(cells, &found))
		return 0;
	len = statement_key_pack(&found.key, packed);
	row = remembered_find(&b->fresh[COUNTED_STATEMENTS], packed, len);
	if (row == NULL)
		row = remembered_find(&b->server->counted[COUNTED_STATEMENTS].rows, packed, len);
	if (row == NULL || row->statement == NULL || row->statement->state != TEXT_WANTED)
		return 0; /* not asked for */
	row = statement_touch(b, row);
	if (row == NULL || names_put(&b->names, found.key.dbid, false, found.database) != 0 ||
	    names_put(&b->names, found.key.userid, true, found.user) != 0)
		return -ENOMEM;
	return take_text(b, &found, row->statement);
}

/* Texts of a database without an encoding that are no text in ours: 22021 and 22P05. */
static bool is_of_encoding(const struct answer *a)
{
	return strcmp(a->sqlstate, "22021") == 0 || strcmp(a->sqlstate, "22P05") == 0;
}

static void give_up(struct pg_body *b)
{
	b->texts_database[0] = '\0';
	b->texts_again_wall_ns = b->settings.at.ns + NS_PER_DAY;
	pg_body_say(b, READING_STATEMENTS,
		    "texts cannot be read: one has bytes that are none in this encoding");
}

static int texts_ended(struct pg_body *b, const struct answer *a, struct err *err)
{
	switch (b->phase) {
	case AT_HOME:
		b->phase = a->is_ok ? DONE : LOOKING;
		if (!a->is_ok && !is_of_encoding(a)) {
			b->texts_again_wall_ns = b->settings.at.ns + NS_PER_HOUR;
			pg_body_say(b, READING_STATEMENTS, "texts could not be read");
			b->phase = DONE;
		}
		break;
	case LOOKING:
		b->phase = b->texts_database[0] != '\0' ? GOING : DONE;
		if (b->phase == DONE)
			give_up(b);
		break;
	case GOING:
		b->phase = a->is_ok ? AWAY : RETURNING;
		if (!a->is_ok)
			give_up(b);
		break;
	case AWAY:
		b->phase = RETURNING;
		if (!a->is_ok)
			give_up(b);
		break;
	default:
		if (!a->is_ok)
			return err_set(err, -ECONNRESET,
				       "cannot enter the first database of server %u again",
				       b->server->id);
		b->phase = DONE;
	}
	return 0;
}

const struct pg_step pg_step_texts = { READING_STATEMENTS, texts_ask, NULL, texts_row,
				       texts_ended };
