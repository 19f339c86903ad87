/* sqlite_save.c - one save is one transaction: what is gone goes, what changed is put, the label comes last. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/scoped.h"
#include "store/rows.h"
#include "store/sqlite.h"

#define SQL_BYTES  4096
#define BUSY_TRIES 200 /* of a millisecond: our own readers are short */

/* Rows of one kind, to be put by one statement. */
struct batch_of_rows {
	enum writer_stmt stmt;
	const struct table *table;
	const void *rows;
	uint32_t count;
};

static int prepare(struct sqlite_writer *w, enum writer_stmt which, const char *sql)
{
	return sqlite3_prepare_v3(w->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &w->stmts[which],
				  NULL);
}

/* A row that is there is written over in its place. REPLACE does so by an id; where the key is an index beside a rowid it
 * would leave a hole and put the row at the end. */
static void put_in_place(char *sql, size_t size, const struct table *t)
{
	size_t used = strlen(sql);

	used += (size_t)snprintf(sql + used, size - used, " ON CONFLICT DO UPDATE SET ");
	for (size_t i = 0; i < t->field_count && used < size; i++)
		used += (size_t)snprintf(sql + used, size - used, "%s%s=excluded.%s",
					 i > 0 ? "," : "", t->fields[i].name, t->fields[i].name);
}

/* The label is the only row of its table: rowid 1. */
static int prepare_put(struct sqlite_writer *w, enum writer_stmt which, const struct table *t)
{
	char names[SQL_BYTES / 2], sql[SQL_BYTES];
	bool is_label = t == &table_recording, has_index = t == &table_window;
	size_t used;

	if (rows_names(t, ROWS_NEWEST, names, sizeof(names)) != 0)
		return SQLITE_TOOBIG;
	used = (size_t)snprintf(sql, sizeof(sql), "INSERT %sINTO %s (%s%s) VALUES (",
				has_index ? "" : "OR REPLACE ", t->name, names,
				is_label ? ", rowid" : "");
	for (size_t i = 0; i < t->field_count && used + 8 < sizeof(sql); i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, "%s?", i > 0 ? "," : "");
	snprintf(sql + used, sizeof(sql) - used, "%s)", is_label ? ",1" : "");
	if (has_index)
		put_in_place(sql, sizeof(sql), t);
	return prepare(w, which, sql);
}

int sqlite_prepare_writer(struct sqlite_writer *w, struct err *err)
{
	static const struct {
		enum writer_stmt which;
		const struct table *table;
	} puts[] = {
		{ PUT_LABEL, &table_recording },     { PUT_NODE, &table_node },
		{ PUT_FRAME, &table_frame },	     { PUT_SLOT, &table_slot },
		{ PUT_CONTEXT, &table_context },     { PUT_LEDGER, &table_ledger },
		{ PUT_WATCH, &table_watch },	     { PUT_WATCHED, &table_watched },
		{ PUT_WINDOW, &table_window },	     { PUT_SLOW_FRAME, &table_slow_frame },
		{ PUT_SLOW_PART, &table_slow_part }, { PUT_TASK, &table_task },
		{ PUT_TASK_NAME, &table_task_name },
	};
	/* Changes without a task are those of the task that is the whole run: 1. */
	static const struct {
		enum writer_stmt which;
		const char *sql;
	} others[] = {
		{ DROP_NODE, "DELETE FROM node WHERE id = ?" },
		{ DROP_FRAME, "DELETE FROM frame WHERE id = ?" },
		{ DROP_CONTEXT, "DELETE FROM context WHERE task = 1 AND id = ?" },
		{ CUT_SLOTS, "DELETE FROM slot WHERE task = 1 AND id >= ?" },
		{ CUT_LEDGER, "DELETE FROM ledger WHERE id >= ?" },
		{ DROP_SLOW_FRAME, "DELETE FROM slow_frame WHERE id = ?" },
		{ DROP_SLOW_PARTS, "DELETE FROM slow_part WHERE slow = ?" },
		{ CLEAR_WINDOWS, "DELETE FROM window" },
		{ DROP_TASK, "DELETE FROM task WHERE id = ?" },
		{ CLEAR_TASK_SLOTS, "DELETE FROM slot WHERE task = ?" },
		{ CLEAR_TASK_CONTEXTS, "DELETE FROM context WHERE task = ?" },
		{ BEGIN, "BEGIN IMMEDIATE" },
		{ COMMIT, "COMMIT" },
		{ ROLLBACK, "ROLLBACK" },
	};
	int rc = SQLITE_OK;

	_Static_assert(TASK_RUN == 1, "the statements name the task");
	for (size_t i = 0; i < ARRAY_LEN(puts) && rc == SQLITE_OK; i++)
		rc = prepare_put(w, puts[i].which, puts[i].table);
	for (size_t i = 0; i < ARRAY_LEN(others) && rc == SQLITE_OK; i++)
		rc = prepare(w, others[i].which, others[i].sql);
	return rc == SQLITE_OK ? 0 : sqlite_error(err, w->db, rc, "prepare", "recording");
}

