/* make_fleet.c - fleet stores by hand, for tests of reports.
 * Usage: make_fleet KIND URL      KIND: shop (three servers, two hours, a plan that changes, a server that is never reached),
 * holes (the same, but one server was started again, and the other was away for over an hour), hostile (names that would take over a
 * terminal), empty */
#include <stdio.h>
#include <string.h>

#include "cli/fleet_pen.h"
#include "core/scoped.h"
#include "core/units.h"

#define START_NS  (INT64_C(1764471600) * (int64_t)NS_PER_S) /* 2025-11-30 03:00:00 UTC */
#define CYCLE_NS  ((int64_t)(60 * NS_PER_S))
#define VISITS	  120
#define CHANGE_AT 81 /* the visit that sees the other plan */
#define MS	  NS_PER_MS

#define RESTART_AT 30
#define AWAY_FROM  40
#define AWAY_TO	   110

static struct fleet_pen pen;
static bool has_holes;

/* What a statement of these tests is and does in a visit. */
struct made {
	int64_t queryid;
	const char *text, *command;
	uint64_t calls, exec_ns;
	uint32_t no_plan; /* enum plan_reason; PLAN_OK: it has one */
};

static const struct made shop[] = {
	{ -7221450918, "SELECT o.id, o.total FROM orders o\n\tWHERE o.customer = $1 ORDER BY o.id",
	  "select", 400, 120 * MS, PLAN_OK },
	{ 9911, "UPDATE stock SET held = held + $1 WHERE item = $2", "update", 300, 1500 * MS,
	  PLAN_OK },
	{ 12, "CALL nightly_rollup($1)", "call", 1, 700 * MS, PLAN_UTILITY },
	{ 13, "SELECT count(*) FROM events WHERE at > now() - interval $1", "select", 2, 90 * MS,
	  PLAN_LOCK },
};

static const char before_plan[] =
	"[{\"Plan\": {\"Node Type\": \"Index Scan\", \"Index Name\": \"orders_customer\", "
	"\"Relation Name\": \"orders\", \"Alias\": \"o\", "
	"\"Total Cost\": 8.31, \"Plan Rows\": 2, \"Index Cond\": \"(o.customer = $1)\"}}]";
static const char after_plan[] =
	"[{\"Plan\": {\"Node Type\": \"Sort\", \"Total Cost\": 1843.02, \"Plan Rows\": 2, "
	"\"Plans\": [{\"Node Type\": \"Seq Scan\", "
	"\"Relation Name\": \"orders\", \"Alias\": \"o\", \"Total Cost\": 1843.00, \"Plan Rows\": "
	"2, \"Filter\": \"(o.customer = $1)\"}]}}]";

static struct statement_key key_of(int64_t queryid)
{
	return (struct statement_key){ 16384, 16385, queryid, true };
}

static void add_queries(struct fleet_batch *b)
{
	for (size_t i = 0; i < ARRAY_LEN(shop); i++) {
		struct query_row row = { .server = b->server,
					 .key = key_of(shop[i].queryid),
					 .database = fleet_pen_str("shop"),
					 .user = fleet_pen_str("web"),
					 .text_bytes = strlen(shop[i].text),
					 .command = fleet_pen_str(shop[i].command),
					 .first_wall_ns = START_NS,
					 .seen_wall_ns = START_NS };
		struct no_plan_row no_plan = { .server = b->server,
					       .key = row.key,
					       .reason = shop[i].no_plan,
					       .at_wall_ns = START_NS,
					       .again_wall_ns = START_NS + 1440 * CYCLE_NS,
					       .tries = 1 };

		row.text = fleet_pen_payload(b, (uint32_t)(10 + i), PAYLOAD_TEXT,
					     fleet_pen_str(shop[i].text), START_NS);
		fleet_pen_add(b, &table_query, &row);
		if (shop[i].no_plan != PLAN_OK)
			fleet_pen_add(b, &table_no_plan, &no_plan);
	}
}

