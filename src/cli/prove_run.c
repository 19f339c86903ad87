/* prove_run.c - real runs of the job: bare, or as the job of `tare record` or `tare watch`, in a process of its own either way, so
 * that both begin alike. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/prove.h"
#include "cli/run.h"
#include "core/scoped.h"

#define FILE_NAME "run.tare"
#define MOST_OWN  14u /* words in front of names and command */

/* What a run's process tells us by a pipe, whole or not at all. */
struct told {
	struct job_spent job;
	int status;
};

int prove_place_open(struct prove_place *p, struct err *err)
{
	const char *top = getenv("TMPDIR");
	sigset_t ours;

	p->signals = -1;
	snprintf(p->folder, sizeof(p->folder), "%s/tare-prove-XXXXXX",
		 top != NULL && top[0] == '/' ? top : "/tmp");
	if (mkdtemp(p->folder) == NULL) {
		err_set(err, -errno, "cannot make a folder '%s' for recordings: %s", p->folder,
			strerror(errno));
		p->folder[0] = '\0';
		return err_mend(err, "set TMPDIR to a folder that can be written");
	}
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigprocmask(SIG_BLOCK, &ours, &p->old_mask);
	p->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	if (p->signals < 0) {
		sigprocmask(SIG_SETMASK, &p->old_mask, NULL);
		return err_set(err, -errno, "cannot wait for signals: %s", strerror(errno));
	}
	return 0;
}

static void recording_path(const struct prove_place *p, char *out)
{
	snprintf(out, sizeof(p->folder) + sizeof(FILE_NAME), "%s/" FILE_NAME, p->folder);
}

static void remove_recording(const struct prove_place *p)
{
	char path[sizeof(p->folder) + sizeof(FILE_NAME)];

	recording_path(p, path);
	unlink(path);
}

void prove_place_close(struct prove_place *p)
{
	if (p->has_line)
		fprintf(p->app->talk, "\r\033[K");
	p->has_line = false;
	if (p->folder[0] != '\0') {
		remove_recording(p);
		rmdir(p->folder);
	}
	p->folder[0] = '\0';
	if (p->signals >= 0) {
		close(p->signals);
		sigprocmask(SIG_SETMASK, &p->old_mask, NULL);
	}
	p->signals = -1;
}

/* ---- in the process of a run ---- */

/* Nobody reads what the job says, and it reads nothing: only its messages of failure would be in the way. Ours still go where
 * they went. */
static void hush(struct app *app)
{
	int talk = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	app->talk = talk >= 0 ? fdopen(talk, "w") : NULL;
	if (app->talk == NULL || null < 0)
		_exit(EXIT_TROUBLE);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
}

