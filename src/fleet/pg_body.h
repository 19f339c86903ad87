/* pg_body.h - the body of a visit to PostgreSQL from inside: an engine that goes through steps, and what the steps share. Each step asks
 * its questions until it has none left; the engine keeps accounts and judges failures. */
#ifndef TARE_FLEET_PG_BODY_H
#define TARE_FLEET_PG_BODY_H

#include "core/text.h"
#include "fleet/pg_own.h"
#include "fleet/server_parts.h"
#include "fleet/visit.h"

struct pg_body;
struct pg_capture;

/* One part of a visit. `row` and `columns` may be NULL. */
struct pg_step {
	enum reading_id reading; /* whose account its questions are on */
	/* The next question: 1 and *out; 0: nothing more to ask; negative: the script ends. */
	int (*ask)(struct pg_body *b, struct ask *out, struct err *err);
	/* Not 0: the answer is not as expected, the rest is drained. */
	int (*columns)(struct pg_body *b, const char *const *names, uint32_t count);
	int (*row)(struct pg_body *b, const struct cell *cells, uint32_t count);
	/* The question is answered or failed; failures are on the account already. Negative: the script ends. */
	int (*ended)(struct pg_body *b, const struct answer *answer, struct err *err);
};

/* A reading of counters in this visit. */
struct counted_now {
	struct delta_visit visit;
	enum delta_life life; /* between the last visit and this one */
	bool is_done;	      /* the answer came, and all of it could be read */
	bool is_complete;
	bool is_whole; /* not capped; others' rows may be hidden */
	uint64_t rows, bad_rows;
};

/* A row as it came. */
struct counted_row {
	const uint8_t *key;
	size_t key_len;
	int64_t since_ns;
	const struct counter *counters;
	size_t count;
	const struct delta_visit *before; /* NULL: none */
	bool is_kept; /* its baseline goes to the store: a restart of ours loses no difference */
};

/* A difference of a statement that waits for the word whether the statement is ours. */
struct emitted {
	struct remembered *row; /* in fresh */
	struct statement_row out;
};

/* Entries that fell out so far, when the server does not say. */
#define EVICTIONS_UNKNOWN ((uint64_t)INT64_MAX)

struct pg_body {
	struct server
		*server; /* borrowed: changed by commit only, but for marks of what was seen */
	struct visit_settings settings;
	struct fleet_batch *batch; /* borrowed */
	struct server_facts facts;
	char database_columns[COLUMNS_BYTES / 2], io_columns[COLUMNS_BYTES / 2];
	char statement_columns[COLUMNS_BYTES];
	bool has_info; /* pg_stat_statements_info */
	int64_t loaded_server_ns;
	unsigned step, phase;	 /* of the step */
	enum reading_id reading; /* whose account the question under way is on */
	bool needs_facts, needs_session, is_in_session, is_entering, is_entering_home;
	bool is_away;		      /* in another database than the first, or in none */
	bool is_finished, has_failed; /* of the visit; of the step's last question */
	bool is_optional;	      /* this question may fail */
	struct text sql, params[4];
	uint32_t expected_columns; /* of the question under way; 0: any */
	struct counted_now now[COUNTED_COUNT];
	struct remembered_table fresh[COUNTED_COUNT];
	struct emitted *emitted; /* owned */
	size_t emitted_count, emitted_room;
	struct counter hidden[STATEMENT_COUNTERS]; /* the sum of what we may not see */
	uint64_t hidden_rows, number_rows;
	struct run_row runs[READING_COUNT];
	bool has_run[READING_COUNT];
	char reasons[READING_COUNT][96];
	char states[READING_COUNT][6];
	struct names_memory names; /* learnt in this visit */
	struct payloads_memory payloads;
	struct setting_known *settings_read; /* owned: what is not default */
	size_t settings_count, settings_room;
	bool has_settings;
	struct entered_known *entered; /* owned */
	size_t entered_count;
	char texts_database[64];
	int64_t texts_again_wall_ns;
	struct pg_capture *capture; /* owned: NULL: this visit captures nothing */
	bool has_captured;
};

extern const struct pg_step pg_step_facts, pg_step_moment, pg_step_statements, pg_step_texts,
	pg_step_functions, pg_step_databases, pg_step_io, pg_step_settings, pg_step_plans;

/* Whether a reading is switched on. */
bool pg_body_wants(const struct pg_body *b, enum reading_id reading);

/* A question of ours: `sql` of the body, which carries the mark. Returns 1. */
int pg_body_ask(struct pg_body *b, struct ask *out, uint32_t columns);

/* A question that enters a database; "" is the first one. Returns 1. */
int pg_body_enter(struct pg_body *b, struct ask *out, const char *database);

