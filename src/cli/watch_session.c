/* watch_session.c - watching as an instrument: joins sources, watchlist and price. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/watch.h"
#include "core/price.h"
#include "core/scoped.h"

#define CALIBRATE_NS (600 * NS_PER_S)

static uint64_t clock_of(void *session)
{
	(void)session;
	return mono_now().ns;
}

static void told(void *session, const struct watched_row *row)
{
	struct watch_session *s = session;

	if (s->is_running)
		watch_say_row(s, row);
}

/* ---- opening ---- */

static int open_list(struct watch_session *s, struct err *err)
{
	struct watchlist_settings settings = {
		.limits = { .price_ppm = s->run.opts->price_ppm,
			    .given = (uint32_t)s->opts->interval,
			    .most = (uint32_t)s->opts->interval_most },
		.window_ns = s->opts->window_ns,
		.slow_ns = s->opts->slow_ns,
		.seed = s->run.start.ns ^ ((uint64_t)getpid() << 32),
		.may_slice = !s->opts->has_no_slices,
	};
	struct watch_sources_settings joined = { .window_ns = s->opts->window_ns,
						 .price_ppm = s->run.opts->price_ppm,
						 .interval_most = (uint32_t)s->opts->interval_most,
						 .wants = watch_places_wants,
						 .now_ns = clock_of,
						 .told = told,
						 .owner = s };
	int code = s->run.store->fit_watch(s->run.opts->max_bytes, &settings.room_bytes, err);

	if (code < 0)
		return code;
	code = watchlist_open(&settings, &s->list, err);
	if (code < 0)
		return code;
	joined.list = s->list;
	watch_sources_init(&s->sources, &joined);
	s->has_sources = true;
	return 0;
}

/* Children of ours measure what a call costs: at the start, and on. The kernel counts those that have ended. */
static void book_children(struct watch_session *s, uint64_t *part_ns)
{
	uint64_t children_ns = children_cpu_ns() + s->sources.measured_cpu_ns;

	if (children_ns <= s->run.cpu_other_ns)
		return;
	*part_ns += children_ns - s->run.cpu_other_ns;
	s->run.cpu_other_ns = children_ns;
}

/* The run begins when all is attached: what came before is start-up, in which no call could be seen. */
static void begin_run(struct watch_session *s)
{
	uint64_t before_ns = s->run.start.ns;

	s->run.start = mono_now();
	s->run.window_start = s->run.start;
	s->run.last_save = s->run.start;
	watch_sources_shift(&s->sources, s->run.start.ns - before_ns);
}

static int start_sources(struct watch_session *s, struct err *err)
{
	if (watch_sources_start(&s->sources) > 0 || s->expects_inside) {
		begin_run(s);
		s->is_running = true;
		return 0;
	}
	unlink(s->run.path); /* nothing is watched: an empty recording helps nobody */
	err_set(err, -EPERM, "cannot watch '%s': nothing that was asked for could be attached",
		s->run.comm);
	for (uint32_t id = 0; id < watchlist_count(s->list); id++) {
		const struct watched_row *row = watchlist_row(s->list, id);

		err_set(err, -EPERM, "cannot watch '%.*s' in '%s': %.*s", (int)row->name.len,
			row->name.bytes, s->run.comm, (int)row->why_not.len, row->why_not.bytes);
		break;
	}
	err_works(err, "tare record shows where its time goes, without probes");
	return err_mend(err, "tare doctor says which rights are missing");
}

static int watch_open(void *session, pid_t pid, struct err *err)
{
	struct watch_session *s = session;
	int code;

	s->pid = pid;
	s->own_limit_ppm = s->run.opts->price_ppm;
	code = open_list(s, err);
	if (code < 0)
		return code;
	code = watch_places_open(s, err);
	if (code < 0)
		return code;
	book_children(s, &s->run.window.start_ns);
	s->calibrated = mono_now();
	watch_say_start(s);
	code = run_open_store(&s->run, pid, err);
	if (code < 0)
		return code;
	code = start_sources(s, err);
	if (code < 0)
		return code;
	run_book(&s->run, &s->run.window.start_ns);
	book_children(s, &s->run.window.start_ns);
	return 0;
}

static void watch_close(void *session)
{
	struct watch_session *s = session;

	if (s->has_sources)
		watch_sources_close(&s->sources);
	watchlist_close(s->list);
	places_free(&s->frame_places);
	free(s->has_found);
	s->has_found = NULL;
	s->has_sources = false;
	s->list = NULL;
}

/* ---- running ---- */

