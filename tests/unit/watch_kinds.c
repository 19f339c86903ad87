/* watch_kinds.c - recordings of a watch for tests of the report. */
#include "watch_kinds.h"

#include "core/scoped.h"
#include "core/units.h"

#define WINDOWS 120u /* 20 minutes */

/* What every kind has. */
static void begin(struct build_watch *b)
{
	build_watch_begin(b);
	b->r.label.kernel = (struct str)STR_LITERAL("Linux 6.1.0");
	b->r.label.size_limit_bytes = 4 << 20;
	b->r.label.threads = 3;
	b->r.label.processes = 1;
	b->r.label.saves = 60;
	b->r.label.own_rss_bytes = 12 << 20;
	b->r.label.elapsed_ns = WINDOWS * BUILD_WINDOW_NS;
	b->r.label.saved_wall_ns = b->r.label.started_wall_ns + (int64_t)b->r.label.elapsed_ns;
	b->r.label.own_cpu_ns = 2 * NS_PER_S;
	b->r.label.fixed_ns = NS_PER_S;
	b->r.label.sample_ns = NS_PER_S;
	b->r.watch.windows = WINDOWS;
}

/* A frame function: every frame is timed. */
static void add_frames(struct build_watch *b, const char *name, const struct build_calls *did)
{
	struct watched_row *row = build_watched(b, name);
	uint32_t id = row->id;

	row->kind = WATCHED_FRAME;
	row->interval = 1;
	build_same(b, id, 0, WINDOWS, did);
	b->r.watch.frames = did->calls * WINDOWS;
}

static uint32_t add(struct build_watch *b, const char *name, const struct build_calls *did)
{
	uint32_t id = build_watched(b, name)->id;

	build_same(b, id, 0, WINDOWS, did);
	b->r.watched[id].interval = did->interval;
	return id;
}

/* A slow frame every 97th or so: most of it is finding paths. */
static void add_slow(struct build_watch *b, uint32_t paths, uint32_t scripts, uint32_t entities)
{
	for (uint64_t i = 1; i <= 23; i++) {
		uint64_t ns = 50 * NS_PER_MS + i * i % 29 * 3 * NS_PER_MS;
		struct slow_row *slow = build_slow(b, i % 8 == 7 ? i * 97 + 31 : i * 97, ns);

		slow->is_worst = i % 29 > 13;
		build_part(b, paths, ns / 100 * 56);
		build_part(b, entities, ns / 100 * 15);
		build_part(b, scripts, ns / 100 * 5);
	}
	b->r.watch.slow_ns = 50 * NS_PER_MS;
}

static void add_odd_ones(struct build_watch *b)
{
	static const struct build_calls never = { .calls = 3 };
	static const struct build_calls mixed = {
		.calls = 40, .ns = 6100, .spread_ns = 900, .interval = 8
	};
	static const struct build_calls sliced = { .calls = 80000,
						   .ns = 390,
						   .spread_ns = 90,
						   .interval = 4096,
						   .covered_ns = 200 * NS_PER_MS };
	static const struct build_calls few = {
		.calls = 25, .ns = 220000, .spread_ns = 150000, .interval = 8
	};
	static const struct build_calls tiny = {
		.calls = 2000, .ns = 150, .spread_ns = 20, .interval = 8
	};
	uint32_t id = build_watched(b, "Chat::filter(std::string const&)")->id;

	build_calls(b, id, 61, &never);
	id = build_watched(b, "Script::onDamage(Unit*, int)")->id;
	build_same(b, id, 0, 100, &mixed);
	build_calls(b, id, 101, &never);
	id = add(b, "Hash::mix", &sliced);
	b->r.watched[id].is_sliced = true;
	id = build_watched(b, "Net::flush()")->id;
	build_same(b, id, 10, 14, &few);
	add(b, "Entity::id", &tiny);
	build_watched(b, "Auth::check");
}

void watch_kind_world(struct build_watch *b)
{
	static const struct build_calls frames = {
		.calls = 720, .ns = 13800000, .spread_ns = 2000000, .interval = 1
	};
	static const struct build_calls paths = {
		.calls = 6000, .ns = 43100, .spread_ns = 21000, .interval = 8, .tail_ns = 12800000
	};
	static const struct build_calls scripts = {
		.calls = 10000, .ns = 129310, .spread_ns = 9600, .interval = 26
	};
	static const struct build_calls later = {
		.calls = 10000, .ns = 129310, .spread_ns = 9600, .interval = 84
	};
	static const struct build_calls entities = {
		.calls = 720, .ns = 1400000, .spread_ns = 300000, .interval = 8
	};
	static const struct build_calls quick = {
		.calls = 4300, .ns = 31000, .spread_ns = 9000, .interval = 20
	};
	static const struct build_calls slower = {
		.calls = 4300, .ns = 92000, .spread_ns = 9000, .interval = 20
	};
	uint32_t path_id, script_id, entity_id, log_id;

	begin(b);
	b->r.label.command = (struct str)STR_LITERAL("worldserver");
	b->r.label.host = (struct str)STR_LITERAL("realm-3");
	b->r.label.is_attached = true;
	b->r.label.pid = 2210;
	b->r.label.ended_by = (struct str)STR_LITERAL("interrupt");
	add_frames(b, "World::tick()", &frames);
	path_id = add(b, "Pathfinder::findPath(Vec3 const&, Vec3 const&)", &paths);
	script_id = build_watched(b, "Script::onMovement(Unit*)")->id;
	build_same(b, script_id, 0, 60, &scripts);
	build_same(b, script_id, 60, WINDOWS, &later);
	b->r.watched[script_id].interval = 84;
	b->r.watched[script_id].interval_changes = 1;
	entity_id = add(b, "World::updateEntities(unsigned int)", &entities);
	log_id = build_watched(b, "Log::write(Level, char const*, ...)")->id;
	build_same(b, log_id, 0, 80, &quick);
	build_same(b, log_id, 80, WINDOWS, &slower);
	b->r.watched[log_id].interval = 20;
	add_odd_ones(b);
	build_unwatched(b, "vfs_write", "not allowed: needs CAP_PERFMON");
	build_unwatched(b, "Gpu::submit(Batch&)", "inlined away");
	add_slow(b, path_id, script_id, entity_id);
	b->r.label.kernel_ns = b->r.watch.charged_ps / PS_PER_NS;
	for (int i = 0; i < 32; i++)
		build_watch_ledger(b, 50 * NS_PER_MS + (uint64_t)(i % 5) * 4 * NS_PER_MS);
}

void watch_kind_nothing(struct build_watch *b)
{
	begin(b);
	build_unwatched(b, "vfs_write", "not allowed: needs CAP_PERFMON");
	build_unwatched(b, "Gpu::submit(Batch&)", "inlined away");
	build_unwatched(b, "main.main", "a Go binary: return probes would end it");
	build_unwatched(b, "no_such_function", "not found: no function of world is called so");
}
