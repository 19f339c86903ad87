/* record_session.c - sampling as an instrument: joins engine, profile and price. */
#include <string.h>
#include <unistd.h>

#include "cli/record.h"
#include "core/scoped.h"

#define MAX_PERIOD_NS NS_PER_S /* the price never makes the period longer */
#define WINDOW_NS     NS_PER_S
#define AWAIT_NS      (5 * NS_PER_S) /* for names of servers, at the end */
#define AWAIT_LOOK_MS 50

/* ---- the sink: where the engine's ticks go ---- */

static bool sink_wants(void *owner, const struct tick *tick)
{
	struct session *s = owner;
	bool is_task_kept;

	s->engine_ticks += tick->state == STATE_RUNNING;
	s->task = record_tasks_of(&s->tasks, tick);
	s->is_run_kept = profile_wants(s->profile, tick);
	is_task_kept = s->task != TASKS_NONE && tasks_wants(s->tasks.tasks, s->task, tick);
	return s->is_run_kept || is_task_kept;
}

static void sink_take(void *owner, const struct tick *tick, const struct frame *path, size_t depth,
		      enum stack_end end)
{
	struct session *s = owner;

	profile_add(s->profile, tick, path, depth);
	s->task = record_tasks_by_path(&s->tasks, tick, path, depth, s->task);
	if (s->task != TASKS_NONE)
		tasks_add(s->tasks.tasks, s->task, tick, path, depth);
	if (path == NULL || !s->is_run_kept)
		return;
	s->run.label.whole_stacks += end == STACK_WHOLE;
	s->run.label.broken_stacks += end == STACK_BROKEN;
	s->run.label.cut_stacks += end == STACK_CUT;
}

static void sink_lost(void *owner, uint64_t at_ns, uint64_t samples)
{
	struct session *s = owner;

	profile_lost(s->profile, at_ns, samples);
	s->lost_seen += samples;
	if (s->tasks.tasks != NULL)
		tasks_lost(s->tasks.tasks, at_ns, samples);
}

static struct sampler_sink sink_of(struct session *s);

static void sink_life(void *owner, const struct life *event)
{
	struct session *s = owner;
	struct sampler_sink sink = sink_of(s);
	size_t len = event->comm.len < sizeof(s->run.comm) - 1 ? event->comm.len
							       : sizeof(s->run.comm) - 1;

	if (event->kind == LIFE_EXIT && s->waits != NULL)
		waits_source_forget(s->waits, event->pid, &sink);
	record_tasks_life(&s->tasks, event);
	if (event->kind != LIFE_EXEC || event->pid != s->run.label.pid || len == 0)
		return;
	memcpy(s->run.comm, event->comm.bytes, len);
	s->run.comm[len] = '\0';
	s->run.label.comm = run_str(s->run.comm);
}

static void sink_renamed(void *owner, const struct frame *from, const struct frame *to)
{
	struct session *s = owner;

	(void)profile_rename(s->profile, from, to);
}

static struct sampler_sink sink_of(struct session *s)
{
	return (struct sampler_sink){ .owner = s,
				      .wants = sink_wants,
				      .take = sink_take,
				      .lost = sink_lost,
				      .life = sink_life,
				      .renamed = sink_renamed };
}

/* ---- opening ---- */

static int open_profile(struct session *s, pid_t pid, struct err *err)
{
	struct profile_settings settings = { .base_ns = s->opts->every_ns,
					     .seed = s->run.start.ns ^ ((uint64_t)getpid() << 32),
					     .keeps_all = s->opts->is_full };
	struct record_tasks_settings tasks = { .opts = &s->opts->tasks,
					       .price_ppm = s->run.opts->price_ppm,
					       .pid = (uint32_t)pid,
					       .comm = s->run.opts->command == NULL ? s->run.comm
										    : NULL };
	uint64_t bytes = s->run.opts->max_bytes;
	uint32_t slots = (uint32_t)s->opts->slots;
	int code = s->tasks.source == TASKS_BY_NOTHING
			   ? s->run.store->fit(bytes, slots, &settings.limits, err)
			   : s->run.store->fit_tasks(bytes, slots, &settings.limits,
						     &tasks.room_bytes, err);

	if (code == 0)
		code = profile_open(&settings, &s->profile, err);
	tasks.profile = settings;
	return code == 0 ? record_tasks_open(&s->tasks, &tasks, s->profile, err) : code;
}

