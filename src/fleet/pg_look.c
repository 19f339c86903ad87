/* pg_look.c - waits summed over the looks of a visit, and chains of who waits for whom. */
#include "fleet/pg_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"

/* `rows` with room for one more; NULL: no memory, and it is as it was. */
static void *grow(void *rows, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room > 0 ? *room * 2 : 16;
	void *grown;

	if (count < *room)
		return rows;
	grown = reallocarray(rows, wanted, size);
	if (grown != NULL)
		*room = wanted;
	return grown;
}

static bool is_same(const struct look_wait *a, const struct look_wait *b)
{
	return a->dbid == b->dbid && a->queryid == b->queryid &&
	       strcmp(a->backend, b->backend) == 0 && strcmp(a->state, b->state) == 0 &&
	       strcmp(a->type, b->type) == 0 && strcmp(a->event, b->event) == 0;
}

int look_take_wait(struct pg_sampler *s, const struct cell *cells)
{
	struct look_wait w = { 0 };
	struct look_wait *rows;

	if (!cell_u32(cells[0], &w.dbid) || !cell_i64(cells[1], &w.queryid) ||
	    !cell_u32(cells[6], &w.seen))
		return 0;
	cell_copy(cells[2], w.backend, sizeof(w.backend));
	cell_copy(cells[3], w.state, sizeof(w.state));
	cell_copy(cells[4], w.type, sizeof(w.type));
	cell_copy(cells[5], w.event, sizeof(w.event));
	/* What the server hides from us is no backend at rest. */
	if (cells[3].bytes == NULL && cells[2].bytes == NULL)
		memcpy(w.state, "[no privilege]", sizeof("[no privilege]"));
	for (size_t i = 0; i < s->wait_count; i++) {
		if (!is_same(&s->waits[i], &w))
			continue;
		if (s->waits[i].seen < UINT32_MAX - 1 - w.seen)
			s->waits[i].seen += w.seen;
		return 0;
	}
	rows = grow(s->waits, s->wait_count, &s->wait_room, sizeof(*rows));
	if (rows == NULL)
		return -ENOMEM;
	s->waits = rows;
	s->waits[s->wait_count++] = w;
	return 0;
}

int look_take_block(struct pg_sampler *s, const struct cell *cells)
{
	struct look_block b = { .look = s->look };
	struct look_block *rows;
	int64_t waited_us;

	if (!cell_u32(cells[0], &b.row.pid) || !cell_u32(cells[1], &b.row.blocker_pid) ||
	    !cell_i64(cells[2], &b.row.queryid) || !cell_i64(cells[3], &b.row.blocker_queryid))
		return 0;
	cell_copy(cells[4], b.lock_type, sizeof(b.lock_type));
	cell_copy(cells[5], b.lock_mode, sizeof(b.lock_mode));
	cell_copy(cells[6], b.relation, sizeof(b.relation));
	cell_copy(cells[7], b.blocker_state, sizeof(b.blocker_state));
	if (cell_i64(cells[8], &waited_us) && waited_us > 0 &&
	    waited_us < INT64_MAX / (int64_t)NS_PER_US)
		b.row.waited_ns = (uint64_t)waited_us * NS_PER_US;
	rows = grow(s->blocks, s->block_count, &s->block_room, sizeof(*rows));
	if (rows == NULL)
		return -ENOMEM;
	s->blocks = rows;
	s->blocks[s->block_count++] = b;
	return 0;
}

#define CHAINS_MOST 300u /* rows of a look whose chains are followed */

static bool has_pid(const uint32_t *pids, size_t count, uint32_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Who waits for `pid`, or for one that does: breadth first, each once. `found` has room for count + 1. */
static uint32_t count_behind(const struct look_block *rows, size_t count, uint32_t pid,
			     uint32_t *found)
{
	size_t len = 1;

	found[0] = pid;
	for (size_t at = 0; at < len; at++)
		for (size_t i = 0; i < count; i++)
			if (rows[i].row.blocker_pid == found[at] &&
			    !has_pid(found, len, rows[i].row.pid))
				found[len++] = rows[i].row.pid;
	return (uint32_t)(len - 1);
}

void look_end_blocking(struct pg_sampler *s)
{
	uint32_t found[CHAINS_MOST + 1];
	size_t count = s->block_count - s->look_from;

	if (count > CHAINS_MOST)
		count = CHAINS_MOST;
	for (size_t i = 0; i < count; i++) {
		struct look_block *row = &s->blocks[s->look_from + i];

		row->row.blocked_behind =
			count_behind(s->blocks + s->look_from, count, row->row.pid, found);
	}
}

static struct str str_of(const char *chars)
{
	return (struct str){ chars, (uint32_t)strlen(chars) };
}

static int put_wait(struct pg_sampler *s, struct fleet_batch *batch, const struct look_wait *w)
{
	struct wait_row row = { .server = s->id,
				.at_wall_ns = s->settings.at.ns,
				.dbid = w->dbid,
				.queryid = w->queryid,
				.backend = str_of(w->backend),
				.state = str_of(w->state),
				.wait_type = str_of(w->type),
				.wait_event = str_of(w->event),
				.seen = w->seen,
				.looks = s->looks };

	return fleet_batch_add(batch, &table_wait, BLOCK_PUT, &row);
}

static int put_block(struct pg_sampler *s, struct fleet_batch *batch, struct look_block *b)
{
	b->row.server = s->id;
	b->row.at_wall_ns = s->settings.at.ns + (int64_t)(b->look * s->settings.limits.look_ns);
	b->row.lock_type = str_of(b->lock_type);
	b->row.lock_mode = str_of(b->lock_mode);
	b->row.relation = str_of(b->relation);
	b->row.blocker_state = str_of(b->blocker_state);
	return fleet_batch_add(batch, &table_blocking, BLOCK_PUT, &b->row);
}

int look_put_rows(struct pg_sampler *s, struct fleet_batch *batch)
{
	int code = 0;

	for (size_t i = 0; i < s->wait_count && code == 0; i++)
		code = put_wait(s, batch, &s->waits[i]);
	for (size_t i = 0; i < s->block_count && code == 0; i++)
		code = put_block(s, batch, &s->blocks[i]);
	return code;
}

void look_free(struct pg_sampler *s)
{
	free(s->waits);
	free(s->blocks);
	s->waits = NULL;
	s->blocks = NULL;
}
