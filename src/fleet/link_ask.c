/* link_ask.c - one question over an open connection: sent, its rows handed on, its end found, all without waiting and within bounds. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "core/lane.h"
#include "core/scoped.h"
#include "fleet/link_own.h"
#include "fleet/link_read.h"

#define COLUMNS_MOST 512
#define TURN_MOST_NS (4 * NS_PER_MS) /* of rows handed on in one turn */
#define PARSE_MOST_NS \
	(3 *          \
	 NS_PER_MS) /* of our CPU for what one turn read, and so much a byte of a row: more is an attack */
#define PARSE_BYTE_NS	2
#define READ_MOST_BYTES (64 * 1024) /* in one turn */
#define IDLE_WAKES_MOST 8
#define GROWN_BYTES	(1 << 20)

static void swallow(void *owner, const PGresult *result)
{
	struct link *k = owner;

	(void)result;
	k->notices++;
	k->hall->notices++;
}

/* The connection is gone or not to be trusted: the question ends here. What the server said of it last is kept. */
static void lose(struct link *k, const char *why)
{
	k->answer.is_ok = false;
	if (k->answer.sqlstate[0] == '\0')
		snprintf(k->answer.message, sizeof(k->answer.message), "%s", why);
	k->was_lost = true;
	link_shut(k);
	link_has_ended(k);
}

void link_refuse(struct link *k, const char *why)
{
	k->hall->refused++;
	k->answer.sqlstate[0] = '\0';
	lose(k, why);
}

static int send_one(PGconn *conn, const struct ask *ask)
{
	switch (ask->kind) {
	case ASK_QUERY:
		return PQsendQueryParams(conn, ask->sql, (int)ask->param_count, NULL, ask->params,
					 NULL, NULL, 0);
	case ASK_PREPARE:
		return PQsendPrepare(conn, ask->name, ask->sql, 0, NULL);
	case ASK_SIMPLE:
		return PQsendQuery(conn, ask->sql);
	default:
		return 0;
	}
}

/* One Sync behind all of them: the server passes over what follows a failure. */
static int send_chain(PGconn *conn, const struct ask *chain)
{
	if (PQenterPipelineMode(conn) != 1)
		return 0;
	for (uint32_t i = 0; i < chain->link_count; i++)
		if (send_one(conn, &chain->links[i]) != 1)
			return 0;
	return PQpipelineSync(conn);
}

/* To prepare has no rows, and no mode of them; nor has what is passed over behind a failure. */
static bool set_row_mode(const struct link *k)
{
	const struct ask *ask = &k->ask;

	if (ask->kind == ASK_CHAIN && k->answer.links_done < ask->link_count)
		ask = &ask->links[k->answer.links_done];
	return ask->kind == ASK_PREPARE || ask->kind == ASK_CHAIN || !k->answer.is_ok ||
	       PQsetSingleRowMode(k->conn) == 1;
}

static int send_question(const struct link *k)
{
	if (k->ask.kind == ASK_CHAIN)
		return send_chain(k->conn, &k->ask);
	return send_one(k->conn, &k->ask);
}

