/* pg_counted.c - readings of counters: rows come, differences go; what changed waits in `fresh` until the visit is committed. */
#include <errno.h>
#include <string.h>

#include "core/leb128.h"
#include "core/scoped.h"
#include "fleet/pg_body.h"

#define VISITS_KEPT \
	100u /* a row that no visit saw for so long is forgotten, also when readings are never complete */

void counted_begin(struct pg_body *b, enum counted_id id, int64_t reset_server_ns,
		   uint64_t evictions)
{
	struct counted_now *now = &b->now[id];
	const struct counted_memory *m = &b->server->counted[id];

	*now = (struct counted_now){
		.visit = { b->facts.system_id, b->facts.clock_server_ns, b->facts.started_server_ns,
			   reset_server_ns, evictions, false },
	};
	now->life = delta_between(m->has_before ? &m->before : NULL, &now->visit);
}

/* The row as it was at the last visit; false: it was not there. */
static bool was_there(const struct remembered *old, struct counter *counters, size_t count)
{
	return old != NULL && old->counters_len > 0 &&
	       counters_unpack(old->bytes + old->key_len, old->counters_len, counters, count) == 0;
}

static int put_baseline(struct pg_body *b, enum counted_id id, const struct remembered *row)
{
	struct baseline_row out = {
		.server = b->server->id,
		.reading = counted_reading(id),
		.key = { row->bytes, row->key_len },
		.since_ns = row->since_ns,
		.counters = { row->bytes + row->key_len, row->counters_len },
	};

	return fleet_batch_add(b->batch, &table_baseline, BLOCK_PUT, &out);
}

/* The row of this visit, into fresh. */
static int lay_over(struct pg_body *b, enum counted_id id, const struct counted_row *row,
		    const struct remembered *old, struct remembered **out)
{
	uint8_t packed[STATEMENT_COUNTERS * (LEB128_MAX_BYTES + 1)];
	size_t len = counters_pack(row->counters, row->count, packed);
	struct remembered *made = old != NULL
					  ? remembered_copy(old, packed, len)
					  : remembered_make(row->key, row->key_len, packed, len);

	if (made == NULL)
		return -ENOMEM;
	made->since_ns = row->since_ns;
	made->visit = b->server->visit;
	if (remembered_put(&b->fresh[id], made) != 0) {
		remembered_free(made);
		return -ENOMEM;
	}
	*out = made;
	return row->is_kept ? put_baseline(b, id, made) : 0;
}

static bool is_same(const struct remembered *old, const struct counted_row *row)
{
	uint8_t packed[STATEMENT_COUNTERS * (LEB128_MAX_BYTES + 1)];
	size_t len = counters_pack(row->counters, row->count, packed);

	return old->since_ns == row->since_ns && old->counters_len == len &&
	       memcmp(old->bytes + old->key_len, packed, len) == 0;
}

int counted_take(struct pg_body *b, enum counted_id id, const struct counted_row *row,
		 struct delta *out, struct counter *diff, struct remembered **out_row)
{
	struct counted_now *now = &b->now[id];
	struct remembered *old =
		remembered_find(&b->server->counted[id].rows, row->key, row->key_len);
	struct counter before[STATEMENT_COUNTERS];
	struct delta_row then = { 0, before, row->count };
	struct delta_row here = { row->since_ns, row->counters, row->count };
	bool has_old;

	*out_row = NULL;
	now->rows++;
	/* A key that comes twice is no answer of a server that we know. */
	if (remembered_find(&b->fresh[id], row->key, row->key_len) != NULL ||
	    (old != NULL && old->visit == b->server->visit)) {
		now->bad_rows++;
		return 0;
	}
	has_old = was_there(old, before, row->count);
	if (old != NULL) {
		old->visit = b->server->visit;
		then.since_ns = old->since_ns;
	}
	*out = delta_row_between(row->before, &now->visit, has_old ? &then : NULL, &here, diff);
	if ((!has_old || !is_same(old, row) || (out->span_ns > 0 && !out->is_idle)) &&
	    lay_over(b, id, row, old, out_row) != 0)
		return -ENOMEM;
	if (out->span_ns > 0)
		return !out->is_idle;
	/* Why a row has none is news only when the others of its visit have one. */
	return delta_between(row->before, &now->visit) == DELTA_SAME;
}

