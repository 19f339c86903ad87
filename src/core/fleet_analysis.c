/* fleet_analysis.c - takes rows of a fleet one by one and adds them up. */
#include "core/fleet_analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/fleet_analysis_parts.h"
#include "core/scoped.h"

int fleet_analysis_open(int64_t from_wall_ns, int64_t to_wall_ns, struct fleet_analysis *out)
{
	struct fleet_index *index = calloc(1, sizeof(*index));

	if (index == NULL)
		return -ENOMEM;
	*out = (struct fleet_analysis){ .from_wall_ns = from_wall_ns,
					.to_wall_ns = to_wall_ns,
					.rows = FLEET_BATCH_EMPTY,
					.index = index };
	return 0;
}

void fleet_analysis_free(struct fleet_analysis *a)
{
	if (a->index != NULL) {
		fleet_places_free(&a->index->statements);
		fleet_places_free(&a->index->functions);
		fleet_places_free(&a->index->databases);
		fleet_places_free(&a->index->waits);
		fleet_places_free(&a->index->readings);
		fleet_places_free(&a->index->servers);
		free(a->index);
	}
	free(a->statements);
	free(a->functions);
	free(a->databases);
	free(a->waits);
	free(a->readings);
	free(a->servers);
	fleet_batch_free(&a->rows);
	*a = (struct fleet_analysis){ .rows = FLEET_BATCH_EMPTY };
}

/* The place of `key` in *rows, made when it is not there. `found` is its hash's answer. Returns NULL: out of memory. */
static void *row_at(void **rows, size_t *count, size_t *room, size_t bytes, uint32_t found)
{
	char *more;

	if (found != FLEET_NOWHERE)
		return (char *)*rows + found * bytes;
	if (*count == *room) {
		more = reallocarray(*rows, *room > 0 ? *room * 2 : 16, bytes);
		if (more == NULL)
			return NULL;
		*rows = more;
		*room = *room > 0 ? *room * 2 : 16;
	}
	memset((char *)*rows + *count * bytes, 0, bytes);
	return (char *)*rows + (*count)++ * bytes;
}

void *fleet_sum_of(struct kind *k, uint64_t hash, fleet_same_fn *is_same, const void *key,
		   bool *out_is_new)
{
	uint32_t found = fleet_places_find(k->places, hash, is_same, *k->rows, key);
	void *row;

	*out_is_new = found == FLEET_NOWHERE;
	if (*out_is_new && fleet_places_add(k->places, hash, (uint32_t)*k->count) != 0)
		return NULL;
	row = row_at(k->rows, k->count, k->room, k->bytes, found);
	return row;
}

static void add_counters(struct counter *sums, const struct counter *counters, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!IS_MEASURED(counters[i]))
			continue;
		sums[i].value = IS_MEASURED(sums[i]) ? sums[i].value + counters[i].value
						     : counters[i].value;
	}
}

static void nothing_measured(struct counter *sums, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sums[i] = NOT_MEASURED;
}

uint64_t fleet_statement_hash(uint32_t server, const struct statement_key *key)
{
	uint64_t hash = fleet_hash_u64(server, (uint64_t)key->queryid);

	return fleet_hash_u64(hash, ((uint64_t)key->dbid << 32 | key->userid) + key->is_toplevel);
}

bool fleet_is_same_key(const struct statement_key *a, const struct statement_key *b)
{
	return a->queryid == b->queryid && a->dbid == b->dbid && a->userid == b->userid &&
	       a->is_toplevel == b->is_toplevel;
}

static bool is_same_statement(const void *owner, uint32_t i, const void *key)
{
	const struct fleet_statement *s = (const struct fleet_statement *)owner + i, *k = key;

	return s->server == k->server && fleet_is_same_key(&s->key, &k->key);
}

