/* report_fleet_tables.c - the tables of a fleet's report. Made for 80 columns; names take what is more. */
#include <inttypes.h>
#include <string.h>

#include "cli/report_fleet.h"
#include "core/fleet_words.h"
#include "core/scoped.h"
#include "core/units.h"

enum { SERVER_COLUMNS = 14 };

static uint64_t measured(struct counter c)
{
	return IS_MEASURED(c) ? c.value : 0;
}

static uint64_t span_ns(const struct fleet_report *r)
{
	return (uint64_t)(r->a.last_wall_ns - r->a.first_wall_ns);
}

/* A cell of numbers in its short form, ending before `end`. */
static void cell_duration(struct screen *s, uint64_t ns, size_t end)
{
	char text[48];

	units_format_duration(ns, text, sizeof(text));
	screen_put_right(s, text, end);
}

static void cell_count(struct screen *s, uint64_t count, size_t end)
{
	char text[48];

	if (count < 10000000)
		units_format_exact(count, text, sizeof(text));
	else
		units_format_count(count, text, sizeof(text));
	screen_put_right(s, text, end);
}

static void cell_counter(struct screen *s, struct counter c, size_t end)
{
	if (IS_MEASURED(c))
		cell_count(s, c.value, end);
	else
		screen_put_right(s, "—", end);
}

static void cell_text(struct screen *s, struct text *t, size_t end)
{
	s->has_failed |= t->has_failed;
	screen_put_right(s, text_chars(t), end);
	text_free(t);
}

static void cell_server(struct screen *s, const struct fleet_report *r, uint32_t server,
			size_t columns)
{
	SCOPED(text_free) struct text name = TEXT_EMPTY;

	fleet_put_server(&name, &r->a, server);
	s->has_failed |= name.has_failed;
	screen_put_name(s, (struct str){ text_chars(&name), (uint32_t)name.len }, columns, false);
}

static uint32_t shown_of(size_t count, bool shows_all)
{
	return (uint32_t)(shows_all || count < FLEET_FIRST_ROWS ? count : FLEET_FIRST_ROWS);
}

enum {
	VERSION_AT = 16,
	VISITS_END = 34,
	TIME_END = 46,
	RATE_END = 57,
	PRICE_END = 69,
	PLANS_END = 80
};

/* "15.20" of "15.20 (Debian 15.20-0+deb12u1)". */
static struct str first_word(struct str text)
{
	const char *end = text.len > 0 ? memchr(text.bytes, ' ', text.len) : NULL;

	return end != NULL ? (struct str){ text.bytes, (uint32_t)(end - text.bytes) } : text;
}

/* A share in a narrow column: what is there and would round to 0 is less than the least that is shown. */
static void put_narrow_share(struct text *t, uint64_t part, uint64_t whole)
{
	if (part > 0 && (double)part < 0.0005 * (double)whole)
		text_put(t, "<0.1" TEXT_NBSP "%");
	else
		text_put_exact_share(t, part, whole);
}

/* A price likewise. */
static void put_narrow_price(struct text *t, uint64_t spent_ns, uint64_t elapsed_ns)
{
	double ppm = elapsed_ns > 0 ? (double)spent_ns / (double)elapsed_ns * (double)PPM : 0;

	if (spent_ns > 0 && ppm < 50)
		text_put(t, "<0.01" TEXT_NBSP "%");
	else
		text_put_price(t, (uint64_t)ppm);
}

