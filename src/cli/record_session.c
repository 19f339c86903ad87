/* record_session.c - one recording: joins engine, profile, price, ledger and store. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/record.h"
#include "core/scoped.h"

#define MAX_PERIOD_NS NS_PER_S /* the price never makes the period longer */
#define WINDOW_NS     NS_PER_S

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) != 0)
		return 0;
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t own_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

struct mono mono_now(void)
{
	return (struct mono){ clock_ns(CLOCK_MONOTONIC) };
}

struct wall wall_now(void)
{
	return (struct wall){ (int64_t)clock_ns(CLOCK_REALTIME) };
}

static uint64_t children_cpu_ns(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_CHILDREN, &u) != 0)
		return 0;
	return ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * NS_PER_S +
	       ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * NS_PER_US;
}

static uint64_t most_rss_bytes(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) == 0 ? (uint64_t)u.ru_maxrss * 1024 : 0;
}

static struct str str_of(const char *text)
{
	size_t len = strlen(text);

	return (struct str){ text, len < STR_MAX_BYTES ? (uint32_t)len : STR_MAX_BYTES };
}

/* Books own CPU time since the last booking to one part of the open window. */
static void book(struct session *s, uint64_t *part)
{
	uint64_t now_ns = own_cpu_ns();

	*part += now_ns - s->cpu_seen_ns;
	s->cpu_seen_ns = now_ns;
}

/* ---- the sink: where the engine's ticks go ---- */

static bool sink_wants(void *owner, const struct tick *tick)
{
	struct session *s = owner;

	return profile_wants(s->profile, tick);
}

static void sink_take(void *owner, const struct tick *tick, const struct frame *path, size_t depth,
		      enum stack_end end)
{
	struct session *s = owner;

	profile_add(s->profile, tick, path, depth);
	if (path == NULL)
		return;
	s->label.whole_stacks += end == STACK_WHOLE;
	s->label.broken_stacks += end == STACK_BROKEN;
	s->label.cut_stacks += end == STACK_CUT;
}

static void sink_lost(void *owner, uint64_t at_ns, uint64_t samples)
{
	struct session *s = owner;

	profile_lost(s->profile, at_ns, samples);
	s->lost_seen += samples;
}

static void sink_life(void *owner, const struct life *event)
{
	struct session *s = owner;
	size_t len = event->comm.len < sizeof(s->comm) - 1 ? event->comm.len : sizeof(s->comm) - 1;

	if (event->kind != LIFE_EXEC || event->pid != s->label.pid || len == 0)
		return;
	memcpy(s->comm, event->comm.bytes, len);
	s->comm[len] = '\0';
	s->label.comm = str_of(s->comm);
}

static struct sampler_sink sink_of(struct session *s)
{
	return (struct sampler_sink){ .owner = s,
				      .wants = sink_wants,
				      .take = sink_take,
				      .lost = sink_lost,
				      .life = sink_life };
}

/* ---- the label ---- */

static void copy_fact(char *out, size_t size, const char *text, struct str *label)
{
	snprintf(out, size, "%s", text != NULL ? text : "");
	*label = str_of(out);
}

/* Reading files into tables happens in drains, partly in children of ours, but is paid once: start-up, not the price of
 * a sample. The job itself is not waited for before the session is closed, so children are ours. */
static void move_table_cost(struct session *s, uint64_t table_ns)
{
	uint64_t children_ns = children_cpu_ns();
	uint64_t by_children_ns = children_ns - s->cpu_other_ns;
	uint64_t new_ns = table_ns - s->table_seen_ns;
	uint64_t own_ns = new_ns > by_children_ns ? new_ns - by_children_ns : 0;

	if (own_ns > s->window.sample_ns)
		own_ns = s->window.sample_ns;
	s->window.sample_ns -= own_ns;
	s->window.start_ns += own_ns + by_children_ns;
	s->table_seen_ns = table_ns;
	s->cpu_other_ns = children_ns;
}

