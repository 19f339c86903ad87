/* run.c - one recording of one process, from its start to the last save; what is recorded is the instrument's. */
#include "cli/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/scoped.h"

void run_book(struct run *r, uint64_t *part)
{
	uint64_t now_ns = own_cpu_ns();

	*part += now_ns - r->cpu_seen_ns;
	r->cpu_seen_ns = now_ns;
}

/* ---- opening ---- */

int run_open_store(struct run *r, pid_t pid, struct err *err)
{
	struct store_limits limits = { .bytes = r->opts->max_bytes,
				       .may_overwrite = r->opts->may_overwrite };
	int code = run_name(r->opts, r->comm, pid, wall_now(), r->path, err);

	if (code < 0)
		return code;
	return r->store->create(r->path, &limits, &r->db, err);
}

static int open_parts(struct run *r, pid_t pid, struct err *err)
{
	int code = store_find(r->opts->output != NULL ? r->opts->output : "x.tare", &r->store, err);

	if (code < 0)
		return code;
	if (ledger_init(&r->ledger) < 0)
		return err_set(err, -ENOMEM, "cannot hold the ledger: out of memory");
	code = r->instrument->open(r->session, pid, err);
	if (code < 0)
		return code;
	run_label_start(r, pid);
	run_book(r, &r->window.start_ns);
	return run_save(r, false, err);
}

int run_open(struct run *r, pid_t pid, struct err *err)
{
	int code;

	r->start = mono_now();
	r->window_start = r->start;
	r->last_save = r->start;
	run_look_at_clocks(r);
	if (r->opts->command != NULL) {
		const char *slash = strrchr(r->opts->command[0], '/');

		snprintf(r->comm, sizeof(r->comm), "%.15s",
			 slash != NULL ? slash + 1 : r->opts->command[0]);
	} else {
		run_read_comm(pid, r->comm, sizeof(r->comm));
	}
	code = open_parts(r, pid, err);
	if (code < 0)
		run_close(r);
	return code;
}

/* ---- saving ---- */

static int collect_changes(struct run *r)
{
	int code;

	changes_reset(&r->changes);
	code = r->instrument->changes(r->session, &r->changes);
	return code < 0 ? code : ledger_changes(&r->ledger, &r->changes);
}

static void note_pause(struct run *r, bool is_paused)
{
	struct mono now = mono_now();

	if (is_paused && !r->is_paused) {
		r->paused_since = now;
		r->label.save_pauses++;
	} else if (!is_paused && r->is_paused) {
		r->label.save_paused_ns += mono_elapsed_ns(r->paused_since, now);
	}
	r->is_paused = is_paused;
}

static void label_now(struct run *r, bool is_finished)
{
	run_look_at_clocks(r);
	r->instrument->label(r->session);
	r->label.saved_wall_ns = wall_now().ns;
	r->label.elapsed_ns = mono_elapsed_ns(r->start, mono_now());
	r->label.is_finished = is_finished;
}

static int write_changes(struct run *r, bool is_finished, struct err *err)
{
	struct store_saved saved = { 0 };
	int code = collect_changes(r);

	if (code < 0)
		return err_set(err, code, "cannot save '%s': out of memory", r->path);
	label_now(r, is_finished);
	r->label.saves++;
	code = r->store->save(r->db, &r->label, &r->changes, &saved, err);
	if (code < 0 || saved.is_paused) {
		r->label.saves--;
		note_pause(r, code >= 0);
		return code;
	}
	r->instrument->saved(r->session);
	ledger_saved(&r->ledger);
	note_pause(r, false);
	r->file_bytes = saved.bytes;
	return 0;
}

int run_save(struct run *r, bool is_finished, struct err *err)
{
	uint64_t before_ns = r->window.save_ns;
	int code;

	run_book(r, &r->window.fixed_ns);
	code = write_changes(r, is_finished, err);
	run_book(r, &r->window.save_ns);
	r->last_save_cost_ns = r->window.save_ns - before_ns;
	r->last_save = mono_now();
	return code;
}

void run_save_in_passing(struct run *r)
{
	const char *name = r->instrument->name;
	struct err err = ERR_EMPTY;
	int code = run_save(r, false, &err);

	if (code < 0 && !r->has_save_failed) {
		command_print_err(r->app, name, &err);
		fprintf(r->app->talk, "  the recording goes on and saving is tried again\n");
	} else if (code >= 0 && r->has_save_failed) {
		fprintf(r->app->talk, "tare %s: saving works again\n", name);
	}
	r->has_save_failed = code < 0;
}

/* ---- ending ---- */

/* What follows the last label cannot stand in it, writing it and closing the file: charged as the save before, which did as
 * much. */
static void charge_closing(struct run *r)
{
	r->window.save_ns += r->last_save_cost_ns;
	r->cpu_other_ns += r->last_save_cost_ns;
}

/* The label once more, when all but the file is closed: what the last save and the end cost is then known. */
static int save_last_label(struct run *r, struct err *err)
{
	struct store_saved saved = { 0 };
	int code;

	r->instrument->close(r->session);
	r->store->pack(r->db);
	changes_reset(&r->changes);
	run_book(r, &r->window.save_ns);
	charge_closing(r);
	r->instrument->label_price(r->session);
	code = r->store->save(r->db, &r->label, &r->changes, &saved, err);
	if (code < 0)
		err_works(
			err,
			"the recording is in the file, whole; its label lacks what ending it cost");
	return code;
}

int run_finish(struct run *r, const char *ended_by, int exit_status, struct err *err)
{
	struct mono deadline = { mono_now().ns + NS_PER_S };
	int code;

	run_copy_fact(r->ended_by, sizeof(r->ended_by), ended_by, &r->label.ended_by);
	r->label.exit_status = exit_status;
	r->instrument->end(r->session);
	do {
		code = run_save(r, true, err);
		if (r->is_paused)
			usleep(50000);
	} while (code == 0 && r->is_paused && mono_now().ns < deadline.ns);
	if (code == 0 && r->is_paused) {
		err_set(err, -EBUSY,
			"cannot finish '%s': another program has held it open for reading for %llu "
			"s",
			r->path,
			(unsigned long long)(mono_elapsed_ns(r->paused_since, mono_now()) /
					     NS_PER_S));
		err_works(err,
			  "the recording up to the last save is in the file and says unfinished");
		return err_mend(err, "end the read transaction of that program and record again");
	}
	if (code < 0) {
		err_works(err,
			  "the recording up to its last save is in the file and says unfinished");
		return code;
	}
	return save_last_label(r, err);
}

void run_close(struct run *r)
{
	struct stat st;

	r->instrument->close(r->session);
	if (r->db != NULL) {
		r->store->close(r->db);
		r->file_bytes = stat(r->path, &st) == 0 ? (uint64_t)st.st_size : 0;
	}
	ledger_free(&r->ledger);
	changes_free(&r->changes);
	free(r->command_text);
	r->db = NULL;
	r->command_text = NULL;
	r->label.command = STR_EMPTY;
}
