/* report_label.c - the label: what ran, what looking cost, what is missing, how sure it is. */
#include <inttypes.h>
#include <string.h>

#include "cli/report.h"
#include "core/scoped.h"
#include "core/units.h"

/* Columns of the head: a key, its value, and a second pair at the right. */
enum { VALUE_AT = 8, SECOND_AT = 47, SECOND_VALUE_AT = 55 };
/* Columns of the whole label. */
enum { FACT_AT = 10 };

static bool is_word(struct str text, const char *word)
{
	return text.len == strlen(word) && memcmp(text.bytes, word, text.len) == 0;
}

static bool begins(struct str text, const char *start)
{
	return text.len >= strlen(start) && memcmp(text.bytes, start, strlen(start)) == 0;
}

/* How it ended, in words. */
static void put_ending(struct text *t, const struct label *label)
{
	if (!label->is_finished)
		text_put(t, "unfinished");
	else if (is_word(label->ended_by, "signal") && label->exit_status > 128)
		text_printf(t, "ended by signal %" PRIi64, label->exit_status - 128);
	else if (is_word(label->ended_by, "interrupt"))
		text_put(t, "recording interrupted");
	else if (is_word(label->ended_by, "duration"))
		text_put(t, "recording ended by its duration");
	else if (is_word(label->ended_by, "detached"))
		text_put(t, "recording detached");
	else if (label->exit_status >= 0)
		text_printf(t, "status %" PRIi64, label->exit_status);
	else
		text_put(t, "status not known");
}

/* "CMD on HOST, 6 h 12 min, status 0": the command takes what is left. */
static void put_ran(struct screen *s, const struct label *label)
{
	SCOPED(text_free) struct text rest = TEXT_EMPTY;
	SCOPED(text_free) struct text pid = TEXT_EMPTY;
	size_t used;

	if (label->is_attached)
		text_printf(&pid, ", pid %u", label->pid);
	text_printf(&rest, "%s on ", text_chars(&pid));
	text_put_cut(&rest, label->host, 24);
	text_put(&rest, ", ");
	text_put_duration(&rest, label->elapsed_ns);
	text_put(&rest, ", ");
	put_ending(&rest, label);
	if (s->is_ascii)
		text_make_ascii(&rest);
	used = VALUE_AT + text_columns(text_chars(&rest), rest.len);
	screen_put(s, "ran");
	screen_to(s, VALUE_AT);
	screen_put_name(s, label->command.len > 0 ? label->command : label->comm,
			s->columns > used + 12 ? s->columns - used : 12, false);
	screen_put(s, text_chars(&rest));
	screen_end(s);
}

/* What reads 0 was not measured: looking is never free. */
static bool is_price_unmeasured(const struct report *r)
{
	return r->recording->label.elapsed_ns == 0 || r->analysis->spent_ns == 0;
}

/* "0.21 % ± 0.02 of 0.50 %, at least" */
static void put_price(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;
	double value = r->analysis->price.value * 100, error = r->analysis->price.error * 100;
	int digits = text_digits(error);
	char limit[48], price[48];

	units_format_price(label->price_limit_ppm, limit, sizeof(limit));
	units_format_price((uint64_t)(value * 10000 + 0.5), price, sizeof(price));
	if (is_price_unmeasured(r)) {
		text_printf(t, "— not measured; the limit is %s", limit);
		return;
	}
	if (r->analysis->price.error >= 1 || error > value || value < 0.005)
		text_put(t, price); /* a measured sum stands alone where its spread says nothing */
	else
		text_printf(t, "%.*f" TEXT_NBSP "%%" TEXT_NBSP "±" TEXT_NBSP "%.*f", digits, value,
			    digits, error < 0.01 ? 0.01 : error);
	text_printf(t, " of %s, %s", limit,
		    label->kernel_tick_ps > 0 ? "at least" : "own part only");
}

static void put_size(struct text *t, const struct report *r)
{
	char size[64];

	units_format_size_of(r->recording->file_bytes, r->recording->label.size_limit_bytes, size,
			     sizeof(size));
	text_printf(t, "%s, for ever", size);
}