static int run_bare(const struct prove_place *p, struct app *app, struct err *err)
{
	SCOPED(child_free) struct child child = CHILD_EMPTY;
	struct mono released;
	struct rusage used;
	int status, code = child_start(&child, p->opts->command, &p->old_mask, err);

	if (code < 0)
		return code;
	released = mono_now();
	code = child_release(&child);
	if (code < 0)
		return err_set(err, code, "cannot run '%s': %s", p->opts->command[0],
			       strerror(-code));
	while (wait4(child.pid, &status, 0, &used) < 0)
		if (errno != EINTR)
			return err_set(err, -errno, "cannot wait for '%s': %s", p->opts->command[0],
				       strerror(errno));
	*app->job = (struct job_spent){ .cpu_ns = rusage_cpu_ns(&used),
					.wall_ns = mono_elapsed_ns(released, mono_now()) };
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Copies one more word; false: out of memory. */
static bool add_word(char **line, int *count, const char *word)
{
	line[*count] = strdup(word);
	return line[*count] != NULL && ++*count > 0;
}

static bool add_own_words(const struct prove_place *p, const struct prove_rung *rung, char **line,
			  int *count)
{
	char path[sizeof(p->folder) + sizeof(FILE_NAME)], price[32];
	const char *const own[] = {
		p->opts->is_watch ? "watch" : "record", "-q", "-f", "-o", path, "--price", price
	};
	const char *const dear[] = { "--every", "200us", "--full" };
	bool is_done = true;

	recording_path(p, path);
	snprintf(price, sizeof(price), "%lluppm", (unsigned long long)rung->price_ppm);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		is_done = is_done && add_word(line, count, own[i]);
	for (size_t i = 0; i < ARRAY_LEN(dear) && rung->is_dear && !p->opts->is_watch; i++)
		is_done = is_done && add_word(line, count, dear[i]);
	if (p->opts->engine != NULL)
		is_done = is_done && add_word(line, count, "--engine") &&
			  add_word(line, count, p->opts->engine);
	return is_done;
}

/* `tare record` or `tare watch` with the job behind it, as a user would type it. NULL: out of memory. The process that runs it
 * never frees it. */
static char **line_of(const struct prove_place *p, const struct prove_rung *rung, int *out_count)
{
	const struct prove_opts *o = p->opts;
	size_t words = 0;
	char **line;
	int n = 0;

	while (o->command[words] != NULL)
		words++;
	line = calloc(MOST_OWN + o->pattern_count + words + 1, sizeof(*line));
	if (line == NULL || !add_own_words(p, rung, line, &n))
		return NULL;
	for (size_t i = 0; i < o->pattern_count; i++)
		line[n++] = o->patterns[i];
	if (!add_word(line, &n, "--"))
		return NULL;
	for (size_t i = 0; i < words; i++)
		line[n++] = o->command[i];
	*out_count = n;
	return line;
}

static int run_with(const struct prove_place *p, const struct prove_rung *rung, struct app *app,
		    struct err *err)
{
	const struct command *c = p->opts->is_watch ? &command_watch : &command_record;
	int count = 0;
	char **line = line_of(p, rung, &count);

	if (line == NULL)
		return err_set(err, -ENOMEM, "cannot begin a run: out of memory");
	return c->run(app, count, line, err);
}

static _Noreturn void be_a_run(const struct prove_place *p, const struct prove_rung *rung,
			       int report)
{
	struct told told = { .status = EXIT_TROUBLE };
	struct err err = ERR_EMPTY;
	struct app app = *p->app;
	const char *name = rung == NULL ? "prove" : p->opts->is_watch ? "watch" : "record";

	setpgid(0, 0); /* an interrupt ends the job too */
	hush(&app);
	sigprocmask(SIG_SETMASK, &p->old_mask, NULL);
	app.job = &told.job;
	app.is_terminal = false;
	told.status = rung == NULL ? run_bare(p, &app, &err) : run_with(p, rung, &app, &err);
	if (err.code != 0) {
		command_print_err(&app, name, &err);
		fflush(app.talk);
	}
	if (told.job.wall_ns == 0 || told.status < 0)
		_exit(EXIT_TROUBLE);
	_exit(write(report, &told, sizeof(told)) == sizeof(told) ? EXIT_OK : EXIT_TROUBLE);
}

/* ---- in ours ---- */

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Waits for a run's end. A signal ends its group; a second one does so for certain. */
static int wait_for(const struct prove_place *p, pid_t pid, struct rusage *out_used)
{
	SCOPED(close_fd) int process = (int)syscall(SYS_pidfd_open, pid, 0);
	struct signalfd_siginfo got;
	int interrupts = 0, status;

	for (;;) {
		struct pollfd waits[2] = { { .fd = p->signals, .events = POLLIN },
					   { .fd = process, .events = POLLIN } };

		if (wait4(pid, &status, WNOHANG, out_used) == pid)
			break;
		poll(waits, 2, process >= 0 ? -1 : 100);
		while (read(p->signals, &got, sizeof(got)) == sizeof(got))
			kill(-pid, interrupts++ == 0 ? SIGTERM : SIGKILL);
	}
	return interrupts > 0 ? -EINTR : 0;
}

/* What the label says of the run. */
static int read_label(const struct prove_place *p, struct prove_run *out, struct err *err)
{
	SCOPED(recording_free) struct recording recording = RECORDING_EMPTY;
	char path[sizeof(p->folder) + sizeof(FILE_NAME)];
	int code;

	recording_path(p, path);
	code = store_sqlite.load(path, &recording, err);
	unlink(path);
	if (code < 0)
		return code;
	out->label_cpu_ns = recording.label.own_cpu_ns;
	out->elapsed_ns = recording.label.elapsed_ns;
	out->claim_ns = p->opts->is_watch ? recording.watch.charged_ps / PS_PER_NS
					  : recording.label.kernel_ns;
	out->has_claim = p->opts->is_watch || recording.label.kernel_tick_ps > 0;
	return 0;
}

static int run_failed(const struct prove_place *p, bool is_bare, struct err *err)
{
	err_set(err, -ECHILD, "cannot prove with '%s': a run %s failed, see above",
		p->opts->command[0], is_bare ? "of it" : "under measuring");
	return err_mend(err, "tare doctor says what works here");
}

static int real_run(void *owner, const struct prove_rung *rung, struct prove_run *out,
		    struct err *err)
{
	const struct prove_place *p = owner;
	struct told told;
	struct rusage used;
	int pipes[2], code;
	ssize_t got;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	fflush(p->app->talk);
	pid = fork();
	if (pid == 0)
		be_a_run(p, rung, pipes[1]);
	close(pipes[1]);
	if (pid < 0) {
		close(pipes[0]);
		return err_set(err, -errno, "cannot fork: %s", strerror(errno));
	}
	setpgid(pid, pid); /* whoever of the two comes first */
	code = wait_for(p, pid, &used);
	got = read(pipes[0], &told, sizeof(told));
	close(pipes[0]);
	if (code < 0)
		return err_set(err, code, "cannot go on: interrupted");
	if (got != sizeof(told))
		return run_failed(p, rung == NULL, err);
	out->job = told.job;
	out->status = told.status;
	out->own_cpu_ns = rusage_cpu_ns(&used) - told.job.cpu_ns;
	return rung == NULL ? 0 : read_label(p, out, err);
}

static struct mono real_now(void *owner)
{
	(void)owner;
	return mono_now();
}

static void show_progress(void *owner, uint32_t done, uint32_t pairs, uint64_t rest_ns)
{
	struct prove_place *p = owner;
	char rest[32];

	if (p->opts->is_quiet || !p->app->is_terminal)
		return;
	units_format_duration(rest_ns, rest, sizeof(rest));
	fprintf(p->app->talk, "\r%u of %u pairs at both prices%s%s\033[K", done, pairs,
		done > 0 ? ", about this long to go: " : "", done > 0 ? rest : "");
	fflush(p->app->talk);
	p->has_line = true;
}

struct prove_maker prove_place_maker(struct prove_place *p)
{
	return (struct prove_maker){
		.owner = p, .run = real_run, .now = real_now, .progress = show_progress
	};
}
