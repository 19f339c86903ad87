/* report_fleet_head.c - when, how many servers, what collecting cost: the facts of a fleet's report. */
#include <inttypes.h>

#include "cli/report_fleet.h"
#include "core/fleet_turns.h"
#include "core/fleet_words.h"
#include "core/recording.h"
#include "core/scoped.h"
#include "core/units.h"

enum { VALUE_AT = 8 };

static uint64_t span_ns(const struct fleet_report *r)
{
	return (uint64_t)(r->a.last_wall_ns - r->a.first_wall_ns);
}

static void put_when(struct text *t, const struct fleet_report *r)
{
	char from[64], to[64];

	if (r->a.first_wall_ns == 0) {
		text_put(t, "nothing yet");
		return;
	}
	units_format_wall((struct wall){ r->a.first_wall_ns }, from, sizeof(from));
	units_format_wall((struct wall){ r->a.last_wall_ns }, to, sizeof(to));
	text_put_duration(t, span_ns(r));
	text_printf(t, ", %s to %s", from, to);
}

static void put_seen(struct text *t, const struct fleet_report *r)
{
	uint64_t visits = 0, well = 0, here = 0;

	for (size_t i = 0; i < r->a.server_count; i++) {
		visits += r->a.servers[i].visits;
		well += r->a.servers[i].well;
		here += r->a.servers[i].row != NULL && r->a.servers[i].row->seat != NO_ID;
	}
	text_put_counted(t, here, "server");
	text_put(t, ", ");
	text_put_counted(t, visits, "visit");
	if (well < visits) {
		text_put(t, ", ");
		text_put_exact(t, visits - well);
		text_put(t, " did not go well");
	}
}

static void put_price(struct text *t, const struct fleet_report *r)
{
	uint64_t ppm, server_ns = 0;
	const struct fleet_server_sum *dearest = fleet_dearest(&r->a, &ppm);

	for (size_t i = 0; i < r->a.server_count; i++)
		server_ns += r->a.servers[i].server_ns;
	if (dearest == NULL) {
		text_put(t, "— not measured");
		return;
	}
	text_put_price(t, ppm);
	text_put(t, " of one CPU on ");
	fleet_put_server(t, &r->a, dearest->server);
	text_put(t, r->a.server_count > 1 ? ", the most of all; " : "; ");
	text_put_duration(t, server_ns);
	text_put(t, " of server time in all");
}

static void put_pace(struct text *t, const struct fleet_report *r)
{
	const struct collector_row *row = fleet_newest_minute(&r->a);

	if (row == NULL)
		return;
	text_printf(t, "one capture in %" PRIu32 " turn slots, of %" PRIu32 " cycle%s each",
		    row->one_in, row->turn_slots, row->turn_slots == 1 ? "" : "s");
	if (row->spool_bytes > 0) {
		text_put(t, "; ");
		text_put_size(t, row->spool_bytes);
		text_put(t, " wait for the store");
	}
}

static void put_store(struct text *t, const struct fleet_report *r)
{
	text_put_size(t, r->bytes);
}

const struct fleet_fact fleet_facts[] = { { "span", put_when },	  { "fleet", put_seen },
					  { "plans", put_pace },  { "price", put_price },
					  { "store", put_store }, { NULL, NULL } };

void fleet_head(struct screen *s, const struct fleet_report *r)
{
	for (const struct fleet_fact *f = fleet_facts; f->key != NULL; f++) {
		SCOPED(text_free) struct text value = TEXT_EMPTY;

		f->put(&value, r);
		s->has_failed |= value.has_failed;
		if (value.len == 0)
			continue; /* not known, and nothing to say of it */
		screen_put(s, f->key);
		screen_to(s, VALUE_AT);
		screen_wrap(s, text_chars(&value), VALUE_AT);
	}
}
