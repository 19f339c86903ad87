/* record.c - `tare record`: options, the loop, signals and the exit status. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/record.h"
#include "core/scoped.h"

#define MIN_EVERY_NS  (20 * NS_PER_US)
#define MIN_MAX_BYTES (UINT64_C(256) << 10)
#define MAX_MAX_BYTES (UINT64_C(1) << 40)
#define QUIET_LINE_NS (600 * NS_PER_S) /* off a terminal: one line in ten minutes */
#define MAX_WAITS     1024

static const struct opt record_opt_rows[] = {
	{ "pid", 'p', OPT_COUNT, offsetof(struct record_opts, pid), "PID", NULL,
	  "record a process that runs already" },
	{ "duration", 'd', OPT_DURATION, offsetof(struct record_opts, duration_ns), "TIME", NULL,
	  "end the recording after this time; the job goes on" },
	{ "output", 'o', OPT_FILE, offsetof(struct record_opts, output), "FILE|DIR", NULL,
	  "write here, or to a name of its own in this folder" },
	{ "keep-files", 0, OPT_COUNT, offsetof(struct record_opts, keep_files), "N", NULL,
	  "afterwards keep the newest N recordings of this command in the folder" },
	{ "force", 'f', OPT_FLAG, offsetof(struct record_opts, may_overwrite), NULL, NULL,
	  "overwrite FILE" },
	{ "price", 'b', OPT_SHARE, offsetof(struct record_opts, price_ppm), "PERCENT", "0.5%",
	  "most of one CPU that recording may take" },
	{ "every", 'e', OPT_DURATION, offsetof(struct record_opts, every_ns), "TIME", "10ms",
	  "first sampling period" },
	{ "slots", 0, OPT_COUNT, offsetof(struct record_opts, slots), "N", "1024",
	  "slots of the timeline: a power of two from 16 to 65536" },
	{ "max-size", 0, OPT_SIZE, offsetof(struct record_opts, max_bytes), "SIZE", "4MB",
	  "most bytes of the recording, for ever" },
	{ "full", 0, OPT_FLAG, offsetof(struct record_opts, is_full), NULL, NULL,
	  "keep every sample: more precision, cost grows with the run" },
	{ "json", 0, OPT_FLAG, offsetof(struct record_opts, is_json), NULL, NULL,
	  "end with one line of JSON on the standard output" },
	{ "quiet", 'q', OPT_FLAG, offsetof(struct record_opts, is_quiet), NULL, NULL,
	  "say nothing but failures" },
};

/* What one run of the loop holds. Empty descriptors are -1. */
struct watcher {
	int signals, process; /* signalfd, pidfd */
	sigset_t old_mask;
	struct mono next_line;
	bool has_line; /* a status line stands unfinished on the terminal */
	int interrupts;
	int last_signal;
};

static int check_slots(uint64_t slots, struct err *err)
{
	if (slots >= TIMELINE_MIN_SLOTS && slots <= TIMELINE_MAX_SLOTS &&
	    (slots & (slots - 1)) == 0)
		return 0;
	err_set(err, -EINVAL, "cannot use %llu slots", (unsigned long long)slots);
	return err_mend(err, "--slots takes a power of two from 16 to 65536; 1024 is the default");
}

static int check_numbers(const struct record_opts *o, struct err *err)
{
	if (o->every_ns < MIN_EVERY_NS || o->every_ns > 10 * NS_PER_S) {
		err_set(err, -EINVAL, "cannot sample every %llu ns",
			(unsigned long long)o->every_ns);
		return err_mend(err, "--every takes a time from 20us to 10s");
	}
	if (o->max_bytes < MIN_MAX_BYTES || o->max_bytes > MAX_MAX_BYTES) {
		err_set(err, -EINVAL, "cannot keep a recording within %llu bytes",
			(unsigned long long)o->max_bytes);
		return err_mend(err, "--max-size takes a size from 256KB to 1024GB");
	}
	if (o->price_ppm == 0) {
		err_set(err, -EINVAL, "cannot record at a price of 0");
		return err_mend(err, "--price takes a share over 0, such as 0.5%%");
	}
	return check_slots(o->slots, err);
}

static int check_target(struct record_opts *o, const struct opt_rest *rest, struct err *err)
{
	if (rest->count > 0)
		o->command = rest->argv;
	o->has_dashes = rest->has_dashes;
	if (o->pid == 0 && o->command == NULL) {
		err_set(err, -EINVAL, "cannot record: neither a command nor a process is named");
		return err_mend(err, "tare record -- ./job, or tare record -p PID");
	}
	if (o->pid != 0 && o->command != NULL) {
		err_set(err, -EINVAL, "cannot record process %llu and run '%s' in one recording",
			(unsigned long long)o->pid, o->command[0]);
		return err_mend(err, "leave one of them out");
	}
	if (o->pid > INT_MAX) {
		err_set(err, -ESRCH, "cannot record process %llu: there is none",
			(unsigned long long)o->pid);
		return err_mend(err, "pgrep -a NAME finds the number");
	}
	return 0;
}

