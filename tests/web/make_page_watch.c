/* make_page_watch.c - recordings of watches for pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/units.h"
#include "web/make_page.h"

#define MS	  NS_PER_MS
#define FUNCTIONS 300u
#define WINDOWS	  360u
#define NAMED	  30u /* windows of a watch of names */

static void pay(struct build_watch *b, uint32_t rows)
{
	for (uint32_t i = 0; i < rows; i++)
		b->r.label.own_cpu_ns += build_watch_ledger(b, (3 + i % 2) * MS)->fixed_ns;
}

void page_watch_names(struct build_watch *b, const struct names *names)
{
	struct label *l = &b->r.label;

	for (uint32_t i = 0; i < names->count; i++) {
		struct watched_row *row = build_watched(b, "");

		row->name = name_at(names, i);
		row->symbol = name_at(names, i + 7);
		row->module = name_at(names, i + 11);
		row->pattern = name_at(names, i + 23);
		row->kind = i == 0 ? WATCHED_FRAME : WATCHED_PROBE;
		build_same(b, i, 0, NAMED,
			   &(struct build_calls){ .calls = i == 0 ? 200 : 20,
						  .ns = i == 0 ? 40 * MS : (names->count - i) * MS,
						  .spread_ns = MS / 4,
						  .interval = 1 });
	}
	for (uint32_t i = 0; i < names->count; i++) {
		const struct str name = name_at(names, i);

		build_unwatched(b, "", "not found")->name = name;
		b->r.watched[b->r.watched_count - 1].why_not = name_at(names, i + 5);
	}
	for (uint32_t i = 0; i + 1 < names->count; i++) {
		build_slow(b, 90 * i, 70 * MS)->is_worst = i < 10;
		build_part(b, i + 1, 40 * MS);
		build_part(b, 1 + (i + 3) % (names->count - 1), 20 * MS);
	}
	b->r.watch.windows = NAMED;
	b->r.watch.slow_ns = 50 * MS;
	b->r.watch.frames = 200 * NAMED;
	b->r.watch.hook_why = name_at(names, 3);
	b->r.watch.scope = name_at(names, 4);
	l->elapsed_ns = NAMED * BUILD_WINDOW_NS;
	l->command = name_at(names, 0);
	l->host = name_at(names, 1);
	l->comm = name_at(names, 2);
	pay(b, NAMED);
}

void page_watch_crowd(struct build_watch *b)
{
	static char names[FUNCTIONS][80];

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		(void)snprintf(names[i], sizeof(names[i]),
			       "crowd::part%02u::System%03u::on_update(crowd::World&, float)",
			       i % 20, i);
		build_watched(b, names[i]);
	}
	for (uint32_t at = 0; at < WINDOWS; at++)
		for (uint32_t i = 0; i < FUNCTIONS; i++)
			build_calls(b, i, at,
				    &(struct build_calls){ .calls = 60 + i,
							   .ns = (200 + i * 37 + at * 11 % 97) *
								 NS_PER_US,
							   .spread_ns = (150 + at % 40) * NS_PER_US,
							   .interval = 4 });
	pay(b, WINDOWS);
}
