/* run_loop.c - signals, the loop, the status line and the exit status of whatever records one process. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run.h"
#include "core/scoped.h"

#define MAX_MAX_BYTES (UINT64_C(1) << 40)
#define QUIET_LINE_NS (600 * NS_PER_S) /* off a terminal: one line in ten minutes */
#define MAX_WAITS     1024

/* What one run of the loop holds. Empty descriptors are -1. */
struct watcher {
	int signals, process; /* signalfd, pidfd */
	sigset_t old_mask;
	struct mono next_line;
	struct mono ended; /* when the end of the command was seen */
	bool has_line;	   /* a status line stands unfinished on the terminal */
	int interrupts;
	int last_signal;
};

int run_check_target(const struct run_opts *o, const char *name, struct err *err)
{
	if (o->pid == 0 && o->command == NULL) {
		err_set(err, -EINVAL, "cannot %s: neither a command nor a process is named", name);
		return err_mend(err, "tare %s -- ./job, or tare %s -p PID", name, name);
	}
	if (o->pid != 0 && o->command != NULL) {
		err_set(err, -EINVAL, "cannot %s process %llu and run '%s' in one recording", name,
			(unsigned long long)o->pid, o->command[0]);
		return err_mend(err, "leave one of them out");
	}
	if (o->pid > INT_MAX) {
		err_set(err, -ESRCH, "cannot %s process %llu: there is none", name,
			(unsigned long long)o->pid);
		return err_mend(err, "pgrep -a NAME finds the number");
	}
	return 0;
}

int run_check_bounds(const struct run_bound *bounds, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct run_bound *b = &bounds[i];

		if (b->value >= b->least && b->value <= b->most)
			continue;
		err_set(err, -EINVAL, "cannot %s %llu%s", b->what, (unsigned long long)b->value,
			b->unit);
		return err_mend(err, "%s", b->mend);
	}
	return 0;
}

int run_check_limits(const struct run_opts *o, const char *name, const char *least, struct err *err)
{
	struct run_bound size = { .value = o->max_bytes,
				  .most = MAX_MAX_BYTES,
				  .what = "keep a recording within",
				  .unit = " bytes" };
	char mend[80];

	units_parse_size(least, &size.least);
	snprintf(mend, sizeof(mend), "--max-size takes a size from %s to 1024GB", least);
	size.mend = mend;
	if (run_check_bounds(&size, 1, err) < 0)
		return err->code;
	if (o->price_ppm == 0) {
		err_set(err, -EINVAL, "cannot %s at a price of 0", name);
		return err_mend(err, "--price takes a share over 0, such as 0.5%%");
	}
	return 0;
}

/* ---- signals and the process ---- */

static int watcher_open(struct watcher *w, struct err *err)
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

static int watcher_process(struct watcher *w, pid_t pid, const char *name, struct err *err)
{
	w->process = (int)syscall(SYS_pidfd_open, pid, 0);
	if (w->process >= 0)
		return 0;
	if (errno == ESRCH || errno == EINVAL) {
		err_set(err, -ESRCH, "cannot %s process %d: there is none with this number", name,
			(int)pid);
		return err_mend(err, "pgrep -a NAME finds the number");
	}
	return err_set(err, -errno, "cannot watch process %d: %s", (int)pid, strerror(errno));
}

static void watcher_close(struct watcher *w)
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

static void show_line(struct run *r, struct watcher *w, bool is_asked)
{
	char line[512];

	r->instrument->status(r->session, mono_now(), r->app->is_terminal ? terminal_columns() : 0,
			      line, sizeof(line));
	if (r->app->is_terminal && !is_asked) {
		fprintf(r->app->talk, "\r%s\033[K", line);
		w->has_line = true;
	} else {
		fprintf(r->app->talk, "%s%s\n", w->has_line ? "\r\033[K" : "", line);
		w->has_line = false;
	}
	fflush(r->app->talk);
}

static void end_line(struct run *r, struct watcher *w)
{
	if (w->has_line)
		fprintf(r->app->talk, "\r\033[K");
	w->has_line = false;
}

static void line_if_due(struct run *r, struct watcher *w, struct mono now)
{
	if (r->opts->is_quiet || now.ns < w->next_line.ns)
		return;
	w->next_line.ns = now.ns + (r->app->is_terminal ? NS_PER_S : QUIET_LINE_NS);
	show_line(r, w, false);
}

/* ---- the loop ---- */

static void take_signals(struct run *r, struct watcher *w)
{
	struct signalfd_siginfo got;

	while (read(w->signals, &got, sizeof(got)) == sizeof(got)) {
		if (got.ssi_signo == SIGUSR1)
			show_line(r, w, true);
		if (got.ssi_signo != SIGINT && got.ssi_signo != SIGTERM)
			continue; /* HUP: go on */
		w->interrupts++;
		w->last_signal = (int)got.ssi_signo;
	}
}

static int wait_ms(const struct run *r, struct mono now, uint64_t end_ns)
{
	uint64_t until_ns = r->instrument->wakes_at(r->session).ns;

	if (end_ns != 0 && end_ns < until_ns)
		until_ns = end_ns;
	return until_ns > now.ns ? (int)((until_ns - now.ns) / NS_PER_MS) + 1 : 0;
}

