/* fleet_analysis_end.c - what can be said once rows are there: changes of plans, servers, and the order of things. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/fleet_analysis_parts.h"

static bool is_same_server(const void *owner, uint32_t i, const void *key)
{
	return ((const struct fleet_server_sum *)owner)[i].server == *(const uint32_t *)key;
}

struct fleet_server_sum *fleet_server_of(struct fleet_analysis *a, uint32_t server)
{
	struct kind k = { &a->index->servers, (void **)&a->servers, &a->server_count,
			  &a->index->server_room, sizeof(*a->servers) };
	bool is_new;
	struct fleet_server_sum *s =
		fleet_sum_of(&k, fleet_hash_u64(0, server), is_same_server, &server, &is_new);

	if (s != NULL && is_new)
		*s = (struct fleet_server_sum){ .server = server };
	return s;
}

int fleet_take_looks(struct fleet_analysis *a, const struct wait_row *row)
{
	struct fleet_server_sum *s = fleet_server_of(a, row->server);

	if (s == NULL)
		return -ENOMEM;
	if (s->looked_wall_ns != row->at_wall_ns)
		s->looks += row->looks;
	s->looked_wall_ns = row->at_wall_ns;
	return 0;
}

int fleet_take_visit(struct fleet_analysis *a, const struct run_row *row)
{
	struct fleet_server_sum *s = fleet_server_of(a, row->server);

	if (s == NULL)
		return -ENOMEM;
	if (row->reading == READING_VISIT) {
		s->visits += row->outcome != RUN_SKIPPED;
		s->skipped += row->outcome == RUN_SKIPPED;
		s->well += row->outcome == RUN_SUCCESS;
		return 0;
	}
	s->server_ns += row->server_ns;
	s->own_ns += row->own_ns;
	s->bytes += row->bytes;
	return 0;
}

/* By statement, then by the time it was first seen. */
static int by_statement(const void *x, const void *y)
{
	const struct plan_row *a = *(const struct plan_row *const *)x,
			      *b = *(const struct plan_row *const *)y;

	if (a->server != b->server)
		return a->server < b->server ? -1 : 1;
	if (a->key.queryid != b->key.queryid)
		return a->key.queryid < b->key.queryid ? -1 : 1;
	if (a->key.dbid != b->key.dbid)
		return a->key.dbid < b->key.dbid ? -1 : 1;
	if (a->key.userid != b->key.userid)
		return a->key.userid < b->key.userid ? -1 : 1;
	if (a->key.is_toplevel != b->key.is_toplevel)
		return a->key.is_toplevel ? 1 : -1;
	if (a->first_wall_ns != b->first_wall_ns)
		return a->first_wall_ns < b->first_wall_ns ? -1 : 1;
	return memcmp(a->plan.bytes, b->plan.bytes, sizeof(a->plan.bytes));
}

static bool has_same_shape(const struct plan_row *a, const struct plan_row *b)
{
	return memcmp(a->shape.bytes, b->shape.bytes, sizeof(a->shape.bytes)) == 0;
}

/* The plans of one statement, in the order they were first seen. A plan that comes back is the one last seen, and was first
 * seen earlier: then the change cannot be dated, and is not told. */
static void settle_statement(struct fleet_statement *s, const struct plan_row *const *plans,
			     size_t count)
{
	s->plan = plans[0];
	for (size_t i = 0; i < count; i++) {
		bool is_new_shape = true;

		for (size_t j = 0; j < i && is_new_shape; j++)
			is_new_shape = !has_same_shape(plans[i], plans[j]);
		s->shapes += is_new_shape;
		if (plans[i]->seen_wall_ns >= s->plan->seen_wall_ns)
			s->plan = plans[i];
	}
	s->plans = (uint32_t)count;
	for (size_t i = 1; i < count; i++) {
		if (has_same_shape(plans[i], plans[i - 1]) || !has_same_shape(plans[i], s->plan))
			continue;
		s->plan_before = plans[i - 1];
		s->changed_wall_ns = plans[i]->first_wall_ns;
	}
}