static void add_plan(struct fleet_batch *b, uint8_t id, int64_t queryid, const char *content,
		     int64_t from_ns, int64_t to_ns, double cost)
{
	struct plan_row row = { .server = b->server,
				.key = key_of(queryid),
				.search_path = fleet_pen_str("public"),
				.total_cost = cost,
				.plan_rows = 2,
				.plan_bytes = strlen(content),
				.first_wall_ns = from_ns,
				.seen_wall_ns = to_ns };

	row.plan = fleet_pen_payload(b, id, PAYLOAD_PLAN, fleet_pen_str(content), START_NS);
	row.shape.bytes[0] = id;
	fleet_pen_add(b, &table_plan, &row);
}

static void add_run(struct fleet_batch *b, uint32_t reading, int64_t at_ns, uint32_t capture,
		    uint64_t server_ns)
{
	struct run_row row = { .server = b->server,
			       .reading = reading,
			       .at_wall_ns = at_ns,
			       .cycle = b->cycle,
			       .capture = capture,
			       .rows = 40,
			       .bytes = 6000,
			       .server_ns = server_ns,
			       .own_ns = server_ns / 5,
			       .wall_ns = server_ns * 2,
			       .store_ns = 300000 };

	if (reading == READING_PLANS) {
		row.plans = 2;
		row.new_plans = b->cycle == CHANGE_AT;
	}
	fleet_pen_add(b, &table_run, &row);
}

/* Why a visit's differences are what they are. */
static uint32_t life_of(uint32_t server, int visit)
{
	if (has_holes && server == 1 && visit == RESTART_AT)
		return DELTA_RESTARTED;
	return has_holes && server == 2 && visit == AWAY_TO ? DELTA_GAP : DELTA_SAME;
}

static bool is_away(uint32_t server, int visit)
{
	return has_holes && server == 2 && visit >= AWAY_FROM && visit < AWAY_TO;
}

static void add_statements(struct fleet_batch *b, int64_t at_ns, int visit)
{
	for (size_t i = 0; i < ARRAY_LEN(shop); i++) {
		struct statement_row row = { .server = b->server,
					     .at_wall_ns = at_ns,
					     .key = key_of(shop[i].queryid),
					     .span_ns = (uint64_t)CYCLE_NS,
					     .longest_ns = 9 * shop[i].exec_ns / shop[i].calls };

		for (int c = 0; c < STATEMENT_COUNTERS; c++)
			row.counters[c] = NOT_MEASURED;
		row.counters[STATEMENT_CALLS] = COUNTER(shop[i].calls);
		row.counters[STATEMENT_ROWS] = COUNTER(2 * shop[i].calls);
		row.counters[STATEMENT_EXEC_NS] = COUNTER(
			i == 0 && b->server == 1 && visit >= CHANGE_AT ? 40 * shop[i].exec_ns
								       : shop[i].exec_ns);
		row.life = life_of(b->server, visit);
		if (row.life != DELTA_SAME) {
			row.span_ns = 0;
			for (int c = 0; c < STATEMENT_COUNTERS; c++)
				row.counters[c] = NOT_MEASURED;
		}
		fleet_pen_add(b, &table_statement, &row);
	}
}

/* Server 1 was last captured early on: it is owed. */
static void add_capture(struct fleet_batch *b, int64_t at_ns)
{
	struct capture_row row = { .server = b->server,
				   .reading = READING_STATEMENTS,
				   .captured_wall_ns = at_ns,
				   .tried_wall_ns = at_ns };

	if (has_holes)
		fleet_pen_add(b, &table_capture, &row);
}

static void add_function(struct fleet_batch *b, int64_t at_ns)
{
	struct function_row row = { .server = b->server,
				    .at_wall_ns = at_ns,
				    .dbid = 16384,
				    .funcid = 20001,
				    .database = fleet_pen_str("shop"),
				    .name = fleet_pen_str("public.nightly_rollup(date)"),
				    .span_ns = (uint64_t)CYCLE_NS };

	row.counters[FUNCTION_CALLS] = COUNTER(1);
	row.counters[FUNCTION_TOTAL_NS] = COUNTER(690 * MS);
	row.counters[FUNCTION_SELF_NS] = COUNTER(80 * MS);
	fleet_pen_add(b, &table_function, &row);
}