static int open_engine(struct session *s, pid_t pid, struct err *err)
{
	struct sampler_settings settings = { .pid = pid,
					     .starts_at_exec = s->run.opts->command != NULL,
					     .period_ns = s->opts->every_ns,
					     .start = s->run.start,
					     .asks_servers = s->opts->asks_servers,
					     .switched_off = s->run.app->switched_off };
	int code = record_engine_open(s, &settings, err);

	if (code < 0)
		return code;
	if (s->engine->calibrate(s->sampler, NULL) < 0) /* then the label says "unmeasured" */
		s->run.label.kernel_tick_ps = 0;
	s->run.cpu_other_ns = children_cpu_ns();
	s->run.window.start_ns += s->run.cpu_other_ns;
	return 0;
}

static int session_open(void *session, pid_t pid, struct err *err)
{
	struct session *s = session;
	int code = open_profile(s, pid, err);

	if (code < 0)
		return code;
	code = open_engine(s, pid, err);
	if (code < 0)
		return code;
	code = record_waits_open(s, pid, err);
	if (code < 0)
		return code;
	code = run_open_store(&s->run, pid, err);
	if (code < 0)
		return code;
	price_init(&s->price, s->run.opts->price_ppm, s->opts->every_ns,
		   s->opts->every_ns > MAX_PERIOD_NS ? s->opts->every_ns : MAX_PERIOD_NS);
	return 0;
}

/* ---- running ---- */

static int session_drain(void *session)
{
	struct session *s = session;
	struct sampler_sink sink = sink_of(s);
	int code;

	record_tasks_read(&s->tasks, s->run.start);
	run_book(&s->run, &s->run.window.fixed_ns);
	if (s->waits != NULL) {
		waits_source_peek(s->waits, &sink);
		run_book(&s->run, &s->waits_own_ns);
	}
	code = s->engine->drain(s->sampler, &sink, NULL);
	record_tasks_settle(&s->tasks);
	run_book(&s->run, &s->run.window.sample_ns);
	if (s->waits != NULL) {
		waits_source_take(s->waits, &sink);
		run_book(&s->run, &s->waits_own_ns);
	}
	return code;
}