int fleet_settle_plans(struct fleet_analysis *a)
{
	const struct fleet_block *block;
	const struct plan_row **plans;
	size_t count, end;
	int rc = 0;

	if (a->index->has_plans)
		return 0;
	a->index->has_plans = true;
	block = fleet_batch_block(&a->rows, &table_plan, BLOCK_PUT);
	count = block != NULL ? block->count : 0;
	if (count == 0)
		return 0;
	plans = calloc(count, sizeof(const struct plan_row *));
	if (plans == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		plans[i] = fleet_block_row(block, i);
	qsort(plans, count, sizeof(*plans), by_statement);
	for (size_t i = 0; i < count && rc == 0; i = end) {
		struct fleet_statement *s = fleet_statement_of(a, plans[i]->server, &plans[i]->key);

		for (end = i; end < count && plans[end]->server == plans[i]->server &&
			      fleet_is_same_key(&plans[end]->key, &plans[i]->key);)
			end++;
		if (s == NULL)
			rc = -ENOMEM;
		else
			settle_statement(s, plans + i, end - i);
	}
	free(plans);
	return rc;
}

static int join_queries(struct fleet_analysis *a)
{
	const struct fleet_block *queries = fleet_batch_block(&a->rows, &table_query, BLOCK_PUT);
	const struct fleet_block *refusals = fleet_batch_block(&a->rows, &table_no_plan, BLOCK_PUT);

	for (size_t i = 0; queries != NULL && i < queries->count; i++) {
		const struct query_row *row = fleet_block_row(queries, i);
		struct fleet_statement *s = fleet_statement_of(a, row->server, &row->key);

		if (s == NULL)
			return -ENOMEM;
		s->query = row;
	}
	for (size_t i = 0; refusals != NULL && i < refusals->count; i++) {
		const struct no_plan_row *row = fleet_block_row(refusals, i);
		struct fleet_statement *s = fleet_statement_of(a, row->server, &row->key);

		if (s == NULL)
			return -ENOMEM;
		s->no_plan = row;
	}
	return 0;
}

static uint64_t measured(struct counter c)
{
	return IS_MEASURED(c) ? c.value : 0;
}

/* What is known of a statement and did not run in the span is left out. */
static void drop_idle(struct fleet_analysis *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->statement_count; i++)
		if (a->statements[i].differences + a->statements[i].unknown > 0)
			a->statements[kept++] = a->statements[i];
	a->statement_count = kept;
}

static int count_statement(struct fleet_analysis *a, const struct fleet_statement *s)
{
	struct fleet_server_sum *server = fleet_server_of(a, s->server);
	uint64_t calls = measured(s->sums[STATEMENT_CALLS]),
		 exec_ns = measured(s->sums[STATEMENT_EXEC_NS]);

	if (server == NULL)
		return -ENOMEM;
	server->calls += calls;
	server->exec_ns += exec_ns;
	a->exec_ns += exec_ns;
	if (s->key.queryid == 0) {
		server->hidden_calls += calls;
		server->hidden_exec_ns += exec_ns;
		return 0;
	}
	server->statements++;
	server->plans += s->plan != NULL;
	server->without_plan += s->plan == NULL && s->no_plan != NULL;
	server->changes += s->changed_wall_ns >= a->from_wall_ns &&
			   s->changed_wall_ns < a->to_wall_ns && s->changed_wall_ns != 0;
	return 0;
}