struct fleet_statement *fleet_statement_of(struct fleet_analysis *a, uint32_t server,
					   const struct statement_key *key)
{
	struct fleet_statement wanted = { .server = server, .key = *key };
	struct kind k = { &a->index->statements, (void **)&a->statements, &a->statement_count,
			  &a->index->statement_room, sizeof(wanted) };
	bool is_new;
	struct fleet_statement *s = fleet_sum_of(&k, fleet_statement_hash(server, key),
						 is_same_statement, &wanted, &is_new);

	if (s != NULL && is_new) {
		*s = wanted;
		nothing_measured(s->sums, STATEMENT_COUNTERS);
	}
	return s;
}

/* In front of the visit that saw the change, or behind it. */
static void take_side(struct fleet_statement *s, const struct statement_row *row)
{
	struct fleet_side *side = row->at_wall_ns < s->changed_wall_ns ? &s->before : &s->after;

	if (s->changed_wall_ns == 0 || row->at_wall_ns == s->changed_wall_ns || row->span_ns == 0 ||
	    !IS_MEASURED(row->counters[STATEMENT_CALLS]) ||
	    !IS_MEASURED(row->counters[STATEMENT_EXEC_NS]))
		return;
	side->calls += row->counters[STATEMENT_CALLS].value;
	side->exec_ns += row->counters[STATEMENT_EXEC_NS].value;
}

static int take_statement(struct fleet_analysis *a, const void *from)
{
	const struct statement_row *row = from;
	struct fleet_statement *s;
	int rc = fleet_settle_plans(a);

	if (rc != 0)
		return rc;
	s = fleet_statement_of(a, row->server, &row->key);
	if (s == NULL)
		return -ENOMEM;
	s->longest_ns = row->longest_ns > s->longest_ns ? row->longest_ns : s->longest_ns;
	if (row->span_ns == 0) {
		s->unknown++;
		s->last_life = row->life;
		return 0;
	}
	s->differences++;
	s->span_ns += row->span_ns;
	add_counters(s->sums, row->counters, STATEMENT_COUNTERS);
	take_side(s, row);
	return 0;
}

static bool is_same_function(const void *owner, uint32_t i, const void *key)
{
	const struct fleet_function *f = (const struct fleet_function *)owner + i, *k = key;

	return f->server == k->server && f->dbid == k->dbid && f->funcid == k->funcid;
}

/* Names are kept with the first row that has them. */
static int keep_row(struct fleet_analysis *a, const struct table *t, const void *row,
		    const void **out)
{
	const struct fleet_block *block;
	int rc = fleet_batch_add(&a->rows, t, BLOCK_PUT, row);

	if (rc != 0)
		return rc;
	block = fleet_batch_block(&a->rows, t, BLOCK_PUT);
	*out = fleet_block_row(block, block->count - 1);
	return 0;
}

static int take_function(struct fleet_analysis *a, const void *from)
{
	const struct function_row *row = from, *kept;
	struct fleet_function wanted = { .server = row->server,
					 .dbid = row->dbid,
					 .funcid = row->funcid },
			      *f;
	struct kind k = { &a->index->functions, (void **)&a->functions, &a->function_count,
			  &a->index->function_room, sizeof(wanted) };
	uint64_t hash = fleet_hash_u64(row->server, (uint64_t)row->dbid << 32 | row->funcid);
	bool is_new;
	int rc;

	f = fleet_sum_of(&k, hash, is_same_function, &wanted, &is_new);
	if (f == NULL)
		return -ENOMEM;
	if (is_new) {
		*f = wanted;
		nothing_measured(f->sums, FUNCTION_COUNTERS);
		rc = keep_row(a, &table_function, row, (const void **)&kept);
		if (rc != 0)
			return rc;
		f->database = kept->database;
		f->name = kept->name;
	}
	f->unknown += row->span_ns == 0;
	f->span_ns += row->span_ns;
	if (row->span_ns > 0)
		add_counters(f->sums, row->counters, FUNCTION_COUNTERS);
	return 0;
}

static bool is_same_database(const void *owner, uint32_t i, const void *key)
{
	const struct fleet_database *d = (const struct fleet_database *)owner + i, *k = key;

	return d->server == k->server && d->dbid == k->dbid;
}