static void server_row_on(struct screen *s, const struct fleet_report *r,
			  const struct fleet_server_sum *row)
{
	struct text visits = TEXT_EMPTY, price = TEXT_EMPTY, plans = TEXT_EMPTY;
	uint64_t elapsed_ns = span_ns(r);

	cell_server(s, r, row->server, SERVER_COLUMNS);
	screen_to(s, VERSION_AT);
	if (row->row != NULL && row->row->version.len > 0)
		screen_put_name(s, first_word(row->row->version), 8, false);
	else
		screen_put(s, "—");
	if (row->well < row->visits)
		text_printf(&visits, "%" PRIu64 " of %" PRIu64, row->well, row->visits);
	else
		text_put_exact(&visits, row->visits);
	cell_text(s, &visits, VISITS_END);
	if (row->well == 0) { /* nothing is known, which is no zero */
		screen_put_right(s, "—", TIME_END);
		screen_put_right(s, "—", RATE_END);
		screen_put_right(s, "—", PRICE_END);
		screen_put_right(s, "—", PLANS_END);
		screen_end(s);
		return;
	}
	cell_duration(s, row->exec_ns, TIME_END);
	cell_count(s,
		   elapsed_ns > 0
			   ? (uint64_t)((double)row->calls / ((double)elapsed_ns / 1e9) + 0.5)
			   : 0,
		   RATE_END);
	put_narrow_price(&price, row->server_ns, elapsed_ns);
	cell_text(s, &price, PRICE_END);
	text_printf(&plans, "%" PRIu32 " of %" PRIu32, row->plans, row->statements);
	cell_text(s, &plans, PLANS_END);
	screen_end(s);
}

uint32_t fleet_servers(struct screen *s, const struct fleet_report *r, bool shows_all)
{
	uint32_t shown = shown_of(r->a.server_count, shows_all);

	screen_put(s, "server");
	screen_to(s, VERSION_AT);
	screen_put(s, "release");
	screen_put_right(s, "visits", VISITS_END);
	screen_put_right(s, "statements", TIME_END);
	screen_put_right(s, "calls/s", RATE_END);
	screen_put_right(s, "price", PRICE_END);
	screen_put_right(s, "plans", PLANS_END);
	screen_end(s);
	for (uint32_t i = 0; i < shown; i++)
		server_row_on(s, r, &r->a.servers[i]);
	return (uint32_t)r->a.server_count - shown;
}

enum {
	SHARE_END = 7,
	ALL_END = 18,
	CALLS_END = 28,
	MEAN_END = 37,
	WHERE_AT = 39,
	PLAN_AT = 50,
	NAME_AT = 60
};

static void statement_row_on(struct screen *s, const struct fleet_report *r,
			     const struct fleet_statement *row)
{
	struct text share = TEXT_EMPTY;
	SCOPED(text_free) struct text name = TEXT_EMPTY;
	uint64_t exec_ns = measured(row->sums[STATEMENT_EXEC_NS]);
	size_t columns = s->columns > NAME_AT + 10 ? s->columns - NAME_AT : 20;

	put_narrow_share(&share, exec_ns, r->a.exec_ns);
	cell_text(s, &share, SHARE_END);
	cell_duration(s, exec_ns, ALL_END);
	cell_counter(s, row->sums[STATEMENT_CALLS], CALLS_END);
	cell_duration(s, fleet_mean_ns(exec_ns, measured(row->sums[STATEMENT_CALLS])), MEAN_END);
	screen_to(s, WHERE_AT);
	cell_server(s, r, row->server, PLAN_AT - WHERE_AT - 1);
	screen_to(s, PLAN_AT);
	screen_put(s, fleet_plan_word(&r->a, row));
	screen_to(s, NAME_AT);
	fleet_put_statement(&name, row, columns);
	s->has_failed |= name.has_failed;
	screen_put(s, text_chars(&name));
	screen_end(s);
}

uint32_t fleet_statements(struct screen *s, const struct fleet_report *r, bool shows_all)
{
	uint32_t shown = shown_of(r->a.statement_count, shows_all);

	screen_put_right(s, "share", SHARE_END);
	screen_put_right(s, "time", ALL_END);
	screen_put_right(s, "calls", CALLS_END);
	screen_put_right(s, "mean", MEAN_END);
	screen_to(s, WHERE_AT);
	screen_put(s, "server");
	screen_to(s, PLAN_AT);
	screen_put(s, "plan");
	screen_to(s, NAME_AT);
	screen_put(s, "statement");
	screen_end(s);
	for (uint32_t i = 0; i < shown; i++)
		statement_row_on(s, r, &r->a.statements[i]);
	return (uint32_t)r->a.statement_count - shown;
}