static void add_waits(struct fleet_batch *b, int64_t at_ns, int visit)
{
	struct wait_row cpu = { .server = b->server,
				.at_wall_ns = at_ns,
				.dbid = 16384,
				.backend = fleet_pen_str("client backend"),
				.state = fleet_pen_str("active"),
				.seen = 3,
				.looks = 2 };
	struct wait_row read = cpu;
	struct blocking_row blocking = { .server = b->server,
					 .at_wall_ns = at_ns,
					 .pid = 4711,
					 .blocker_pid = 4712,
					 .lock_type = fleet_pen_str("transactionid"),
					 .lock_mode = fleet_pen_str("ShareLock"),
					 .relation = fleet_pen_str("public.stock"),
					 .blocker_state = fleet_pen_str("idle in transaction"),
					 .waited_ns = 12 * NS_PER_S };

	read.wait_type = fleet_pen_str("IO");
	read.wait_event = fleet_pen_str("DataFileRead");
	read.seen = 1;
	fleet_pen_add(b, &table_wait, &cpu);
	fleet_pen_add(b, &table_wait, &read);
	if (b->server == 2 && visit == 50)
		fleet_pen_add(b, &table_blocking, &blocking);
}

static void add_visit(struct fleet_batch *b, int visit)
{
	int64_t at_ns = START_NS + visit * CYCLE_NS;
	bool captures = visit % 4 == (int)b->server;

	add_run(b, READING_STATEMENTS, at_ns, captures ? CAPTURE_SCHEDULED : CAPTURE_GATED, 900000);
	add_run(b, READING_FUNCTIONS, at_ns, CAPTURE_NONE, 200000);
	add_run(b, READING_ACTIVITY, at_ns, CAPTURE_NONE, 400000);
	add_run(b, READING_VISIT, at_ns, captures ? CAPTURE_SCHEDULED : CAPTURE_GATED, 0);
	if (captures)
		add_run(b, READING_PLANS, at_ns, CAPTURE_SCHEDULED, 6 * MS);
	if (captures && (b->server == 2 || visit < AWAY_FROM))
		add_capture(b, at_ns);
	add_statements(b, at_ns, visit);
	add_function(b, at_ns);
	add_waits(b, at_ns, visit);
	if (visit == 0)
		add_queries(b);
	if (visit == CHANGE_AT) {
		add_plan(b, 1, shop[0].queryid, before_plan, START_NS, at_ns - CYCLE_NS, 8.31);
		if (b->server == 1)
			add_plan(b, 2, shop[0].queryid, after_plan, at_ns, at_ns + 30 * CYCLE_NS,
				 1843.02);
	}
}

static void put_failure(uint32_t server, int visit)
{
	struct fleet_batch b = { .server = server, .cycle = (uint64_t)visit };
	struct run_row row = { .server = server,
			       .reading = READING_VISIT,
			       .at_wall_ns = START_NS + visit * CYCLE_NS,
			       .cycle = (uint64_t)visit,
			       .outcome = RUN_ERROR,
			       .sqlstate = STR_EMPTY,
			       .reason = fleet_pen_str("cannot connect: connection refused") };

	fleet_pen_add(&b, &table_run, &row);
	fleet_pen_put(&pen, &b);
}

static void put_collector(void)
{
	struct fleet_batch b = { .server = 0, .cycle = 0 };
	struct collector_row row = { .collector = fleet_pen_str("ops-1"),
				     .at_wall_ns = START_NS + (VISITS - 1) * CYCLE_NS,
				     .cpu_ns = 12 * MS,
				     .rss_bytes = 9 << 20,
				     .visits = 3,
				     .turn_slots = 1,
				     .one_in = 4 };

	fleet_pen_add(&b, &table_collector, &row);
	fleet_pen_put(&pen, &b);
}