/* Following forks and maps is no part of a sample either: a longer period would not make it cheaper. */
static void move_aside_cost(struct session *s, uint64_t aside_ns)
{
	uint64_t new_ns = aside_ns - s->aside_seen_ns;

	if (new_ns > s->window.sample_ns)
		new_ns = s->window.sample_ns;
	s->window.sample_ns -= new_ns;
	s->window.fixed_ns += new_ns;
	s->aside_seen_ns = aside_ns;
}

static void label_engine(struct session *s)
{
	struct sampler_facts facts = { .name = "" };
	struct label *l = &s->label;

	s->engine->facts(s->sampler, &facts);
	copy_fact(s->engine_name, sizeof(s->engine_name), facts.name, &l->engine);
	copy_fact(s->clock_name, sizeof(s->clock_name), facts.clock, &l->clock);
	copy_fact(s->children, sizeof(s->children), facts.children, &l->children);
	copy_fact(s->kernel_stacks, sizeof(s->kernel_stacks), facts.kernel_stacks,
		  &l->kernel_stacks);
	l->period_ns = facts.period_ns;
	l->is_jittered = facts.is_jittered;
	l->is_derived = facts.is_derived;
	l->clock_ns = facts.clock_ns;
	l->lost = facts.lost_count;
	l->lost_events = facts.lost_events;
	l->throttled = facts.throttled_count;
	l->threads = facts.threads;
	l->processes = facts.processes;
	l->unnamed_frames = facts.unnamed_frames;
	l->kernel_tick_ps = facts.kernel_tick_ps;
	move_table_cost(s, facts.table_ns);
	move_aside_cost(s, facts.aside_ns);
}

/* Parts so far: the closed windows and the open one. */
static void label_price(struct session *s)
{
	struct ledger_row total = ledger_total(&s->ledger);
	struct label *l = &s->label;

	l->sample_ns = total.sample_ns + s->window.sample_ns;
	l->save_ns = total.save_ns + s->window.save_ns;
	l->start_ns = total.start_ns + s->window.start_ns;
	l->fixed_ns = total.fixed_ns + s->window.fixed_ns;
	l->kernel_ns = l->ticks * l->kernel_tick_ps / PS_PER_NS;
	l->own_cpu_ns = own_cpu_ns() + s->cpu_other_ns;
	l->own_rss_bytes = most_rss_bytes();
}

static void label_now(struct session *s, bool is_finished)
{
	struct label *l = &s->label;

	label_engine(s);
	profile_label(s->profile, l);
	label_price(s);
	l->saved_wall_ns = wall_now().ns;
	l->elapsed_ns = mono_elapsed_ns(s->start, mono_now());
	l->is_finished = is_finished;
	if (l->clock_ns < l->weight_ns)
		l->clock_ns = l->weight_ns; /* the counter is read a moment before the last ticks */
}

static void read_comm(pid_t pid, char *out, size_t size)
{
	char path[64];
	size_t len = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f != NULL) {
		len = fread(out, 1, size - 1, f);
		fclose(f);
	}
	out[len] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

/* The command as a shell would take it; owned by the caller. NULL: out of memory. */
static char *join_command(char **words)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (f == NULL)
		return NULL;
	for (size_t i = 0; words[i] != NULL; i++) {
		bool is_plain = words[i][0] != '\0' &&
				strpbrk(words[i], " \t\n'\"\\$`*?[]{}()<>|&;#~!") == NULL;

		fputs(i > 0 ? " " : "", f);
		fputs(is_plain ? "" : "'", f);
		for (const char *c = words[i]; *c != '\0'; c++)
			*c == '\'' ? (void)fputs("'\\''", f) : (void)fputc(*c, f);
		fputs(is_plain ? "" : "'", f);
	}
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* The command line of a process that ran before us; NULL: none to be had. */
static char *read_command(pid_t pid)
{
	char path[64], bytes[STR_MAX_BYTES];
	char *words[257];
	size_t len, count = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return NULL;
	len = fread(bytes, 1, sizeof(bytes) - 1, f);
	fclose(f);
	bytes[len] = '\0';
	for (size_t i = 0; i < len && count + 1 < ARRAY_LEN(words); i += strlen(bytes + i) + 1)
		words[count++] = bytes + i;
	words[count] = NULL;
	return count > 0 ? join_command(words) : NULL;
}

