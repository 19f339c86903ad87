/* fleet_time.c - takes rows of a fleet once more, and spreads them over slots. */
#include "core/fleet_time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/delta.h"
#include "core/fleet_analysis_parts.h"
#include "core/fleet_time_parts.h"
#include "core/scoped.h"
#include "core/units.h"

#define WALL_MOST_NS  (INT64_MAX / 2) /* the year 2116: what is later is foreign */
#define VISIT_MOST_NS (7 * UINT64_C(86400) * NS_PER_S)
#define SPAN_MOST_NS  (24 * DELTA_GAP_MOST_NS) /* a longer span is foreign */

static const uint64_t round_s[] = { 1,	   2,	  5,	 10,	15,	20,	30,	 60,
				    120,   300,	  600,	 900,	1200,	1800,	3600,	 7200,
				    10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2419200 };

struct fleet_slots fleet_slots_of(int64_t first_wall_ns, int64_t last_wall_ns, uint64_t visit_ns)
{
	struct fleet_slots out = { .visit_ns = visit_ns > 0 && visit_ns < VISIT_MOST_NS
						       ? visit_ns
						       : 60 * NS_PER_S };
	int64_t from_ns = first_wall_ns - (int64_t)out.visit_ns;

	if (first_wall_ns <= 0 || last_wall_ns < first_wall_ns || last_wall_ns > WALL_MOST_NS)
		return out;
	from_ns = from_ns > 0 ? from_ns : 0;
	for (size_t i = 0; out.count == 0 || out.count > FLEET_SLOTS_MOST; i++) {
		uint64_t slot_ns = i < ARRAY_LEN(round_s) ? round_s[i] * NS_PER_S : out.slot_ns * 2;
		int64_t start_ns = from_ns / (int64_t)slot_ns * (int64_t)slot_ns;
		uint64_t span_ns = (uint64_t)(last_wall_ns - start_ns);

		out.slot_ns = slot_ns;
		out.from_wall_ns = start_ns;
		if (slot_ns < out.visit_ns || (span_ns - 1) / slot_ns >= FLEET_SLOTS_MOST)
			continue;
		out.count = (uint32_t)((span_ns - 1) / slot_ns + 1);
	}
	return out;
}

/* The slot of a moment; what is outside is in the first or the last. */
static uint32_t slot_at(const struct fleet_slots *s, int64_t wall_ns)
{
	uint64_t i;

	if (wall_ns <= s->from_wall_ns)
		return 0;
	i = (uint64_t)(wall_ns - s->from_wall_ns - 1) / s->slot_ns;
	return i < s->count ? (uint32_t)i : s->count - 1;
}

static int64_t slot_end(const struct fleet_slots *s, uint32_t i)
{
	return s->from_wall_ns + (int64_t)(s->slot_ns * (i + 1));
}

static uint64_t part_of(uint64_t value, int64_t part, int64_t whole)
{
	return (uint64_t)((unsigned __int128)value * (uint64_t)part / (uint64_t)whole);
}

/* Spreads calls and time over (at - span, at]; the last slot takes what rounding left. */
static void spread(const struct fleet_slots *s, struct fleet_cell *line, int64_t at_ns,
		   uint64_t span_ns, const struct fleet_cell *what)
{
	int64_t span = (int64_t)(span_ns < SPAN_MOST_NS ? span_ns : SPAN_MOST_NS);
	int64_t from_ns = at_ns > span ? at_ns - span : 0;
	uint32_t last = slot_at(s, at_ns);
	struct fleet_cell given = { 0 };

	for (uint32_t i = slot_at(s, from_ns + 1); i <= last; i++) {
		struct fleet_cell upto = *what;

		if (i < last && at_ns > from_ns) {
			upto.calls =
				part_of(what->calls, slot_end(s, i) - from_ns, at_ns - from_ns);
			upto.exec_ns =
				part_of(what->exec_ns, slot_end(s, i) - from_ns, at_ns - from_ns);
		}
		line[i].calls += upto.calls - given.calls;
		line[i].exec_ns += upto.exec_ns - given.exec_ns;
		given = upto;
	}
}