/* Who they are, as they were last seen. */
static void put_servers(const struct server_row *servers, size_t count, const char *version)
{
	for (size_t i = 0; i < count; i++) {
		struct fleet_batch b = { .server = servers[i].server, .cycle = VISITS };
		struct server_row row = servers[i];

		row.version = fleet_pen_str(version);
		row.role = fleet_pen_str("tare");
		row.first_wall_ns = START_NS;
		row.seen_wall_ns = START_NS + (VISITS - 1) * CYCLE_NS;
		fleet_pen_add(&b, &table_server, &row);
		fleet_pen_put(&pen, &b);
	}
}

static void make_shop(void)
{
	struct server_row servers[] = {
		{ .name = fleet_pen_str("shop-1"),
		  .kind = fleet_pen_str("postgresql"),
		  .address = fleet_pen_str("db1:5432/shop") },
		{ .name = fleet_pen_str("shop-2"),
		  .kind = fleet_pen_str("postgresql"),
		  .address = fleet_pen_str("db2:5432/shop") },
		{ .name = fleet_pen_str("archive"),
		  .kind = fleet_pen_str("postgresql"),
		  .address = fleet_pen_str("db3:5432/archive") },
	};

	fleet_pen_enrol(&pen, servers, ARRAY_LEN(servers));
	for (int visit = 0; visit < VISITS; visit++) {
		for (uint32_t server = 1; server <= 2; server++) {
			struct fleet_batch b = { .server = server, .cycle = (uint64_t)visit };

			if (is_away(server, visit)) {
				put_failure(server, visit);
				continue;
			}
			add_visit(&b, visit);
			fleet_pen_put(&pen, &b);
		}
		put_failure(3, visit);
	}
	put_collector();
	put_servers(servers, 2, "15.20");
}

static void make_hostile(void)
{
	static const char name[] = "x\x1b[2J\x1b]0;gone\x07\xe2\x80\xae";
	struct server_row servers[] = { { .name = fleet_pen_str(name),
					  .kind = fleet_pen_str("postgresql"),
					  .address = fleet_pen_str(name) } };
	struct fleet_batch b = { .server = 1, .cycle = 1 };
	struct statement_row ran = {
		.server = 1, .at_wall_ns = START_NS, .key = key_of(5), .span_ns = 1
	};
	struct query_row query = { .server = 1,
				   .key = key_of(5),
				   .database = fleet_pen_str(name),
				   .user = fleet_pen_str(name),
				   .command = fleet_pen_str(name) };

	fleet_pen_enrol(&pen, servers, 1);
	for (int c = 0; c < STATEMENT_COUNTERS; c++)
		ran.counters[c] = COUNTER(7 * MS);
	query.text =
		fleet_pen_payload(&b, 1, PAYLOAD_TEXT,
				  fleet_pen_str("select \x1b[31m\x9b 1\xff\xe2\x80\xae"), START_NS);
	fleet_pen_add(&b, &table_query, &query);
	fleet_pen_add(&b, &table_statement, &ran);
	add_run(&b, READING_VISIT, START_NS, CAPTURE_NONE, 0);
	add_plan(&b, 2, 5,
		 "[{\"Plan\": {\"Node Type\": \"Seq \\u001b[31mScan\", \"Relation Name\": "
		 "\"\\u202etable\"}}]",
		 START_NS, START_NS, 1);
	add_plan(&b, 3, 5, "[{\"Plan\": {\"Node Type\": \"Index\\u0007 Scan\"}}]", START_NS + 1,
		 START_NS + 1, 1);
	fleet_pen_put(&pen, &b);
	put_servers(servers, 1, name);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: make_fleet shop|holes|hostile|empty URL\n");
		return 2;
	}
	fleet_pen_open(&pen, argv[2]);
	has_holes = strcmp(argv[1], "holes") == 0;
	if (strcmp(argv[1], "shop") == 0 || has_holes)
		make_shop();
	else if (strcmp(argv[1], "hostile") == 0)
		make_hostile();
	fleet_pen_close(&pen);
	return 0;
}
