/* fleet_postgres_wire.h - one connection to PostgreSQL whose every step has a deadline: non-blocking libpq and poll. It is lost
 * at the first trouble and made anew by the next call. Internal to the store; one thread at a time. */
#ifndef TARE_STORE_FLEET_POSTGRES_WIRE_H
#define TARE_STORE_FLEET_POSTGRES_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "core/err.h"
#include "core/units.h"

#define PG_CONNECT_MS UINT64_C(5000)  /* name, socket, TLS, login and the schema's check, each */
#define PG_CALL_MS    UINT64_C(10000) /* a put, an enrolment, a place, a size */
#define PG_ROWS_MS    UINT64_C(60000) /* of a scan: between two answers; of a tidy: one statement */

#define PG_ARGS_MOST 48u

/* Oids that never change (pg_type.dat). */
enum pg_type {
	PG_BOOL = 16,
	PG_BYTEA = 17,
	PG_INT8 = 20,
	PG_TEXT = 25,
	PG_FLOAT8 = 701,
	PG_BOOL_ARRAY = 1000,
	PG_BYTEA_ARRAY = 1001,
	PG_TEXT_ARRAY = 1009,
	PG_INT8_ARRAY = 1016,
	PG_FLOAT8_ARRAY = 1022,
};

/* Bound parameters of a statement, binary; values are borrowed until it is sent. The empty value is all zero. */
struct pg_args {
	Oid types[PG_ARGS_MOST];
	const char *values[PG_ARGS_MOST];
	int lengths[PG_ARGS_MOST];
	uint64_t numbers[PG_ARGS_MOST]; /* the room of numbers, in network order */
	int count;
};

struct pg_wire {
	PGconn *conn;	      /* NULL: away */
	struct mono until;    /* of the call that runs */
	uint64_t statements;  /* sent so far, COPY and transaction verbs too */
	uint64_t rows_copied; /* so far */
	uint64_t piped;	      /* statements sent into the pipeline that is open */
	bool was_lost;	      /* since the last connect */
	char sqlstate[6];     /* of the last failure; empty: none */
};

/* The clock of deadlines. */
struct mono pg_now(void);

/* Ends the call that begins now after `ms`. */
void pg_deadline(struct pg_wire *w, uint64_t ms);

/* Appends a bigint, and bytes (PG_TEXT, PG_BYTEA or an array), to the parameters. At most PG_ARGS_MOST. */
void pg_arg_i64(struct pg_args *a, int64_t value);
void pg_arg_bytes(struct pg_args *a, Oid type, const void *bytes, size_t len);

/* Connects by `url` within PG_CONNECT_MS a step, and prepares the session: nothing is found by search_path, the server's own
 * limits stand a little behind ours. `is_reader`: the session can write nothing. -EHOSTUNREACH, -EINVAL (not a URL), -ENOMEM.
 * No message has a password. */
int pg_connect(struct pg_wire *w, const char *url, bool is_reader, struct err *err);

/* Has the other side hung up since the last call? Then lets go of the connection. Does not wait. */
void pg_look_alive(struct pg_wire *w);

/* Lets go of the connection, without waiting. Accepts what is not connected. */
void pg_disconnect(struct pg_wire *w);

/* Runs one statement and gives its result (binary), owned by the caller; `args` and `out` may be NULL. */
int pg_query(struct pg_wire *w, const char *sql, const struct pg_args *args, PGresult **out,
	     struct err *err);

/* Runs fixed text of one or more statements without parameters. */
int pg_command(struct pg_wire *w, const char *sql, struct err *err);

/* One answer that is wanted of a pipeline: of the statement with this number, from 0. */
struct pg_want {
	uint64_t statement;
	PGresult **out; /* owned by the caller then */
};

/* Statements that are sent together and answered together: begin, add as many as there are, end. After the first failure
 * none of the rest was run, and no answer is given. */
int pg_pipe_begin(struct pg_wire *w, struct err *err);
int pg_pipe_add(struct pg_wire *w, const char *sql, const struct pg_args *args, struct err *err);
int pg_pipe_end(struct pg_wire *w, const struct pg_want *wants, size_t count, struct err *err);

/* Sends `len` bytes as the whole input of the COPY statement `sql`. */
int pg_copy(struct pg_wire *w, const char *sql, const void *bytes, size_t len, struct err *err);

/* A number (bigint, or what is narrower) of a binary result; 0 for NULL. */
int64_t pg_value_i64(const PGresult *res, int row, int column);

/* The SQLSTATE of the failure that the last call ended with; "" when it had none. Borrowed until the next call. */
const char *pg_sqlstate(const struct pg_wire *w);

/* Frees a result; accepts NULL. For SCOPED. */
void pg_result_free(PGresult **res);

#endif