static bool is_same_statement(const void *owner, uint32_t i, const void *key)
{
	const struct fleet_statement *s = (const struct fleet_statement *)owner + i;
	const struct statement_row *row = key;

	return s->server == row->server && fleet_is_same_key(&s->key, &row->key);
}

static bool is_same_function(const void *owner, uint32_t i, const void *key)
{
	const struct fleet_function *f = (const struct fleet_function *)owner + i;
	const struct function_row *row = key;

	return f->server == row->server && f->dbid == row->dbid && f->funcid == row->funcid;
}

static bool is_same_server(const void *owner, uint32_t i, const void *key)
{
	return ((const struct fleet_server_sum *)owner)[i].server == *(const uint32_t *)key;
}

static uint64_t function_hash(uint32_t server, uint32_t dbid, uint32_t funcid)
{
	return fleet_hash_u64(server, (uint64_t)dbid << 32 | funcid);
}

static int index_all(struct fleet_time *t)
{
	const struct fleet_analysis *a = t->a;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < a->statement_count; i++)
		rc = fleet_places_add(
			&t->index->statements,
			fleet_statement_hash(a->statements[i].server, &a->statements[i].key), i);
	for (uint32_t i = 0; rc == 0 && i < t->function_count; i++)
		rc = fleet_places_add(&t->index->functions,
				      function_hash(a->functions[i].server, a->functions[i].dbid,
						    a->functions[i].funcid),
				      i);
	for (uint32_t i = 0; rc == 0 && i < a->server_count; i++)
		rc = fleet_places_add(&t->index->servers, fleet_hash_u64(0, a->servers[i].server),
				      i);
	return rc;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

