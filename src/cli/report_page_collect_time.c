/* report_page_collect_time.c - the data of a fleet's page: slots, what of them is covered, and a line a statement or function. Times
 * of statements are whole microseconds; a cell is three numbers: slots since the last one, calls, time. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/report_page_collect.h"
#include "core/fleet_words.h"
#include "core/units.h"

#define NAME_COLUMNS 1000u /* of a statement on one line; with each halving half, as lines */

static uint64_t to_us(uint64_t ns)
{
	return (ns + NS_PER_US / 2) / NS_PER_US;
}

static void put_words(struct json *j, const char *key, struct text *t)
{
	json_put_chars(j, key, text_chars(t));
	if (t->has_failed)
		json_fail(j, -ENOMEM);
	text_free(t);
}

void collect_page_put_name(struct json *j, const char *key, struct str name)
{
	struct text t = TEXT_EMPTY;

	text_put_name(&t, name);
	put_words(j, key, &t);
}

void collect_page_put_ms(struct json *j, const char *key, int64_t wall_ns)
{
	json_key(j, key);
	if (wall_ns != 0)
		json_i64(j, wall_ns / (int64_t)NS_PER_MS);
	else
		json_null(j);
}

/* Two sums a slot: present and covered, in milliseconds, of all servers that were reached; and how many of them that is. */
static void put_cover(struct json *j, const struct collect_page *p)
{
	const struct fleet_time *t = &p->time;

	json_key(j, "cover");
	json_open_array(j);
	for (uint32_t slot = 0; slot < t->slots.count; slot++) {
		uint64_t present_ns = 0, covered_ns = 0, here = 0, seen = 0;

		for (size_t i = 0; i < t->a->server_count; i++) {
			const struct fleet_cover *c = &t->covers[i * t->slots.count + slot];

			here += c->present_ns > 0;
			seen += c->covered_ns * 2 > c->present_ns;
			if (collect_page_was_reached(p, i)) {
				present_ns += c->present_ns;
				covered_ns += c->covered_ns;
			}
		}
		json_open_array(j);
		json_u64(j, present_ns / NS_PER_MS);
		json_u64(j, covered_ns / NS_PER_MS);
		json_u64(j, here);
		json_u64(j, seen);
		json_close(j);
	}
	json_close(j);
}

static void put_cells(struct json *j, const struct collect_page *p, const struct fleet_cell *line)
{
	uint32_t last = 0;

	json_key(j, "cells");
	json_open_array(j);
	for (uint32_t i = 0; i < p->time.slots.count; i++) {
		if (line[i].calls == 0 && line[i].exec_ns == 0)
			continue;
		json_u64(j, i - last);
		json_u64(j, line[i].calls);
		json_u64(j, to_us(line[i].exec_ns));
		last = i;
	}
	json_close(j);
	json_key(
		j,
		"unknown"); /* threes: slot, rows without a difference, of these in time that is covered */
	json_open_array(j);
	for (uint32_t i = 0; i < p->time.slots.count; i++) {
		if (line[i].unknown == 0)
			continue;
		json_u64(j, i);
		json_u64(j, line[i].unknown);
		json_u64(j, line[i].hidden);
	}
	json_close(j);
}

void collect_page_put_time(struct json *j, const struct collect_page *p)
{
	const struct fleet_slots *s = &p->time.slots;

	collect_page_put_ms(j, "from", s->from_wall_ns);
	json_put_u64(j, "slot", s->slot_ns / NS_PER_MS);
	json_put_u64(j, "slots", s->count);
	json_put_u64(j, "visit", s->visit_ns / NS_PER_MS);
	collect_page_put_ms(j, "now", p->r->a.last_wall_ns);
	put_cover(j, p);
	json_key(j, "all");
	json_open_object(j);
	put_cells(j, p, p->time.all);
	json_close(j);
}

static void put_queryid(struct json *j, int64_t queryid)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, queryid);
	json_put_chars(j, "id", digits);
}

static void put_side(struct json *j, const char *key, const struct fleet_side *side)
{
	json_key(j, key);
	json_open_array(j);
	json_u64(j, side->calls);
	json_u64(j, to_us(side->exec_ns));
	json_close(j);
}

/* The server's row in the page; where it has none, its name too. */
static void put_server(struct json *j, const struct collect_page *p, uint32_t server)
{
	const struct fleet_analysis *a = &p->r->a;
	struct text name = TEXT_EMPTY;
	size_t i = 0;

	while (i < a->server_count && a->servers[i].server != server)
		i++;
	json_put_u64(j, "server", i);
	if (i < collect_page_server_rows(p))
		return;
	fleet_put_server(&name, a, server);
	put_words(j, "where", &name);
}

static void put_plan_state(struct json *j, const struct collect_page *p,
			   const struct fleet_statement *s)
{
	bool has_changed = s->changed_wall_ns != 0 && s->changed_wall_ns >= p->r->a.from_wall_ns;

	collect_page_put_ms(j, "changed", has_changed ? s->changed_wall_ns : 0);
	json_put_bool(j, "told", fleet_change_is_told(&p->r->a, s));
	put_side(j, "before", &s->before);
	put_side(j, "after", &s->after);
	collect_page_put_ms(j, "planned", s->plan != NULL ? s->plan->seen_wall_ns : 0);
	if (s->plan != NULL || s->no_plan == NULL)
		return;
	json_put_chars(j, "why", fleet_reason_word(s->no_plan->reason));
	json_put_chars(j, "reason", fleet_reason_sentence(s->no_plan->reason));
}

static void put_statement(struct json *j, const struct collect_page *p, size_t i)
{
	const struct fleet_statement *s = &p->r->a.statements[i];
	struct text name = TEXT_EMPTY, words = TEXT_EMPTY;

	json_open_object(j);
	json_put_chars(j, "kind", s->key.queryid == 0 ? "hidden" : "statement");
	fleet_put_statement(&name, s, collect_page_rows(p, NAME_COLUMNS));
	put_words(j, "name", &name);
	put_server(j, p, s->server);
	collect_page_put_name(j, "database", s->query != NULL ? s->query->database : STR_EMPTY);
	collect_page_put_name(j, "user", s->query != NULL ? s->query->user : STR_EMPTY);
	put_queryid(j, s->key.queryid);
	fleet_time_put_share(&words, fleet_time_share(&p->time, i));
	put_words(j, "share", &words);
	json_put_u64(j, "longest", to_us(s->longest_ns));
	put_plan_state(j, p, s);
	put_cells(j, p, p->time.statements + i * p->time.slots.count);
	json_close(j);
}

static void put_function(struct json *j, const struct collect_page *p, size_t i)
{
	const struct fleet_function *f = &p->r->a.functions[i];

	json_open_object(j);
	json_put_chars(j, "kind", "function");
	collect_page_put_name(j, "name", f->name);
	put_server(j, p, f->server);
	collect_page_put_name(j, "database", f->database);
	put_cells(j, p, p->time.functions + i * p->time.slots.count);
	json_close(j);
}

void collect_page_put_lines(struct json *j, const struct collect_page *p)
{
	json_key(j, "lines");
	json_open_array(j);
	for (size_t i = 0; i < collect_page_rows(p, p->lines); i++)
		put_statement(j, p, i);
	for (size_t i = 0; i < collect_page_rows(p, p->function_lines); i++)
		put_function(j, p, i);
	json_close(j);
	json_put_u64(j, "statements", p->r->a.statement_count);
	json_put_u64(j, "functions", p->r->a.function_count);
}
