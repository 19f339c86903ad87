/* make_watch.c - recordings of a watch by hand. */
#include "make_watch.h"

#include <string.h>

#include "core/scoped.h"
#include "core/units.h"

#define WINDOWS	   360u
#define TICKS	   200u /* frames of 50 ms in a window */
#define HOT_EVERY  97u
#define US	   NS_PER_US
#define MS	   NS_PER_MS
#define LEDGER_ROW (BUILD_WINDOW_NS * 2)

/* A scope of libtare: 0.4 ns a call, 24.6 more timed, a floor of 19. */
static uint32_t scope(struct build_watch *b, const char *name, uint32_t interval)
{
	struct watched_row *row = build_watched(b, name);

	row->kind = WATCHED_SCOPE;
	row->symbol = row->module = row->first = STR_EMPTY;
	row->pattern = (struct str)STR_LITERAL("*");
	row->mode = (struct str)STR_LITERAL("in process");
	row->untimed_ps = 400;
	row->extra_ps = 24600;
	row->hook_ps = row->assumed_hook_ps = 0;
	row->floor_ps = 19000;
	row->assumed_extra_ps = 60000;
	row->interval = interval;
	return row->id;
}

/* The label's price: own CPU in `rows` windows of the ledger, and what was charged. */
static void pay(struct build_watch *b, uint32_t rows)
{
	struct label *l = &b->r.label;

	l->kernel_ns = b->r.watch.charged_ps / PS_PER_NS;
	l->own_cpu_ns = 0;
	for (uint32_t i = 0; i < rows; i++) {
		struct ledger_row *row = build_watch_ledger(b, (3 + i % 2) * MS);

		row->window_ns = LEDGER_ROW;
		row->kernel_ns = l->kernel_ns / rows;
		row->save_ns = MS;
		row->start_ns = i == 0 ? 60 * MS : 0;
		l->own_cpu_ns += row->fixed_ns + row->save_ns + row->start_ns;
		l->fixed_ns += row->fixed_ns;
		l->save_ns += row->save_ns;
		l->start_ns += row->start_ns;
	}
	l->elapsed_ns = rows * LEDGER_ROW;
	l->saved_wall_ns = l->started_wall_ns + (int64_t)l->elapsed_ns;
	l->own_rss_bytes = 6 << 20;
	l->size_limit_bytes = 4 << 20;
	l->saves = rows / 3;
	l->threads = 3;
	l->processes = 1;
}

static void hot_frames(struct build_watch *b, uint32_t weather, uint32_t pathing, uint32_t think)
{
	uint64_t frames = (uint64_t)WINDOWS * TICKS;
	uint32_t worst = 0;

	for (uint64_t number = HOT_EVERY - 1; number < frames; number += HOT_EVERY) {
		uint64_t i = number / HOT_EVERY;
		struct slow_row *slow = build_slow(b, number, 62 * MS + i % 40 * 250 * US);

		slow->is_worst = i % 40 == 39 && worst++ < 10;
		build_part(b, weather, 31 * MS + i % 40 * 200 * US);
		build_part(b, pathing, 14 * MS);
		build_part(b, think, 9 * MS);
	}
}