void sqlite_finalize_writer(struct sqlite_writer *w)
{
	for (size_t i = 0; i < WRITER_STMTS; i++) {
		sqlite3_finalize(w->stmts[i]);
		w->stmts[i] = NULL;
	}
}

int sqlite_wait_for_others(void *writer, int tries)
{
	const struct sqlite_writer *w = writer;

	/* Who sits is not waited for again until he has left. */
	if (w->is_paused || tries >= BUSY_TRIES)
		return 0;
	sqlite3_sleep(1);
	return 1;
}

/* Runs a statement that gives no rows; SQLite's extended code. */
static int run(sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	sqlite3_reset(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int drop(struct sqlite_writer *w, enum writer_stmt which, const uint32_t *ids,
		uint32_t count)
{
	int rc = SQLITE_OK;

	for (uint32_t i = 0; i < count && rc == SQLITE_OK; i++) {
		sqlite3_bind_int64(w->stmts[which], 1, ids[i]);
		rc = run(w->stmts[which]);
	}
	return rc;
}

static int cut(struct sqlite_writer *w, enum writer_stmt which, uint32_t from)
{
	return from == NO_ID ? SQLITE_OK : drop(w, which, &from, 1);
}

/* SQLite's code; a row that cannot be bound is SQLITE_RANGE, and err says which. */
static int put(struct sqlite_writer *w, const struct batch_of_rows *b, struct err *err)
{
	sqlite3_stmt *stmt = w->stmts[b->stmt];
	int rc = SQLITE_OK;

	for (uint32_t i = 0; i < b->count && rc == SQLITE_OK; i++) {
		const char *row = (const char *)b->rows + (size_t)i * b->table->row_bytes;

		rc = rows_bind(stmt, b->table, row, err) != 0 ? SQLITE_RANGE : run(stmt);
	}
	sqlite3_clear_bindings(stmt); /* strings are borrowed until now only */
	return rc;
}

/* Slow frames that went, with their parts; and the parts of those that take over an id. */
static int drop_slow(struct sqlite_writer *w, const struct changes *c)
{
	int rc = drop(w, DROP_SLOW_FRAME, c->gone_slow, c->gone_slow_count);

	if (rc == SQLITE_OK)
		rc = drop(w, DROP_SLOW_PARTS, c->gone_slow, c->gone_slow_count);
	for (uint32_t i = 0; i < c->slow_count && rc == SQLITE_OK; i++)
		rc = drop(w, DROP_SLOW_PARTS, &c->slow[i].id, 1);
	return rc;
}

/* Tasks that went, and slots and contexts of those and of the ones that are written anew. */
static int drop_tasks(struct sqlite_writer *w, const struct changes *c)
{
	const struct {
		enum writer_stmt which;
		const uint32_t *tasks;
		uint32_t count;
	} all[] = {
		{ DROP_TASK, c->gone_tasks, c->gone_task_count },
		{ CLEAR_TASK_SLOTS, c->gone_tasks, c->gone_task_count },
		{ CLEAR_TASK_CONTEXTS, c->gone_tasks, c->gone_task_count },
		{ CLEAR_TASK_SLOTS, c->cleared_tasks, c->cleared_task_count },
		{ CLEAR_TASK_CONTEXTS, c->cleared_tasks, c->cleared_task_count },
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_LEN(all) && rc == SQLITE_OK; i++)
		rc = drop(w, all[i].which, all[i].tasks, all[i].count);
	return rc;
}

static int drop_all(struct sqlite_writer *w, const struct changes *c)
{
	int rc = cut(w, CUT_SLOTS, c->slots_from);

	if (rc == SQLITE_OK)
		rc = cut(w, CUT_LEDGER, c->ledger_from);
	if (rc == SQLITE_OK)
		rc = drop(w, DROP_CONTEXT, c->gone_contexts, c->gone_context_count);
	if (rc == SQLITE_OK)
		rc = drop(w, DROP_NODE, c->gone_nodes, c->gone_node_count);
	if (rc == SQLITE_OK)
		rc = drop(w, DROP_FRAME, c->gone_frames, c->gone_frame_count);
	if (rc == SQLITE_OK)
		rc = drop_slow(w, c);
	if (rc == SQLITE_OK)
		rc = drop_tasks(w, c);
	if (rc == SQLITE_OK && c->windows_merged)
		rc = run(w->stmts[CLEAR_WINDOWS]);
	return rc;
}

static int put_changes(struct sqlite_writer *w, const struct label *label, const struct changes *c,
		       struct err *err)
{
	const struct batch_of_rows all[] = {
		{ PUT_FRAME, &table_frame, c->frames, c->frame_count },
		{ PUT_NODE, &table_node, c->nodes, c->node_count },
		{ PUT_SLOT, &table_slot, c->slots, c->slot_count },
		{ PUT_CONTEXT, &table_context, c->contexts, c->context_count },
		{ PUT_LEDGER, &table_ledger, c->ledger, c->ledger_count },
		{ PUT_WATCH, &table_watch, c->watch, c->watch_count },
		{ PUT_WATCHED, &table_watched, c->watched, c->watched_count },
		{ PUT_WINDOW, &table_window, c->windows, c->window_count },
		{ PUT_SLOW_FRAME, &table_slow_frame, c->slow, c->slow_count },
		{ PUT_SLOW_PART, &table_slow_part, c->slow_parts, c->slow_part_count },
		{ PUT_TASK, &table_task, c->tasks, c->task_count },
		{ PUT_TASK_NAME, &table_task_name, c->task_names, c->task_name_count },
		{ PUT_LABEL, &table_recording, label, 1 },
	};
	int rc = drop_all(w, c);

	for (size_t i = 0; i < ARRAY_LEN(all) && rc == SQLITE_OK; i++)
		rc = put(w, &all[i], err);
	return rc;
}

/* One attempt, all or nothing. */
static int attempt(struct sqlite_writer *w, const struct label *label, const struct changes *c,
		   struct err *err)
{
	int rc;

	w->cap->is_hit = w->cap->is_disk_full = false;
	w->cap->os_error = 0;
	rc = run(w->stmts[BEGIN]);
	if (rc != SQLITE_OK)
		return rc;
	rc = put_changes(w, label, c, err);
	if (rc == SQLITE_OK)
		rc = run(w->stmts[COMMIT]);
	if (rc != SQLITE_OK && !sqlite3_get_autocommit(w->db))
		run(w->stmts[ROLLBACK]);
	return rc;
}

/* Empties -wal. SQLITE_BUSY: a reader sits on it. */
static int empty_wal(struct sqlite_writer *w)
{
	int rc = sqlite3_wal_checkpoint_v2(w->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);

	if (rc == SQLITE_OK)
		sqlite_reserve_wal(w); /* best effort: a full disk shows in the save itself */
	return rc;
}

/* The database met its page limit: rows came and went until its pages were half empty. Packs them. */
static int pack(struct sqlite_writer *w)
{
	int rc = empty_wal(w);

	if (rc == SQLITE_OK)
		rc = sqlite_run(w->db, "VACUUM");
	return rc == SQLITE_OK ? empty_wal(w) : rc;
}

/* Saves; makes room once when -wal or the database is at its limit. */
static int save_within_limits(struct sqlite_writer *w, const struct label *label,
			      const struct changes *c, struct err *err)
{
	int rc = attempt(w, label, c, err), room;

	if ((rc & 0xff) != SQLITE_FULL || w->cap->is_disk_full)
		return rc;
	room = w->cap->is_hit ? empty_wal(w) : pack(w);
	if ((room & 0xff) == SQLITE_BUSY || (room & 0xff) == SQLITE_LOCKED)
		return SQLITE_BUSY;
	return room != SQLITE_OK ? room : attempt(w, label, c, err);
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Database, -wal and -shm. */
static uint64_t size_on_disk(struct sqlite_writer *w)
{
	const char *database = sqlite3_db_filename(w->db, "main");
	const char *wal = sqlite3_filename_wal(database);
	char *shm = sqlite_beside(database, SHM_SUFFIX);
	uint64_t bytes = size_of(database) + size_of(wal) + (shm != NULL ? size_of(shm) : 0);

	free(shm);
	return bytes;
}

static int save_failed(struct sqlite_writer *w, int rc, struct err *err)
{
	const char *path = sqlite3_db_filename(w->db, "main");
	int code;

	if (rc == SQLITE_RANGE)
		return err != NULL ? err->code : -ERANGE;
	if ((rc & 0xff) == SQLITE_FULL && !w->cap->is_disk_full)
		code = err_set(err, -ENOSPC, "cannot save '%s': it is full: %u pages", path,
			       w->budget.pages);
	else if ((rc & 0xff) == SQLITE_IOERR && w->cap->os_error > 0)
		code = sqlite_path_error(err, -w->cap->os_error, "save", path);
	else
		code = sqlite_error(err, w->db, rc, "save", path);
	err_works(err, "the recording stands as at its last save; recording goes on, and saving is "
		       "tried again");
	return code;
}

/* What is in -wal survives a kill, not a power cut: it is played into the database, or, while one who reads keeps it
 * there, at least synced. A disk that fails now may lose it: that is no save, and putting the same rows again does no harm. */
static int make_durable(struct sqlite_writer *w)
{
	int frames = 0, played = -1;
	int rc = sqlite3_wal_checkpoint_v2(w->db, "main", SQLITE_CHECKPOINT_PASSIVE, &frames,
					   &played);
	sqlite3_file *wal = NULL;

	if ((rc & 0xff) == SQLITE_IOERR || (rc == SQLITE_OK && played == frames))
		return rc;
	rc = sqlite3_file_control(w->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
	if (rc != SQLITE_OK || wal == NULL || wal->pMethods == NULL)
		return rc;
	return wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
}

int sqlite_save(void *db, const struct label *label, const struct changes *changes,
		struct store_saved *out, struct err *err)
{
	struct sqlite_writer *w = db;
	int rc = save_within_limits(w, label, changes, err);
	bool is_paused = (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;

	w->is_paused = is_paused;
	if (rc == SQLITE_OK)
		rc = make_durable(w);
	if (rc != SQLITE_OK && !is_paused)
		return save_failed(w, rc, err);
	*out = (struct store_saved){ .bytes = size_on_disk(w), .is_paused = is_paused };
	return 0;
}
