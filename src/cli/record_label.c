/* record_label.c - the facts that only a sampled run has. */
#include "cli/record.h"
#include "core/scoped.h"

/* Reading files into tables happens in drains, mostly in a child of ours, but is paid once: start-up, not the price of a
 * sample. A child that copies stacks is part of it. The job itself is not waited for before the session is closed, so children are
 * ours. */
static void move_table_cost(struct session *s, const struct sampler_facts *facts)
{
	uint64_t children_ns = children_cpu_ns() + facts->reading_ns + facts->copying_live_ns;
	uint64_t copied_ns = facts->copying_ns - s->copying_seen_ns;
	uint64_t own_ns = facts->table_ns - s->table_seen_ns;

	if (own_ns > s->run.window.sample_ns)
		own_ns = s->run.window.sample_ns;
	s->run.window.sample_ns -= own_ns;
	s->run.window.start_ns += own_ns;
	s->table_seen_ns = facts->table_ns;
	/* When a child ends, its time moves from one clock to another that may be some µs behind. */
	if (children_ns > s->run.cpu_other_ns) {
		uint64_t new_ns = children_ns - s->run.cpu_other_ns;

		if (copied_ns > new_ns)
			copied_ns = new_ns;
		s->run.window.sample_ns += copied_ns;
		s->run.window.start_ns += new_ns - copied_ns;
		s->run.cpu_other_ns = children_ns;
		s->copying_seen_ns += copied_ns;
	}
}

/* Following forks and maps is no part of a sample either: a longer period would not make it cheaper. */
static void move_aside_cost(struct session *s, uint64_t aside_ns)
{
	uint64_t new_ns = aside_ns - s->aside_seen_ns;

	if (new_ns > s->run.window.sample_ns)
		new_ns = s->run.window.sample_ns;
	s->run.window.sample_ns -= new_ns;
	s->run.window.fixed_ns += new_ns;
	s->aside_seen_ns = aside_ns;
}

void record_label_engine(struct session *s)
{
	struct sampler_facts facts = { .name = "" };
	struct label *l = &s->run.label;

	s->engine->facts(s->sampler, &facts);
	run_copy_fact(s->engine_name, sizeof(s->engine_name), facts.name, &l->engine);
	run_copy_fact(s->clock_name, sizeof(s->clock_name), facts.clock, &l->clock);
	run_copy_fact(s->children, sizeof(s->children), facts.children, &l->children);
	run_copy_fact(s->kernel_stacks, sizeof(s->kernel_stacks), facts.kernel_stacks,
		      &l->kernel_stacks);
	l->period_ns = facts.period_ns;
	l->is_jittered = facts.is_jittered;
	l->is_derived = facts.is_derived;
	s->cpu_ns = l->clock_ns = facts.clock_ns;
	l->lost = facts.lost_count;
	l->lost_events = facts.lost_events;
	l->throttled = facts.throttled_count;
	l->threads = facts.threads;
	l->processes = facts.processes;
	l->unnamed_frames = facts.unnamed_frames;
	l->unread_files = facts.unread_files;
	l->kernel_tick_ps = facts.costs.tick_ps;
	if (facts.stops > 0 && s->run.label.ticks > 0) /* measured, stop by stop */
		l->kernel_tick_ps = facts.stopped_ns * PS_PER_NS / s->run.label.ticks;
	s->stopped_ns = facts.stopped_ns;
	l->stops = facts.stops;
	l->stopped_ns = facts.stopped_ns;
	l->cut_calls = facts.cut_calls;
	s->costs = facts.costs;
	s->kernel_ns = facts.kernel_ns;
	s->is_kernel_measured = facts.is_kernel_measured;
	s->ran_ns = facts.ran_ns;
	s->waited_ns = facts.waited_ns;
	/* Of threads that came and went between two looks, only the kernel's account of the whole job tells. */
	s->switches = facts.switches > s->run.job_switches ? facts.switches : s->run.job_switches;
	move_table_cost(s, &facts);
	move_aside_cost(s, facts.aside_ns);
	/* Ticks that did not meet the job are no part of its account, but of the price. */
	if (facts.missed_ns >
	    s->run.missed_ns) { /* due ones are counted by the clock, and may come a moment later */
		s->run.window.sample_ns += facts.missed_ns - s->run.missed_ns;
		s->run.missed_ns = facts.missed_ns;
	}
	record_waits_label(s);
}

void record_label_price(struct session *s)
{
	struct label *l = &s->run.label;

	run_label_price(&s->run);
	l->kernel_ns = ledger_total(&s->run.ledger).kernel_ns + s->run.window.kernel_ns;
}

void record_label_now(struct session *s)
{
	struct label *l = &s->run.label;

	record_label_engine(s);
	profile_label(s->profile, l);
	record_label_price(s);
	l->base_period_ns = s->opts->every_ns;
	l->keeps_all = s->opts->is_full;
	record_tasks_label(&s->tasks, l);
	if (l->clock_ns < l->weight_ns)
		l->clock_ns = l->weight_ns; /* the counter is read a moment before the last ticks */
}