static int take_database(struct fleet_analysis *a, const void *from)
{
	const struct database_row *row = from, *kept;
	struct fleet_database wanted = { .server = row->server, .dbid = row->dbid }, *d;
	struct kind k = { &a->index->databases, (void **)&a->databases, &a->database_count,
			  &a->index->database_room, sizeof(wanted) };
	bool is_new;
	int rc;

	d = fleet_sum_of(&k, fleet_hash_u64(row->server, row->dbid), is_same_database, &wanted,
			 &is_new);
	if (d == NULL)
		return -ENOMEM;
	if (is_new) {
		*d = wanted;
		nothing_measured(d->sums, DATABASE_COUNTERS);
		rc = keep_row(a, &table_database, row, (const void **)&kept);
		if (rc != 0)
			return rc;
		d->name = kept->name;
	}
	d->unknown += row->span_ns == 0;
	d->span_ns += row->span_ns;
	if (row->span_ns > 0)
		add_counters(d->sums, row->counters, DATABASE_COUNTERS);
	return 0;
}

static bool is_same_str(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0);
}

static bool is_same_wait(const void *owner, uint32_t i, const void *key)
{
	const struct fleet_wait *w = (const struct fleet_wait *)owner + i, *k = key;

	return w->server == k->server && is_same_str(w->wait_type, k->wait_type) &&
	       is_same_str(w->wait_event, k->wait_event);
}

static int take_wait(struct fleet_analysis *a, const void *from)
{
	const struct wait_row *row = from, *kept;
	struct fleet_wait wanted = { row->server, row->wait_type, row->wait_event, 0 }, *w;
	struct kind k = { &a->index->waits, (void **)&a->waits, &a->wait_count,
			  &a->index->wait_room, sizeof(wanted) };
	uint64_t hash = fleet_hash_bytes(row->server, row->wait_type.bytes, row->wait_type.len);
	bool is_new;
	int rc;

	w = fleet_sum_of(&k, fleet_hash_bytes(hash, row->wait_event.bytes, row->wait_event.len),
			 is_same_wait, &wanted, &is_new);
	if (w == NULL)
		return -ENOMEM;
	if (is_new) {
		*w = wanted;
		rc = keep_row(a, &table_wait, row, (const void **)&kept);
		if (rc != 0)
			return rc;
		w->wait_type = kept->wait_type;
		w->wait_event = kept->wait_event;
	}
	w->seen += row->seen;
	return fleet_take_looks(a, row);
}

static bool is_same_reading(const void *owner, uint32_t i, const void *key)
{
	const struct fleet_reading *r = (const struct fleet_reading *)owner + i, *k = key;

	return r->server == k->server && r->reading == k->reading;
}

static void count_run(struct fleet_reading *r, const struct run_row *row)
{
	r->runs += row->outcome != RUN_SKIPPED;
	r->captures += row->capture == CAPTURE_SCHEDULED || row->capture == CAPTURE_OWED;
	r->gated += row->capture == CAPTURE_GATED;
	r->missed += row->capture == CAPTURE_MISSED && row->outcome != RUN_SKIPPED;
	r->failures += row->outcome == RUN_ERROR;
	r->permissions += row->outcome == RUN_PERMISSIONS;
	r->abandoned += row->outcome == RUN_ABANDONED;
	r->skipped += row->outcome == RUN_SKIPPED;
	r->server_ns += row->server_ns;
	if (row->capture == CAPTURE_SCHEDULED || row->capture == CAPTURE_OWED)
		r->capture_server_ns += row->server_ns;
	r->longest_server_ns =
		row->server_ns > r->longest_server_ns ? row->server_ns : r->longest_server_ns;
	r->own_ns += row->own_ns;
	r->store_ns += row->store_ns;
	r->rows += row->rows;
	r->bytes += row->bytes;
	r->plans += row->plans;
	r->new_plans += row->new_plans;
}

