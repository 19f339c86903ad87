/* make_page_fleet.c - fleets for pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/fleet_pen.h"
#include "core/units.h"
#include "format/json.h"
#include "web/make_page.h"

#define START_NS   (INT64_C(1764471600) * (int64_t)NS_PER_S) /* 2025-11-30 03:00:00 UTC */
#define CYCLE_NS   ((int64_t)(60 * NS_PER_S))
#define MS	   NS_PER_MS
#define VISITS	   12
#define CHANGE_AT  6 /* the visit that sees the other plan */
#define SERVERS	   20u
#define STATEMENTS 60u
#define LEVELS	   12 /* of a plan that is large */

static struct statement_key key_of(int64_t queryid)
{
	return (struct statement_key){ 16384, 16385, queryid, true };
}

static void plan_begin(struct json *j, char **out_plan, size_t *out_len, FILE **out_file)
{
	*out_file = open_memstream(out_plan, out_len);
	assert_non_null(*out_file);
	json_begin(j, json_to_file, *out_file, 0);
	json_open_array(j);
	json_open_object(j);
	json_key(j, "Plan");
}

static void plan_end(struct json *j, FILE *file)
{
	json_close(j);
	json_close(j);
	assert_int_equal(json_end(j), 0);
	assert_int_equal(fclose(file), 0);
}

/* A plan of one node, or of a sort over it, with `name` in every field that a server fills. */
static char *named_plan(struct str name, bool is_sorted)
{
	static const char *const fields[] = { "Node Type", "Relation Name", "Alias",
					      "Schema",	   "Index Name",    "Index Cond",
					      "Filter",	   "CTE Name",	    "Function Name",
					      "Join Type", "Strategy" };
	struct json j;
	FILE *file;
	char *plan;
	size_t len;

	plan_begin(&j, &plan, &len, &file);
	if (is_sorted) {
		json_open_object(&j);
		json_put_chars(&j, "Node Type", "Sort");
		json_put_double(&j, "Total Cost", 99);
		json_key(&j, "Sort Key");
		json_open_array(&j);
		json_str(&j, name);
		json_close(&j);
		json_key(&j, "Plans");
		json_open_array(&j);
	}
	json_open_object(&j);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		json_put_str(&j, fields[i], name);
	json_put_double(&j, "Total Cost", is_sorted ? 98 : 8);
	json_put_u64(&j, "Plan Rows", 2);
	json_close(&j);
	if (is_sorted) {
		json_close(&j);
		json_close(&j);
	}
	plan_end(&j, file);
	return plan;
}

/* Loops in loops, with conditions as long as real ones. */
static char *large_plan(uint32_t seed, bool is_sequential)
{
	char text[160];
	struct json j;
	FILE *file;
	char *plan;
	size_t len;

	plan_begin(&j, &plan, &len, &file);
	for (int i = 0; i < LEVELS; i++) {
		json_open_object(&j);
		json_put_chars(&j, "Node Type",
			       i + 1 < LEVELS  ? "Nested Loop"
			       : is_sequential ? "Seq Scan"
					       : "Index Scan");
		(void)snprintf(text, sizeof(text), "parts_%u_%d", seed, i);
		json_put_chars(&j, "Relation Name", text);
		(void)snprintf(text, sizeof(text),
			       "((part_%d.tenant_id = $1) AND (part_%d.state = ANY ($2)) AND "
			       "(part_%d.seen_at > (now() - $%u)))",
			       i, i, i, seed % 90 + 3);
		json_put_chars(&j, "Filter", text);
		json_put_double(&j, "Total Cost", 1000.0 - i);
		json_put_u64(&j, "Plan Rows", seed + 1);
		json_key(&j, "Plans");
		json_open_array(&j);
	}
	for (int i = 0; i < LEVELS; i++) {
		json_close(&j);
		json_close(&j);
	}
	plan_end(&j, file);
	return plan;
}