static int watch_take(void *session)
{
	struct watch_session *s = session;

	run_book(&s->run, &s->run.window.fixed_ns);
	watch_sources_look(&s->sources);
	run_book(&s->run, &s->run.window.sample_ns);
	watch_places_again(s, mono_now(), false);
	run_book(&s->run, &s->run.window.fixed_ns);
	return 0;
}

/* What our own CPU takes lowers what watching may: the price is of both. */
static void follow_own_cost(struct watch_session *s, uint64_t span_ns)
{
	const struct ledger_row *w = &s->run.window;
	uint64_t running_ns = w->sample_ns + w->fixed_ns + w->save_ns;

	s->own_limit_ppm = watch_own_price_ppm(&s->own, s->run.opts->price_ppm, span_ns, running_ns,
					       w->start_ns);
	watchlist_set_price(s->list, s->own_limit_ppm);
}

static void close_window(struct watch_session *s, bool is_last)
{
	struct ledger_row *w = &s->run.window;
	struct watch_turned turned;

	run_book(&s->run, &w->fixed_ns);
	watch_sources_settle(&s->sources);
	book_children(s, &w->sample_ns);
	follow_own_cost(s, mono_elapsed_ns(s->run.window_start, mono_now()) + 1);
	watch_sources_turn(&s->sources, s->own_limit_ppm, is_last, &turned);
	run_book(&s->run, &w->sample_ns);
	s->charged_ps += turned.charged_ps;
	w->window_ns = mono_elapsed_ns(s->run.window_start, mono_now());
	w->kernel_ns = turned.charged_ps / PS_PER_NS;
	w->ticks = turned.calls;
	w->kept = turned.timed;
	ledger_add(&s->run.ledger, w);
	s->run.window = (struct ledger_row){ 0 };
	s->run.window_start = mono_now();
}

static void calibrate_if_due(struct watch_session *s, struct mono now)
{
	if (mono_elapsed_ns(s->calibrated, now) < CALIBRATE_NS)
		return;
	s->calibrated = now;
	run_book(&s->run, &s->run.window.fixed_ns);
	watch_sources_calibrate(&s->sources);
	run_book(&s->run, &s->run.window.start_ns);
	book_children(s, &s->run.window.start_ns);
}

static void watch_turn(void *session, struct mono now)
{
	struct watch_session *s = session;
	uint64_t since_save_ns;

	if (now.ns < s->sources.plan.window_start_ns + s->opts->window_ns)
		return;
	close_window(s, false);
	watch_places_again(s, now, true);
	book_children(s, &s->run.window.start_ns);
	run_book(&s->run, &s->run.window.start_ns);
	calibrate_if_due(s, now);
	since_save_ns = mono_elapsed_ns(s->run.last_save, now);
	if (price_save_is_due(s->run.opts->price_ppm, since_save_ns,
			      s->sources.calls > s->calls_at_save ? UINT64_MAX : 0,
			      s->run.last_save_cost_ns))
		run_save_in_passing(&s->run);
}

static void watch_end(void *session)
{
	struct watch_session *s = session;

	s->is_running = false;
	close_window(s, true);
}

/* ---- as an instrument ---- */

static size_t watch_wait_on(void *session, struct pollfd *waits, size_t room)
{
	(void)session;
	(void)waits;
	(void)room;
	return 0;
}

static struct mono watch_wakes_at(const void *session)
{
	const struct watch_session *s = session;
	uint64_t wakes_ns = watch_sources_wakes_ns(&s->sources);

	if (s->expects_inside && !watch_sources_has(&s->sources, &watch_source_inside) &&
	    s->inside_next.ns < wakes_ns)
		wakes_ns = s->inside_next.ns;
	return (struct mono){ wakes_ns };
}

static int watch_changes(void *session, struct changes *out)
{
	struct watch_session *s = session;
	struct watch_row *row;
	int code = watchlist_changes(s->list, out);

	if (code < 0)
		return code;
	row = changes_watch(out);
	if (row == NULL)
		return -ENOMEM;
	watch_label_row(s, row);
	return 0;
}

static void watch_saved(void *session)
{
	struct watch_session *s = session;

	watchlist_saved(s->list);
	s->calls_at_save = s->sources.calls;
}

static void watch_label(void *session)
{
	watch_label_now(session);
}

static void watch_label_price_only(void *session)
{
	watch_label_price(session);
}

const struct instrument watch_instrument = {
	.name = "watch",
	.open = watch_open,
	.close = watch_close,
	.wait_on = watch_wait_on,
	.wakes_at = watch_wakes_at,
	.take = watch_take,
	.turn = watch_turn,
	.end = watch_end,
	.changes = watch_changes,
	.saved = watch_saved,
	.label = watch_label,
	.label_price = watch_label_price_only,
	.status = watch_status,
	.summary = watch_summary,
	.json = watch_summary_json,
};
