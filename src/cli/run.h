/* run.h - what every instrument that records one process shares: its settings, the command it runs, where the recording
 * goes, signals, the loop, saves and the end. What differs is a struct instrument. */
#ifndef TARE_CLI_RUN_H
#define TARE_CLI_RUN_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "cli/app.h"
#include "core/clock_steps.h"
#include "core/ledger.h"
#include "core/recording.h"
#include "core/units.h"
#include "store/store.h"

/* The options that mean the same to all. Strings are borrowed from argv. */
struct run_opts {
	uint64_t pid; /* 0: a command is run */
	uint64_t duration_ns;
	const char *output;
	uint64_t keep_files;
	uint64_t max_bytes, price_ppm;
	bool may_overwrite, is_json, is_quiet;
	char **command; /* NULL with -p */
};

/* ---- run_child.c: the command that is run ---- */

/* A child that waits before exec. The empty value has pid 0 and descriptors of -1. */
struct child {
	pid_t pid;
	int gate;    /* written once: go */
	int failure; /* read: errno of a failed exec, or end of file */
};
#define CHILD_EMPTY ((struct child){ .gate = -1, .failure = -1 })

/* Cuts the command off behind the first "--": getopt would move words in front of it behind it. Returns how many words are
 * left; `out_command` is untouched when there is no command. */
int run_cut_command(int argc, char **argv, char ***out_command);

/* Forks; the child waits, with the signal mask it would have had without us. */
int child_start(struct child *c, char **command, const void *old_mask, struct err *err);

/* Can this command be executed, as execvp would find it? 0 with its path in `out_path` (PATH_MAX bytes), -ENOENT, -EACCES
 * or -ENOEXEC; asked before anything is made. */
int child_find(const char *command, char *out_path);

/* Lets it exec. 0, or -errno of the exec (then it has ended and was waited for). */
int child_release(struct child *c);

/* Ends a child that was never released, and closes what is open. Accepts the empty value. */
void child_free(struct child *c);

/* ---- run_name.c: where the recording goes ---- */

/* The path to write: -o FILE as it is, else tare-<comm>-<UTC>-<pid>.tare in -o DIR or here. `out` is PATH_MAX long. */
int run_name(const struct run_opts *opts, const char *comm, pid_t pid, struct wall now, char *out,
	     struct err *err);

/* Deletes the oldest recordings of `comm` in the folder of `path` so that `keep` stay. One that is being written stays.
 * Returns how many went. */
int run_prune(const char *path, const char *comm, uint64_t keep);

/* ---- run.c: one recording from its start to the last save ---- */

/* What records. Every member is required. `session` is the instrument's own. */
struct instrument {
	const char *name; /* "record": in messages and in the label */
	/* Opens all parts for process `pid`, and the store by run_open_store(). What is half open is given back by close. */
	int (*open)(void *session, pid_t pid, struct err *err);
	/* Gives all but the store back. Accepts a half-open session, and may run twice. */
	void (*close)(void *session);
	/* Fills in what else to wait for, at most `room`, and returns how many. */
	size_t (*wait_on)(void *session, struct pollfd *waits, size_t room);
	/* CLOCK_MONOTONIC: when it wants to be called again at the latest. */
	struct mono (*wakes_at)(const void *session);
	/* Takes what there is. Negative: nothing more can come. */
	int (*take)(void *session);
	/* Closes its window when it is over, and saves when that is due. */
	void (*turn)(void *session, struct mono now);
	/* Takes the last and closes the last window. */
	void (*end)(void *session);
	/* What goes into the next save. -ENOMEM. */
	int (*changes)(void *session, struct changes *out);
	/* Those are saved. */
	void (*saved)(void *session);
	/* Fills in all of the label that is its own to know. */
	void (*label)(void *session);
	/* Only what measuring took. */
	void (*label_price)(void *session);
	/* One status line, without its end of line, cut for `columns` (0: as long as it is). */
	void (*status)(const void *session, struct mono now, unsigned columns, char *out,
		       size_t size);
	/* The last words of a recording, on app->talk; and as one line of JSON on app->out. */
	void (*summary)(const void *session);
	void (*json)(const void *session);
};

struct run {
	struct app *app;
	const struct run_opts *opts;
	const struct instrument *instrument;
	void *session; /* the instrument's; borrowed */
	const struct store_ops *store;
	void *db;
	struct ledger ledger;
	struct label label;
	struct changes changes; /* not yet saved */
	char path[4096];
	char *command_text; /* owned */
	char comm[64], host[256], kernel[512], ended_by[16];