/* A plan seen from one visit to another; `plan` is freed. */
static void add_plan(struct fleet_batch *b, uint32_t id, int64_t queryid, char *plan, bool is_new)
{
	int64_t change_ns = START_NS + CHANGE_AT * CYCLE_NS;
	struct plan_row row = { .server = b->server,
				.key = key_of(queryid),
				.search_path = fleet_pen_str("public"),
				.total_cost = is_new ? 99 : 8,
				.plan_rows = 2,
				.plan_bytes = strlen(plan),
				.first_wall_ns = is_new ? change_ns : START_NS,
				.seen_wall_ns = is_new ? START_NS + VISITS * CYCLE_NS
						       : change_ns - CYCLE_NS };

	row.plan = fleet_pen_payload(b, id, PAYLOAD_PLAN, fleet_pen_str(plan), START_NS);
	row.shape.bytes[0] = is_new ? 2 : 1;
	fleet_pen_add(b, &table_plan, &row);
	free(plan);
}

static void add_statement(struct fleet_batch *b, int64_t at_ns, int64_t queryid, uint64_t exec_ns)
{
	struct statement_row row = { .server = b->server,
				     .at_wall_ns = at_ns,
				     .key = key_of(queryid),
				     .span_ns = (uint64_t)CYCLE_NS,
				     .longest_ns = exec_ns / 10 };

	for (int c = 0; c < STATEMENT_COUNTERS; c++)
		row.counters[c] = NOT_MEASURED;
	row.counters[STATEMENT_CALLS] = COUNTER(100);
	row.counters[STATEMENT_ROWS] = COUNTER(200);
	row.counters[STATEMENT_EXEC_NS] = COUNTER(exec_ns);
	fleet_pen_add(b, &table_statement, &row);
}

static void add_run(struct fleet_batch *b, uint32_t reading, int64_t at_ns, struct str failure)
{
	struct run_row row = { .server = b->server,
			       .reading = reading,
			       .at_wall_ns = at_ns,
			       .cycle = b->cycle,
			       .capture = CAPTURE_SCHEDULED,
			       .outcome = failure.len > 0 ? RUN_ERROR : RUN_SUCCESS,
			       .reason = failure,
			       .rows = 40,
			       .bytes = 6000,
			       .server_ns = MS,
			       .own_ns = MS / 5,
			       .wall_ns = 2 * MS };

	fleet_pen_add(b, &table_run, &row);
}

static void add_query(struct fleet_batch *b, int64_t queryid, struct str text, struct str name)
{
	struct query_row row = { .server = b->server,
				 .key = key_of(queryid),
				 .database = name,
				 .user = name,
				 .text_bytes = text.len,
				 .command = fleet_pen_str("select"),
				 .first_wall_ns = START_NS,
				 .seen_wall_ns = START_NS };

	row.text = fleet_pen_payload(b, (uint32_t)(1000 + queryid), PAYLOAD_TEXT, text, START_NS);
	fleet_pen_add(b, &table_query, &row);
}

/* A procedure, a wait and who blocks whom, by names. */
static void add_others(struct fleet_batch *b, int64_t at_ns, struct str name)
{
	struct function_row function = { .server = b->server,
					 .at_wall_ns = at_ns,
					 .dbid = 16384,
					 .funcid = 20001,
					 .database = name,
					 .name = name,
					 .span_ns = (uint64_t)CYCLE_NS };
	const struct wait_row wait = { .server = b->server,
				       .at_wall_ns = at_ns,
				       .dbid = 16384,
				       .backend = name,
				       .state = name,
				       .wait_type = name,
				       .wait_event = name,
				       .seen = 3,
				       .looks = 2 };
	const struct blocking_row blocking = { .server = b->server,
					       .at_wall_ns = at_ns,
					       .pid = 4711,
					       .blocker_pid = 4712,
					       .lock_type = name,
					       .lock_mode = name,
					       .relation = name,
					       .blocker_state = name,
					       .waited_ns = 12 * NS_PER_S };

	function.counters[FUNCTION_CALLS] = COUNTER(1);
	function.counters[FUNCTION_TOTAL_NS] = COUNTER(690 * MS);
	function.counters[FUNCTION_SELF_NS] = COUNTER(80 * MS);
	fleet_pen_add(b, &table_function, &function);
	fleet_pen_add(b, &table_wait, &wait);
	fleet_pen_add(b, &table_blocking, &blocking);
}

static void put_server(struct fleet_pen *pen, const struct server_row *server, struct str version)
{
	struct fleet_batch b = { .server = server->server, .cycle = VISITS };
	struct server_row row = *server;

	row.version = version;
	row.role = version;
	row.first_wall_ns = START_NS;
	row.seen_wall_ns = START_NS + (VISITS - 1) * CYCLE_NS;
	fleet_pen_add(&b, &table_server, &row);
	fleet_pen_put(pen, &b);
}

