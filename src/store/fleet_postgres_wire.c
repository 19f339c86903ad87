/* fleet_postgres_wire.c - connecting, asking and sending under a deadline. */
#include "store/fleet_postgres_wire.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/scoped.h"
#include "store/fleet_postgres_fail.h"
#include "store/fleet_postgres_url.h"

struct mono pg_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (struct mono){ (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec };
}

void pg_deadline(struct pg_wire *w, uint64_t ms)
{
	w->until.ns = pg_now().ns + ms * NS_PER_MS;
}

void pg_result_free(PGresult **res)
{
	PQclear(*res);
	*res = NULL;
}

void pg_arg_bytes(struct pg_args *a, Oid type, const void *bytes, size_t len)
{
	a->types[a->count] = type;
	a->values[a->count] = bytes;
	a->lengths[a->count++] = (int)len;
}

void pg_arg_i64(struct pg_args *a, int64_t value)
{
	uint64_t *at = &a->numbers[a->count];

	*at = htobe64((uint64_t)value);
	pg_arg_bytes(a, PG_INT8, at, sizeof(*at));
}

int64_t pg_value_i64(const PGresult *res, int row, int column)
{
	const unsigned char *bytes = (const unsigned char *)PQgetvalue(res, row, column);
	int len = PQgetlength(res, row, column);
	uint64_t value = len > 0 && len < 8 && (bytes[0] & 0x80) != 0 ? UINT64_MAX : 0;

	if (PQgetisnull(res, row, column) || len > 8)
		return 0;
	for (int i = 0; i < len; i++)
		value = value << 8 | bytes[i];
	return (int64_t)value;
}