int fleet_time_open(const struct fleet_analysis *a, const struct fleet_slots *slots,
		    size_t statements_most, size_t functions_most, struct fleet_time *out)
{
	struct fleet_time t = { .a = a,
				.slots = *slots,
				.statement_count = least(a->statement_count, statements_most),
				.function_count = least(a->function_count, functions_most) };
	size_t width = slots->count + 1; /* never nothing */

	t.statements = calloc((t.statement_count + 1) * width, sizeof(*t.statements));
	t.functions = calloc((t.function_count + 1) * width, sizeof(*t.functions));
	t.all = calloc(width, sizeof(*t.all));
	t.covers = calloc((a->server_count + 1) * width, sizeof(*t.covers));
	t.index = calloc(1, sizeof(*t.index));
	if (t.statements == NULL || t.functions == NULL || t.all == NULL || t.covers == NULL ||
	    t.index == NULL || index_all(&t) != 0) {
		fleet_time_free(&t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

void fleet_time_free(struct fleet_time *t)
{
	if (t->index != NULL) {
		fleet_places_free(&t->index->statements);
		fleet_places_free(&t->index->functions);
		fleet_places_free(&t->index->servers);
		fleet_moments_free(&t->index->visits);
		fleet_moments_free(&t->index->breaks);
		fleet_moments_free(&t->index->spans);
		fleet_moments_free(&t->index->hidden);
		free(t->index);
	}
	free(t->statements);
	free(t->functions);
	free(t->all);
	free(t->covers);
	*t = FLEET_TIME_EMPTY;
}

/* What says that nothing of its server is known between this visit and the one before. */
static bool is_break(uint32_t life)
{
	return life == DELTA_RESET || life == DELTA_RESTARTED || life == DELTA_OTHER ||
	       life == DELTA_GAP || life == DELTA_CLOCK;
}

static uint32_t server_at(const struct fleet_time *t, uint32_t server)
{
	return fleet_places_find(&t->index->servers, fleet_hash_u64(0, server), is_same_server,
				 t->a->servers, &server);
}

/* A row without a difference. `line` NULL: its statement has none. */
static int take_unknown(struct fleet_time *t, const struct statement_row *row,
			struct fleet_cell *line, struct fleet_moment *moment)
{
	struct fleet_cell *cell = line != NULL ? line + slot_at(&t->slots, row->at_wall_ns) : NULL;

	if (cell != NULL)
		cell->unknown++;
	if (is_break(row->life))
		return fleet_moments_join(&t->index->breaks, moment);
	if (cell == NULL)
		return 0;
	moment->span_ns = (uint64_t)(cell - t->statements);
	return fleet_moments_add(&t->index->hidden, moment);
}

static int take_statement(struct fleet_time *t, const struct statement_row *row)
{
	uint32_t i = fleet_places_find(&t->index->statements,
				       fleet_statement_hash(row->server, &row->key),
				       is_same_statement, t->a->statements, row);
	struct fleet_cell *line =
		i < t->statement_count ? t->statements + i * t->slots.count : NULL;
	struct fleet_cell what = { 0 };
	uint32_t server = server_at(t, row->server);
	struct fleet_moment moment = { server, row->at_wall_ns, row->span_ns };

	if (i == FLEET_NOWHERE || server == FLEET_NOWHERE)
		return 0;
	if (row->span_ns == 0)
		return take_unknown(t, row, line, &moment);
	if (IS_MEASURED(row->counters[STATEMENT_CALLS]))
		what.calls = row->counters[STATEMENT_CALLS].value;
	if (IS_MEASURED(row->counters[STATEMENT_EXEC_NS]))
		what.exec_ns = row->counters[STATEMENT_EXEC_NS].value;
	spread(&t->slots, t->all, row->at_wall_ns, row->span_ns, &what);
	if (line != NULL)
		spread(&t->slots, line, row->at_wall_ns, row->span_ns, &what);
	return fleet_moments_join(&t->index->spans, &moment);
}

static void take_function(struct fleet_time *t, const struct function_row *row)
{
	uint32_t i = fleet_places_find(&t->index->functions,
				       function_hash(row->server, row->dbid, row->funcid),
				       is_same_function, t->a->functions, row);
	struct fleet_cell *line = t->functions + (size_t)i * t->slots.count, what = { 0 };

	if (i == FLEET_NOWHERE)
		return;
	if (row->span_ns == 0) {
		line[slot_at(&t->slots, row->at_wall_ns)].unknown++;
		return;
	}
	if (IS_MEASURED(row->counters[FUNCTION_CALLS]))
		what.calls = row->counters[FUNCTION_CALLS].value;
	if (IS_MEASURED(row->counters[FUNCTION_SELF_NS]))
		what.exec_ns = row->counters[FUNCTION_SELF_NS].value;
	spread(&t->slots, line, row->at_wall_ns, row->span_ns, &what);
}

static int take_run(struct fleet_time *t, const struct run_row *row)
{
	struct fleet_moment moment = { server_at(t, row->server), row->at_wall_ns, 0 };

	if (row->reading != READING_STATEMENTS || row->outcome != RUN_SUCCESS ||
	    moment.server == FLEET_NOWHERE)
		return 0;
	return fleet_moments_join(&t->index->visits, &moment);
}

int fleet_time_take(struct fleet_time *t, const struct table *table, const void *row)
{
	int64_t at_ns = table == &table_statement  ? ((const struct statement_row *)row)->at_wall_ns
			: table == &table_function ? ((const struct function_row *)row)->at_wall_ns
			: table == &table_run	   ? ((const struct run_row *)row)->at_wall_ns
						   : 0;

	if (t->slots.count == 0 || at_ns <= 0 || at_ns < t->a->from_wall_ns ||
	    at_ns >= t->a->to_wall_ns)
		return 0;
	if (table == &table_statement)
		return take_statement(t, row);
	if (table == &table_run)
		return take_run(t, row);
	take_function(t, row);
	return 0;
}
