/* fakepg.h - servers that speak PostgreSQL's protocol, many in one process: plausible answers, and hostile ways. A test double, not a
 * parser to be trusted: it is used against our own links only. */
#ifndef TARE_TESTS_FLEET_FAKEPG_H
#define TARE_TESTS_FLEET_FAKEPG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How an endpoint behaves. */
enum way {
	WAY_FINE,
	WAY_SILENT,   /* accepts, and never says a word */
	WAY_TRICKLE,  /* a byte a second */
	WAY_RESET,    /* cut in the middle of a row */
	WAY_RESTART,  /* closes all connections every 20 s, and lets nobody in for a second */
	WAY_REFUSE,   /* nobody listens */
	WAY_FULL,     /* 53300 */
	WAY_NOTICES,  /* notices without end, instead of an answer */
	WAY_LENGTHS,  /* rows whose lengths are wrong */
	WAY_HUGE,     /* a field of a gigabyte */
	WAY_COLUMNS,  /* rows with another number of columns than was said */
	WAY_ERRORS,   /* an error at every question */
	WAY_TLS,      /* says yes to TLS, and hangs in the handshake (TCP only) */
	WAY_LATE,     /* answers 40 s after each question */
	WAY_STALL,    /* lets in, and never answers a question */
	WAY_PARAMS,   /* parameters of the session without end, each with a new name */
	WAY_ROWS,     /* rows without end */
	WAY_KERBEROS, /* asks for Kerberos */
	WAY_ROUNDS,   /* asks for SCRAM with two thousand million rounds */
	WAY_COPY,     /* answers every question by COPY */
	WAY_COUNT
};

/* The word of a way: "silent". */
extern const char *const way_names[WAY_COUNT];

/* Bytes on their way out. */
struct out {
	char *bytes; /* owned */
	size_t len, room, at;
};

/* Appends a message: type (0: none), then its body. */
void out_begin(struct out *o, char type);
void out_end(struct out *o);
void out_bytes(struct out *o, const void *bytes, size_t len);
void out_text(struct out *o, const char *text); /* with its NUL */
void out_u16(struct out *o, unsigned value);
void out_u32(struct out *o, uint32_t value);

/* What an answer is made of. */
struct asking {
	const char *sql;
	uint32_t endpoint;
	uint32_t visit; /* counters grow with it */
	uint32_t rows;	/* of a view of statements */
	enum way way;
	const char *const *params; /* of the question, as text; NULL where there is none */
};

#define CANNED_BYTES 2048

enum canned { CANNED_NOT, CANNED_NULL, CANNED_TEXT };

/* The value of a column of a question that our readings ask; CANNED_NOT: it is none. */
enum canned canned_value(const struct asking *a, uint32_t row, unsigned column, char *out);

/* How many rows a question has. */
uint32_t canned_rows(const struct asking *a);

/* The columns of pg_stat_statements 1.10. */
extern const char statements_columns[];

/* The description of the rows of `sql` (T), or NoData (n). */
void answer_describe(struct out *o, const struct asking *asking);

/* The rows (D) and the end (C) of `sql`; what a hostile way does instead. Returns false: the connection is to be cut behind these bytes. */
bool answer_rows(struct out *o, const struct asking *asking);

#define FAKE_STATEMENTS 32
#define FAKE_IN_MOST	(64 * 1024)

struct endpoint {
	int fd; /* -1: nobody listens */
	enum way way;
	uint16_t port;
	uint32_t open, most_open, logins, visit;
	double down_until;
};

struct statement {
	char name[64];
	char *sql; /* owned */
};

struct conn {
	int fd;
	struct endpoint *of;
	char in[FAKE_IN_MOST];
	size_t in_len;
	struct out out;
	struct statement statements[FAKE_STATEMENTS];
	unsigned next_statement;
	char *portal;	 /* owned: the SQL bound last */
	char *params[8]; /* owned: of the same */
	bool is_in, is_endless, is_to_close, is_counted, has_failed;
	double late_until;
	uint32_t serial, endpoint, rows_asked;
	struct conn *before, *behind;
};

/* Takes one message from c->in; returns the bytes it took, 0: there is no whole one. */
size_t talk_take(struct conn *c);

/* More of what has no end. */
void talk_pour(struct conn *c);

/* CLOCK_MONOTONIC. */
double fake_now_s(void);

/* An error. */
void answer_error(struct out *o, const char *severity, const char *sqlstate, const char *message);

#endif
