/* pg_body.c - goes through the steps of a visit: asks, keeps accounts, judges failures, and gives what was learnt to the server. */
#include "fleet/pg_body.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/recording.h"
#include "core/scoped.h"

static const struct pg_step *const steps[] = {
	&pg_step_facts, &pg_step_moment,    &pg_step_statements,
	&pg_step_texts, &pg_step_functions, &pg_step_databases,
	&pg_step_io,	&pg_step_settings,  &pg_step_plans,
};

bool pg_body_wants(const struct pg_body *b, enum reading_id reading)
{
	return (b->settings.readings & 1U << reading) != 0;
}

struct run_row *pg_body_run(struct pg_body *b, enum reading_id reading)
{
	struct run_row *run = &b->runs[reading];

	if (!b->has_run[reading]) {
		*run = (struct run_row){ .server = b->server->id,
					 .reading = reading,
					 .at_wall_ns = b->settings.at.ns,
					 .cycle = b->settings.cycle };
		b->has_run[reading] = true;
	}
	return run;
}

void pg_body_fail(struct pg_body *b, enum reading_id reading, enum run_outcome outcome,
		  const char *sqlstate, const char *reason)
{
	struct run_row *run = pg_body_run(b, reading);

	if (run->outcome != RUN_SUCCESS)
		return;
	run->outcome = outcome;
	snprintf(b->states[reading], sizeof(b->states[reading]), "%s", sqlstate);
	snprintf(b->reasons[reading], sizeof(b->reasons[reading]), "%s", reason);
}

void pg_body_say(struct pg_body *b, enum reading_id reading, const char *reason)
{
	pg_body_run(b, reading);
	if (b->reasons[reading][0] == '\0')
		snprintf(b->reasons[reading], sizeof(b->reasons[reading]), "%s", reason);
}

int pg_body_ask(struct pg_body *b, struct ask *out, uint32_t columns)
{
	out->kind = ASK_QUERY;
	out->sql = text_chars(&b->sql);
	b->expected_columns = columns;
	return b->sql.has_failed ? -ENOMEM : 1;
}

int pg_body_enter(struct pg_body *b, struct ask *out, const char *database)
{
	out->kind = ASK_DATABASE;
	out->name = database;
	b->is_entering = true;
	b->is_entering_home = database[0] == '\0';
	b->expected_columns = 0;
	return 1;
}

static int ask_session(struct pg_body *b, struct ask *out)
{
	text_clear(&b->sql);
	/* Qualified, and without an operator: the search path is still the role's own. */
	text_put(&b->sql,
		 "SELECT " PG_MARK " pg_catalog.set_config('search_path', 'pg_catalog', false),"
		 " pg_catalog.set_config('default_transaction_read_only', 'on', false),"
		 " pg_catalog.set_config('client_encoding', 'SQL_ASCII', false),"
		 " pg_catalog.set_config('application_name', '" PG_APPLICATION "', false),"
		 " pg_catalog.set_config('lock_timeout', '2s', false)");
	b->is_in_session = true;
	return pg_body_ask(b, out, 5);
}

/* A captured plan in this visit, or why there is none, on the account of the statements. */
static void say_capture(struct pg_body *b)
{
	static const uint32_t done[] = { [CADENCE_OFF] = CAPTURE_NONE,
					 [CADENCE_GATED] = CAPTURE_GATED,
					 [CADENCE_SCHEDULED] = CAPTURE_SCHEDULED,
					 [CADENCE_OWED] = CAPTURE_OWED };
	uint32_t capture = done[b->settings.capture & 3U];

	if (CADENCE_CAPTURES(b->settings.capture) && !b->has_captured)
		capture = CAPTURE_MISSED;
	if (b->has_run[READING_STATEMENTS])
		b->runs[READING_STATEMENTS].capture = capture;
	if (b->has_run[READING_PLANS])
		b->runs[READING_PLANS].capture = capture;
}

/* What the server says of itself, and when it was last reached. */
static int put_server(struct pg_body *b)
{
	const struct server_facts *f = &b->facts;
	struct server_row row = { .server = b->server->id,
				  .kind = STR_LITERAL("postgresql"),
				  .seat = NO_ID,
				  .version = { f->version_text, (uint32_t)strlen(f->version_text) },
				  .role = { f->role, (uint32_t)strlen(f->role) },
				  .is_standby = f->is_standby,
				  .first_wall_ns = b->settings.at.ns,
				  .seen_wall_ns = b->settings.at.ns,
				  .ahead_ns = f->ahead_ns };

	return fleet_batch_add(b->batch, &table_server, BLOCK_PUT, &row);
}