enum {
	SELF_END = 11,
	TOTAL_END = 22,
	TIMES_END = 32,
	EACH_END = 41,
	HOST_AT = 43,
	FUNCTION_AT = 55
};

static void function_row_on(struct screen *s, const struct fleet_report *r,
			    const struct fleet_function *row)
{
	cell_duration(s, measured(row->sums[FUNCTION_SELF_NS]), SELF_END);
	cell_duration(s, measured(row->sums[FUNCTION_TOTAL_NS]), TOTAL_END);
	cell_counter(s, row->sums[FUNCTION_CALLS], TIMES_END);
	cell_duration(s,
		      fleet_mean_ns(measured(row->sums[FUNCTION_TOTAL_NS]),
				    measured(row->sums[FUNCTION_CALLS])),
		      EACH_END);
	screen_to(s, HOST_AT);
	cell_server(s, r, row->server, FUNCTION_AT - HOST_AT - 1);
	screen_to(s, FUNCTION_AT);
	screen_put_name(s, row->name, s->columns - FUNCTION_AT, false);
	screen_end(s);
}

uint32_t fleet_functions(struct screen *s, const struct fleet_report *r, bool shows_all)
{
	uint32_t shown = shown_of(r->a.function_count, shows_all);

	screen_put_right(s, "own", SELF_END);
	screen_put_right(s, "all", TOTAL_END);
	screen_put_right(s, "calls", TIMES_END);
	screen_put_right(s, "mean", EACH_END);
	screen_to(s, HOST_AT);
	screen_put(s, "server");
	screen_to(s, FUNCTION_AT);
	screen_put(s, "function");
	screen_end(s);
	for (uint32_t i = 0; i < shown; i++)
		function_row_on(s, r, &r->a.functions[i]);
	return (uint32_t)r->a.function_count - shown;
}

/* "shop-1, 120 looks: 1.8 backends on CPU, 0.4 IO DataFileRead". */
static void waits_of(struct screen *s, const struct fleet_report *r,
		     const struct fleet_server_sum *server, bool shows_all)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	uint32_t shown = 0;

	fleet_put_server(&t, &r->a, server->server);
	text_put(&t, ", ");
	text_put_counted(&t, server->looks, "look");
	text_put(&t, ":");
	for (size_t i = 0; i < r->a.wait_count; i++) {
		const struct fleet_wait *w = &r->a.waits[i];

		if (w->server != server->server || (!shows_all && shown >= 5))
			continue;
		text_printf(&t, "%s %.2f ", shown++ > 0 ? "," : "",
			    (double)w->seen / (double)server->looks);
		text_put_cut(&t,
			     w->wait_type.len > 0 ? w->wait_type
						  : STR_LITERAL("on CPU or ready for it"),
			     40);
		if (w->wait_event.len > 0) {
			text_put(&t, " ");
			text_put_cut(&t, w->wait_event, 40);
		}
	}
	s->has_failed |= t.has_failed;
	screen_wrap(s, text_chars(&t), 2);
}

void fleet_waits(struct screen *s, const struct fleet_report *r, bool shows_all)
{
	uint32_t shown = 0;

	for (size_t i = 0; i < r->a.server_count; i++) {
		if (r->a.servers[i].looks == 0 || (!shows_all && shown >= FLEET_FIRST_ROWS))
			continue;
		if (shown++ == 0) {
			screen_end(s);
			screen_put(s, "backends that did something, by what they waited for");
			screen_end(s);
		}
		waits_of(s, r, &r->a.servers[i], shows_all);
	}
}