static int join_servers(struct fleet_analysis *a)
{
	const struct fleet_block *servers = fleet_batch_block(&a->rows, &table_server, BLOCK_PUT);
	const struct fleet_block *blockings =
		fleet_batch_block(&a->rows, &table_blocking, BLOCK_PUT);
	int rc = 0;

	for (size_t i = 0; i < a->statement_count && rc == 0; i++)
		rc = count_statement(a, &a->statements[i]);
	for (size_t i = 0; rc == 0 && servers != NULL && i < servers->count; i++) {
		const struct server_row *row = fleet_block_row(servers, i);
		struct fleet_server_sum *s = fleet_server_of(a, row->server);

		rc = s == NULL ? -ENOMEM : 0;
		/* A visit's own row says what the server is, not its name. */
		if (s != NULL && (s->row == NULL || row->name.len > 0))
			s->row = row;
	}
	for (size_t i = 0; rc == 0 && blockings != NULL && i < blockings->count; i++) {
		struct fleet_server_sum *s = fleet_server_of(
			a, ((const struct blocking_row *)fleet_block_row(blockings, i))->server);

		rc = s == NULL ? -ENOMEM : 0;
		if (s != NULL)
			s->blockings++;
	}
	return rc;
}

/* The larger first; then by place, so that the order is the same each time. */
static int falling(uint64_t a, uint64_t b, uint64_t place_a, uint64_t place_b)
{
	if (a != b)
		return a > b ? -1 : 1;
	return (place_a > place_b) - (place_a < place_b);
}

static int by_exec(const void *x, const void *y)
{
	const struct fleet_statement *a = x, *b = y;
	int order = falling(measured(a->sums[STATEMENT_EXEC_NS]),
			    measured(b->sums[STATEMENT_EXEC_NS]), a->server, b->server);

	return order != 0 ? order
			  : (a->key.queryid > b->key.queryid) - (a->key.queryid < b->key.queryid);
}

static int by_self(const void *x, const void *y)
{
	const struct fleet_function *a = x, *b = y;

	return falling(measured(a->sums[FUNCTION_SELF_NS]), measured(b->sums[FUNCTION_SELF_NS]),
		       (uint64_t)a->server << 32 | a->funcid,
		       (uint64_t)b->server << 32 | b->funcid);
}

static int by_server_exec(const void *x, const void *y)
{
	const struct fleet_server_sum *a = x, *b = y;

	return falling(a->exec_ns, b->exec_ns, a->server, b->server);
}

static int by_database(const void *x, const void *y)
{
	const struct fleet_database *a = x, *b = y;

	return falling(0, 0, (uint64_t)a->server << 32 | a->dbid,
		       (uint64_t)b->server << 32 | b->dbid);
}

static int by_seen(const void *x, const void *y)
{
	const struct fleet_wait *a = x, *b = y;

	if (a->server != b->server)
		return a->server < b->server ? -1 : 1;
	return falling(a->seen, b->seen, 0, 0);
}

static int by_reading(const void *x, const void *y)
{
	const struct fleet_reading *a = x, *b = y;

	return falling(0, 0, (uint64_t)a->server << 32 | a->reading,
		       (uint64_t)b->server << 32 | b->reading);
}

static void sort(void *rows, size_t count, size_t bytes, int (*order)(const void *, const void *))
{
	if (count > 1)
		qsort(rows, count, bytes, order);
}

int fleet_analysis_close_input(struct fleet_analysis *a)
{
	int rc = fleet_settle_plans(a);

	rc = rc == 0 ? join_queries(a) : rc;
	drop_idle(a); /* the index of statements is not asked from here on */
	rc = rc == 0 ? join_servers(a) : rc;
	sort(a->statements, a->statement_count, sizeof(*a->statements), by_exec);
	sort(a->functions, a->function_count, sizeof(*a->functions), by_self);
	sort(a->databases, a->database_count, sizeof(*a->databases), by_database);
	sort(a->waits, a->wait_count, sizeof(*a->waits), by_seen);
	sort(a->readings, a->reading_count, sizeof(*a->readings), by_reading);
	sort(a->servers, a->server_count, sizeof(*a->servers), by_server_exec);
	return rc;
}
