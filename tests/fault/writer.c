/* writer.c - a process that saves, and the judge of what it left. */
#include "fault/writer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "store/store.h"

struct shadow_settings writer_shadow(uint64_t seed, uint64_t limit_bytes)
{
	struct shadow_settings s = {
		.seed = seed, .name_bytes = 40, .number_bits = 44, .watched = 12
	};

	/* A quarter is for the rows of a watch. */
	if (store_sqlite.fit(limit_bytes / 4 * 3, 64, &s.limits, NULL) != 0)
		abort();
	return s;
}

static void say(int pipe_fd, const struct ack *ack)
{
	if (write(pipe_fd, ack, sizeof(*ack)) != (ssize_t)sizeof(*ack))
		_exit(3);
}

static void wait_for_go(const struct writer_settings *settings, int go)
{
	char byte;

	if (settings->is_stepped && read(go, &byte, 1) != 1)
		_exit(0);
}

/* The child's life. Changes are kept until a save has taken them. */
static void work(const struct writer_settings *settings, int acks, int go)
{
	struct shadow_settings shadow_settings =
		writer_shadow(settings->seed, settings->limit_bytes);
	struct store_limits limits = { settings->limit_bytes, settings->may_overwrite };
	struct shadow *shadow = shadow_open(&shadow_settings);
	struct changes changes = CHANGES_EMPTY;
	struct store_saved saved = { 0 };
	struct ack ack = { 0 };
	void *db = NULL;

	ack.code =
		shadow == NULL ? -ENOMEM : store_sqlite.create(settings->path, &limits, &db, NULL);
	say(acks, &ack);
	while (db != NULL && ack.saves < settings->saves) {
		struct label label = shadow_label(shadow, ack.saves + 1);

		wait_for_go(settings, go);
		if (!saved.is_paused && ack.code == 0)
			shadow_step(shadow, settings->changes);
		changes_reset(&changes);
		if (!shadow_changes(shadow, &changes))
			_exit(4);
		ack.code = store_sqlite.save(db, &label, &changes, &saved, NULL);
		if (ack.code == 0 && !saved.is_paused) {
			ack.saves++;
			shadow_saved(shadow);
		}
		ack.bytes = saved.bytes;
		ack.is_paused = saved.is_paused;
		say(acks, &ack);
	}
	store_sqlite.close(db);
	ack.is_closed = 1;
	say(acks, &ack);
	changes_free(&changes);
	shadow_close(shadow);
	_exit(0);
}

bool writer_start(struct writer *w, const struct writer_settings *settings)
{
	int acks[2], go[2];

	if (pipe(acks) != 0 || pipe(go) != 0)
		return false;
	fflush(NULL);
	w->pid = fork();
	if (w->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(acks[0]);
		close(go[1]);
		work(settings, acks[1], go[0]);
	}
	close(acks[1]);
	close(go[0]);
	w->acks = acks[0];
	w->go = go[1];
	return w->pid > 0;
}

bool writer_ack(struct writer *w, struct ack *out)
{
	ssize_t len;

	do
		len = read(w->acks, out, sizeof(*out));
	while (len < 0 && errno == EINTR);
	return len == (ssize_t)sizeof(*out);
}

bool writer_step(struct writer *w, struct ack *out)
{
	return write(w->go, "g", 1) == 1 && writer_ack(w, out);
}

int writer_end(struct writer *w, int signal)
{
	int status = -1;

	if (signal != 0)
		kill(w->pid, signal);
	close(w->go);
	while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(w->acks);
	return status;
}

const char *writer_differs(const struct writer_settings *settings, uint64_t *out_saves)
{
	static char text[2048];
	struct shadow_settings shadow_settings =
		writer_shadow(settings->seed, settings->limit_bytes);
	struct recording recording = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	struct shadow *shadow;

	*out_saves = 0;
	if (store_sqlite.load(settings->path, &recording, &err) != 0) {
		snprintf(text, sizeof(text), "%s", err.msg);
		return text;
	}
	*out_saves = recording.label.saves;
	shadow = shadow_open(&shadow_settings);
	for (uint64_t i = 0; i < recording.label.saves && shadow != NULL; i++) {
		struct changes ignored = CHANGES_EMPTY;

		shadow_step(shadow, settings->changes);
		shadow_changes(shadow, &ignored);
		shadow_saved(shadow);
		changes_free(&ignored);
	}
	snprintf(text, sizeof(text), "%s",
		 shadow == NULL ? "out of memory" : shadow_differs(shadow, &recording));
	shadow_close(shadow);
	recording_free(&recording);
	return text;
}

const char *writer_integrity(const char *path)
{
	static char text[512];
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;

	snprintf(text, sizeof(text), "out of memory");
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(stmt, 0));
	else if (db != NULL)
		snprintf(text, sizeof(text), "%s", sqlite3_errmsg(db));
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return text;
}
