/* report_page_collect_rows.c - the data of a fleet's page: servers, turn slots, what collecting cost, runs that did not go through, waits. */
#include <errno.h>
#include <string.h>

#include "cli/report_page_collect.h"
#include "core/fleet_words.h"
#include "core/recording.h"
#include "core/units.h"

#define HOLES_MOST 4000u /* of all servers together */

static uint64_t span_ns(const struct collect_page *p)
{
	return (uint64_t)(p->r->a.last_wall_ns - p->r->a.first_wall_ns);
}

static void put_server_name(struct json *j, const struct collect_page *p, uint32_t server)
{
	struct text name = TEXT_EMPTY;

	fleet_put_server(&name, &p->r->a, server);
	json_put_chars(j, "server", text_chars(&name));
	if (name.has_failed)
		json_fail(j, -ENOMEM);
	text_free(&name);
}

/* Slots that are not wholly covered: pairs of slot and thousandths that are; -1: the server was not there to be visited. */
static void put_holes(struct json *j, const struct collect_page *p, size_t i, size_t *room)
{
	const struct fleet_cover *line = p->time.covers + i * p->time.slots.count;

	json_key(j, "holes");
	json_open_array(j);
	for (uint32_t s = 0; *room > 0 && s < p->time.slots.count; s++) {
		if (line[s].covered_ns + line[s].present_ns / 1000 >= line[s].present_ns &&
		    line[s].present_ns > 0)
			continue;
		json_u64(j, s);
		if (line[s].present_ns > 0)
			json_u64(j, line[s].covered_ns * 1000 / line[s].present_ns);
		else
			json_i64(j, -1);
		(*room)--;
	}
	json_close(j);
}

/* "v" a visit, "c" with a capture, "x" failed, "-" not begun, "." none. */
static void put_marks(struct json *j, const char *marks)
{
	char shown[COLLECT_PAGE_MARKS + 1];
	size_t from = 0;

	while (from < COLLECT_PAGE_MARKS && marks[from] == '\0')
		from++;
	for (size_t i = from; i < COLLECT_PAGE_MARKS; i++)
		shown[i - from] = marks[i] != '\0' ? marks[i] : '.';
	shown[COLLECT_PAGE_MARKS - from] = '\0';
	json_put_chars(j, "marks", shown);
}

/* The visits of a server as a whole; NULL: there is no row of them. */
static const struct fleet_reading *visits_of(const struct fleet_analysis *a, uint32_t server)
{
	for (size_t i = 0; i < a->reading_count; i++)
		if (a->readings[i].server == server && a->readings[i].reading == READING_VISIT)
			return &a->readings[i];
	return NULL;
}

static void put_state(struct json *j, const struct collect_page *p,
		      const struct fleet_server_sum *s)
{
	const struct fleet_reading *visits = visits_of(&p->r->a, s->server);
	const struct capture_row *capture = fleet_capture_of(&p->r->a, s->server);
	int64_t owed_ns = 0;

	collect_page_put_ms(j, "last", visits != NULL ? visits->last_wall_ns : 0);
	if (visits != NULL && s->well < s->visits)
		collect_page_put_name(j, "reason", visits->last_reason);
	collect_page_put_ms(j, "captured",
			    capture != NULL && !capture->is_first_sight ? capture->captured_wall_ns
									: 0);
	if (fleet_turns_is_owed(&p->turns, s->row, capture, &owed_ns))
		collect_page_put_ms(j, "owed", owed_ns);
}

static void put_server(struct json *j, const struct collect_page *p, size_t i, size_t *room)
{
	const struct fleet_server_sum *s = &p->r->a.servers[i];
	uint64_t refused = 0;

	for (size_t k = 0; k < p->r->a.reading_count; k++)
		refused += p->r->a.readings[k].server == s->server ? p->r->a.readings[k].permissions
								   : 0;
	json_open_object(j);
	put_server_name(j, p, s->server);
	collect_page_put_name(j, "version", s->row != NULL ? s->row->version : STR_EMPTY);
	if (s->row != NULL && s->row->seat != NO_ID)
		json_put_u64(j, "seat", s->row->seat);
	json_put_u64(j, "visits", s->visits);
	json_put_u64(j, "well", s->well);
	json_put_u64(j, "skipped", s->skipped);
	if (span_ns(p) > 0 && s->well > 0)
		json_put_double(j, "price", (double)s->server_ns / (double)span_ns(p));
	json_put_u64(j, "took", s->server_ns / NS_PER_US);
	json_put_u64(j, "own", s->own_ns / NS_PER_US);
	json_put_u64(j, "bytes", s->bytes);
	json_put_u64(j, "time", (s->exec_ns + NS_PER_US / 2) / NS_PER_US);
	json_put_u64(j, "calls", s->calls);
	json_put_u64(j, "hidden", (s->hidden_exec_ns + NS_PER_US / 2) / NS_PER_US);
	json_put_u64(j, "statements", s->statements);
	json_put_u64(j, "plans", s->plans);
	json_put_u64(j, "refused", refused);
	put_state(j, p, s);
	put_marks(j, p->marks[i]);
	put_holes(j, p, i, room);
	json_close(j);
}

size_t collect_page_server_rows(const struct collect_page *p)
{
	size_t count = p->r->a.server_count;

	return collect_page_rows(p, count < COLLECT_PAGE_SERVERS ? count : COLLECT_PAGE_SERVERS);
}