static int drop_gone(struct pg_body *b, enum counted_id id,
		     bool (*is_here)(void *owner, const struct remembered *row), void *owner)
{
	const struct remembered_table *rows = &b->server->counted[id].rows;

	for (const struct remembered *row = remembered_next(rows, NULL); row != NULL;
	     row = remembered_next(rows, row)) {
		struct baseline_row gone = { .server = b->server->id,
					     .reading = counted_reading(id),
					     .key = { row->bytes, row->key_len } };

		if (row->visit == b->server->visit || row->counters_len == 0 ||
		    (is_here != NULL && !is_here(owner, row)))
			continue;
		if (fleet_batch_add(b->batch, &table_baseline, BLOCK_DROP, &gone) != 0)
			return -ENOMEM;
	}
	return 0;
}

int counted_end(struct pg_body *b, enum counted_id id,
		bool (*is_here)(void *owner, const struct remembered *row), void *owner)
{
	static const char *const words[] = {
		[DELTA_FIRST] = "first sight: no differences yet",
		[DELTA_RESET] = "statistics were reset since the last visit",
		[DELTA_RESTARTED] = "the server was started again since the last visit",
		[DELTA_OTHER] = "another system answers under this name",
		[DELTA_GAP] = "the last visit was over an hour ago",
		[DELTA_CLOCK] = "the server's clock did not go forward",
	};
	struct counted_now *now = &b->now[id];
	struct life_row life = { .server = b->server->id,
				 .reading = counted_reading(id),
				 .at_wall_ns = b->settings.at.ns,
				 .at_server_ns = now->visit.at_server_ns,
				 .system_id = now->visit.system_id,
				 .started_server_ns = now->visit.started_server_ns,
				 .reset_server_ns = now->visit.reset_server_ns,
				 .evictions = now->visit.evictions };

	if (now->bad_rows > 0)
		pg_body_fail(b, counted_reading(id), RUN_ERROR, "", "rows that cannot be read");
	else if (now->life < ARRAY_LEN(words) && words[now->life] != NULL)
		pg_body_say(b, counted_reading(id), words[now->life]);
	now->is_complete = now->visit.is_complete && now->bad_rows == 0;
	now->visit.is_complete = now->is_complete;
	now->is_done = true;
	life.is_complete = now->is_complete;
	if (now->is_complete && drop_gone(b, id, is_here, owner) != 0)
		return -ENOMEM;
	return fleet_batch_add(b->batch, &table_life, BLOCK_PUT, &life);
}

void counted_drop(struct pg_body *b, enum counted_id id)
{
	remembered_table_free(&b->fresh[id]);
	b->now[id].is_done = false;
}

/* Which rows a commit forgets. */
struct sweep {
	const struct pg_body *b;
	enum counted_id id;
};

static bool is_forgotten(void *owner, const struct remembered *row)
{
	const struct sweep *s = owner;
	uint32_t visit = s->b->server->visit;

	if (row->visit == visit)
		return false;
	/* Functions of other databases are seen when these are entered. */
	if (s->b->now[s->id].is_complete &&
	    (s->id != COUNTED_FUNCTIONS || function_is_home(s->b, row)))
		return true;
	return visit - row->visit > VISITS_KEPT;
}

/* What a reading that is not complete did not show cannot be compared with the next one: its counters are of an older visit. */
static void age(struct remembered_table *rows, uint32_t visit)
{
	for (struct remembered *row = remembered_next(rows, NULL); row != NULL;
	     row = remembered_next(rows, row))
		if (row->visit != visit)
			row->counters_len = 0;
}

int counted_commit(struct pg_body *b, enum counted_id id)
{
	struct counted_memory *m = &b->server->counted[id];
	struct sweep sweep = { b, id };

	/* Plans and texts of statements are learnt also when their counters were not read. */
	if (remembered_merge(&m->rows, &b->fresh[id]) != 0)
		return -ENOMEM;
	if (!b->now[id].is_done)
		return 0;
	m->before = b->now[id].visit;
	m->has_before = true;
	m->is_whole = b->now[id].is_whole && b->now[id].bad_rows == 0;
	remembered_sweep(&m->rows, is_forgotten, &sweep);
	if (!b->now[id].is_complete && id != COUNTED_FUNCTIONS)
		age(&m->rows, b->server->visit);
	return 0;
}

struct remembered *statement_touch(struct pg_body *b, const struct remembered *row)
{
	struct remembered_table *fresh = &b->fresh[COUNTED_STATEMENTS];
	struct remembered *made = remembered_find(fresh, row->bytes, row->key_len);

	if (made == NULL) {
		made = remembered_copy(row, NULL, 0);
		if (made != NULL && remembered_put(fresh, made) != 0) {
			remembered_free(made);
			return NULL;
		}
	}
	if (made == NULL || remembered_statement(made) == NULL)
		return NULL;
	return made;
}