/* ---- signals and the process ---- */

static int watch_open(struct watcher *w, struct err *err)
{
	sigset_t ours;

	*w = (struct watcher){ .signals = -1, .process = -1 };
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGUSR1);
	sigaddset(&ours, SIGPIPE); /* blocked, so that writes fail instead */
	sigaddset(&ours, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &ours, &w->old_mask);
	sigdelset(&ours, SIGPIPE);
	sigdelset(&ours, SIGXFSZ);
	w->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->signals < 0)
		return err_set(err, -errno, "cannot wait for signals: %s", strerror(errno));
	return 0;
}

static int watch_process(struct watcher *w, pid_t pid, struct err *err)
{
	w->process = (int)syscall(SYS_pidfd_open, pid, 0);
	if (w->process >= 0)
		return 0;
	if (errno == ESRCH || errno == EINVAL) {
		err_set(err, -ESRCH, "cannot record process %d: there is none with this number",
			(int)pid);
		return err_mend(err, "pgrep -a NAME finds the number");
	}
	return err_set(err, -errno, "cannot watch process %d: %s", (int)pid, strerror(errno));
}

static void watch_close(struct watcher *w)
{
	if (w->signals >= 0)
		close(w->signals);
	if (w->process >= 0)
		close(w->process);
	w->signals = w->process = -1;
}

/* ---- the status line ---- */

static unsigned terminal_columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static void show_line(struct session *s, struct watcher *w, bool is_asked)
{
	char line[512];

	record_status(s, mono_now(), s->app->is_terminal ? terminal_columns() : 0, line,
		      sizeof(line));
	if (s->app->is_terminal && !is_asked) {
		fprintf(s->app->talk, "\r%s\033[K", line);
		w->has_line = true;
	} else {
		fprintf(s->app->talk, "%s%s\n", w->has_line ? "\r\033[K" : "", line);
		w->has_line = false;
	}
	fflush(s->app->talk);
}

static void end_line(struct session *s, struct watcher *w)
{
	if (w->has_line)
		fprintf(s->app->talk, "\r\033[K");
	w->has_line = false;
}

static void line_if_due(struct session *s, struct watcher *w, struct mono now)
{
	if (s->opts->is_quiet || now.ns < w->next_line.ns)
		return;
	w->next_line.ns = now.ns + (s->app->is_terminal ? NS_PER_S : QUIET_LINE_NS);
	show_line(s, w, false);
}

/* ---- the loop ---- */

static void take_signals(struct session *s, struct watcher *w)
{
	struct signalfd_siginfo got;

	while (read(w->signals, &got, sizeof(got)) == sizeof(got)) {
		if (got.ssi_signo == SIGUSR1)
			show_line(s, w, true);
		if (got.ssi_signo != SIGINT && got.ssi_signo != SIGTERM)
			continue; /* HUP: go on */
		w->interrupts++;
		w->last_signal = (int)got.ssi_signo;
	}
}

static int wait_ms(const struct session *s, struct mono now, uint64_t end_ns)
{
	uint64_t until_ns = s->window_start.ns + NS_PER_S;

	if (end_ns != 0 && end_ns < until_ns)
		until_ns = end_ns;
	return until_ns > now.ns ? (int)((until_ns - now.ns) / NS_PER_MS) + 1 : 0;
}

/* Runs until something ends it, and says what. */
static const char *run_until_end(struct session *s, struct watcher *w)
{
	uint64_t end_ns = s->opts->duration_ns != 0 ? s->start.ns + s->opts->duration_ns : 0;
	struct pollfd waits[MAX_WAITS];

	w->next_line.ns = s->start.ns + (s->app->is_terminal ? 0 : QUIET_LINE_NS);
	for (;;) {
		struct mono now = mono_now();
		size_t count = 2;

		if (end_ns != 0 && now.ns >= end_ns)
			return "duration";
		waits[0] = (struct pollfd){ .fd = w->signals, .events = POLLIN };
		waits[1] = (struct pollfd){ .fd = w->process, .events = POLLIN };
		count += s->engine->wait_on(s->sampler, waits + 2, MAX_WAITS - 2);
		if (poll(waits, count, wait_ms(s, now, end_ns)) < 0 && errno != EINTR)
			return "trouble";
		if (waits[0].revents != 0)
			take_signals(s, w);
		if (w->interrupts > 0)
			return "interrupt";
		if (session_drain(s, NULL) < 0 || waits[1].revents != 0)
			return "exit";
		now = mono_now();
		session_turn(s, now);
		line_if_due(s, w, now);
	}
}