void make_colony(struct build_watch *b)
{
	uint32_t frame = scope(b, "tick", 1), weather = scope(b, "weather", 1),
		 pathing = scope(b, "pathing", 1), think = scope(b, "think", 1),
		 at = scope(b, "grid::at", 4096), raid = scope(b, "raid", 8),
		 trade = scope(b, "trade", 8), save = scope(b, "save_world", 1);

	(void)scope(b, "earthquake", 8);
	b->r.watched[frame].kind = WATCHED_FRAME;
	b->r.watched[save].kind = WATCHED_TASK;
	build_same(b, frame, 0, WINDOWS,
		   &(struct build_calls){
			   .calls = TICKS, .ns = 46 * MS, .spread_ns = 2 * MS, .interval = 1 });
	build_same(b, weather, 0, WINDOWS,
		   &(struct build_calls){ .calls = TICKS,
					  .ns = 900 * US,
					  .spread_ns = 200 * US,
					  .interval = 1,
					  .tail_ns = 33 * MS });
	for (uint32_t i = 0; i < WINDOWS; i++) {
		uint64_t ns = 9 * MS + i * 14 * US;

		build_calls(b, pathing, i,
			    &(struct build_calls){ .calls = TICKS,
						   .ns = ns,
						   .spread_ns = ns / 5,
						   .interval = 1,
						   .own_part = 0.8 });
	}
	build_same(b, think, 0, WINDOWS,
		   &(struct build_calls){ .calls = 60 * TICKS,
					  .ns = 150 * US,
					  .spread_ns = 60 * US,
					  .interval = 1,
					  .first_ns = 900 * US });
	build_same(b, at, 0, WINDOWS,
		   &(struct build_calls){
			   .calls = 3000000, .ns = 17, .spread_ns = 4, .interval = 4096 });
	build_same(b, raid, 40, 44, &(struct build_calls){ .calls = 11 });
	build_same(b, trade, 200, 201,
		   &(struct build_calls){ .calls = 3, .ns = 7 * MS, .interval = 1 });
	for (uint32_t i = 29; i < WINDOWS; i += 30)
		build_same(b, save, i, i + 1,
			   &(struct build_calls){ .calls = 1, .ns = 800 * MS, .interval = 1 });
	hot_frames(b, weather, pathing, think);
	b->r.watched[think].interval_changes = 3;
	b->r.watched[raid].abandoned = 5;
	b->r.watch.sources = (struct str)STR_LITERAL("in process");
	b->r.watch.hook = STR_EMPTY;
	b->r.watch.clock = (struct str)STR_LITERAL("rdtsc");
	b->r.watch.slow_ns = 50 * MS;
	b->r.watch.frames = (uint64_t)WINDOWS * TICKS;
	b->r.watch.calibrations = 7;
	pay(b, WINDOWS / 2);
}

void make_probes(struct build_watch *b)
{
	uint32_t query = build_watched(b, "sqlite3VdbeExec")->id;
	uint32_t parse = build_watched(b, "sqlite3RunParser")->id;
	uint32_t alloc = build_watched(b, "sqlite3Malloc")->id;
	uint32_t hash = build_watched(b, "strHash")->id;
	uint32_t interrupt = build_watched(b, "sqlite3_interrupt")->id;

	build_unwatched(b, "sqlite3StrNICmp", "inlined away");
	build_unwatched(b, "sqlite4_open", "not found");
	build_unwatched(b, "main.run", "Go binary: a return probe would end it");
	build_unwatched(b, "sqlite3_exec", "not permitted");
	for (uint32_t i = 0; i < WINDOWS; i++) {
		bool is_slow = i >= 240; /* from 40 minutes on */

		build_calls(b, query, i,
			    &(struct build_calls){ .calls = 2000,
						   .ns = is_slow ? 1900 * US : 1200 * US,
						   .spread_ns = 300 * US,
						   .interval = 8,
						   .own_part = 0.9,
						   .probe_ns = 40 * US });
	}
	build_same(b, parse, 0, WINDOWS,
		   &(struct build_calls){ .calls = 700,
					  .ns = 22 * US,
					  .spread_ns = 9 * US,
					  .interval = 8,
					  .own_part = 0.4,
					  .probe_ns = 31 * US });
	for (uint32_t i = 0; i < WINDOWS; i += 6)
		build_calls(b, alloc, i,
			    &(struct build_calls){ .calls = 260000,
						   .ns = 400,
						   .spread_ns = 150,
						   .interval = 4096,
						   .covered_ns = 1300 * MS });
	build_same(
		b, hash, 0, WINDOWS,
		&(struct build_calls){ .calls = 1500, .ns = 90, .spread_ns = 20, .interval = 16 });
	build_same(b, interrupt, 12, 14, &(struct build_calls){ .calls = 2 });
	b->r.watched[query].interval = b->r.watched[parse].interval = 8;
	b->r.watched[alloc].interval = 4096;
	b->r.watched[alloc].is_sliced = true;
	b->r.watched[alloc].first = (struct str)STR_LITERAL("push");
	b->r.watched[alloc].hook_ps = 1100000;
	b->r.watched[hash].interval = 16;
	b->r.watched[hash].first = (struct str)STR_LITERAL("other");
	b->r.watched[hash].hook_ps = 4700000;
	b->r.watched[hash].untimed_ps = 0; /* not measured: the assumed one is charged */
	b->r.watched[interrupt].abandoned = 4;
	b->r.watch.hook = (struct str)STR_LITERAL("entry+return");
	b->r.watch.hook_why = (struct str)STR_LITERAL("the kernel has no uprobe sessions");
	b->r.watch.scope = (struct str)STR_LITERAL("children are not watched");
	b->r.watch.attach_ns = 14 * MS;
	b->r.watch.detach_ns = 71 * MS;
	b->r.watch.lost_returns = 4;
	b->r.label.is_attached = true;
	b->r.label.ended_by = (struct str)STR_LITERAL("detached");
	b->r.label.exit_status = -1;
	pay(b, WINDOWS / 2);
}

