/* pg_sampler.c - looks at activity and at who waits for whose lock, beside the body of a visit and on a connection of its own: so that
 * a stall of the body can be explained. Rows are gathered over the looks of a visit. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "fleet/pg_look.h"

#define LOOK_ROWS_MOST 2000u /* of one look */
#define KEPT_MOST      4000u /* of one visit */

enum look_phase { SESSION, ACTIVITY, BLOCKING, OVER };

static int ask(struct pg_sampler *s, struct ask *out, enum reading_id reading, uint32_t columns)
{
	out->kind = ASK_QUERY;
	out->sql = text_chars(&s->sql);
	out->reading = reading;
	out->most_rows = LOOK_ROWS_MOST + 1;
	s->expected_columns = columns;
	return s->sql.has_failed ? -ENOMEM : 1;
}

static int ask_session(struct pg_sampler *s, struct ask *out)
{
	text_clear(&s->sql);
	text_put(&s->sql,
		 "SELECT " PG_MARK " pg_catalog.set_config('search_path', 'pg_catalog', false),"
		 " pg_catalog.set_config('default_transaction_read_only', 'on', false),"
		 " pg_catalog.set_config('client_encoding', 'SQL_ASCII', false),"
		 " pg_catalog.set_config('application_name', '" PG_APPLICATION "', false),"
		 " EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE"
		 " attrelid OPERATOR(pg_catalog.=) "
		 "'pg_catalog.pg_stat_activity'::pg_catalog.regclass"
		 " AND attname OPERATOR(pg_catalog.=) 'query_id'),"
		 " EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE"
		 " attrelid OPERATOR(pg_catalog.=) 'pg_catalog.pg_locks'::pg_catalog.regclass"
		 " AND attname OPERATOR(pg_catalog.=) 'waitstart')");
	return ask(s, out, READING_ACTIVITY, 6);
}

/* Backends that do something, or wait for something that is not their own next command; counted by the server. */
static int ask_activity(struct pg_sampler *s, struct ask *out)
{
	text_clear(&s->sql);
	text_printf(
		&s->sql,
		"SELECT " PG_MARK " coalesce(datid, 0), %s, backend_type, state, wait_event_type,"
		" wait_event, count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
		" AND NOT (application_name = '" PG_APPLICATION "' AND usename = current_user)"
		" AND state IS DISTINCT FROM 'idle' AND wait_event_type IS DISTINCT FROM 'Activity'"
		" GROUP BY 1, 2, 3, 4, 5, 6 LIMIT %u",
		s->has_query_id ? "coalesce(query_id, 0)" : "0", LOOK_ROWS_MOST);
	return ask(s, out, READING_ACTIVITY, 7);
}

static int ask_blocking(struct pg_sampler *s, struct ask *out)
{
	text_clear(&s->sql);
	text_printf(
		&s->sql,
		"SELECT " PG_MARK " a.pid, b.pid, %s, %s, l.locktype, l.mode,"
		" (SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n"
		" ON n.oid = c.relnamespace WHERE c.oid = l.relation AND l.database IN (0,"
		" (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))),"
		" o.state, %s FROM pg_stat_activity a"
		" CROSS JOIN LATERAL unnest(pg_blocking_pids(a.pid)) b(pid)"
		" LEFT JOIN pg_stat_activity o ON o.pid = b.pid"
		" LEFT JOIN (SELECT DISTINCT ON (pid) * FROM pg_locks WHERE NOT granted) l ON "
		"l.pid = a.pid"
		" WHERE a.wait_event_type = 'Lock' LIMIT %u",
		s->has_query_id ? "coalesce(a.query_id, 0)" : "0",
		s->has_query_id ? "coalesce(o.query_id, 0)" : "0",
		s->has_wait_start
			? "(extract(epoch FROM clock_timestamp() - l.waitstart) * 1000000)::int8"
			: "NULL::int8",
		LOOK_ROWS_MOST);
	return ask(s, out, READING_BLOCKING, 9);
}

static int sampler_next(void *self, struct ask *out, struct err *err)
{
	struct pg_sampler *s = self;
	int code = 0;

	*out = (struct ask){ .kind = ASK_QUERY };
	if (s->phase == SESSION)
		code = ask_session(s, out);
	if (s->phase == ACTIVITY && (s->settings.readings & 1U << READING_ACTIVITY) == 0)
		s->phase = BLOCKING;
	if (s->phase == ACTIVITY)
		code = ask_activity(s, out);
	if (s->phase == BLOCKING && (s->settings.readings & 1U << READING_BLOCKING) == 0)
		s->phase = OVER;
	if (s->phase == BLOCKING)
		code = ask_blocking(s, out);
	return code < 0 ? err_set(err, code, "cannot look at server %u: out of memory", s->id)
			: code;
}

static int sampler_columns(void *self, const char *const *names, uint32_t count)
{
	struct pg_sampler *s = self;

	(void)names;
	s->has_failed = count != s->expected_columns;
	return s->has_failed ? -EPROTO : 0;
}