/* Waits for the socket until the deadline. 0, or -ETIMEDOUT. */
static int await(struct pg_wire *w, short events)
{
	struct pollfd fd = { .fd = PQsocket(w->conn), .events = events };

	if (fd.fd < 0)
		return -EHOSTUNREACH;
	for (;;) {
		uint64_t left_ns = mono_elapsed_ns(pg_now(), w->until);
		int n = poll(&fd, 1, (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS));

		if (n > 0)
			return 0;
		if (n == 0 && left_ns == 0)
			return -ETIMEDOUT;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

/* Sends what waits to be sent, and takes in what comes meanwhile: the server may wait for that. */
static int flush(struct pg_wire *w, struct err *err)
{
	int left;

	while ((left = PQflush(w->conn)) == 1) {
		int rc = await(w, POLLIN | POLLOUT);

		if (rc == -ETIMEDOUT)
			return pg_fail_late(w, err);
		if (rc != 0 || PQconsumeInput(w->conn) == 0)
			return pg_fail_lost(w, err);
	}
	return left == 0 ? 0 : pg_fail_lost(w, err);
}

/* The next result, NULL: there is none. */
static int next(struct pg_wire *w, PGresult **out, struct err *err)
{
	int rc = flush(w, err);

	if (rc != 0)
		return rc;
	while (PQisBusy(w->conn)) {
		rc = await(w, POLLIN);
		if (rc == -ETIMEDOUT)
			return pg_fail_late(w, err);
		if (rc != 0 || PQconsumeInput(w->conn) == 0)
			return pg_fail_lost(w, err);
	}
	*out = PQgetResult(w->conn);
	return 0;
}

static bool is_good(const PGresult *res)
{
	ExecStatusType s = PQresultStatus(res);

	return s == PGRES_COMMAND_OK || s == PGRES_TUPLES_OK || s == PGRES_EMPTY_QUERY;
}

/* All results of what was sent: the last good one, or the first failure. */
static int collect(struct pg_wire *w, PGresult **out, struct err *err)
{
	SCOPED(pg_result_free) PGresult *kept = NULL;
	int failure = 0;

	for (;;) {
		PGresult *res = NULL;
		int rc = next(w, &res, err);

		if (rc != 0)
			return rc;
		if (res == NULL)
			break;
		if (failure == 0 && !is_good(res))
			failure = pg_fail_result(w, res, err);
		PQclear(kept);
		kept = res;
		if (PQresultStatus(res) == PGRES_COPY_IN || PQresultStatus(res) == PGRES_COPY_OUT) {
			pg_disconnect(w);
			return failure;
		}
	}
	if (failure != 0) {
		if (PQstatus(w->conn) == CONNECTION_BAD || failure == -EHOSTUNREACH)
			pg_disconnect(w);
		return failure;
	}
	if (out != NULL) {
		*out = kept;
		kept = NULL;
	}
	return 0;
}

static int send_params(struct pg_wire *w, const char *sql, const struct pg_args *args)
{
	static const int binary[PG_ARGS_MOST] = { [0 ... PG_ARGS_MOST - 1] = 1 };
	int count = args != NULL ? args->count : 0;

	w->statements++;
	return PQsendQueryParams(w->conn, sql, count, count > 0 ? args->types : NULL,
				 count > 0 ? args->values : NULL, count > 0 ? args->lengths : NULL,
				 count > 0 ? binary : NULL, 1);
}

int pg_query(struct pg_wire *w, const char *sql, const struct pg_args *args, PGresult **out,
	     struct err *err)
{
	pg_fail_clear(w);
	if (send_params(w, sql, args) == 0)
		return pg_fail_lost(w, err);
	return collect(w, out, err);
}

int pg_command(struct pg_wire *w, const char *sql, struct err *err)
{
	pg_fail_clear(w);
	w->statements++;
	if (PQsendQuery(w->conn, sql) == 0)
		return pg_fail_lost(w, err);
	return collect(w, NULL, err);
}

int pg_pipe_begin(struct pg_wire *w, struct err *err)
{
	pg_fail_clear(w);
	w->piped = 0;
	return PQenterPipelineMode(w->conn) == 1 ? 0 : pg_fail_lost(w, err);
}

int pg_pipe_add(struct pg_wire *w, const char *sql, const struct pg_args *args, struct err *err)
{
	if (send_params(w, sql, args) == 0)
		return pg_fail_lost(w, err);
	w->piped++;
	return 0;
}

/* Takes the results of one statement of the pipeline. `io_failure` keeps the first failure. */
static int take_one(struct pg_wire *w, PGresult **out, int *io_failure, struct err *err)
{
	for (;;) {
		SCOPED(pg_result_free) PGresult *res = NULL;
		int rc = next(w, &res, err);

		if (rc != 0 || res == NULL)
			return rc;
		if (PQresultStatus(res) == PGRES_PIPELINE_ABORTED)
			continue;
		if (!is_good(res)) {
			if (*io_failure == 0)
				*io_failure = pg_fail_result(w, res, err);
			continue;
		}
		if (out != NULL) {
			PQclear(*out);
			*out = res;
			res = NULL;
		}
	}
}

/* Takes the mark that ends a pipeline. */
static int take_sync(struct pg_wire *w, struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	int rc = next(w, &res, err);

	if (rc == 0 && (res == NULL || PQresultStatus(res) != PGRES_PIPELINE_SYNC))
		return pg_fail_lost(w, err);
	return rc;
}

/* Takes all results up to the mark. */
static int take_all(struct pg_wire *w, const struct pg_want *wants, size_t count, int *out_failure,
		    struct err *err)
{
	for (uint64_t i = 0; i < w->piped; i++) {
		PGresult **out = NULL;
		int rc;

		for (size_t n = 0; n < count; n++)
			if (wants[n].statement == i)
				out = wants[n].out;
		rc = take_one(w, out, out_failure, err);
		if (rc != 0)
			return rc;
	}
	return take_sync(w, err);
}

int pg_pipe_end(struct pg_wire *w, const struct pg_want *wants, size_t count, struct err *err)
{
	int failure = 0, rc;

	if (PQpipelineSync(w->conn) == 0)
		return pg_fail_lost(w, err);
	rc = take_all(w, wants, count, &failure, err);
	if (rc != 0)
		return rc;
	if (failure == -EHOSTUNREACH || PQstatus(w->conn) == CONNECTION_BAD) {
		pg_disconnect(w);
		return failure != 0 ? failure : -EHOSTUNREACH;
	}
	if (PQexitPipelineMode(w->conn) == 0)
		return pg_fail_lost(w, err);
	return failure;
}

/* Hands bytes to a COPY that has begun. */
static int copy_bytes(struct pg_wire *w, const char *bytes, size_t len, struct err *err)
{
	const size_t piece = 65536;

	while (len > 0) {
		size_t now = len < piece ? len : piece;
		int rc = PQputCopyData(w->conn, bytes, (int)now);

		if (rc < 0)
			return pg_fail_lost(w, err);
		if (rc == 0 || PQflush(w->conn) != 0) {
			int flushed = flush(w, err);

			if (flushed != 0)
				return flushed;
		}
		if (rc == 0)
			continue;
		bytes += now;
		len -= now;
	}
	while (PQputCopyEnd(w->conn, NULL) == 0) {
		int rc = flush(w, err);

		if (rc != 0)
			return rc;
	}
	return 0;
}

int pg_copy(struct pg_wire *w, const char *sql, const void *bytes, size_t len, struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	int rc;

	pg_fail_clear(w);
	w->statements++;
	if (PQsendQuery(w->conn, sql) == 0)
		return pg_fail_lost(w, err);
	rc = next(w, &res, err);
	if (rc != 0)
		return rc;
	if (PQresultStatus(res) != PGRES_COPY_IN) {
		int failure = pg_fail_result(w, res, err), later = collect(w, NULL, err);

		return later == -EHOSTUNREACH ? later : failure;
	}
	rc = copy_bytes(w, bytes, len, err);
	return rc != 0 ? rc : collect(w, NULL, err);
}

void pg_disconnect(struct pg_wire *w)
{
	PQfinish(w->conn);
	w->conn = NULL;
	w->was_lost = true;
}

void pg_look_alive(struct pg_wire *w)
{
	struct pollfd fd = { .events = POLLIN };

	/* Its last words come first, then the end of the stream. */
	for (int i = 0; i < 8 && w->conn != NULL; i++) {
		fd.fd = PQsocket(w->conn);
		if (fd.fd >= 0 && PQstatus(w->conn) != CONNECTION_BAD && poll(&fd, 1, 0) == 0)
			return;
		if (fd.fd < 0 || PQstatus(w->conn) == CONNECTION_BAD ||
		    PQconsumeInput(w->conn) == 0)
			pg_disconnect(w);
		else
			(void)PQisBusy(w->conn); /* takes in what came */
	}
}

static void no_notice(void *owner, const PGresult *res)
{
	(void)owner;
	(void)res;
}

static int log_in(struct pg_wire *w, struct err *err)
{
	PostgresPollingStatusType step = PGRES_POLLING_WRITING;

	while (step != PGRES_POLLING_OK) {
		int rc = 0;

		if (PQstatus(w->conn) == CONNECTION_BAD || step == PGRES_POLLING_FAILED)
			return pg_fail_lost(w, err);
		rc = await(w, step == PGRES_POLLING_READING ? POLLIN : POLLOUT);
		if (rc == -ETIMEDOUT)
			return pg_fail_late(w, err);
		if (rc != 0)
			return pg_fail_lost(w, err);
		step = PQconnectPoll(w->conn);
	}
	return 0;
}

/* Nothing is found but by its full name; the server ends what we have given up. */
static int settle(struct pg_wire *w, bool is_reader, struct err *err)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SET search_path = pg_catalog; SET statement_timeout = %d; SET lock_timeout = %d; "
		 "SET idle_in_transaction_session_timeout = %d; SET cursor_tuple_fraction = 1; "
		 "SET row_security = off; "
		 "SET default_transaction_isolation = 'read committed'; "
		 "SET default_transaction_read_only = %s",
		 (int)PG_ROWS_MS + 2000, (int)PG_CALL_MS - 5000, is_reader ? 0 : (int)PG_ROWS_MS,
		 is_reader ? "on" : "off");
	return pg_command(w, sql, err);
}

int pg_connect(struct pg_wire *w, const char *url, bool is_reader, struct err *err)
{
	SCOPED(pg_settings_free) struct pg_settings settings = { .count = 0 };
	int rc = pg_settings_read(url, PG_CONNECT_MS, &settings, err);

	if (rc != 0)
		return rc;
	pg_fail_clear(w);
	pg_deadline(w, PG_CONNECT_MS);
	w->conn = PQconnectStartParams(settings.keywords, (const char *const *)settings.values, 0);
	if (w->conn == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	PQsetNoticeReceiver(w->conn, no_notice, NULL);
	rc = log_in(w, err);
	if (rc == 0 && PQsetnonblocking(w->conn, 1) != 0)
		rc = pg_fail_lost(w, err);
	if (rc == 0) {
		pg_deadline(w, PG_CONNECT_MS);
		rc = settle(w, is_reader, err);
	}
	if (rc != 0)
		pg_disconnect(w);
	w->was_lost = rc != 0;
	return rc;
}
