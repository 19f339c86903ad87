/* save_recording.c - puts a recording that was made by hand into a file. */
#include "cli/save_recording.h"

#include "store/store.h"

int save_recording(const struct recording *r, const char *path, uint64_t limit_bytes,
		   struct err *err)
{
	const struct store_limits limits = { .bytes = limit_bytes };
	const struct changes changes = {
		.nodes = r->nodes,
		.frames = r->frames,
		.slots = r->slots,
		.contexts = r->contexts,
		.ledger = r->ledger,
		.watch = (struct watch_row *)&r->watch,
		.watched = r->watched,
		.windows = r->windows,
		.slow = r->slow,
		.slow_parts = r->slow_parts,
		.tasks = r->tasks,
		.task_names = r->task_names,
		.node_count = r->node_count,
		.frame_count = r->frame_count,
		.slot_count = r->slot_count + r->task_slot_count,
		.context_count = r->context_count + r->task_context_count,
		.ledger_count = r->ledger_count,
		.watch_count = r->watched_count > 0,
		.watched_count = r->watched_count,
		.window_count = r->window_count,
		.slow_count = r->slow_count,
		.slow_part_count = r->slow_part_count,
		.task_count = r->task_count,
		.task_name_count = r->task_name_count,
		.slots_from = NO_ID,
		.ledger_from = NO_ID,
	};
	struct store_saved saved;
	void *db;
	int code = store_sqlite.create(path, &limits, &db, err);

	if (code != 0)
		return code;
	code = store_sqlite.save(db, &r->label, &changes, &saved, err);
	store_sqlite.close(db);
	return code;
}