/* The task's clock is corrected by what ticks brought, both ways. */
static uint64_t since(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* The part of the window in which the job could run: a command waits until all is set up. */
static uint64_t job_window_ns(const struct session *s)
{
	struct mono end = { s->run.window_start.ns + s->run.window.window_ns };
	uint64_t let_go_ns = mono_elapsed_ns(s->run.released, end);

	return let_go_ns < s->run.window.window_ns ? let_go_ns : s->run.window.window_ns;
}

/* What was taken on the job's account since the last window. */
static void charge_job(struct session *s)
{
	struct ledger_row *w = &s->run.window;
	const struct charge_seen seen = { .window_ns = job_window_ns(s),
					  .ticks = s->engine_ticks + w->lost,
					  .switches = s->switches - s->switches_at_window,
					  .period_ns = w->period_ns,
					  .ran_ns = since(s->cpu_at_window_ns, s->cpu_ns),
					  .all_ran_ns = s->ran_ns,
					  .all_waited_ns = s->waited_ns,
					  .threads = s->run.label.threads };
	struct charge charge = charge_window(&s->costs, &seen);

	w->kernel_ns = charge.tick_ns + charge.switch_ns + charge.still_ns +
		       since(s->stopped_at_window_ns, s->stopped_ns);
	s->stopped_at_window_ns = s->stopped_ns;
	s->still_ns = charge.still_ns;
	if (s->is_kernel_measured) {
		w->kernel_ns = since(s->kernel_at_window_ns, s->kernel_ns);
		s->still_ns = 0;
		s->kernel_at_window_ns = s->kernel_ns;
	}
	s->switches_at_window = s->switches;
	s->cpu_at_window_ns = s->cpu_ns;
	s->engine_ticks = 0;
}

static void close_window(struct session *s, uint64_t window_ns)
{
	struct ledger_row *w = &s->run.window;
	struct label *l = &s->run.label;
	struct sampler_sink sink = sink_of(s);

	run_book(&s->run, &w->fixed_ns);
	record_label_engine(s);
	profile_label(s->profile, l);
	record_label_price(s);
	w->window_ns = window_ns;
	w->ticks = l->ticks - s->ticks_at_window;
	w->kept = l->kept - s->kept_at_window;
	w->lost = s->lost_seen - s->lost_at_window;
	w->period_ns = l->period_ns;
	charge_job(s);
	record_waits_close_window(s, &sink);
	ledger_add(&s->run.ledger, w);
	s->ticks_at_window = l->ticks;
	s->kept_at_window = l->kept;
	s->lost_at_window = s->lost_seen;
}

/* The price decides the next real period; changing it takes what is left in the rings first. */
static void follow_price(struct session *s)
{
	const struct ledger_row *w = &s->run.window;
	struct price_spent spent = { .window_ns = w->window_ns,
				     .sample_ns = w->sample_ns + w->kernel_ns - s->still_ns,
				     .once_ns = w->save_ns + w->start_ns,
				     .fixed_ns = w->fixed_ns + s->still_ns };
	uint64_t before_ns = s->price.period_ns;
	uint64_t next_ns = price_next_period(&s->price, &spent);
	struct sampler_sink sink = sink_of(s);

	if (next_ns == before_ns)
		return;
	if (s->engine->set_period(s->sampler, next_ns, &sink, NULL) < 0)
		s->price.period_ns = before_ns; /* stays as it is; the next window tries again */
	else
		s->run.label.period_changes++;
}

static void session_turn(void *session, struct mono now)
{
	struct session *s = session;
	uint64_t window_ns = mono_elapsed_ns(s->run.window_start, now);
	uint64_t since_save_ns = mono_elapsed_ns(s->run.last_save, now);

	if (window_ns < WINDOW_NS)
		return;
	record_tasks_turn(&s->tasks, mono_elapsed_ns(s->run.start, now));
	close_window(s, window_ns);
	follow_price(s);
	s->run.window = (struct ledger_row){ 0 };
	s->run.window_start = now;
	if (price_save_is_due(s->run.opts->price_ppm, since_save_ns,
			      s->run.label.kept - s->kept_at_save, s->run.last_save_cost_ns))
		run_save_in_passing(&s->run);
}

/* ---- ending ---- */

/* Names that servers send may come a moment after the job has ended. */
static void await_names(struct session *s)
{
	struct mono end = { mono_now().ns + AWAIT_NS };
	struct sampler_facts facts = { .awaited_files = 0 };

	do {
		session_drain(s);
		s->engine->facts(s->sampler, &facts);
		if (facts.awaited_files > 0)
			poll(NULL, 0, AWAIT_LOOK_MS);
	} while (facts.awaited_files > 0 && mono_now().ns < end.ns);
}

static void session_end(void *session)
{
	struct session *s = session;

	struct sampler_sink sink = sink_of(s);

	session_drain(s);
	if (s->waits != NULL)
		waits_source_end(s->waits, &sink);
	if (s->opts->asks_servers)
		await_names(s);
	close_window(s, mono_elapsed_ns(s->run.window_start, mono_now()));
	s->run.window = (struct ledger_row){ 0 };
}

static void session_close(void *session)
{
	struct session *s = session;

	waits_source_close(s->waits); /* before the engine, whose address spaces it uses */
	s->waits = NULL;
	if (s->engine != NULL)
		s->engine->close(s->sampler);
	record_tasks_close(&s->tasks);
	profile_close(s->profile);
	s->sampler = NULL;
	s->profile = NULL;
}

/* ---- as an instrument ---- */

static size_t session_wait_on(void *session, struct pollfd *waits, size_t room)
{
	struct session *s = session;
	size_t count = s->engine->wait_on(s->sampler, waits, room);

	if (s->tasks.marks.fd >= 0 && !s->tasks.marks.is_shut && count < room)
		waits[count++] = (struct pollfd){ .fd = s->tasks.marks.fd, .events = POLLIN };
	return count;
}

static struct mono session_wakes_at(const void *session)
{
	const struct session *s = session;
	struct mono window = { s->run.window_start.ns + WINDOW_NS };
	struct mono look = s->waits != NULL ? waits_source_wakes_at(s->waits) : window;

	return look.ns < window.ns ? look : window;
}

static int session_changes(void *session, struct changes *out)
{
	struct session *s = session;

	int code = s->tasks.tasks != NULL ? tasks_changes(s->tasks.tasks, out) : 0;

	return code < 0 ? code : profile_changes(s->profile, TASK_RUN, out);
}

static void session_saved(void *session)
{
	struct session *s = session;

	profile_saved(s->profile);
	if (s->tasks.tasks != NULL)
		tasks_saved(s->tasks.tasks);
	s->kept_at_save = s->run.label.kept;
}

static void session_label(void *session)
{
	record_label_now(session);
}

static void session_label_price(void *session)
{
	record_label_price(session);
}

const struct instrument record_instrument = {
	.name = "record",
	.open = session_open,
	.close = session_close,
	.wait_on = session_wait_on,
	.wakes_at = session_wakes_at,
	.take = session_drain,
	.turn = session_turn,
	.end = session_end,
	.changes = session_changes,
	.saved = session_saved,
	.label = session_label,
	.label_price = session_label_price,
	.status = record_status,
	.summary = record_summary,
	.json = record_json,
};