static void label_start(struct session *s, pid_t pid)
{
	const struct record_opts *o = s->opts;
	struct label *l = &s->label;
	struct utsname u;

	if (uname(&u) == 0) {
		copy_fact(s->host, sizeof(s->host), u.nodename, &l->host);
		snprintf(s->kernel, sizeof(s->kernel), "%s %s", u.sysname, u.release);
		l->kernel = str_of(s->kernel);
	}
	s->command_text = o->command != NULL ? join_command(o->command) : read_command(pid);
	l->command = str_of(s->command_text != NULL ? s->command_text : s->comm);
	l->comm = str_of(s->comm);
	l->instrument = STR_LITERAL("record");
	l->tare_version = STR_LITERAL(TARE_VERSION);
	l->pid = (uint32_t)pid;
	l->is_attached = o->command == NULL;
	l->cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	l->started_wall_ns = wall_now().ns;
	l->ended_by = STR_EMPTY;
	l->exit_status = -1;
	l->base_period_ns = o->every_ns;
	l->keeps_all = o->is_full;
	l->size_limit_bytes = o->max_bytes;
	l->price_limit_ppm = o->price_ppm;
	l->writer_pid = (uint32_t)getpid();
}

/* ---- opening ---- */

static int open_profile(struct session *s, struct err *err)
{
	struct profile_settings settings = { .base_ns = s->opts->every_ns,
					     .seed = s->start.ns ^ ((uint64_t)getpid() << 32),
					     .keeps_all = s->opts->is_full };
	int code =
		s->store->fit(s->opts->max_bytes, (uint32_t)s->opts->slots, &settings.limits, err);

	if (code < 0)
		return code;
	if (ledger_init(&s->ledger) < 0)
		return err_set(err, -ENOMEM, "cannot hold the ledger: out of memory");
	return profile_open(&settings, &s->profile, err);
}

static int open_engine(struct session *s, pid_t pid, struct err *err)
{
	struct sampler_settings settings = { .pid = pid,
					     .starts_at_exec = s->opts->command != NULL,
					     .period_ns = s->opts->every_ns,
					     .start = s->start,
					     .switched_off = s->app->switched_off };
	int code;

	s->engine = &sampler_perf;
	code = s->engine->open(&settings, &s->sampler, err);
	if (code < 0)
		return code;
	if (s->engine->calibrate(s->sampler, NULL) < 0) /* then the label says "unmeasured" */
		s->label.kernel_tick_ps = 0;
	s->cpu_other_ns = children_cpu_ns();
	s->window.start_ns += s->cpu_other_ns;
	return 0;
}

static int open_store(struct session *s, pid_t pid, struct err *err)
{
	struct store_limits limits = { .bytes = s->opts->max_bytes,
				       .may_overwrite = s->opts->may_overwrite };
	int code = record_name(s->opts, s->comm, pid, wall_now(), s->path, err);

	if (code < 0)
		return code;
	return s->store->create(s->path, &limits, &s->db, err);
}

static int open_parts(struct session *s, pid_t pid, struct err *err)
{
	int code = store_find(s->opts->output != NULL ? s->opts->output : "x.tare", &s->store, err);

	if (code < 0)
		return code;
	code = open_profile(s, err);
	if (code < 0)
		return code;
	code = open_engine(s, pid, err);
	if (code < 0)
		return code;
	code = open_store(s, pid, err);
	if (code < 0)
		return code;
	price_init(&s->price, s->opts->price_ppm, s->opts->every_ns,
		   s->opts->every_ns > MAX_PERIOD_NS ? s->opts->every_ns : MAX_PERIOD_NS);
	label_start(s, pid);
	book(s, &s->window.start_ns);
	return session_save(s, false, err);
}