/* The command's own status as a shell would have it; waits for its end, which a signal to us cuts short. */
static int command_status(struct session *s, struct watcher *w, pid_t pid)
{
	int status;

	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);
		struct pollfd waits[2] = { { .fd = w->signals, .events = POLLIN },
					   { .fd = w->process, .events = POLLIN } };

		if (got == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		if (got < 0)
			return EXIT_OWN;
		if (w->interrupts > 0)
			return 128 + w->last_signal;
		poll(waits, 2, -1);
		if (waits[0].revents != 0)
			take_signals(s, w);
	}
}

static int peek_status(pid_t pid)
{
	siginfo_t end = { .si_pid = 0 };

	if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) < 0 || end.si_pid == 0)
		return -1;
	return end.si_code == CLD_EXITED ? end.si_status : 128 + end.si_status;
}

static int finish(struct session *s, struct watcher *w, const char *ended_by, pid_t child,
		  struct err *err)
{
	int status = child > 0 ? peek_status(child) : -1;
	int code;

	end_line(s, w);
	if (status > 128 && strcmp(ended_by, "exit") == 0)
		ended_by = "signal";
	code = session_finish(s, ended_by, status, err);
	session_close(s);
	if (s->opts->keep_files > 0 && code == 0)
		record_prune(s->path, s->comm, s->opts->keep_files);
	if (!s->opts->is_quiet && code == 0)
		record_summary(s);
	if (s->opts->is_json && code == 0)
		record_json(s);
	if (code < 0)
		return child > 0 ? EXIT_OWN : EXIT_TROUBLE;
	return child > 0 ? command_status(s, w, child) : EXIT_OK;
}

static int record_process(struct app *app, const struct record_opts *o, struct watcher *w,
			  struct err *err)
{
	struct session s;
	int code = watch_process(w, (pid_t)o->pid, err);

	if (code < 0)
		return code;
	code = session_open(&s, app, o, (pid_t)o->pid, err);
	if (code < 0)
		return code;
	return finish(&s, w, run_until_end(&s, w), 0, err);
}

static int cannot_run(const struct record_opts *o, int code, struct err *err)
{
	err_set(err, code, "cannot run '%s': %s", o->command[0], strerror(-code));
	if (code != -ENOENT)
		return EXIT_NOT_EXEC;
	err_mend(err, "give its path, or check PATH");
	return EXIT_NOT_FOUND;
}

static int record_command(struct app *app, const struct record_opts *o, struct watcher *w,
			  struct err *err)
{
	SCOPED(child_free) struct child child = CHILD_EMPTY;
	struct session s;
	int code = child_look(o->command[0]);

	if (code < 0)
		return cannot_run(o, code, err);
	if (child_start(&child, o->command, &w->old_mask, err) < 0 ||
	    watch_process(w, child.pid, err) < 0)
		return EXIT_OWN;
	if (session_open(&s, app, o, child.pid, err) < 0)
		return EXIT_OWN;
	code = child_release(&child);
	if (code < 0) {
		session_close(&s);
		unlink(s.path); /* nothing ran: an empty recording helps nobody */
		return cannot_run(o, code, err);
	}
	return finish(&s, w, run_until_end(&s, w), child.pid, err);
}

static int cmd_record(struct app *app, int argc, char **argv, struct err *err)
{
	struct record_opts o = { .pid = 0 };
	struct opt_rest rest;
	struct watcher w;
	int code = opts_parse(record_opt_rows, ARRAY_LEN(record_opt_rows), true, argc, argv, &o,
			      &rest, err);

	if (code < 0)
		return EXIT_TROUBLE;
	if (rest.wants_help) {
		command_print_help(app->out, &command_record);
		return EXIT_OK;
	}
	if (check_target(&o, &rest, err) < 0 || check_numbers(&o, err) < 0)
		return o.command != NULL ? EXIT_OWN : EXIT_TROUBLE;
	if (watch_open(&w, err) < 0)
		return EXIT_TROUBLE;
	code = o.command != NULL ? record_command(app, &o, &w, err)
				 : record_process(app, &o, &w, err);
	watch_close(&w);
	return code;
}

const struct command command_record = {
	.name = "record",
	.run = cmd_record,
	.usage = "[OPTIONS] [-p PID | -- CMD...]",
	.help = "record where the time of a command or a process goes",
	.opts = record_opt_rows,
	.opt_count = ARRAY_LEN(record_opt_rows),
	.ends_at_command = true,
};
