/* drive.c - carries a script over a plain libpq connection, blocking: what the runner does for real, in the simplest way. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/units.h"
#include "fleet/stage.h"

#define COLUMNS_MOST 200

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* One question on its way. */
struct carried {
	struct drive *drive;
	struct script *script;
	const struct ask *ask;
	struct answer *answer;
	uint64_t until_ns;
	bool has_columns, is_enough;
};

static bool send_one(PGconn *conn, const struct ask *ask)
{
	switch (ask->kind) {
	case ASK_QUERY:
		return PQsendQueryParams(conn, ask->sql, (int)ask->param_count, NULL, ask->params,
					 NULL, NULL, 0) == 1;
	case ASK_PREPARE:
		return PQsendPrepare(conn, ask->name, ask->sql, 0, NULL) == 1;
	case ASK_SIMPLE:
		return PQsendQuery(conn, ask->sql) == 1;
	default:
		return false;
	}
}

static bool send(PGconn *conn, const struct ask *ask)
{
	bool is_sent = true;

	if (ask->kind != ASK_CHAIN)
		return send_one(conn, ask);
	is_sent = PQenterPipelineMode(conn) == 1;
	for (uint32_t i = 0; i < ask->link_count; i++)
		is_sent = is_sent && send_one(conn, &ask->links[i]);
	return is_sent && PQpipelineSync(conn) == 1;
}

/* Waits until a result can be had without blocking; a question that is late is cancelled, once. */
static bool wait_for_result(struct carried *c)
{
	PGconn *conn = c->drive->conn;
	char said[256];

	while (PQisBusy(conn)) {
		struct pollfd line = { PQsocket(conn), POLLIN, 0 };
		uint64_t now = now_ns();
		uint64_t until_ns = c->until_ns + (c->answer->is_late ? 10 * NS_PER_S : 0);

		if (now >= until_ns) {
			PGcancel *cancel = c->answer->is_late ? NULL : PQgetCancel(conn);

			if (cancel == NULL)
				return false;
			PQcancel(cancel, said, sizeof(said));
			PQfreeCancel(cancel);
			c->answer->is_late = true;
			continue;
		}
		if (poll(&line, 1, (int)((until_ns - now) / NS_PER_MS) + 1) > 0 &&
		    !PQconsumeInput(conn))
			return false;
	}
	return true;
}

static void give_columns(struct carried *c, const PGresult *result)
{
	const char *names[COLUMNS_MOST];
	int count = PQnfields(result);

	if (c->has_columns || count > COLUMNS_MOST)
		return;
	c->has_columns = true;
	for (int i = 0; i < count; i++)
		names[i] = PQfname(result, i);
	if (c->script->columns != NULL &&
	    c->script->columns(c->script->self, names, (uint32_t)count) != 0)
		c->is_enough = true;
}

static void give_row(struct carried *c, const PGresult *result, int row)
{
	struct cell cells[COLUMNS_MOST];
	int count = PQnfields(result);

	c->answer->rows++;
	for (int i = 0; i < count && i < COLUMNS_MOST; i++) {
		cells[i] = (struct cell){ NULL, 0 };
		if (PQgetisnull(result, row, i))
			continue;
		cells[i].bytes = PQgetvalue(result, row, i);
		cells[i].len = (uint32_t)PQgetlength(result, row, i);
		c->answer->bytes += cells[i].len;
	}
	if (!c->is_enough && c->script->row != NULL &&
	    c->script->row(c->script->self, cells, (uint32_t)count) != 0)
		c->is_enough = true;
}

static void take_failure(struct carried *c, const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	c->answer->is_ok = false;
	snprintf(c->answer->sqlstate, sizeof(c->answer->sqlstate), "%s", state ? state : "");
	snprintf(c->answer->message, sizeof(c->answer->message), "%s",
		 message ? message : "cut line");
}

static void take_results(struct carried *c)
{
	PGconn *conn = c->drive->conn;
	PGresult *result;

	for (;;) {
		if (!wait_for_result(c)) {
			c->answer->is_ok = false;
			return;
		}
		result = PQgetResult(conn);
		if (result == NULL && c->ask->kind != ASK_CHAIN)
			return;
		if (result == NULL) {
			c->answer->links_done += c->answer->is_ok;
			c->has_columns = false;
			continue;
		}
		switch (PQresultStatus(result)) {
		case PGRES_SINGLE_TUPLE:
		case PGRES_TUPLES_OK:
			give_columns(c, result);
			for (int row = 0; row < PQntuples(result); row++)
				give_row(c, result, row);
			break;
		case PGRES_COMMAND_OK:
		case PGRES_EMPTY_QUERY:
		case PGRES_PIPELINE_ABORTED:
			break;
		case PGRES_PIPELINE_SYNC:
			PQclear(result);
			PQexitPipelineMode(conn);
			return;
		default:
			take_failure(c, result);
			if (PQstatus(conn) != CONNECTION_OK) {
				PQclear(result);
				return;
			}
		}
		PQclear(result);
	}
}

static void enter(struct drive *d, const struct ask *ask, struct answer *answer)
{
	const char *database = ask->name[0] != '\0' ? ask->name : d->database;

	drive_close(d);
	d->conn = stage_connect_tare(d->stage, d->user, database);
	answer->is_ok = d->conn != NULL;
	if (!answer->is_ok)
		snprintf(answer->message, sizeof(answer->message), "cannot enter");
}

static int carry(struct drive *d, struct script *script, const struct ask *ask, struct err *err)
{
	struct answer answer = { .is_ok = true };
	uint64_t from_ns = now_ns();
	uint64_t deadline_ns = ask->deadline_ns != 0 ? ask->deadline_ns : d->deadline_ns;
	struct carried c = { d, script, ask, &answer, 0, false, false };

	c.until_ns = from_ns + (deadline_ns != 0 ? deadline_ns : 30 * NS_PER_S);
	d->asked++;
	if (d->on_ask != NULL)
		d->on_ask(d->owner, ask);
	if (ask->kind == ASK_DATABASE) {
		enter(d, ask, &answer);
	} else if (d->conn == NULL || !send(d->conn, ask)) {
		answer.is_ok = false;
		snprintf(answer.message, sizeof(answer.message), "cut line");
	} else {
		PQsetSingleRowMode(d->conn);
		take_results(&c);
	}
	answer.elapsed_ns = now_ns() - from_ns;
	d->rows += answer.rows;
	d->bytes += answer.bytes;
	return script->ended(script->self, &answer, err);
}

int drive_script(struct drive *d, struct script *script, struct err *err)
{
	struct ask ask = { 0 };
	int code;

	if (d->conn == NULL)
		d->conn = stage_connect_tare(d->stage, d->user, d->database);
	if (d->conn == NULL)
		return err_set(err, -EHOSTUNREACH, "cannot connect to the stage");
	for (;;) {
		memset(&ask, 0, sizeof(ask));
		code = script->next(script->self, &ask, err);
		if (code <= 0)
			return code;
		code = carry(d, script, &ask, err);
		if (code < 0)
			return code;
	}
}

void drive_close(struct drive *d)
{
	if (d->conn != NULL)
		PQfinish(d->conn);
	d->conn = NULL;
}