static int finish(struct pg_body *b)
{
	if (b->is_finished)
		return 0;
	b->is_finished = true;
	say_capture(b);
	if (put_server(b) != 0)
		return -ENOMEM;
	for (unsigned i = 0; i < READING_COUNT; i++) {
		struct run_row *run = &b->runs[i];

		if (!b->has_run[i])
			continue;
		run->sqlstate = (struct str){ b->states[i], (uint32_t)strlen(b->states[i]) };
		run->reason = (struct str){ b->reasons[i], (uint32_t)strlen(b->reasons[i]) };
		if (fleet_batch_add(b->batch, &table_run, BLOCK_PUT, run) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int body_next(void *self, struct ask *out, struct err *err)
{
	struct pg_body *b = self;
	int code;

	for (; b->step < ARRAY_LEN(steps); b->step++, b->phase = 0) {
		*out = (struct ask){ .reading = steps[b->step]->reading,
				     .most_rows = b->settings.limits.rows + 1 };
		code = b->needs_session ? ask_session(b, out) : steps[b->step]->ask(b, out, err);
		b->reading = out->reading;
		if (code < 0 && err->code == 0)
			return err_set(err, code, "cannot visit server %u: out of memory",
				       b->server->id);
		if (code != 0)
			return code;
	}
	code = finish(b);
	return code == 0
		       ? 0
		       : err_set(err, code, "cannot visit server %u: out of memory", b->server->id);
}

static int body_columns(void *self, const char *const *names, uint32_t count)
{
	struct pg_body *b = self;

	if (b->expected_columns != 0 && count != b->expected_columns)
		b->has_failed = true;
	if (b->has_failed)
		return -EPROTO;
	if (b->is_in_session || steps[b->step]->columns == NULL)
		return 0;
	return steps[b->step]->columns(b, names, count);
}

static int body_row(void *self, const struct cell *cells, uint32_t count)
{
	struct pg_body *b = self;
	int code;

	if (b->expected_columns != 0 && count != b->expected_columns)
		b->has_failed = true;
	if (b->has_failed)
		return -EPROTO;
	if (b->is_in_session || steps[b->step]->row == NULL)
		return 0;
	code = steps[b->step]->row(b, cells, count);
	if (code < 0)
		b->has_failed = true;
	return code;
}

static bool is_line_lost(const struct answer *a)
{
	return !a->is_ok &&
	       ((a->sqlstate[0] == '\0' && !a->is_late) || strncmp(a->sqlstate, "08", 2) == 0 ||
		strncmp(a->sqlstate, "57P", 3) == 0);
}

static void judge(struct pg_body *b, enum reading_id reading, const struct answer *a)
{
	if (a->is_late)
		pg_body_fail(b, reading, RUN_ERROR, a->sqlstate, "no answer within its deadline");
	else if (strcmp(a->sqlstate, "42501") == 0)
		pg_body_fail(b, reading, RUN_PERMISSIONS, a->sqlstate, "the role may not read it");
	else if (strcmp(a->sqlstate, "57014") == 0)
		pg_body_fail(b, reading, RUN_ERROR, a->sqlstate,
			     "cancelled by the server's time limit");
	else
		pg_body_fail(b, reading, RUN_ERROR, a->sqlstate, "the server refused the question");
}

static void keep_account(struct pg_body *b, enum reading_id reading, const struct answer *a)
{
	struct run_row *run;

	if (reading >= READING_COUNT)
		return;
	run = pg_body_run(b, reading);
	run->rows += a->rows;
	run->bytes += a->bytes;
	run->own_ns += a->own_ns;
	run->wall_ns += a->elapsed_ns;
	run->server_ns += a->elapsed_ns > a->trip_ns ? a->elapsed_ns - a->trip_ns : 0;
}

/* The server or its line is gone: the visit ends here, and what it was about is on the accounts. */
static int lose(struct pg_body *b, const struct answer *a, struct err *err)
{
	if (b->reading < READING_COUNT)
		pg_body_fail(b, b->reading, RUN_ERROR, a->sqlstate, "the connection was lost");
	finish(b);
	return err_set(err, -ECONNRESET, "lost the connection to server %u (%s)", b->server->id,
		       a->sqlstate[0] != '\0' ? a->sqlstate : "no answer");
}

static int end_session(struct pg_body *b, const struct answer *a, struct err *err)
{
	b->is_in_session = false;
	b->needs_session = false;
	if (a->is_ok)
		return 0;
	finish(b);
	return err_set(err, -EPROTO, "cannot begin a session on server %u (%s)", b->server->id,
		       a->sqlstate[0] != '\0' ? a->sqlstate : "an answer that cannot be read");
}

static int body_ended(void *self, const struct answer *answer, struct err *err)
{
	struct pg_body *b = self;
	struct answer a = *answer;
	enum reading_id reading = b->reading;
	bool was_entering = b->is_entering;

	keep_account(b, reading, &a);
	b->is_entering = false;
	if (was_entering) {
		b->needs_session = a.is_ok;
		b->is_away = !a.is_ok || !b->is_entering_home;
		return steps[b->step]->ended(b, &a, err);
	}
	if (is_line_lost(&a))
		return lose(b, &a, err);
	if (b->has_failed && a.is_ok) {
		a.is_ok = false;
		if (reading < READING_COUNT)
			pg_body_fail(b, reading, RUN_ERROR, "",
				     "the answer is not what was asked for");
	}
	b->has_failed = false;
	if (b->is_in_session)
		return end_session(b, &a, err);
	if (!a.is_ok && reading < READING_COUNT && reading != READING_PLANS && !b->is_optional)
		judge(b, reading, &a);
	b->is_optional = false;
	return steps[b->step]->ended(b, &a, err);
}

int pg_body_open(struct server *server, const struct visit_settings *settings,
		 bool is_new_connection, struct fleet_batch *batch, struct script *out,
		 struct err *err)
{
	struct pg_body *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return err_set(err, -ENOMEM, "cannot visit server %u: out of memory", server->id);
	b->server = server;
	b->settings = *settings;
	b->batch = batch;
	batch->server = server->id;
	batch->cycle = settings->cycle;
	server->visit++;
	b->facts = server->facts;
	memcpy(b->database_columns, server->database_columns, sizeof(b->database_columns));
	memcpy(b->io_columns, server->io_columns, sizeof(b->io_columns));
	memcpy(b->texts_database, server->texts_database, sizeof(b->texts_database));
	b->texts_again_wall_ns = server->texts_again_wall_ns;
	b->needs_facts = is_new_connection || !server->has_facts;
	b->needs_session = b->needs_facts;
	*out = (struct script){ b, body_next, body_columns, body_row, body_ended };
	return 0;
}

static int commit_names(struct pg_body *b)
{
	for (size_t i = 0; i < b->names.count; i++) {
		const struct named *row = &b->names.rows[i];

		if (names_put(&b->server->names, row->oid, row->is_role,
			      (struct str){ row->name, (uint32_t)strlen(row->name) }) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int commit_payloads(struct pg_body *b)
{
	for (uint32_t i = 0; i < b->payloads.room; i++) {
		struct digest d = { { 0 } };

		if (b->payloads.rows[i].hour == 0)
			continue;
		memcpy(d.bytes, b->payloads.rows[i].halves, sizeof(b->payloads.rows[i].halves));
		if (payloads_put(&b->server->payloads, &d, b->settings.at) != 0)
			return -ENOMEM;
	}
	return 0;
}

static void commit_settings(struct pg_body *b)
{
	struct settings_memory *m = &b->server->settings;

	if (!b->has_settings)
		return;
	settings_memory_free(m);
	*m = (struct settings_memory){ b->settings_read, b->settings_count, b->settings_room,
				       b->loaded_server_ns };
	b->settings_read = NULL;
	b->settings_count = b->settings_room = 0;
}

static void commit_entered(struct pg_body *b)
{
	if (b->entered == NULL)
		return;
	free(b->server->entered);
	b->server->entered = b->entered;
	b->server->entered_count = b->entered_count;
	b->entered = NULL;
	b->entered_count = 0;
}

int pg_body_commit(struct script *body, struct err *err)
{
	struct pg_body *b = body->self;
	struct server *s = b->server;

	for (unsigned i = 0; i < COUNTED_COUNT; i++)
		if (counted_commit(b, i) != 0)
			return err_set(err, -ENOMEM, "cannot remember server %u: out of memory",
				       s->id);
	if (commit_names(b) != 0 || commit_payloads(b) != 0)
		return err_set(err, -ENOMEM, "cannot remember server %u: out of memory", s->id);
	commit_settings(b);
	commit_entered(b);
	s->facts = b->facts;
	s->has_facts = true;
	memcpy(s->database_columns, b->database_columns, sizeof(s->database_columns));
	memcpy(s->io_columns, b->io_columns, sizeof(s->io_columns));
	memcpy(s->texts_database, b->texts_database, sizeof(s->texts_database));
	s->texts_again_wall_ns = b->texts_again_wall_ns;
	return 0;
}

bool pg_body_has_captured(const struct script *body)
{
	const struct pg_body *b = body->self;

	return b->has_captured;
}

void pg_body_close(struct script *body)
{
	struct pg_body *b = body->self;

	if (b == NULL)
		return;
	for (unsigned i = 0; i < COUNTED_COUNT; i++)
		remembered_table_free(&b->fresh[i]);
	text_free(&b->sql);
	for (size_t i = 0; i < ARRAY_LEN(b->params); i++)
		text_free(&b->params[i]);
	for (size_t i = 0; i < b->settings_count; i++)
		free(b->settings_read[i].name);
	free(b->settings_read);
	free(b->emitted);
	free(b->entered);
	names_free(&b->names);
	payloads_free(&b->payloads);
	pg_capture_free(b->capture);
	free(b);
	*body = (struct script){ .self = NULL };
}
