/* record_session.c - one recording: joins engine, profile, price, ledger and store. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/record.h"
#include "core/scoped.h"

#define MAX_PERIOD_NS NS_PER_S /* the price never makes the period longer */
#define WINDOW_NS     NS_PER_S

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
	s->label.comm = record_str(s->comm);
}

static struct sampler_sink sink_of(struct session *s)
{
	return (struct sampler_sink){ .owner = s,
				      .wants = sink_wants,
				      .take = sink_take,
				      .lost = sink_lost,
				      .life = sink_life };
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
	record_label_start(s, pid);
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
		record_read_comm(pid, s->comm, sizeof(s->comm));
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
	record_label_now(s, is_finished);
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
	record_label_engine(s);
	profile_label(s->profile, l);
	record_label_price(s);
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
	record_label_price(s);
	return s->store->save(s->db, &s->label, &s->changes, &saved, err);
}

int session_finish(struct session *s, const char *ended_by, int exit_status, struct err *err)
{
	struct mono deadline = { mono_now().ns + NS_PER_S };
	int code;

	session_drain(s, NULL);
	record_copy_fact(s->ended_by, sizeof(s->ended_by), ended_by, &s->label.ended_by);
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