int session_open(struct session *s, struct app *app, const struct record_opts *opts, pid_t pid,
		 struct err *err)
{
	int code;

	*s = (struct session){ .app = app, .opts = opts, .changes = CHANGES_EMPTY };
	s->start = mono_now();
	s->window_start = s->start;
	s->last_save = s->start;
	if (opts->command != NULL) {
		const char *slash = strrchr(opts->command[0], '/');

		snprintf(s->comm, sizeof(s->comm), "%.15s",
			 slash != NULL ? slash + 1 : opts->command[0]);
	} else {
		read_comm(pid, s->comm, sizeof(s->comm));
	}
	code = open_parts(s, pid, err);
	if (code < 0)
		session_close(s);
	return code;
}

/* ---- running ---- */

int session_drain(struct session *s, struct err *err)
{
	struct sampler_sink sink = sink_of(s);
	int code;

	book(s, &s->window.fixed_ns);
	code = s->engine->drain(s->sampler, &sink, err);
	book(s, &s->window.sample_ns);
	return code;
}

static int collect_changes(struct session *s)
{
	int code;

	changes_reset(&s->changes);
	code = profile_changes(s->profile, TASK_RUN, &s->changes);
	return code < 0 ? code : ledger_changes(&s->ledger, &s->changes);
}

static void note_pause(struct session *s, bool is_paused)
{
	struct mono now = mono_now();

	if (is_paused && !s->is_paused) {
		s->paused_since = now;
		s->label.save_pauses++;
	} else if (!is_paused && s->is_paused) {
		s->label.save_paused_ns += mono_elapsed_ns(s->paused_since, now);
	}
	s->is_paused = is_paused;
}

static int write_changes(struct session *s, bool is_finished, struct err *err)
{
	struct store_saved saved = { 0 };
	int code = collect_changes(s);

	if (code < 0)
		return err_set(err, code, "cannot save '%s': out of memory", s->path);
	label_now(s, is_finished);
	s->label.saves++;
	code = s->store->save(s->db, &s->label, &s->changes, &saved, err);
	if (code < 0 || saved.is_paused) {
		s->label.saves--;
		note_pause(s, code >= 0);
		return code;
	}
	profile_saved(s->profile);
	ledger_saved(&s->ledger);
	note_pause(s, false);
	s->file_bytes = saved.bytes;
	s->kept_at_save = s->label.kept;
	return 0;
}

int session_save(struct session *s, bool is_finished, struct err *err)
{
	uint64_t before_ns = s->window.save_ns;
	int code;

	book(s, &s->window.fixed_ns);
	code = write_changes(s, is_finished, err);
	book(s, &s->window.save_ns);
	s->last_save_cost_ns = s->window.save_ns - before_ns;
	s->last_save = mono_now();
	return code;
}

/* A save in the middle of the run may fail: it is told once, and tried again. */
static void save_in_passing(struct session *s)
{
	struct err err = ERR_EMPTY;
	int code = session_save(s, false, &err);

	if (code < 0 && !s->has_save_failed) {
		command_print_err(s->app, "record", &err);
		fprintf(s->app->talk, "  the recording goes on and saving is tried again\n");
	} else if (code >= 0 && s->has_save_failed) {
		fprintf(s->app->talk, "tare record: saving works again\n");
	}
	s->has_save_failed = code < 0;
}

static void close_window(struct session *s, uint64_t window_ns)
{
	struct ledger_row *w = &s->window;
	struct label *l = &s->label;

	book(s, &w->fixed_ns);
	label_engine(s);
	profile_label(s->profile, l);
	label_price(s);
	w->window_ns = window_ns;
	w->ticks = l->ticks - s->ticks_at_window;
	w->kept = l->kept - s->kept_at_window;
	w->lost = s->lost_seen - s->lost_at_window;
	w->kernel_ns = w->ticks * l->kernel_tick_ps / PS_PER_NS;
	w->period_ns = l->period_ns;
	ledger_add(&s->ledger, w);
	s->ticks_at_window = l->ticks;
	s->kept_at_window = l->kept;
	s->lost_at_window = s->lost_seen;
}

