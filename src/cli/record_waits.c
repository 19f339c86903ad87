/* record_waits.c - where the job waits, beside what it runs: `--clock wall`. */
#include <errno.h>
#include <string.h>

#include "cli/record.h"
#include "core/scoped.h"
#include "core/slices.h"
#include "core/waits.h"

#define RATE_AT_FIRST 300u
#define RATE_MOST     1000u /* looks a second */
#define DETACH_NS     (50 * NS_PER_MS)

static bool is_wall(const struct record_opts *o)
{
	return strcmp(o->clock, "wall") == 0;
}

int record_waits_check(const struct record_opts *o, struct err *err)
{
	if (is_wall(o) || strcmp(o->clock, "cpu") == 0)
		return 0;
	err_set(err, -EINVAL, "cannot record by clock '%s'", o->clock);
	return err_mend(err, "--clock takes cpu (what runs) or wall (what waits, too)");
}

int record_waits_open(struct session *s, pid_t pid, struct err *err)
{
	struct waits_source_settings settings = { .pid = pid,
						  .starts_at_exec = s->run.opts->command != NULL,
						  .start = s->run.start,
						  .engine = s->engine,
						  .sampler = s->sampler,
						  .switched_off = s->run.app->switched_off };
	int code;

	if (!is_wall(s->opts))
		return 0;
	code = waits_source_open(&settings, &s->waits, err);
	if (code < 0)
		return code;
	s->waits_slice_start = mono_now();
	s->waits_rate = RATE_AT_FIRST;
	waits_source_set_rate(s->waits, s->waits_rate);
	return 0;
}

/* The next slice, when its time has come. What is seen in it stands for the rest before it, too. */
static void resume_when_due(struct session *s, struct mono now)
{
	uint64_t rested_ns = mono_elapsed_ns(s->waits_slice_start, now);

	if (now.ns < s->waits_rest_until.ns ||
	    waits_source_resume(s->waits, PPM + rested_ns * (PPM / NS_PER_MS) /
							  (SLICES_LEAST_NS / NS_PER_MS)) < 0)
		return;
	s->waits_rest_until.ns = 0;
	s->waits_slice_start = now;
}

/* Seeing all switches took `hook_ns` in a window: is that more than may be taken, this slice ends. */
static void rest_when_dear(struct session *s, const struct sampler_sink *sink,
			   const struct slices_need *need)
{
	struct mono now = mono_now();
	struct slices_plan plan = slices_plan_next(need);
	uint64_t attached_ns = mono_elapsed_ns(s->waits_slice_start, now);
	uint64_t rest_ns;

	if (plan.is_always || !plan.is_possible)
		return;
	rest_ns = slices_rest_ns(&plan, need, attached_ns, need->load_ps);
	waits_source_rest(s->waits, sink);
	run_book(&s->run, &s->waits_own_ns);
	s->waits_slice_start = now; /* from here on it is the rest's */
	s->waits_rest_until.ns = now.ns + rest_ns;
}

void record_waits_close_window(struct session *s, const struct sampler_sink *sink)
{
	struct ledger_row *w = &s->run.window;
	uint64_t allowed_ns = units_ppm_of(w->window_ns, s->run.opts->price_ppm) / 2;
	struct waits_facts facts;
	uint64_t kernel_ns, hook_ns;

	if (s->waits == NULL)
		return;
	waits_source_facts(s->waits, &facts);
	kernel_ns = facts.kernel_ns - s->waits_kernel_ns;
	hook_ns = kernel_ns > facts.walk_ns - s->waits_walk_ns
			  ? kernel_ns - (facts.walk_ns - s->waits_walk_ns)
			  : 0;
	s->waits_kernel_ns = facts.kernel_ns;
	s->waits_walk_ns = facts.walk_ns;
	if (s->waits_rest_until.ns != 0) {
		resume_when_due(s, mono_now());
	} else {
		struct slices_need need = { .load_ps = hook_ns * PS_PER_NS,
					    .slice_ps = allowed_ns * PS_PER_NS,
					    .window_ns = w->window_ns,
					    .detach_ns = DETACH_NS };

		s->waits_rate =
			waits_next_rate(s->waits_rate, s->waits_own_ns + kernel_ns - hook_ns,
					allowed_ns, RATE_MOST);
		waits_source_set_rate(s->waits, s->waits_rate);
		rest_when_dear(s, sink, &need);
	}
	/* A longer period makes neither part less. */
	w->fixed_ns += s->waits_own_ns;
	w->kernel_ns += kernel_ns;
	s->still_ns += kernel_ns;
	s->waits_own_ns = 0;
}

void record_waits_label(struct session *s)
{
	struct label *l = &s->run.label;
	struct waits_facts facts;

	if (s->waits == NULL)
		return;
	waits_source_facts(s->waits, &facts);
	run_copy_fact(s->clock_name, sizeof(s->clock_name), "wall", &l->clock);
	l->clock_ns += facts.exact_ns[STATE_WAITING] + facts.exact_ns[STATE_RUNNABLE];
	l->lost += facts.lost;
}
