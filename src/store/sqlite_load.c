/* sqlite_load.c - a whole recording in one short read transaction; every value is checked on the way in. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/scoped.h"
#include "core/units.h"
#include "store/check.h"
#include "store/rows.h"
#include "store/sqlite.h"

#define SQL_BYTES	 4096
#define PROGRESS_STEPS	 10000
#define LOAD_BASE_NS	 (2 * NS_PER_S)
#define LOAD_NS_PER_BYTE 100u /* 10 MB a second at the slowest */
#define TRIES		 3
#define MIN_CELL_BYTES	 8u /* no row is shorter in a file */

/* One load. Owns what it has read until it is whole. */
struct load {
	sqlite3 *db;
	const char *path;
	struct mono deadline;
	struct rows_text text;
	struct recording recording;
	uint64_t most_rows;
	bool has_watch;
};

static struct mono mono_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (struct mono){ (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec };
}

static int is_late(void *load)
{
	return mono_elapsed_ns(((const struct load *)load)->deadline, mono_now()) > 0;
}

static void load_free(struct load *l)
{
	sqlite_close_scoped(&l->db);
	recording_free(&l->recording);
	free(l->text.bytes);
	l->text = (struct rows_text){ NULL };
}

/* Rows of one table as they are read. */
struct rows_in {
	const struct table *table;
	char *rows; /* owned */
	uint32_t count, room;
};

/* Room for one more row, zeroed; NULL: out of memory. */
static void *next_row(struct rows_in *in)
{
	size_t size = in->table->row_bytes;
	char *row;

	if (in->count == in->room) {
		uint32_t room = in->room < 64 ? 64 : in->room + in->room / 2;
		char *more = reallocarray(in->rows, room, size);

		if (more == NULL)
			return NULL;
		in->rows = more;
		in->room = room;
	}
	row = in->rows + (size_t)in->count * size;
	memset(row, 0, size);
	return row;
}

/* Is the key of the newest row above that of the one before? */
static bool is_rising(const struct rows_in *in)
{
	const char *now = in->rows + (size_t)in->count * in->table->row_bytes;
	const char *before = now - in->table->row_bytes;

	if (in->count == 0)
		return true;
	for (size_t i = 0; i < in->table->field_count && in->table->fields[i].is_key; i++) {
		uint32_t a, b;

		memcpy(&a, before + in->table->fields[i].offset, sizeof(a));
		memcpy(&b, now + in->table->fields[i].offset, sizeof(b));
		if (a != b)
			return a < b;
	}
	return false;
}

static int add_row(struct load *l, sqlite3_stmt *stmt, struct rows_in *in, struct err *err)
{
	void *row = in->count < l->most_rows ? next_row(in) : NULL;
	int rc;

	if (in->count >= l->most_rows)
		return err_set(err, -EBADMSG, "table %s has more rows than fit into the file",
			       in->table->name);
	if (row == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	rc = rows_read(stmt, in->table, row, &l->text, err);
	if (rc == 0 && !is_rising(in))
		rc = err_set(err, -EBADMSG, "table %s, row %u: its key is out of order",
			     in->table->name, in->count);
	if (rc != 0)
		rows_drop(in->table, row);
	else
		in->count++;
	return rc;
}

/* " ORDER BY watched, at": only a table whose key is an index lies in another order. */
static void order_by_key(const struct table *t, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < t->field_count && t->fields[i].is_key && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s",
					 i == 0 ? " ORDER BY " : ", ", t->fields[i].name);
}

