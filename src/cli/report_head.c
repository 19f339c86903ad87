/* report_head.c - the lines under the verdict: what ran, what looking cost, how sure it is, what is missing. */
#include <inttypes.h>
#include <string.h>

#include "cli/report.h"
#include "core/scoped.h"
#include "core/units.h"

/* Columns of the head: a key, its value, and a second pair at the right. */
enum { VALUE_AT = HEAD_VALUE_AT, SECOND_AT = 47, SECOND_VALUE_AT = 55 };

static bool is_word(struct str text, const char *word)
{
	return text.len == strlen(word) && memcmp(text.bytes, word, text.len) == 0;
}

static bool begins(struct str text, const char *start)
{
	return text.len >= strlen(start) && memcmp(text.bytes, start, strlen(start)) == 0;
}

void head_put_ending(struct text *t, const struct label *label)
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

/* The command takes what is left. */
void head_ran(struct screen *s, const struct label *label, const char *more)
{
	SCOPED(text_free) struct text rest = TEXT_EMPTY;
	SCOPED(text_free) struct text plain = TEXT_EMPTY;
	size_t used;

	if (label->is_attached)
		text_printf(&rest, ", pid %u", label->pid);
	text_put(&rest, " on ");
	text_put_cut(&rest, label->host, 24);
	text_put(&rest, ", ");
	text_put_duration(&rest, label->elapsed_ns);
	text_put(&rest, more);
	text_put(&plain, text_chars(&rest));
	if (s->is_ascii)
		text_make_ascii(&plain);
	used = VALUE_AT + text_columns(text_chars(&plain), plain.len);
	screen_put(s, "ran");
	screen_to(s, VALUE_AT);
	/* Where the line has to be broken all the same, half of it is the command's. */
	screen_put_name(s, label->command.len > 0 ? label->command : label->comm,
			s->columns > used + 12 ? s->columns - used : s->columns / 2, false);
	screen_wrap(s, text_chars(&rest), VALUE_AT);
	s->has_failed |= rest.has_failed || plain.has_failed;
}

bool label_is_price_unmeasured(const struct report *r)
{
	return r->recording->label.elapsed_ns == 0 || r->analysis->spent_ns == 0;
}

void label_put_share_of_limit(struct text *t, struct share share, bool is_unmeasured,
			      uint64_t limit_ppm)
{
	double value = share.value * 100, error = share.error * 100;
	int digits = text_digits(error);
	char limit[48], price[48];

	units_format_price(limit_ppm, limit, sizeof(limit));
	units_format_price(value < 1e12 ? (uint64_t)(value * 10000 + 0.5) : UINT64_MAX, price,
			   sizeof(price));
	if (is_unmeasured) {
		text_printf(t, "— not measured; the limit is %s", limit);
		return;
	}
	if (share.error >= 1 || error > value / 2 || value < 0.005)
		text_put(t, price); /* a measured sum; its windows were too uneven to say more */
	else
		text_printf(t, "%.*f" TEXT_NBSP "%%" TEXT_NBSP "±" TEXT_NBSP "%.*f", digits, value,
			    digits, text_round_error(error, digits));
	text_printf(t, " of %s", limit);
}

void label_put_price(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;
	bool is_unmeasured = label_is_price_unmeasured(r);

	label_put_share_of_limit(t, r->analysis->price, is_unmeasured, label->price_limit_ppm);
	if (!is_unmeasured)
		text_put(t, label->kernel_tick_ps > 0 ? ", at least" : ", own part");
}

void label_put_size(struct text *t, const struct report *r)
{
	uint64_t bytes = r->recording->file_bytes, limit = r->recording->label.size_limit_bytes;
	char size[64];

	units_format_size_of(bytes, limit, size, sizeof(size));
	if (strncmp(size, "under", 5) == 0 && bytes < 1 << 20) {
		units_format_size(limit, size, sizeof(size));
		text_printf(t, "%u KB of ", (unsigned)((bytes + 512) / 1024));
	}
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
void label_put_lost(struct text *t, const struct report *r)
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

void head_pair(struct screen *s, const char *const keys[2], const struct text values[2])
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

void head_put_reason(struct text *t, struct str reason)
{
	text_put(t, begins(reason, "not allowed") ? "⊘ " : "— ");
	if (!begins(reason, "not "))
		text_put(t, "not measured: ");
	text_put_cut(t, reason, 200);
}

void label_put_states(struct text *t, const struct report *r)
{
	static const char *const words[STATE_COUNT] = { "running ", ", waiting ", ", runnable " };
	uint64_t state_ns[STATE_COUNT] = { 0 }, all_ns = 0;

	for (uint32_t i = 0; i < r->analysis->thread_count; i++)
		for (int state = 0; state < STATE_COUNT; state++) {
			state_ns[state] += r->analysis->threads[i].all.state_ns[state];
			all_ns += r->analysis->threads[i].all.state_ns[state];
		}
	for (int state = 0; state < STATE_COUNT; state++) {
		text_put(t, words[state]);
		text_put_exact_share(t, state_ns[state], all_ns);
	}
	text_put(t, " of ");
	text_put_duration(t, all_ns);
	text_put(t, " of its threads' time");
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
		head_put_reason(&kernel, label->kernel_stacks);
		screen_put(s, "kernel");
		screen_to(s, VALUE_AT);
		screen_wrap(s, text_chars(&kernel), VALUE_AT);
	}
	if (label->children.len > 0) {
		if (!begins(label->children, "children "))
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
	SCOPED(text_free) struct text ending = TEXT_EMPTY;
	struct text values[2] = { TEXT_EMPTY, TEXT_EMPTY };

	text_put(&ending, ", ");
	head_put_ending(&ending, &r->recording->label);
	head_ran(s, &r->recording->label, text_chars(&ending));
	label_put_price(&values[0], r);
	label_put_size(&values[1], r);
	head_pair(s, first, values);
	text_clear(&values[0]);
	text_clear(&values[1]);
	put_kept(&values[0], &r->recording->label);
	label_put_lost(&values[1], r);
	head_pair(s, second, values);
	text_free(&values[0]);
	text_free(&values[1]);
	if (label_has_waiting(&r->recording->label)) {
		text_clear(&ending);
		label_put_states(&ending, r);
		screen_put(s, "states");
		screen_to(s, VALUE_AT);
		screen_wrap(s, text_chars(&ending), VALUE_AT);
		s->has_failed |= ending.has_failed;
	}
	put_missing(s, &r->recording->label);
}