/* What could not be sent yet goes when the socket takes it. */
static int flush(struct link *k)
{
	int left = PQflush(k->conn);

	if (left < 0)
		return -EPIPE;
	return loop_watch(k->hall->loop, &k->watch, PQsocket(k->conn),
			  left > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

int link_send(struct link *k)
{
	uint64_t deadline_ns = k->ask.deadline_ns > 0 ? k->ask.deadline_ns : k->limits.query_ns;

	k->sent_ns = loop_now().ns;
	k->unrowed_bytes = 0;
	k->notices = k->links_ended = 0;
	k->has_columns = k->is_enough = k->is_suspect = false;
	PQsetNoticeReceiver(k->conn, swallow, k);
	if (send_question(k) != 1 || !set_row_mode(k) || flush(k) != 0) {
		link_read_error(PQerrorMessage(k->conn), &k->answer);
		k->was_lost = true;
		link_shut(k);
		return -EPIPE;
	}
	k->state = LINK_ASKING;
	loop_set(k->hall->loop, &k->deadline, k->sent_ns + deadline_ns);
	return 0;
}

/* Not 0: the connection was closed for it. */
static int tell_columns(struct link *k, const PGresult *result)
{
	const char *names[COLUMNS_MOST];
	int count = PQnfields(result);

	if (count > COLUMNS_MOST) {
		link_refuse(k, "an answer has more than 512 columns");
		return -E2BIG;
	}
	k->has_columns = true;
	for (int i = 0; i < count; i++)
		names[i] = PQfname(result, i);
	if (k->script->columns != NULL && !k->is_enough &&
	    k->script->columns(k->script->self, names, (uint32_t)count) != 0)
		k->is_enough = true;
	return 0;
}

static void hand_on(struct link *k, const PGresult *result)
{
	struct cell cells[COLUMNS_MOST];
	int count = PQnfields(result);
	uint64_t bytes = 7;

	for (int i = 0; i < count; i++) {
		cells[i].bytes = PQgetisnull(result, 0, i) ? NULL : PQgetvalue(result, 0, i);
		cells[i].len = (uint32_t)PQgetlength(result, 0, i);
		bytes += 4 + cells[i].len;
	}
	k->answer.rows++;
	k->answer.bytes += bytes;
	k->has_grown = k->has_grown || bytes > GROWN_BYTES;
	if (k->script->row != NULL && !k->is_enough && k->state == LINK_ASKING &&
	    k->script->row(k->script->self, cells, (uint32_t)count) != 0)
		k->is_enough = true;
}

static void take_failure(struct link *k, const PGresult *result)
{
	const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	k->answer.is_ok = false;
	if (sqlstate == NULL || message == NULL) {
		link_read_error(PQresultErrorMessage(result), &k->answer);
		return;
	}
	snprintf(k->answer.sqlstate, sizeof(k->answer.sqlstate), "%s", sqlstate);
	snprintf(k->answer.message, sizeof(k->answer.message), "%s", message);
}

/* One result. Not 0: the connection was closed for it, k is to be left alone. */
static int take(struct link *k, const PGresult *result)
{
	char why[sizeof(k->answer.message)];
	uint64_t most = k->ask.most_rows > 0 ? k->ask.most_rows : k->limits.rows;

	switch (PQresultStatus(result)) {
	case PGRES_SINGLE_TUPLE:
	case PGRES_TUPLES_OK:
		if (!k->has_columns && tell_columns(k, result) != 0)
			return -E2BIG;
		if (PQntuples(result) == 0)
			return 0;
		hand_on(k, result);
		k->unrowed_bytes = 0;
		if (k->answer.rows <= most && k->answer.bytes <= k->limits.answer_bytes)
			return 0;
		link_refuse(k, k->answer.rows > most ? "an answer has more rows than allowed"
						     : "an answer is larger than allowed");
		return -E2BIG;
	case PGRES_COMMAND_OK:
	case PGRES_EMPTY_QUERY:
	case PGRES_PIPELINE_ABORTED:
		return 0;
	case PGRES_FATAL_ERROR:
		take_failure(k, result);
		/* 08 and 57P: it is gone, or will be. What libpq says by itself has no SQLSTATE: not the protocol. */
		if (lane_judge(k->answer.sqlstate) != LANE_RECONNECT &&
		    PQstatus(k->conn) == CONNECTION_OK)
			return 0;
		snprintf(why, sizeof(why), "%s", k->answer.message);
		lose(k, why);
		return -EPIPE;
	default: /* COPY and the like: never asked for */
		link_refuse(k, "an answer is not what was asked for");
		return -EPROTO;
	}
}

/* What came besides answers. Not 0: the connection was closed for it. */
static int take_others(struct link *k)
{
	PGnotify *notify;

	while ((notify = PQnotifies(k->conn)) != NULL) {
		PQfreemem(notify);
		k->notices++;
		k->hall->notices++;
	}
	if (k->notices > k->limits.notices) {
		link_refuse(k, "there are more notices than allowed");
		return -E2BIG;
	}
	if (k->unrowed_bytes > k->limits.row_bytes) {
		link_refuse(k, "a row is larger than allowed");
		return -E2BIG;
	}
	return 0;
}

static void is_answered(struct link *k)
{
	loop_put_off(k->hall->loop, &k->deadline);
	k->state = LINK_IDLE;
	k->idle_wakes = 0;
	link_has_ended(k);
}

/* By our CPU time. That clock is dear to read: only a turn after one that took long by the other clock is measured by it. */
static bool took_too_long(struct link *k, uint64_t began_ns, uint64_t most_ns)
{
	if (loop_now().ns - began_ns <= most_ns)
		return false;
	if (k->is_suspect)
		return loop_cpu_ns() - k->turn_cpu_ns > most_ns;
	k->is_suspect = true;
	return false;
}

/* A question of a chain has ended, as NULL says. Not 0: the connection was closed for it. */
static int end_link(struct link *k)
{
	k->has_columns = false;
	k->answer.links_done += k->answer.is_ok;
	if (++k->links_ended <= k->ask.link_count && set_row_mode(k))
		return 0;
	link_refuse(k, "an answer is not what was asked for");
	return -EPROTO;
}

/* The chain's end. It may come before all was answered when the server has made it up: libpq then does not leave its mode. */
static void end_chain(struct link *k)
{
	if (PQexitPipelineMode(k->conn) == 1)
		is_answered(k);
	else
		link_refuse(k, "an answer is not what was asked for");
}

/* Hands on what has been read; what would take this turn over its time is left to the next one. */
static void take_results(struct link *k)
{
	uint64_t began_ns = loop_now().ns, results = 0;
	uint64_t most_ns = PARSE_MOST_NS + k->unrowed_bytes * PARSE_BYTE_NS;

	while (!PQisBusy(k->conn)) {
		PGresult *result;
		int code;

		/* Before the first row only: libpq was at work on its own until here. */
		if (results == 0 && took_too_long(k, began_ns, most_ns)) {
			link_refuse(k, "reading its answer takes too long");
			return;
		}
		if (take_others(k) != 0)
			return;
		result = PQgetResult(k->conn);
		if (result == NULL && k->ask.kind != ASK_CHAIN) {
			is_answered(k);
			return;
		}
		if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
			PQclear(result);
			end_chain(k);
			return;
		}
		code = result != NULL ? take(k, result) : end_link(k);
		PQclear(result);
		if (code != 0)
			return;
		if (++results % 64 == 0 && loop_now().ns - began_ns > TURN_MOST_NS) {
			loop_unwatch(k->hall->loop, &k->watch); /* no more is read before */
			loop_set(k->hall->loop, &k->again, loop_now().ns);
			return;
		}
	}
	if (results == 0 && took_too_long(k, began_ns, most_ns))
		link_refuse(k, "reading its answer takes too long");
	else
		take_others(k);
}

/* Nobody asked anything: the server has closed the connection, or chatters. */
static void is_idle_ready(struct link *k)
{
	bool is_open;

	link_read_begin(READ_MOST_BYTES, NULL);
	is_open = PQconsumeInput(k->conn) == 1;
	link_read_end();
	if (!is_open || PQstatus(k->conn) != CONNECTION_OK || ++k->idle_wakes > IDLE_WAKES_MOST)
		link_shut(k);
}

void link_ready(void *owner, uint32_t events)
{
	struct link *k = owner;
	bool is_open;

	if (k->state == LINK_CONNECTING) {
		link_next_step(k);
		return;
	}
	if (k->state == LINK_IDLE) {
		is_idle_ready(k);
		return;
	}
	if ((events == 0 || (events & EPOLLOUT) != 0) && flush(k) != 0) {
		lose(k, "the connection was closed");
		return;
	}
	if ((events & ~(uint32_t)EPOLLOUT) != 0) {
		link_read_begin(READ_MOST_BYTES, NULL);
		is_open = PQconsumeInput(k->conn) == 1;
		k->unrowed_bytes += link_read_end();
		if (!is_open) {
			/* What came before the end may say why. */
			struct answer why = { .is_ok = false };

			link_read_error(PQerrorMessage(k->conn), &why);
			if (k->answer.sqlstate[0] == '\0')
				memcpy(k->answer.sqlstate, why.sqlstate, sizeof(why.sqlstate));
			snprintf(k->answer.message, sizeof(k->answer.message), "%s", why.message);
			lose(k, why.message);
			return;
		}
	}
	if (k->is_suspect)
		k->turn_cpu_ns = loop_cpu_ns();
	take_results(k);
	link_charge(k); /* the question that is under way now */
}

struct cancelling {
	struct job job; /* first: the same address */
	PGcancel *cancel;
	struct link_hall *hall;
};

static void cancel(struct job *job)
{
	char why[256];

	PQcancel(((struct cancelling *)job)->cancel, why, sizeof(why));
}

static void is_cancelled(struct job *job)
{
	struct cancelling *c = (struct cancelling *)job;

	c->hall->cancels--;
	PQfreeCancel(c->cancel);
	free(c);
}

/* PQcancel() connects and waits: in a thread, and only so many at once. Where it is not sent, statement_timeout ends the question. */
static void send_cancel(struct link *k)
{
	struct cancelling *c;

	if (k->hall->cancels >= LINK_CANCELS_MOST)
		return;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return;
	c->job = (struct job){ .work = cancel, .done = is_cancelled };
	c->hall = k->hall;
	c->cancel = PQgetCancel(k->conn);
	if (c->cancel == NULL || workers_do(k->hall->steps, &c->job) != 0) {
		PQfreeCancel(c->cancel);
		free(c);
		return;
	}
	k->hall->cancels++;
}

void link_is_late(struct link *k)
{
	if (k->state == LINK_CANCELLED) {
		k->answer.is_late = true;
		lose(k, "no answer in time, and none to its cancelling");
		return;
	}
	k->state = LINK_CANCELLED;
	k->answer.is_late = true;
	send_cancel(k);
	loop_set(k->hall->loop, &k->deadline, loop_now().ns + k->limits.drain_ns);
}