static int read_rows(struct load *l, struct rows_in *in, struct err *err)
{
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	char names[SQL_BYTES / 2], order[64], sql[SQL_BYTES];
	int step, rc = rows_names(in->table, l->text.version, names, sizeof(names));

	if (rc != 0)
		return err_set(err, rc, "table %s has too many columns", in->table->name);
	order_by_key(in->table, order, sizeof(order));
	snprintf(sql, sizeof(sql), "SELECT %s FROM %s%s", names, in->table->name, order);
	step = sqlite3_prepare_v2(l->db, sql, -1, &stmt, NULL);
	if (step != SQLITE_OK)
		return sqlite_error(err, l->db, step, "read", l->path);
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW && rc == 0)
		rc = add_row(l, stmt, in, err);
	if (rc != 0 || step == SQLITE_DONE)
		return rc;
	return sqlite_error(err, l->db, step, "read", l->path);
}

/* Reads a table. `rows_at` is where the pointer to its rows lives, whatever their type: it is only copied. The rows
 * belong to it, after a failure too. */
static int read_table(struct load *l, const struct table *t, void *rows_at, uint32_t *out_count,
		      struct err *err)
{
	struct rows_in in = { .table = t };
	int rc = read_rows(l, &in, err);

	memcpy(rows_at, &in.rows, sizeof(in.rows));
	*out_count = in.count;
	return rc;
}

static int read_label(struct load *l, struct err *err)
{
	struct label *rows = NULL;
	uint32_t count = 0;
	int rc = read_table(l, &table_recording, &rows, &count, err);

	if (rc == 0 && count != 1)
		rc = err_set(err, -EBADMSG, "table recording has no row");
	if (rc == 0)
		l->recording.label = *rows;
	free(rows);
	return rc;
}

/* The watch's part of the label, which other recordings do not have. */
static int read_watch(struct load *l, struct err *err)
{
	struct watch_row *rows = NULL;
	uint32_t count = 0;
	int rc = read_table(l, &table_watch, &rows, &count, err);

	if (rc == 0 && (count > 1 || (count == 1 && rows->id != 0)))
		rc = err_set(err, -EBADMSG, "table watch, column id: there is one row, 0");
	if (rc == 0 && count == 1)
		l->recording.watch = *rows;
	l->has_watch = rc == 0 && count == 1;
	free(rows);
	return rc;
}

/* Rows are in the order of tasks: those of the whole run come first, and what reads a recording sees those only. */
static void part_tasks(struct recording *r)
{
	uint32_t slots = 0, contexts = 0;

	while (slots < r->slot_count && r->slots[slots].task <= TASK_RUN)
		slots++;
	while (contexts < r->context_count && r->contexts[contexts].task <= TASK_RUN)
		contexts++;
	r->task_slot_count = r->slot_count - slots;
	r->task_context_count = r->context_count - contexts;
	r->slot_count = slots;
	r->context_count = contexts;
}

static int read_tables(struct load *l, unsigned version, struct err *err)
{
	struct recording *r = &l->recording;
	const struct {
		const struct table *table;
		void *rows_at;
		uint32_t *count;
		unsigned since; /* version of the schema */
	} all[] = {
		{ &table_node, &r->nodes, &r->node_count, 1 },
		{ &table_frame, &r->frames, &r->frame_count, 1 },
		{ &table_slot, &r->slots, &r->slot_count, 1 },
		{ &table_context, &r->contexts, &r->context_count, 1 },
		{ &table_ledger, &r->ledger, &r->ledger_count, 1 },
		{ &table_watched, &r->watched, &r->watched_count, 2 },
		{ &table_window, &r->windows, &r->window_count, 2 },
		{ &table_slow_frame, &r->slow, &r->slow_count, 2 },
		{ &table_slow_part, &r->slow_parts, &r->slow_part_count, 2 },
		{ &table_task, &r->tasks, &r->task_count, 4 },
		{ &table_task_name, &r->task_names, &r->task_name_count, 4 },
	};
	int rc = read_label(l, err);

	if (rc == 0 && version >= 2)
		rc = read_watch(l, err);
	for (size_t i = 0; i < ARRAY_LEN(all) && rc == 0; i++)
		if (version >= all[i].since)
			rc = read_table(l, all[i].table, all[i].rows_at, all[i].count, err);
	if (rc == 0)
		part_tasks(r);
	return rc;
}