/* Notes why a reading is not whole. Only the first reason is kept. `reason` is ours: no literal, no secret. */
void pg_body_fail(struct pg_body *b, enum reading_id reading, enum run_outcome outcome,
		  const char *sqlstate, const char *reason);

/* Notes a reason of a reading that went well. */
void pg_body_say(struct pg_body *b, enum reading_id reading, const char *reason);

/* The run row of a reading, begun when it was not. Borrowed. */
struct run_row *pg_body_run(struct pg_body *b, enum reading_id reading);

/* Appends an identifier in double quotes. */
void pg_put_name(struct text *sql, const char *name);

/* The columns that a SELECT list can take of those there are. */
struct pg_column {
	const char *names[6]; /* of these, all that are there are summed */
	bool is_ms, is_first; /* is_first: only the first that is there */
};

/* Appends ", a + b" for each column, ", NULL" for one that is not there. `there` has commas around each name. */
void pg_ask_columns(struct text *sql, const struct pg_column *columns, size_t count,
		    const char *there);
bool pg_has_column(const char *there, const char *name);

/* Appends ", " and a moment in whole microseconds since 1970. */
void pg_put_moment(struct text *sql, const char *expression);

/* Reads cells of such columns. */
void pg_read_columns(const struct pg_column *columns, size_t count, const struct cell *cells,
		     struct counter *out);

/* Begins a reading of counters: what the server says of itself now. */
void counted_begin(struct pg_body *b, enum counted_id id, int64_t reset_server_ns,
		   uint64_t evictions);

/* Takes a row. 1: *out is a difference, or the reason why there is none, to be stored; 0: nothing to store; negative: the script ends.
 * `diff` has row->count counters. *out_row is the row of this visit, NULL when nothing of it changed. */
int counted_take(struct pg_body *b, enum counted_id id, const struct counted_row *row,
		 struct delta *out, struct counter *diff, struct remembered **out_row);

/* Ends it: baselines of what is gone are dropped, its life is stored. `is_here` says which rows it would have seen; NULL: all. Negative: the
 * script ends. */
int counted_end(struct pg_body *b, enum counted_id id,
		bool (*is_here)(void *owner, const struct remembered *row), void *owner);

/* It failed: nothing of it is taken over. */
void counted_drop(struct pg_body *b, enum counted_id id);

/* What this visit learnt becomes the server's memory. -ENOMEM. */
int counted_commit(struct pg_body *b, enum counted_id id);

/* The row of a statement as this visit can change it; NULL: no memory. `row` is in the server's table or in fresh. */
struct remembered *statement_touch(struct pg_body *b, const struct remembered *row);

/* Names learnt in this visit, or before; "": not known. Borrowed. */
const char *pg_name_of(const struct pg_body *b, uint32_t oid, bool is_role);

/* Writes a statement's row of table_query anew. */
int statement_put_query(struct pg_body *b, const struct statement_key *key,
			struct statement_known *known);

/* A text or plan into the batch, unless it is there; hourly also when it is known. *io_digest: its digest where the caller has it, else none;
 * it is set. */
int pg_put_payload(struct pg_body *b, enum payload_kind kind, struct str bytes,
		   struct digest *io_digest);

/* A statement that something is wanted of. */
struct text_wanted {
	const struct remembered *row;
	struct statement_key key;
	uint64_t rank;
};

/* One row of the answer. */
struct text_found {
	struct statement_key key;
	uint64_t bytes; /* of the whole text */
	bool is_own, has_text;
	struct str text, database, user, search_path;
};

#define TEXT_COLUMNS 11u

/* The question for texts of `count` statements, within `budget` bytes; pg_read_text() reads the rows. Returns 1 or -ENOMEM. */
int pg_ask_texts(struct pg_body *b, const struct text_wanted *wanted, size_t count, uint64_t budget,
		 struct ask *out);
/* False: a row that cannot be read. */
bool pg_read_text(const struct cell *cells, struct text_found *out);

/* Statements of this visit and before that satisfy `fn`, in no order. -ENOMEM. */
int statements_pick(struct pg_body *b,
		    bool (*fn)(const struct pg_body *b, const struct statement_known *known,
			       uint64_t *out_rank),
		    struct text_wanted **out, size_t *out_count);

/* Functions of the database that we are in: also the plans' step asks, in those it enters. */
int pg_ask_functions(struct pg_body *b, struct ask *out);
int pg_take_function(struct pg_body *b, const struct cell *cells, uint32_t dbid,
		     const struct delta_visit *before, bool is_kept);

/* Whether a row is a function of the database of our first connection. */
bool function_is_home(const struct pg_body *b, const struct remembered *row);

/* Whether a setting's value can hold a secret, by its name. */
bool pg_setting_is_secret(struct str name);

/* Accepts NULL. */
void pg_capture_free(struct pg_capture *c);

#endif