void collect_page_put_servers(struct json *j, const struct collect_page *p)
{
	size_t room = HOLES_MOST, shown = collect_page_server_rows(p);

	json_key(j, "servers");
	json_open_array(j);
	for (size_t i = 0; i < shown; i++)
		put_server(j, p, i, &room);
	json_close(j);
	json_put_u64(j, "serversLeftOut", p->r->a.server_count - shown);
	json_put_bool(j, "holesLeftOut", room == 0);
}

void collect_page_put_turns(struct json *j, const struct collect_page *p)
{
	const struct fleet_turns *t = &p->turns;

	json_key(j, "turns");
	if (t->pace.n == 0) {
		json_null(j);
		return;
	}
	json_open_object(j);
	json_put_u64(j, "oneIn", t->pace.n);
	json_put_u64(j, "cycles", t->pace.k);
	json_put_u64(j, "slot", cadence_slot_ns(&t->pace) / NS_PER_MS);
	json_put_u64(j, "most", t->most);
	json_put_u64(j, "servers", t->servers);
	collect_page_put_ms(j, "from", t->first * (int64_t)cadence_slot_ns(&t->pace));
	json_key(j, "captures"); /* scheduled, owed and made up for, tried and not done */
	json_open_array(j);
	for (size_t i = 0; i < FLEET_TURNS_SHOWN; i++) {
		json_open_array(j);
		json_u64(j, t->turns[i].scheduled);
		json_u64(j, t->turns[i].owed);
		json_u64(j, t->turns[i].missed);
		json_close(j);
	}
	json_close(j);
	json_close(j);
}

void collect_page_put_costs(struct json *j, const struct collect_page *p)
{
	struct fleet_reading sums[READING_COUNT];

	fleet_costs_sum(&p->r->a, sums);
	json_key(j, "cost");
	json_open_array(j);
	for (size_t i = 0; i < READING_COUNT; i++) {
		const struct fleet_reading *r = &sums[i];

		if (r->runs == 0)
			continue;
		json_open_object(j);
		json_put_chars(j, "reading", reading_name((enum reading_id)i));
		json_put_u64(j, "runs", r->runs);
		json_put_u64(j, "failed", r->failures);
		json_put_u64(j, "server", r->server_ns / NS_PER_US);
		json_put_u64(j, "longest", r->longest_server_ns / NS_PER_US);
		json_put_u64(j, "own", r->own_ns / NS_PER_US);
		json_put_u64(j, "store", r->store_ns / NS_PER_US);
		json_put_u64(j, "rows", r->rows);
		json_put_u64(j, "bytes", r->bytes);
		json_put_u64(j, "captures", r->captures);
		json_put_u64(j, "gated", r->gated);
		json_close(j);
	}
	json_close(j);
}

static const char *reading_word(uint32_t reading)
{
	return reading < READING_COUNT ? reading_name((enum reading_id)reading) : "the visit";
}

void collect_page_put_runs(struct json *j, const struct collect_page *p)
{
	json_key(j, "runs");
	json_open_array(j);
	for (size_t i = 0; i < collect_page_rows(p, p->log.count); i++) {
		const struct fleet_same_runs *same = &p->log.same[i];
		const struct run_row *row = &same->last;

		json_open_object(j);
		collect_page_put_ms(j, "at", row->at_wall_ns);
		collect_page_put_ms(j, "first", same->first_wall_ns);
		json_put_u64(j, "count", same->count);
		put_server_name(j, p, row->server);
		json_put_chars(j, "reading", reading_word(row->reading));
		json_put_chars(j, "outcome", fleet_outcome_word(row->outcome));
		if (row->server_ns > 0)
			json_put_u64(j, "took", row->server_ns / NS_PER_US);
		if (row->store_ns > 0)
			json_put_u64(j, "store", row->store_ns / NS_PER_US);
		json_put_bool(j, "due", row->capture == CAPTURE_MISSED);
		collect_page_put_name(j, "sqlstate", row->sqlstate);
		collect_page_put_name(j, "reason", row->reason);
		json_close(j);
	}
	json_close(j);
	json_put_u64(j, "runsLeftOut",
		     p->log.left_out + p->log.count - collect_page_rows(p, p->log.count));
}

void collect_page_put_waits(struct json *j, const struct collect_page *p)
{
	const struct fleet_analysis *a = &p->r->a;
	size_t shown = 0;

	json_key(j, "waits");
	json_open_array(j);
	for (size_t i = 0; i < a->server_count; i++)
		for (size_t k = 0;
		     k < a->wait_count && shown < collect_page_rows(p, COLLECT_PAGE_WAITS); k++) {
			if (a->waits[k].server != a->servers[i].server || a->servers[i].looks == 0)
				continue;
			json_open_object(j);
			put_server_name(j, p, a->servers[i].server);
			collect_page_put_name(j, "type", a->waits[k].wait_type);
			collect_page_put_name(j, "event", a->waits[k].wait_event);
			json_put_u64(j, "seen", a->waits[k].seen);
			json_put_u64(j, "looks", a->servers[i].looks);
			json_close(j);
			shown++;
		}
	json_close(j);
	json_put_u64(j, "waitsLeftOut", a->wait_count - shown);
}