static void settle(struct load *l)
{
	struct recording *r = &l->recording;

	rows_settle(&table_recording, &r->label, 1, &l->text);
	rows_settle(&table_frame, r->frames, r->frame_count, &l->text);
	rows_settle(&table_task, r->tasks, r->task_count, &l->text);
	rows_settle(&table_task_name, r->task_names, r->task_name_count, &l->text);
	rows_settle(&table_watched, r->watched, r->watched_count, &l->text);
	if (l->has_watch)
		rows_settle(&table_watch, &r->watch, 1, &l->text);
	r->text = l->text.bytes;
	l->text = (struct rows_text){ NULL };
}

/* Database, -wal and -shm, and when the database last changed. */
static uint64_t file_bytes(const char *path, struct timespec *out_changed)
{
	static const char *const suffixes[] = { "", WAL_SUFFIX, SHM_SUFFIX };
	uint64_t bytes = 0;

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		char *name = sqlite_beside(path, suffixes[i]);
		struct stat st;

		if (name != NULL && stat(name, &st) == 0) {
			bytes += (uint64_t)st.st_size;
			if (i == 0)
				*out_changed = st.st_mtim;
		}
		free(name);
	}
	return bytes;
}

/* Says which file a message of the inner functions is about. */
static int name_file(const char *path, struct err *err)
{
	char inner[sizeof(err->msg)];
	int code;

	if (err == NULL)
		return 0;
	code = err->code;
	if (strncmp(err->msg, "cannot ", 7) == 0)
		return code;
	memcpy(inner, err->msg, sizeof(inner));
	return err_set(err, code, "cannot read '%s': it is damaged: %s", path, inner);
}

/* One attempt. *out_is_stale: somebody wrote while we read without locks; another attempt will take them. */
static int load_once(const char *path, struct recording *out, bool *out_is_stale, struct err *err)
{
	SCOPED(load_free) struct load l = { .path = path };
	struct timespec before = { 0 }, after = { 0 };
	uint64_t bytes = file_bytes(path, &before);
	bool is_shared = false;
	unsigned version = 0;
	int rc = sqlite_open_hostile(path, &l.db, &is_shared, err);

	*out_is_stale = false;
	if (rc != 0)
		return rc;
	l.most_rows = bytes / MIN_CELL_BYTES + 1;
	l.text.most = bytes + 16 * STR_MAX_BYTES;
	l.deadline.ns = mono_now().ns + LOAD_BASE_NS + bytes * LOAD_NS_PER_BYTE;
	sqlite3_progress_handler(l.db, PROGRESS_STEPS, is_late, &l);
	rc = sqlite_check_identity(l.db, path, &version, err);
	l.text.version = version;
	if (rc == 0) {
		sqlite_confine(l.db);
		rc = read_tables(&l, version, err);
	}
	sqlite_close_scoped(&l.db);
	bytes = file_bytes(path, &after);
	*out_is_stale =
		!is_shared && (before.tv_sec != after.tv_sec || before.tv_nsec != after.tv_nsec);
	if (rc == 0) {
		settle(&l);
		rc = check_recording(&l.recording, err);
	}
	if (rc == 0)
		rc = check_watch(&l.recording, l.has_watch, err);
	if (rc != 0) {
		name_file(path, err);
		return rc;
	}
	l.recording.file_bytes = bytes;
	*out = l.recording;
	l.recording = RECORDING_EMPTY;
	return 0;
}

int sqlite_load(const char *url, struct recording *out, struct err *err)
{
	struct recording loaded = RECORDING_EMPTY;
	bool is_stale = true;
	int rc = 0;

	for (int i = 0; i < TRIES && is_stale; i++) {
		recording_free(&loaded);
		rc = load_once(sqlite_path(url), &loaded, &is_stale, err);
		if (rc != 0)
			loaded = RECORDING_EMPTY;
	}
	if (rc == 0)
		*out = loaded;
	return rc;
}
