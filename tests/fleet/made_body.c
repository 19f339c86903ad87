/* made_body.c - a body of a question or two, with a row of the run log as a real one has. */
#include "fleet/made_body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char statements_sql[] =
	"SELECT /* tare */ userid, dbid, toplevel, queryid, plans, total_plan_time, calls, "
	"total_exec_time, max_exec_time, rows, shared_blks_hit, shared_blks_read, "
	"shared_blks_dirtied, shared_blks_written, local_blks_hit, local_blks_read, "
	"local_blks_dirtied, local_blks_written, temp_blks_read, temp_blks_written, "
	"blk_read_time, blk_write_time, temp_blk_read_time, temp_blk_write_time, wal_records, "
	"wal_fpi, wal_bytes, jit_generation_time FROM pg_stat_statements(false)";
static const char look_sql[] =
	"SELECT /* tare */ pid, state, wait_event_type, wait_event FROM pg_stat_activity";

struct made_body {
	struct made_server *server;
	struct visit_settings settings;
	struct fleet_batch *batch;
	struct run_row run;
	uint32_t at, failed;
	uint64_t sum;
	bool has_captured;
};

static int next(void *self, struct ask *out, struct err *err)
{
	struct made_body *b = self;

	(void)err;
	*out = (struct ask){ .kind = ASK_QUERY, .reading = READING_STATEMENTS };
	if (b->at == 0)
		out->sql = b->server->body_sql != NULL ? b->server->body_sql : statements_sql;
	else if (b->at == 1 && CADENCE_CAPTURES(b->settings.capture) &&
		 b->server->capture_sql != NULL)
		out->sql = b->server->capture_sql;
	else
		return 0;
	return 1;
}

static int row(void *self, const struct cell *cells, uint32_t count)
{
	struct made_body *b = self;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = 0;

		for (uint32_t at = 0;
		     at < cells[i].len && cells[i].bytes[at] >= '0' && cells[i].bytes[at] <= '9';
		     at++)
			value = value * 10 + (uint64_t)(cells[i].bytes[at] - '0');
		b->sum += value;
	}
	return 0;
}

static int ended(void *self, const struct answer *answer, struct err *err)
{
	struct made_body *b = self;

	b->run.rows += answer->rows;
	b->run.bytes += answer->bytes;
	b->run.own_ns += answer->own_ns;
	b->run.server_ns +=
		answer->elapsed_ns > answer->trip_ns ? answer->elapsed_ns - answer->trip_ns : 0;
	if (!answer->is_ok && b->at == 0)
		return err_set(err, answer->sqlstate[0] == '4' ? -EACCES : -EIO, "%s",
			       answer->message);
	b->has_captured = answer->is_ok && CADENCE_CAPTURES(b->settings.capture);
	b->at++;
	return 0;
}

static int body_open(struct server *server, const struct visit_settings *settings,
		     bool is_new_connection, struct fleet_batch *batch, struct script *out,
		     struct err *err)
{
	struct made_body *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	b->server = made_of(server);
	b->server->opened++;
	b->server->new_connections += is_new_connection;
	b->settings = *settings;
	b->batch = batch;
	b->run = (struct run_row){ .server = b->server->id,
				   .reading = READING_STATEMENTS,
				   .cycle = settings->cycle,
				   .at_wall_ns = settings->at.ns };
	*out = (struct script){ .self = b, .next = next, .row = row, .ended = ended };
	return 0;
}

static int body_commit(struct script *body, struct err *err)
{
	struct made_body *b = body->self;

	b->server->commits++;
	b->server->captures += b->has_captured;
	b->server->sum += b->sum;
	if (fleet_batch_add(b->batch, &table_run, BLOCK_PUT, &b->run) != 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static bool body_has_captured(const struct script *body)
{
	return ((const struct made_body *)body->self)->has_captured;
}

static void body_close(struct script *body)
{
	free(body->self);
	body->self = NULL;
}

struct made_sampler {
	struct made_server *server;
	bool is_done;
};

static int look_next(void *self, struct ask *out, struct err *err)
{
	(void)err;
	if (((struct made_sampler *)self)->is_done)
		return 0;
	*out = (struct ask){ .kind = ASK_QUERY, .sql = look_sql, .reading = READING_ACTIVITY };
	return 1;
}

static int look_ended(void *self, const struct answer *answer, struct err *err)
{
	struct made_sampler *s = self;

	(void)err;
	s->is_done = true;
	s->server->looks += answer->is_ok;
	return 0;
}

static int sampler_open(struct server *server, const struct visit_settings *settings,
			struct script *out, struct err *err)
{
	struct made_sampler *s = calloc(1, sizeof(*s));

	(void)settings;
	if (s == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	s->server = made_of(server);
	*out = (struct script){ .self = s, .next = look_next, .ended = look_ended };
	return 0;
}

static void sampler_again(struct script *sampler)
{
	((struct made_sampler *)sampler->self)->is_done = false;
}

static int sampler_end(struct script *sampler, struct fleet_batch *batch, struct err *err)
{
	(void)sampler;
	(void)batch;
	(void)err;
	return 0;
}

static void made_server_close(struct server *server)
{
	free(server);
}

static uint64_t made_bytes(const struct server *server)
{
	(void)server;
	return sizeof(struct made_server);
}

struct server *made_server(uint32_t id)
{
	struct made_server *m = calloc(1, sizeof(*m));

	if (m != NULL)
		m->id = id;
	return (struct server *)m;
}

struct made_server *made_of(struct server *server)
{
	return (struct made_server *)server;
}

const struct visit_ops made_ops = {
	.body_open = body_open,
	.body_commit = body_commit,
	.body_has_captured = body_has_captured,
	.body_close = body_close,
	.sampler_open = sampler_open,
	.sampler_again = sampler_again,
	.sampler_end = sampler_end,
	.sampler_close = body_close,
	.server_close = made_server_close,
	.server_bytes = made_bytes,
};