void make_watch_unfinished(struct build_watch *b)
{
	uint32_t f = build_watched(b, "f")->id;

	build_same(b, f, 0, 12,
		   &(struct build_calls){
			   .calls = 500, .ns = 40 * US, .spread_ns = 8 * US, .interval = 8 });
	b->r.watch.windows = 12;
	pay(b, 6);
	b->r.label.is_finished = false;
	b->r.label.ended_by = STR_EMPTY;
	b->r.label.exit_status = -1;
}

void make_watch_empty(struct build_watch *b)
{
	struct watched_row *row = build_watched(b, "f");

	row->untimed_ps = row->extra_ps = row->hook_ps = row->floor_ps = 0;
	b->r.watch.windows = 1;
	b->r.watch.calibrations = 0;
	pay(b, 1);
	b->r.label.own_rss_bytes = 0;
	b->r.label.kernel_ns = 0;
}

void make_watch_refused(struct build_watch *b)
{
	uint32_t hot = build_watched(b, "strcmp")->id;

	build_same(b, hot, 0, 30,
		   &(struct build_calls){
			   .calls = 9000000, .ns = 12, .spread_ns = 3, .interval = 4096 });
	b->r.watched[hot].interval = 4096;
	b->r.watch.windows = 30;
	b->r.watch.refused = hot;
	b->r.watch.allowed_rate = 8700;
	pay(b, 15);
}

void make_watch_hostile(struct build_watch *b)
{
	static char long_name[STR_MAX_BYTES];
	const struct str names[] = {
		STR_LITERAL("\x1b[2J\x1b]0;owned\x07"),		STR_LITERAL("</script><b>\"&'\\"),
		STR_LITERAL("\xe2\x80\xaegpj.exe\xe2\x80\x8b"), { long_name, sizeof(long_name) },
		STR_LITERAL("class@anonymous\0/x.php:3$0"),	STR_LITERAL("\xff\xfe\xc0\xaf")
	};

	memset(long_name, 'x', sizeof(long_name));
	memcpy(long_name, "ns::\x1b[31m", 9);
	for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
		struct watched_row *row = build_watched(b, "");

		row->name = row->symbol = row->module = row->pattern = names[i];
		build_same(b, row->id, 0, 30,
			   &(struct build_calls){ .calls = 100,
						  .ns = (6 - i) * MS,
						  .spread_ns = MS / 4,
						  .interval = 8 });
	}
	build_unwatched(b, "\x1b[1m", "not found\x1b[5m");
	b->r.watch.hook_why = (struct str)STR_LITERAL("\x1b[7m");
	b->r.label.command = (struct str)STR_LITERAL("./job '\x1b[1m'\n");
	b->r.watch.windows = 30;
	pay(b, 15);
}