	struct mono start;	  /* elapsed 0 */
	struct mono released;	  /* the command was let go; 0: it ran before us */
	struct mono window_start; /* of the open ledger window */
	struct mono last_save;
	struct ledger_row window; /* the open one; ids unused */
	uint64_t cpu_seen_ns;	  /* own CPU time up to the last part that was booked */
	uint64_t cpu_other_ns;	  /* of children of ours: calibration, readers of lines */
	uint64_t missed_ns;	  /* of CPUs that our ticks found without the job */
	struct clock_steps clocks;
	uint64_t
		job_switches; /* of a command that has ended, by the kernel's account; 0: not known */
	uint64_t last_save_cost_ns;
	uint64_t file_bytes;
	bool is_paused; /* a foreign reader holds saves up */
	struct mono paused_since;
	bool has_save_failed; /* the last one; told once */
};

/* Makes the recording's file; for the instrument's open. */
int run_open_store(struct run *r, pid_t pid, struct err *err);

/* Starts the clocks, opens the instrument on process `pid`, and saves for the first time. On failure all is given back. */
int run_open(struct run *r, pid_t pid, struct err *err);

/* Books own CPU time since the last booking to one part of the open window. */
void run_book(struct run *r, uint64_t *part);

/* A save at once, whatever is due. */
int run_save(struct run *r, bool is_finished, struct err *err);

/* A save in the middle of the run may fail: it is told once, and tried again. */
void run_save_in_passing(struct run *r);

/* Ends the recording: what is left, the last window, the last save. 0, or the failure of the last save. */
int run_finish(struct run *r, const char *ended_by, int exit_status, struct err *err);

/* Gives everything back. Accepts a zeroed run, and may run twice. */
void run_close(struct run *r);

/* ---- run_label.c: the facts of a run ---- */

/* CPU time of this process; of our children that have ended; and the most memory we held. 0 where it cannot be had. */
uint64_t own_cpu_ns(void);
uint64_t children_cpu_ns(void);
uint64_t most_rss_bytes(void);

/* User and system time of what the kernel counted. */
uint64_t rusage_cpu_ns(const struct rusage *used);

/* The clocks, each in its own type. */
struct mono mono_now(void);
struct wall wall_now(void);

/* Looks whether the clock was set; the label says so from then on. Once a second or so. */
void run_look_at_clocks(struct run *r);

/* A text of ours as a borrowed string, cut at STR_MAX_BYTES. */
struct str run_str(const char *text);

/* Copies a text (NULL: none) into `out`, and lets the label borrow it from there. */
void run_copy_fact(char *out, size_t size, const char *text, struct str *label);

/* The short name of a process, "" for one that has ended. */
void run_read_comm(pid_t pid, char *out, size_t size);

/* What is known when a recording begins. */
void run_label_start(struct run *r, pid_t pid);

/* What measuring took up to now in parts of our own. */
void run_label_price(struct run *r);

/* `spent_ns` of `elapsed_ns` in millionths; 0 of no time. */
uint64_t run_share_ppm(uint64_t spent_ns, uint64_t elapsed_ns);

/* ---- run_words.c: the status line and the last words ---- */

/* What an instrument has to say of the moment `now`. */
struct run_words {
	struct mono now;
	uint64_t running_ppm; /* what measuring takes, as the price is kept */
	char counted[96];     /* "75.1k ticks, 75.0k kept" */
	char axis[48];	      /* "slot 1 s": shown where there is room */
	char lost[48];
};

/* One status line, without its end of line, cut for `columns` (0: as long as it is). */
void run_status(const struct run *r, const struct run_words *words, unsigned columns, char *out,
		size_t size);

/* When the recording ended. */
struct mono run_end(const struct run *r);

/* The last words on app->talk: what it took, where it is, how to look at it. */
void run_summary(const struct run *r, const struct run_words *words);

/* The same as one line of JSON on app->out: the file, how it ended, then these numbers. */
struct run_number {
	const char *key;
	uint64_t value;
};
void run_json(const struct run *r, const struct run_number *numbers, size_t count);

/* ---- run_loop.c: signals, the loop and the exit status ---- */

/* Is a command or a process named, and only one of them? `name` is the instrument's. -EINVAL, -ESRCH. */
int run_check_target(const struct run_opts *opts, const char *name, struct err *err);

/* Can price and size be? `least` is the smallest recording, as a user would type it. -EINVAL. */
int run_check_limits(const struct run_opts *opts, const char *name, const char *least,
		     struct err *err);

/* Numbers that an instrument's options take. */
struct run_bound {
	uint64_t value, least, most;
	const char *what, *unit; /* "cannot <what> <value><unit>" */
	const char *mend;	 /* "--every takes a time from 20us to 10s" */
};

/* Is each within its bounds? -EINVAL names the first that is not. */
int run_check_bounds(const struct run_bound *bounds, size_t count, struct err *err);

/* Records from the start to the end, with app, opts, instrument and session set. The exit status, or a negative errno. */
int run_go(struct run *r, struct err *err);

#endif