/* Runs until something ends it, and says what. */
static const char *run_until_end(struct run *r, struct watcher *w)
{
	uint64_t end_ns = r->opts->duration_ns != 0 ? r->start.ns + r->opts->duration_ns : 0;
	const struct instrument *instrument = r->instrument;
	struct pollfd waits[MAX_WAITS];

	w->next_line.ns = r->start.ns + (r->app->is_terminal ? 0 : QUIET_LINE_NS);
	for (;;) {
		struct mono now = mono_now();
		size_t count = 2;

		if (end_ns != 0 && now.ns >= end_ns)
			return "duration";
		waits[0] = (struct pollfd){ .fd = w->signals, .events = POLLIN };
		waits[1] = (struct pollfd){ .fd = w->process, .events = POLLIN };
		count += instrument->wait_on(r->session, waits + 2, MAX_WAITS - 2);
		if (poll(waits, count, wait_ms(r, now, end_ns)) < 0 && errno != EINTR)
			return "trouble";
		if (waits[0].revents != 0)
			take_signals(r, w);
		if (w->interrupts > 0)
			return "interrupt";
		if (instrument->take(r->session) < 0 || waits[1].revents != 0)
			return "exit";
		now = mono_now();
		instrument->turn(r->session, now);
		if (mono_elapsed_ns(r->clocks.last.mono, now) >= NS_PER_S)
			run_look_at_clocks(r);
		line_if_due(r, w, now);
	}
}

/* What the command took, for whoever asked. */
static void tell_job(struct run *r, const struct watcher *w, const struct rusage *used)
{
	if (r->app->job == NULL)
		return;
	*r->app->job = (struct job_spent){ .cpu_ns = rusage_cpu_ns(used),
					   .wall_ns = mono_elapsed_ns(r->released, w->ended) };
}

/* The command's own status as a shell would have it; waits for its end, which a signal to us cuts short. */
static int command_status(struct run *r, struct watcher *w, pid_t pid)
{
	struct rusage used;
	int status;

	for (;;) {
		pid_t got = wait4(pid, &status, WNOHANG, &used);
		struct pollfd waits[2] = { { .fd = w->signals, .events = POLLIN },
					   { .fd = w->process, .events = POLLIN } };

		if (got == pid) {
			tell_job(r, w, &used);
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
		if (got < 0)
			return EXIT_OWN;
		if (w->interrupts > 0)
			return 128 + w->last_signal;
		poll(waits, 2, -1);
		w->ended = mono_now(); /* the recording ended before the command */
		if (waits[0].revents != 0)
			take_signals(r, w);
	}
}

/* The kernel's own call also tells what it took, which the library's leaves out. */
static int peek_status(struct run *r, pid_t pid)
{
	struct rusage used = { .ru_nvcsw = 0 };
	siginfo_t end = { .si_pid = 0 };

	if (syscall(SYS_waitid, P_PID, pid, &end, WEXITED | WNOHANG | WNOWAIT, &used) < 0 ||
	    end.si_pid == 0)
		return -1;
	r->job_switches = (uint64_t)used.ru_nvcsw + (uint64_t)used.ru_nivcsw;
	return end.si_code == CLD_EXITED ? end.si_status : 128 + end.si_status;
}

static int finish(struct run *r, struct watcher *w, const char *ended_by, pid_t child,
		  struct err *err)
{
	int status = child > 0 ? peek_status(r, child) : -1;
	int code;

	w->ended = mono_now();
	end_line(r, w);
	if (status > 128 && strcmp(ended_by, "exit") == 0)
		ended_by = "signal";
	code = run_finish(r, ended_by, status, err);
	run_close(r);
	if (r->opts->keep_files > 0 && code == 0)
		run_prune(r->path, r->comm, r->opts->keep_files);
	if (!r->opts->is_quiet && code == 0)
		r->instrument->summary(r->session);
	if (r->opts->is_json && code == 0)
		r->instrument->json(r->session);
	/* A job that ran has its own status, whatever became of its recording: that is said, and stands in the file. */
	if (child > 0)
		return command_status(r, w, child);
	return code < 0 ? EXIT_TROUBLE : EXIT_OK;
}

static int go_process(struct run *r, struct watcher *w, struct err *err)
{
	pid_t pid = (pid_t)r->opts->pid;
	int code = watcher_process(w, pid, r->instrument->name, err);

	if (code < 0)
		return code;
	code = run_open(r, pid, err);
	if (code < 0)
		return code;
	return finish(r, w, run_until_end(r, w), 0, err);
}

static int cannot_run(const char *command, int code, struct err *err)
{
	err_set(err, code, "cannot run '%s': %s", command, strerror(-code));
	if (code != -ENOENT)
		return EXIT_NOT_EXEC;
	err_mend(err, "give its path, or check PATH");
	return EXIT_NOT_FOUND;
}

static int go_command(struct run *r, struct watcher *w, struct err *err)
{
	SCOPED(child_free) struct child child = CHILD_EMPTY;
	char **command = r->opts->command;
	char path[PATH_MAX];
	int code = child_find(command[0], path);

	if (code < 0)
		return cannot_run(command[0], code, err);
	if (child_start(&child, command, &w->old_mask, err) < 0 ||
	    watcher_process(w, child.pid, r->instrument->name, err) < 0)
		return EXIT_OWN;
	if (run_open(r, child.pid, err) < 0)
		return EXIT_OWN;
	r->released = mono_now();
	code = child_release(&child);
	if (code < 0) {
		run_close(r);
		unlink(r->path); /* nothing ran: an empty recording helps nobody */
		return cannot_run(command[0], code, err);
	}
	return finish(r, w, run_until_end(r, w), child.pid, err);
}

int run_go(struct run *r, struct err *err)
{
	struct watcher w;
	int code;

	if (watcher_open(&w, err) < 0)
		return EXIT_TROUBLE;
	code = r->opts->command != NULL ? go_command(r, &w, err) : go_process(r, &w, err);
	watcher_close(&w);
	return code;
}