static void visit_named(struct fleet_pen *pen, uint32_t server, const struct names *names,
			int visit)
{
	struct fleet_batch b = { .server = server, .cycle = (uint64_t)visit };
	int64_t at_ns = START_NS + visit * CYCLE_NS;
	struct str name = name_at(names, server - 1);

	if (visit == 0) {
		add_query(&b, server, name_at(names, server + 4), name_at(names, server + 9));
		add_plan(&b, server, server, named_plan(name, false), false);
		add_plan(&b, 500 + server, server, named_plan(name, true), true);
	}
	add_statement(&b, at_ns, server, (200 - server) * MS);
	add_others(&b, at_ns, name_at(names, server + 17));
	add_run(&b, READING_STATEMENTS, at_ns, STR_EMPTY);
	add_run(&b, READING_PLANS, at_ns, STR_EMPTY);
	add_run(&b, READING_VISIT, at_ns, visit == 3 ? name_at(names, server + 30) : STR_EMPTY);
	fleet_pen_put(pen, &b);
}

void page_fleet_names(const char *url, const struct names *names)
{
	struct server_row *servers = calloc(names->count, sizeof(*servers));
	struct fleet_pen pen;

	assert_non_null(servers);
	fleet_pen_open(&pen, url);
	for (uint32_t i = 0; i < names->count; i++)
		servers[i] = (struct server_row){ .name = name_at(names, i),
						  .kind = fleet_pen_str("postgresql"),
						  .address = name_at(names, i + 13) };
	fleet_pen_enrol(&pen, servers, names->count);
	for (int visit = 0; visit < VISITS; visit++)
		for (uint32_t i = 0; i < names->count; i++)
			visit_named(&pen, servers[i].server, names, visit);
	for (uint32_t i = 0; i < names->count; i++)
		put_server(&pen, &servers[i], name_at(names, i + 2));
	fleet_pen_close(&pen);
	free(servers);
}

static void visit_crowd(struct fleet_pen *pen, uint32_t server, int visit)
{
	struct fleet_batch b = { .server = server, .cycle = (uint64_t)visit };
	int64_t at_ns = START_NS + visit * CYCLE_NS;
	char text[400], database[32];

	for (uint32_t i = 1; i <= STATEMENTS; i++) {
		uint32_t seed = server * STATEMENTS + i;

		if (visit == 0) {
			int len = snprintf(text, sizeof(text),
					   "SELECT p.id, p.name, p.state FROM parts_%u p JOIN "
					   "owners o ON o.id = p.owner "
					   "WHERE p.tenant_id = $1 AND p.state = ANY ($2) AND "
					   "p.seen_at > now() - $3 "
					   "ORDER BY p.seen_at DESC LIMIT $4",
					   seed);

			(void)snprintf(database, sizeof(database), "tenant_%u", server);
			add_query(&b, seed, (struct str){ text, (uint32_t)len },
				  fleet_pen_str(database));
			add_plan(&b, 10000 + seed, seed, large_plan(seed, false), false);
			add_plan(&b, 20000 + seed, seed, large_plan(seed, true), true);
		}
		add_statement(&b, at_ns, seed, (1 + seed % 97) * MS);
	}
	add_run(&b, READING_STATEMENTS, at_ns, STR_EMPTY);
	add_run(&b, READING_VISIT, at_ns, STR_EMPTY);
	fleet_pen_put(pen, &b);
}

void page_fleet_crowd(const char *url)
{
	struct server_row servers[SERVERS] = { { .server = 0 } };
	char names[SERVERS][16];
	struct fleet_pen pen;

	fleet_pen_open(&pen, url);
	for (uint32_t i = 0; i < SERVERS; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "pg-%02u", i);
		servers[i] = (struct server_row){ .name = fleet_pen_str(names[i]),
						  .kind = fleet_pen_str("postgresql"),
						  .address = fleet_pen_str("db:5432/shop") };
	}
	fleet_pen_enrol(&pen, servers, SERVERS);
	for (int visit = 0; visit < VISITS; visit++)
		for (uint32_t i = 0; i < SERVERS; i++)
			visit_crowd(&pen, servers[i].server, visit);
	for (uint32_t i = 0; i < SERVERS; i++)
		put_server(&pen, &servers[i], fleet_pen_str("15.20"));
	fleet_pen_close(&pen);
}
