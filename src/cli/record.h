/* record.h - the rooms of `tare record` among themselves: settings, the command it runs, the session, its words. */
#ifndef TARE_CLI_RECORD_H
#define TARE_CLI_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/app.h"
#include "core/ledger.h"
#include "core/price.h"
#include "core/profile.h"
#include "core/units.h"
#include "sense/sampler.h"
#include "store/store.h"

/* What the options say. Strings are borrowed from argv. */
struct record_opts {
	uint64_t pid; /* 0: a command is run */
	uint64_t duration_ns;
	const char *output;
	uint64_t keep_files;
	uint64_t every_ns, slots, max_bytes, price_ppm;
	bool is_full, may_overwrite, is_json, is_quiet;
	char **command; /* NULL with -p */
	bool has_dashes;
};

/* ---- record_child.c: the command that is run ---- */

/* A child that waits before exec. The empty value has pid 0 and descriptors of -1. */
struct child {
	pid_t pid;
	int gate;    /* written once: go */
	int failure; /* read: errno of a failed exec, or end of file */
};
#define CHILD_EMPTY ((struct child){ .gate = -1, .failure = -1 })

/* Forks; the child waits, with the signal mask it would have had without us. */
int child_start(struct child *c, char **command, const void *old_mask, struct err *err);

/* Can this command be executed, as execvp would find it? 0, -ENOENT, -EACCES or -ENOEXEC; asked before anything is made. */
int child_look(const char *command);

/* Lets it exec. 0, or -errno of the exec (then it has ended and was waited for). */
int child_release(struct child *c);

/* Ends a child that was never released, and closes what is open. Accepts the empty value. */
void child_free(struct child *c);

/* ---- record_name.c: where the recording goes ---- */

/* The path to write: -o FILE as it is, else tare-<comm>-<UTC>-<pid>.tare in -o DIR or here. `out` is PATH_MAX long. */
int record_name(const struct record_opts *opts, const char *comm, pid_t pid, struct wall now,
		char *out, struct err *err);

/* Deletes the oldest recordings of `comm` in the folder of `path` so that `keep` stay. One that is being written stays.
 * Returns how many went. */
int record_prune(const char *path, const char *comm, uint64_t keep);

/* ---- record_session.c: one recording from the first tick to the last save ---- */

struct session {
	struct app *app;
	const struct record_opts *opts;
	const struct store_ops *store;
	void *db;
	const struct sampler_ops *engine;
	struct sampler *sampler;
	struct profile *profile;
	struct ledger ledger;
	struct price price;
	struct label label;
	struct changes changes; /* not yet saved */
	char path[4096];
	char *command_text; /* owned */
	char comm[64], host[256], kernel[512], ended_by[16];
	char engine_name[16], clock_name[8], children[128], kernel_stacks[256];

	struct mono start;	  /* elapsed 0 */
	struct mono window_start; /* of the open ledger window */
	struct mono last_save;
	struct ledger_row window; /* the open one; ids unused */
	uint64_t cpu_seen_ns;	  /* own CPU time up to the last part that was booked */
	uint64_t cpu_other_ns;	  /* of children of ours: calibration, readers of lines */
	uint64_t kept_at_save, last_save_cost_ns;
	uint64_t aside_seen_ns; /* of facts.aside_ns, booked as fixed */
	uint64_t table_seen_ns; /* of facts.table_ns, booked as start-up */
	uint64_t lost_seen;	/* samples that the sink was told of */
	uint64_t ticks_at_window, kept_at_window, lost_at_window;
	uint64_t file_bytes;
	bool is_paused; /* a foreign reader holds saves up */
	struct mono paused_since;
	bool has_save_failed; /* the last one; told once */
	struct err save_err;
};

/* Opens engine, profile and store for process `pid`. On failure all is given back. */
int session_open(struct session *s, struct app *app, const struct record_opts *opts, pid_t pid,
		 struct err *err);

/* Takes what the engine has. Negative: nothing more can come. */
int session_drain(struct session *s, struct err *err);

/* Closes the window when a second is over: ledger, price, the next period, and a save if one is due. */
void session_turn(struct session *s, struct mono now);

/* Ends the recording: last ticks, last window, last save. 0, or the failure of the last save. */
int session_finish(struct session *s, const char *ended_by, int exit_status, struct err *err);

/* A save at once, whatever is due; for the second Ctrl-C and the end. */
int session_save(struct session *s, bool is_finished, struct err *err);

/* Gives everything back. Accepts a zeroed session, and may run twice. */
void session_close(struct session *s);

/* ---- record_label.c: the facts of a run ---- */

/* CPU time of this process; of our children that have ended; and the most memory we held. 0 where it cannot be had. */
uint64_t own_cpu_ns(void);
uint64_t children_cpu_ns(void);
uint64_t most_rss_bytes(void);

/* The clocks, each in its own type. */
struct mono mono_now(void);
struct wall wall_now(void);

/* A text of ours as a borrowed string, cut at STR_MAX_BYTES. */
struct str record_str(const char *text);

/* Copies a text (NULL: none) into `out`, and lets the label borrow it from there. */
void record_copy_fact(char *out, size_t size, const char *text, struct str *label);

/* The short name of a process, "" for one that has ended. */
void record_read_comm(pid_t pid, char *out, size_t size);

/* What is known when a recording begins. */
void record_label_start(struct session *s, pid_t pid);

/* What the engine knows now; also books what its drains spent beside samples. */
void record_label_engine(struct session *s);

/* What measuring took up to now, part by part. */
void record_label_price(struct session *s);

/* All of it, for a save. */
void record_label_now(struct session *s, bool is_finished);

/* ---- record_words.c: the status line and the summary ---- */

/* One status line, without its end of line, cut for `columns` (0: as long as it is). */
void record_status(const struct session *s, struct mono now, unsigned columns, char *out,
		   size_t size);

/* The last words of a recording, on app->talk. */
void record_summary(const struct session *s);

/* The same as one line of JSON on app->out (--json). */
void record_json(const struct session *s);

#endif