/* "2:44", "1:02:44" */
static void put_clock(struct text *t, uint64_t ns)
{
	unsigned s = (unsigned)((ns + NS_PER_S / 2) / NS_PER_S);

	if (s >= 3600)
		text_printf(t, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
	else
		text_printf(t, "%u:%02u", s / 60, s % 60);
}

/* "0.02 %, one gap of 2:44" */
static void put_lost(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;

	text_put_exact_share(t, label->lost, label->ticks + label->lost);
	if (label->lost == 0)
		return;
	if (label->lost_events == 1)
		text_put(t, ", one gap");
	else if (label->lost_events > 1) {
		text_put(t, ", ");
		text_put_counted(t, label->lost_events, "gap");
	}
	if (r->analysis->hole_ns >= NS_PER_S && label->lost_events > 0) {
		text_put(t, " of ");
		put_clock(t, r->analysis->hole_ns);
	}
}

static void put_kept(struct text *t, const struct label *label)
{
	text_put_counted(t, label->kept, "sample");
	text_put(t, ", slot ");
	text_put_duration(t, label->slot_ns);
}

/* Two facts in one line; where one is too wide for its half, in two. */
static void head_pair(struct screen *s, const char *const keys[2], const struct text values[2])
{
	size_t width = text_columns(text_chars(&values[1]), values[1].len);

	screen_put(s, keys[0]);
	screen_to(s, VALUE_AT);
	screen_put(s, text_chars(&values[0]));
	if (screen_column(s) < SECOND_AT && SECOND_VALUE_AT + width <= s->columns) {
		screen_to(s, SECOND_AT);
		screen_put(s, keys[1]);
		screen_to(s, SECOND_VALUE_AT);
	} else {
		screen_end(s);
		screen_put(s, keys[1]);
		screen_to(s, VALUE_AT);
	}
	screen_put(s, text_chars(&values[1]));
	screen_end(s);
	s->has_failed |= values[0].has_failed || values[1].has_failed;
}

/* A reason of the recorder's own words, "not allowed: ..." or "not measured: ...", with its sign. */
static void put_reason(struct text *t, struct str reason)
{
	text_put(t, begins(reason, "not allowed") ? "⊘ " : "— ");
	if (!begins(reason, "not "))
		text_put(t, "not measured: ");
	text_put_cut(t, reason, 200);
}

/* What was not measured: waiting, the kernel, children. */
static void put_missing(struct screen *s, const struct label *label)
{
	SCOPED(text_free) struct text waiting = TEXT_EMPTY;
	SCOPED(text_free) struct text kernel = TEXT_EMPTY;
	SCOPED(text_free) struct text children = TEXT_EMPTY;

	if (is_word(label->clock, "cpu")) {
		text_put(&waiting, "waiting — not measured: the clock is CPU time, ");
		text_put_duration(&waiting, label->clock_ns);
		text_put(&waiting, " of ");
		text_put_duration(&waiting, label->elapsed_ns);
		screen_wrap(s, text_chars(&waiting), VALUE_AT);
	}
	if (label->kernel_stacks.len > 0) {
		put_reason(&kernel, label->kernel_stacks);
		screen_put(s, "kernel");
		screen_to(s, VALUE_AT);
		screen_wrap(s, text_chars(&kernel), VALUE_AT);
	}
	if (label->children.len > 0) {
		text_put(&children, "children ");
		text_put_cut(&children, label->children, 200);
		screen_wrap(s, text_chars(&children), VALUE_AT);
	}
	s->has_failed |= waiting.has_failed || kernel.has_failed || children.has_failed;
}

void label_head(struct screen *s, const struct report *r)
{
	static const char *const first[2] = { "price", "size" };
	static const char *const second[2] = { "kept", "lost" };
	struct text values[2] = { TEXT_EMPTY, TEXT_EMPTY };

	put_ran(s, &r->recording->label);
	put_price(&values[0], r);
	put_size(&values[1], r);
	head_pair(s, first, values);
	text_clear(&values[0]);
	text_clear(&values[1]);
	put_kept(&values[0], &r->recording->label);
	put_lost(&values[1], r);
	head_pair(s, second, values);
	text_free(&values[0]);
	text_free(&values[1]);
	put_missing(s, &r->recording->label);
}

/* ---- the whole label: one function a fact, one row of the table below ---- */

static void fact_tare(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;

	text_put(t, "tare ");
	text_put_cut(t, label->tare_version, 24);
	text_put(t, " · ");
	text_put_cut(t, label->instrument, 24);
	text_put(t, label->is_finished ? " · complete" : " · unfinished");
}

static void fact_when(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;
	char from[64], to[64];

	units_format_wall((struct wall){ label->started_wall_ns }, from, sizeof(from));
	units_format_wall((struct wall){ label->saved_wall_ns }, to, sizeof(to));
	text_printf(t, "%s to %s", from, to);
}

static void fact_where(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;

	text_put_cut(t, label->host, 64);
	text_put(t, ", ");
	text_put_cut(t, label->kernel, 64);
	text_printf(t, ", %u CPU%s", label->cpu_count, label->cpu_count == 1 ? "" : "s");
}

static void fact_seen(struct text *t, const struct report *r)
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

	put_price(t, r);
	if (is_price_unmeasured(r))
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

static void fact_size(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;

	put_size(t, r);
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
	text_put(t, " of CPU time; (unsampled) ");
	text_put_exact_share(t, a->unsampled_ns, a->clock_ns);
}

static void fact_lost(struct text *t, const struct report *r)
{
	put_lost(t, r);
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
}

static void fact_memory(struct text *t, const struct report *r)
{
	char size[64];

	if (r->recording->label.own_rss_bytes == 0) {
		text_put(t, "— not measured");
		return;
	}
	units_format_size(r->recording->label.own_rss_bytes, size, sizeof(size));
	text_printf(t, "%s at most, for the recorder", size);
}

void label_whole(struct screen *s, const struct report *r)
{
	static const struct {
		const char *key;
		void (*put)(struct text *t, const struct report *r);
	} facts[] = {
		{ "label", fact_tare },	   { "when", fact_when },	{ "where", fact_where },
		{ "seen", fact_seen },	   { "price", fact_price },	{ "size", fact_size },
		{ "kept", fact_kept },	   { "covered", fact_covered }, { "lost", fact_lost },
		{ "stacks", fact_stacks }, { "paths", fact_contexts },	{ "engine", fact_engine },
		{ "memory", fact_memory },
	};

	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		SCOPED(text_free) struct text value = TEXT_EMPTY;

		facts[i].put(&value, r);
		screen_put(s, facts[i].key);
		screen_to(s, FACT_AT);
		screen_wrap(s, text_chars(&value), FACT_AT);
		s->has_failed |= value.has_failed;
	}
}