/* The price decides the next real period; changing it takes what is left in the rings first. */
static void follow_price(struct session *s)
{
	const struct ledger_row *w = &s->window;
	struct price_spent spent = { .window_ns = w->window_ns,
				     .sample_ns = w->sample_ns + w->kernel_ns,
				     .once_ns = w->save_ns + w->start_ns,
				     .fixed_ns = w->fixed_ns };
	uint64_t before_ns = s->price.period_ns;
	uint64_t next_ns = price_next_period(&s->price, &spent);
	struct sampler_sink sink = sink_of(s);

	if (next_ns == before_ns)
		return;
	if (s->engine->set_period(s->sampler, next_ns, &sink, NULL) < 0)
		s->price.period_ns = before_ns; /* stays as it is; the next window tries again */
	else
		s->label.period_changes++;
}

void session_turn(struct session *s, struct mono now)
{
	uint64_t window_ns = mono_elapsed_ns(s->window_start, now);
	uint64_t since_save_ns = mono_elapsed_ns(s->last_save, now);

	if (window_ns < WINDOW_NS)
		return;
	close_window(s, window_ns);
	follow_price(s);
	s->window = (struct ledger_row){ 0 };
	s->window_start = now;
	if (price_save_is_due(s->opts->price_ppm, since_save_ns, s->label.kept - s->kept_at_save,
			      s->last_save_cost_ns))
		save_in_passing(s);
}

/* ---- ending ---- */

static void close_parts(struct session *s)
{
	if (s->engine != NULL)
		s->engine->close(s->sampler);
	profile_close(s->profile);
	s->sampler = NULL;
	s->profile = NULL;
}

/* The label once more, when all but the file is closed: what the last save and the end cost is then known. */
static int save_last_label(struct session *s, struct err *err)
{
	struct store_saved saved = { 0 };

	close_parts(s);
	s->store->pack(s->db);
	changes_reset(&s->changes);
	book(s, &s->window.save_ns);
	label_price(s);
	return s->store->save(s->db, &s->label, &s->changes, &saved, err);
}

int session_finish(struct session *s, const char *ended_by, int exit_status, struct err *err)
{
	struct mono deadline = { mono_now().ns + NS_PER_S };
	int code;

	session_drain(s, NULL);
	copy_fact(s->ended_by, sizeof(s->ended_by), ended_by, &s->label.ended_by);
	s->label.exit_status = exit_status;
	close_window(s, mono_elapsed_ns(s->window_start, mono_now()));
	s->window = (struct ledger_row){ 0 };
	do {
		code = session_save(s, true, err);
		if (s->is_paused)
			usleep(50000);
	} while (code == 0 && s->is_paused && mono_now().ns < deadline.ns);
	if (code == 0 && s->is_paused) {
		err_set(err, -EBUSY,
			"cannot finish '%s': another program has held it open for reading for %llu "
			"s",
			s->path,
			(unsigned long long)(mono_elapsed_ns(s->paused_since, mono_now()) /
					     NS_PER_S));
		err_works(err,
			  "the recording up to the last save is in the file and says unfinished");
		return err_mend(err, "end the read transaction of that program and record again");
	}
	return code < 0 ? code : save_last_label(s, err);
}

void session_close(struct session *s)
{
	struct stat st;

	close_parts(s);
	if (s->db != NULL) {
		s->store->close(s->db);
		s->file_bytes = stat(s->path, &st) == 0 ? (uint64_t)st.st_size : 0;
	}
	ledger_free(&s->ledger);
	changes_free(&s->changes);
	free(s->command_text);
	s->db = NULL;
	s->command_text = NULL;
	s->label.command = STR_EMPTY;
}
