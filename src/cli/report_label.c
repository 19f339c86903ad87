/* report_label.c - the whole label: one function a fact, one row of the table at the end. */
#include "cli/report.h"
#include "core/scoped.h"
#include "core/units.h"

#define FACT_AT 10u /* the column of values */

void fact_tare(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;

	text_put(t, "tare ");
	text_put_cut(t, label->tare_version, 24);
	text_put(t, " · ");
	text_put_cut(t, label->instrument, 24);
	text_put(t, label->is_finished ? " · complete" : " · unfinished");
}

void fact_when(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;
	char from[64], to[64];

	units_format_wall((struct wall){ label->started_wall_ns }, from, sizeof(from));
	units_format_wall((struct wall){ label->saved_wall_ns }, to, sizeof(to));
	text_printf(t, "%s to %s", from, to);
}

void fact_where(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;

	text_put_cut(t, label->host, 64);
	text_put(t, label->kernel.len > 0 ? ", " : "");
	text_put_cut(t, label->kernel, 64);
	text_printf(t, ", %u CPU%s", label->cpu_count, label->cpu_count == 1 ? "" : "s");
}

void fact_seen(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;

	text_put_counted(t, label->threads, "thread");
	text_put(t, " of ");
	text_put_exact(t, label->processes);
	text_put(t, label->processes == 1 ? " process" : " processes");
}

static void put_part(struct text *t, uint64_t ns, const struct label *label, const char *word)
{
	text_put(t, word);
	text_put(t, " ");
	text_put_exact_share(t, ns, label->elapsed_ns);
}

static void fact_price(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;

	label_put_price(t, r);
	if (label_is_price_unmeasured(r))
		return;
	put_part(t, label->sample_ns, label, ": samples");
	if (label->kernel_tick_ps > 0)
		put_part(t, label->kernel_ns, label, ", in the kernel");
	else
		text_put(t, ", in the kernel — not measured");
	put_part(t, label->save_ns, label, ", saves");
	put_part(t, label->start_ns, label, ", start-up");
	put_part(t, label->fixed_ns, label, ", fixed");
}

void fact_size(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;

	label_put_size(t, r);
	text_put(t, "; ");
	text_put_counted(t, label->saves, "save");
	if (label->save_pauses > 0) {
		text_put(t, ", ");
		text_put_exact(t, label->save_pauses);
		text_put(t, " held up for ");
		text_put_duration(t, label->save_paused_ns);
	}
}

static void fact_kept(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;

	text_put_exact(t, label->kept);
	text_put(t, " of ");
	text_put_counted(t, label->ticks, "tick");
	if (label->keeps_all || label->one_in <= 1) {
		text_put(t, ", every one");
	} else {
		text_put(t, ", at the end one in ");
		text_put_exact(t, label->one_in);
	}
	text_put(t, "; ");
	text_put_exact(t, r->recording->slot_count);
	text_put(t, " of ");
	text_put_exact(t, label->slot_count);
	text_put(t, " slots of ");
	text_put_duration(t, label->slot_ns);
}

static void fact_covered(struct text *t, const struct report *r)
{
	const struct analysis *a = r->analysis;

	text_put_exact_share(t, a->sampled_ns, a->clock_ns);
	text_put(t, " of ");
	text_put_duration(t, a->clock_ns);
	text_put(t, label_has_waiting(&r->recording->label) ? " of its threads' time; (unsampled) "
							    : " of CPU time; (unsampled) ");
	text_put_exact_share(t, a->unsampled_ns, a->clock_ns);
}

static void fact_lost(struct text *t, const struct report *r)
{
	label_put_lost(t, r);
	if (r->recording->label.throttled > 0) {
		text_put(t, "; held back by the kernel ");
		text_put_counted(t, r->recording->label.throttled, "time");
	}
}

static void fact_stacks(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;
	uint64_t all = label->whole_stacks + label->broken_stacks + label->cut_stacks;

	text_put(t, "whole ");
	text_put_exact_share(t, label->whole_stacks, all);
	text_put(t, " · broken ");
	text_put_exact_share(t, label->broken_stacks, all);
	text_put(t, " · cut ");
	text_put_exact_share(t, label->cut_stacks, all);
	text_put(t, "; time in functions without a name ");
	text_put_exact_share(t, r->analysis->unnamed.ns, r->analysis->sampled_ns);
}

