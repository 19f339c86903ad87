/* report_page_collect_label.c - the label of a fleet's page: what collecting cost, what it covered, what it did not get. */
#include <inttypes.h>
#include <string.h>

#include "cli/app.h"
#include "cli/report_page.h"
#include "cli/report_page_collect.h"
#include "core/fleet_words.h"
#include "core/recording.h"
#include "core/scoped.h"
#include "core/units.h"

/* Appends what there is to say; nothing: the fact is left out. */
typedef void (*fact_fn)(struct text *t, const struct collect_page *p);

static void put_covered(struct text *t, const struct collect_page *p)
{
	double covered = fleet_time_covered(&p->time);
	size_t unreached = 0;

	if (covered <= 0)
		return;
	text_put_exact_share(t, (uint64_t)(covered * 1e9 + 0.5), 1000000000);
	text_put(t, " of the time of servers that were reached; ± of every share comes from the "
		    "rest");
	for (size_t i = 0; i < p->r->a.server_count; i++)
		unreached += !collect_page_was_reached(p, i) && p->r->a.servers[i].visits > 0;
	if (unreached > 0) {
		text_put(t, "; nothing of ");
		text_put_counted(t, unreached, "server");
	}
}

static void put_captures(struct text *t, const struct collect_page *p)
{
	uint32_t owed = 0;
	int64_t since_ns;

	if (p->turns.pace.n == 0)
		return;
	for (size_t i = 0; i < p->r->a.server_count; i++)
		owed += collect_page_is_owed(p, i, &since_ns);
	text_printf(t, "at most %" PRIu32 " a turn slot; owed now: %" PRIu32, p->turns.most, owed);
}

static void put_no_plan(struct text *t, const struct collect_page *p)
{
	uint64_t without = 0, statements = 0, not_yet = 0;

	for (size_t i = 0; i < p->r->a.server_count; i++) {
		const struct fleet_server_sum *s = &p->r->a.servers[i];

		without += s->without_plan;
		statements += s->statements;
		not_yet += s->statements - s->plans - s->without_plan;
	}
	if (statements == 0)
		return;
	text_put_exact(t, without);
	text_put(t, " of ");
	text_put_counted(t, statements, "statement");
	text_put(t, "; each with its reason");
	if (not_yet > 0) {
		text_put(t, "; ");
		text_put_exact(t, not_yet);
		text_put(t, " not asked yet");
	}
}

static void put_rights(struct text *t, const struct collect_page *p)
{
	uint64_t hidden = 0, refused = 0;

	for (size_t i = 0; i < p->r->a.server_count; i++)
		hidden += p->r->a.servers[i].hidden_calls > 0;
	for (size_t i = 0; i < p->r->a.reading_count; i++)
		refused += p->r->a.readings[i].reading != READING_VISIT &&
			   p->r->a.readings[i].permissions > 0;
	if (hidden + refused == 0)
		return;
	text_put(t, "⊘ not allowed: ");
	if (hidden > 0) {
		text_put(t, "statements of others on ");
		text_put_counted(t, hidden, "server");
	}
	if (refused > 0) {
		text_put(t, hidden > 0 ? ", " : "");
		text_put_counted(t, refused, "reading");
		text_put(t, " refused");
	}
}

static void put_cadence(struct text *t, const struct collect_page *p)
{
	uint64_t cycle_ns = fleet_beat_cycle_ns(&p->beat);

	if (cycle_ns == 0)
		return;
	text_put(t, "cycle ");
	text_put_duration(t, cycle_ns);
	text_put(t, ", measured ");
	text_put_duration(t, fleet_beat_measured_ns(&p->beat));
}

static const struct {
	const char *key;
	fact_fn put;
} facts[] = {
	{ "covered", put_covered }, { "captures", put_captures }, { "no plan", put_no_plan },
	{ "rights", put_rights },   { "cadence", put_cadence },
};

static void put_price(struct text *t, const struct collect_page *p, const char *words)
{
	uint64_t ppm;
	const struct fleet_server_sum *dearest = fleet_dearest(&p->r->a, &ppm);
	double percent = dearest != NULL ? (double)ppm / 10000 : 0;

	if (dearest == NULL)
		page_put_fact(t, "price", words);
	else
		page_put_fact_drawn(
			t, "price", words,
			&(struct page_whisker){ .value = percent,
						.axis = percent > 1 ? percent * 1.2 : 1.2,
						.limit = 1,
						.colour = "edge",
						.width = 220 });
}

void collect_page_put_label(struct text *t, const struct page *page)
{
	const struct collect_page *p = page->owner;

	text_put(t, "<h2 id=\"label\">Label <span>tare " TARE_VERSION " · collect</span></h2><dl>"
		    "\n");
	for (const struct fleet_fact *f = fleet_facts; f->key != NULL; f++) {
		SCOPED(text_free) struct text words = TEXT_EMPTY;

		f->put(&words, p->r);
		t->has_failed |= words.has_failed;
		if (strcmp(f->key, "price") == 0)
			put_price(t, p, text_chars(&words));
		else if (words.len > 0)
			page_put_fact(t, f->key, text_chars(&words));
	}
	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		SCOPED(text_free) struct text words = TEXT_EMPTY;

		facts[i].put(&words, p);
		t->has_failed |= words.has_failed;
		if (words.len > 0)
			page_put_fact(t, facts[i].key, text_chars(&words));
	}
	text_put(t, "</dl>");
}