static int take_session(struct pg_sampler *s, const struct cell *cells)
{
	s->has_query_id = cell_bool(cells[4]);
	s->has_wait_start = cell_bool(cells[5]);
	return 0;
}

static int sampler_row(void *self, const struct cell *cells, uint32_t count)
{
	struct pg_sampler *s = self;
	int code;

	if (count != s->expected_columns || s->has_failed) {
		s->has_failed = true;
		return -EPROTO;
	}
	switch (s->phase) {
	case SESSION:
		return take_session(s, cells);
	case ACTIVITY:
		code = s->wait_count < KEPT_MOST ? look_take_wait(s, cells) : 0;
		break;
	default:
		code = s->block_count < KEPT_MOST ? look_take_block(s, cells) : 0;
	}
	s->has_failed = s->has_failed || code < 0;
	return code;
}

static void keep_account(struct pg_sampler *s, const struct answer *a)
{
	unsigned which = s->phase == BLOCKING;
	struct run_row *run = &s->runs[which];

	s->has_run[which] = true;
	run->rows += a->rows;
	run->bytes += a->bytes;
	run->own_ns += a->own_ns;
	run->wall_ns += a->elapsed_ns;
	run->server_ns += a->elapsed_ns > a->trip_ns ? a->elapsed_ns - a->trip_ns : 0;
	if ((a->is_ok && !s->has_failed) || run->outcome != RUN_SUCCESS)
		return;
	run->outcome = strcmp(a->sqlstate, "42501") == 0 ? RUN_PERMISSIONS : RUN_ERROR;
	snprintf(s->states[which], sizeof(s->states[which]), "%s", a->sqlstate);
	run->reason = a->is_late ? STR_LITERAL("no answer within its deadline")
				 : STR_LITERAL("the look failed");
}

static int sampler_ended(void *self, const struct answer *answer, struct err *err)
{
	struct pg_sampler *s = self;
	bool is_ok = answer->is_ok && !s->has_failed;

	keep_account(s, answer);
	s->has_failed = false;
	if (!is_ok &&
	    (s->phase == SESSION || answer->sqlstate[0] == '\0' ||
	     strncmp(answer->sqlstate, "57P", 3) == 0 || strncmp(answer->sqlstate, "08", 2) == 0))
		return err_set(err, -ECONNRESET, "cannot look at server %u (%s)", s->id,
			       answer->sqlstate[0] != '\0' ? answer->sqlstate : "no answer");
	if (s->phase == ACTIVITY)
		s->looks += is_ok;
	if (s->phase == BLOCKING && is_ok)
		look_end_blocking(s);
	s->phase++;
	return 0;
}

int pg_sampler_open(struct server *server, const struct visit_settings *settings,
		    struct script *out, struct err *err)
{
	struct pg_sampler *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return err_set(err, -ENOMEM, "cannot look at server %u: out of memory", server->id);
	s->id = server->id;
	s->sees_all = !server->has_facts || server->facts.sees_all;
	s->settings = *settings;
	s->phase = SESSION;
	for (unsigned i = 0; i < ARRAY_LEN(s->runs); i++)
		s->runs[i] =
			(struct run_row){ .server = server->id,
					  .reading = i == 0 ? READING_ACTIVITY : READING_BLOCKING,
					  .at_wall_ns = settings->at.ns,
					  .cycle = settings->cycle };
	*out = (struct script){ s, sampler_next, sampler_columns, sampler_row, sampler_ended };
	return 0;
}

void pg_sampler_again(struct script *sampler)
{
	struct pg_sampler *s = sampler->self;

	s->phase = SESSION;
	s->look++;
	s->look_from = s->block_count;
}

int pg_sampler_end(struct script *sampler, struct fleet_batch *batch, struct err *err)
{
	struct pg_sampler *s = sampler->self;
	int code = look_put_rows(s, batch);

	for (unsigned i = 0; i < ARRAY_LEN(s->runs) && code == 0; i++) {
		struct run_row *run = &s->runs[i];

		if (!s->has_run[i] || (s->settings.readings & 1U << run->reading) == 0)
			continue;
		run->sqlstate = (struct str){ s->states[i], (uint32_t)strlen(s->states[i]) };
		if (run->outcome == RUN_SUCCESS && run->reason.len == 0 && !s->sees_all)
			run->reason =
				STR_LITERAL("what others do is hidden: grant pg_read_all_stats");
		code = fleet_batch_add(batch, &table_run, BLOCK_PUT, run);
	}
	return code == 0 ? 0
			 : err_set(err, code, "cannot keep the looks at server %u: out of memory",
				   s->id);
}

void pg_sampler_close(struct script *sampler)
{
	struct pg_sampler *s = sampler->self;

	if (s == NULL)
		return;
	look_free(s);
	text_free(&s->sql);
	free(s);
	*sampler = (struct script){ .self = NULL };
}