static void fact_contexts(struct text *t, const struct report *r)
{
	text_put_counted(t, r->recording->context_count, "path");
	if (r->recording->label.merges == 0) {
		text_put(t, ", none merged");
		return;
	}
	text_put(t, ", ");
	text_put_counted(t, r->recording->label.merges, "merge");
	text_put(t, ", uncertain ");
	text_put_exact_share(t, r->analysis->uncertain_ns, r->analysis->sampled_ns);
}

/* What an engine did to the job that stops threads. */
static void put_stops(struct text *t, const struct label *label)
{
	if (label->stops == 0)
		return;
	text_put(t, "; it stopped a running thread ");
	text_put_counted(t, label->stops, "time");
	text_put(t, ", for ");
	text_put_duration(t, label->stopped_ns / label->stops);
	text_put(t, " on average");
	if (label->cut_calls > 0) {
		text_put(t, ", and may have cut short ");
		text_put_counted(t, label->cut_calls, "write");
	}
}

static void fact_engine(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;

	text_put_cut(t, label->engine, 24);
	text_put(t, ", ");
	text_put_cut(t, label->clock, 24);
	text_put(t, " clock, period ");
	text_put_duration(t, label->base_period_ns);
	text_put(t, label->is_jittered ? " jittered" : " not jittered");
	if (label->period_changes > 0) {
		text_put(t, ", ");
		text_put_duration(t, label->period_ns);
		text_put(t, " at the end after ");
		text_put_counted(t, label->period_changes, "change");
	}
	text_put(t, label->is_derived ? "; weights derived from the times of samples"
				      : "; weights from the counter");
	put_stops(t, label);
}

void fact_memory(struct text *t, const struct report *r)
{
	char size[64];

	if (r->recording->label.own_rss_bytes == 0) {
		text_put(t, "— not measured");
		return;
	}
	units_format_size(r->recording->label.own_rss_bytes, size, sizeof(size));
	text_printf(t, "%s at most, for the recorder", size);
}

void fact_marks(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;
	const char *between = "";
	char step[64];

	if (label->clock_steps > 0) {
		bool is_back = label->clock_step_ns < 0;

		units_format_duration(is_back ? 0 - (uint64_t)label->clock_step_ns
					      : (uint64_t)label->clock_step_ns,
				      step, sizeof(step));
		text_put(t, "the clock was set ");
		text_put_counted(t, label->clock_steps, "time");
		text_printf(t, ", at most %s %s, at ", step, is_back ? "back" : "on");
		text_put_duration(t, label->clock_step_at_ns);
		text_put(t, "; spans are by a clock that is never set");
		between = "; ";
	}
	if (label->suspended_ns > 0) {
		text_printf(t, "%sthe machine slept for ", between);
		text_put_duration(t, label->suspended_ns);
		text_put(t, ", which no span holds");
		between = "; ";
	}
	if (label->unread_files > 0) {
		text_put(t, between);
		text_put_counted(t, label->unread_files, "file");
		text_put(t, " without names: reading them killed our reader, or never ended");
	}
}

void label_facts(struct screen *s, const struct report *r, const struct fact *facts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		SCOPED(text_free) struct text value = TEXT_EMPTY;

		facts[i].put(&value, r);
		if (value.len == 0)
			continue; /* nothing to say */
		screen_put(s, facts[i].key);
		screen_to(s, FACT_AT);
		screen_wrap(s, text_chars(&value), FACT_AT);
		s->has_failed |= value.has_failed;
	}
}

const struct fact label_of_samples[] = {
	{ "label", fact_tare },	   { "when", fact_when },	{ "where", fact_where },
	{ "seen", fact_seen },	   { "price", fact_price },	{ "size", fact_size },
	{ "kept", fact_kept },	   { "covered", fact_covered }, { "lost", fact_lost },
	{ "stacks", fact_stacks }, { "paths", fact_contexts },	{ "engine", fact_engine },
	{ "memory", fact_memory }, { "marks", fact_marks },
};
const size_t label_of_samples_count = ARRAY_LEN(label_of_samples);

void label_whole(struct screen *s, const struct report *r)
{
	label_facts(s, r, label_of_samples, label_of_samples_count);
}