/* The last run that did not go well is kept, with its reason. */
static int keep_reason(struct fleet_analysis *a, struct fleet_reading *r, const struct run_row *row)
{
	const struct run_row *kept;
	int rc;

	/* A skipped run follows from one that failed: that one's reason is kept. */
	if (row->outcome == RUN_SUCCESS || row->outcome == RUN_SKIPPED ||
	    row->at_wall_ns < r->last_wall_ns ||
	    (is_same_str(r->last_reason, row->reason) &&
	     is_same_str(r->last_sqlstate, row->sqlstate)))
		return 0;
	rc = keep_row(a, &table_run, row, (const void **)&kept);
	if (rc != 0)
		return rc;
	r->last_reason = kept->reason;
	r->last_sqlstate = kept->sqlstate;
	return 0;
}

static int take_run(struct fleet_analysis *a, const void *from)
{
	const struct run_row *row = from;
	struct fleet_reading wanted = { .server = row->server, .reading = row->reading }, *r;
	struct kind k = { &a->index->readings, (void **)&a->readings, &a->reading_count,
			  &a->index->reading_room, sizeof(wanted) };
	bool is_new;
	int rc;

	r = fleet_sum_of(&k, fleet_hash_u64(row->server, row->reading), is_same_reading, &wanted,
			 &is_new);
	if (r == NULL)
		return -ENOMEM;
	if (is_new)
		*r = wanted;
	count_run(r, row);
	rc = keep_reason(a, r, row);
	if (row->at_wall_ns > r->last_wall_ns)
		r->last_wall_ns = row->at_wall_ns;
	if (row->outcome == RUN_SUCCESS && row->at_wall_ns > r->well_wall_ns)
		r->well_wall_ns = row->at_wall_ns;
	return rc != 0 ? rc : fleet_take_visit(a, row);
}

/* Tables that are summed; all others are kept as they are. */
static const struct {
	const struct table *table;
	int (*take)(struct fleet_analysis *a, const void *row);
} takers[] = {
	{ &table_statement, take_statement },
	{ &table_statement_hour, take_statement },
	{ &table_statement_day, take_statement },
	{ &table_function, take_function },
	{ &table_function_hour, take_function },
	{ &table_function_day, take_function },
	{ &table_database, take_database },
	{ &table_database_hour, take_database },
	{ &table_database_day, take_database },
	{ &table_wait, take_wait },
	{ &table_wait_hour, take_wait },
	{ &table_wait_day, take_wait },
	{ &table_run, take_run },
};

/* When the row was made, for tables that say so in a column of this name. */
static bool time_of(const struct table *t, const void *row, int64_t *out)
{
	for (size_t i = 0; i < t->field_count; i++) {
		if (strcmp(t->fields[i].name, "at_wall_ns") != 0)
			continue;
		memcpy(out, (const char *)row + t->fields[i].offset, sizeof(*out));
		return true;
	}
	return false;
}

/* State tables hold what is; all others what was, at a time. */
static bool is_state(const struct table *t)
{
	for (size_t i = 0; i < fleet_table_count; i++)
		if (fleet_tables[i].table == t)
			return fleet_tables[i].keep == KEEP_STATE;
	return false;
}

int fleet_analysis_take(struct fleet_analysis *a, const struct table *t, const void *row)
{
	const void *kept;
	int64_t at_ns = 0;

	if (!is_state(t) && time_of(t, row, &at_ns)) {
		if (at_ns < a->from_wall_ns || at_ns >= a->to_wall_ns)
			return 0;
	}
	/* Theirs is the start of a span. */
	if (at_ns != 0 && t != &table_collector && t != &table_cost) {
		a->first_wall_ns = a->first_wall_ns == 0 || at_ns < a->first_wall_ns
					   ? at_ns
					   : a->first_wall_ns;
		a->last_wall_ns = at_ns > a->last_wall_ns ? at_ns : a->last_wall_ns;
	}
	for (size_t i = 0; i < ARRAY_LEN(takers); i++)
		if (takers[i].table == t)
			return takers[i].take(a, row);
	if (t == &table_payload || t == &table_baseline)
		return 0; /* large, and nothing to add up */
	return keep_row(a, t, row, &kept);
}
