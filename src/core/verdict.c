/* verdict.c - the answer in one sentence. */
#include "core/verdict.h"

#include <string.h>

#include "core/units.h"

#define NAME_COLUMNS 60u

static bool awaits_child(const struct function *place)
{
	return weighed_state(&place->own) == STATE_WAITING &&
	       str_compare(place->why, STR_LITERAL("[waits for a child]")) == 0;
}

const struct function *verdict_place(const struct recording *r, const struct analysis *a)
{
	if (a->function_count == 0 || a->functions[0].own.ns == 0 || a->kept == 0)
		return NULL;
	for (size_t i = 0; r->label.processes > 1 && i < a->function_count; i++)
		if (!awaits_child(&a->functions[i]) && a->functions[i].own.ns > 0)
			return &a->functions[i];
	return &a->functions[0];
}

bool verdict_stands_out(const struct function *place)
{
	struct share share = place->own.share;

	return share.value >= VERDICT_LEAST_SHARE &&
	       share.value - share.error > VERDICT_LEAST_LOWER;
}

void state_put(struct text *t, enum state state)
{
	static const char *const words[STATE_COUNT] = { "running", "waiting", "runnable" };

	text_put(t, words[state]);
}

void place_put(struct text *t, struct str file, uint32_t line)
{
	for (uint32_t i = file.len; i-- > 0;)
		if (file.bytes[i] == '/') {
			file.bytes += i + 1;
			file.len -= i + 1;
			break;
		}
	text_put_cut(t, file, NAME_COLUMNS);
	if (file.len > 0 && line > 0)
		text_printf(t, ":%u", line);
}

static void put_name(struct text *t, const struct function *place)
{
	text_put_function(t, text_without_arguments(place->name), NAME_COLUMNS);
}

static void put_no_samples(struct text *t, const struct label *label)
{
	char lost[32];

	text_put(t, "No samples: ");
	if (label->elapsed_ns < label->base_period_ns) {
		text_put(t, "it ran ");
		text_put_duration(t, label->elapsed_ns);
		text_put(t, ", under one period");
	} else if (label->lost > 0) {
		units_format_exact(label->lost, lost, sizeof(lost));
		text_printf(t, "%s were lost", lost);
	} else if (label->clock_ns < label->base_period_ns) {
		text_put(t, "it used ");
		text_put_duration(t, label->clock_ns);
		text_put(t, " of CPU time in ");
		text_put_duration(t, label->elapsed_ns);
		text_put(t, ", under one period");
	} else {
		text_put(t, "it used ");
		text_put_duration(t, label->clock_ns);
		text_put(t, " of CPU time and none was kept");
	}
}

/* " for a lock" of "[waits for a lock]"; of a wait for what is not known, nothing. */
static void put_why(struct text *t, struct str why)
{
	static const size_t start = sizeof("[waits") - 1;

	if (why.len <= start + 1 || memcmp(why.bytes, "[waits", start) != 0)
		return;
	text_put_cut(t, (struct str){ why.bytes + start, why.len - (uint32_t)start - 1 },
		     NAME_COLUMNS);
}

static void put_where(struct text *t, const struct function *place)
{
	enum state state = weighed_state(&place->own);

	if (state == STATE_RUNNABLE)
		text_put(t, "runnable but not running");
	else
		state_put(t, state);
	if (state == STATE_WAITING)
		put_why(t, place->why);
	text_put(t, " in ");
	put_name(t, place);
	if (place->file.len > 0) {
		text_put(t, ", ");
		place_put(t, place->file, place->line);
	}
}

static void put_answer(struct text *t, const struct analysis *a, const struct function *place,
		       bool begins)
{
	if (text_share(place->own.share, a->kept).is_unknown) {
		text_put(t, begins ? "Most often " : "most often ");
		put_where(t, place);
	} else if (verdict_stands_out(place)) {
		text_put_share(t, place->own.share, a->kept);
		text_put(t, " ");
		put_where(t, place);
	} else {
		text_put(t, begins ? "No" : "no");
		text_put(t, " place stands out: the largest is ");
		put_name(t, place);
		text_put(t, ", ");
		text_put_share(t, place->own.share, a->kept);
	}
}

/* "03:11:40" of a date and time. */
static void put_time_of_day(struct text *t, int64_t wall_ns)
{
	char date[64];

	units_format_wall((struct wall){ wall_ns }, date, sizeof(date));
	if (strlen(date) >= 19)
		text_add(t, date + 11, 8);
	else
		text_put(t, date);
}

void unfinished_put(struct text *t, const struct label *label, const char *end)
{
	if (label->is_finished)
		return;
	text_put(t, "Unfinished, saved until ");
	put_time_of_day(t, label->saved_wall_ns);
	text_put(t, end);
}

void verdict_put(struct text *t, const struct recording *r, const struct analysis *a)
{
	const struct function *place = verdict_place(r, a);
	bool is_coarse = a->kept < STATS_COARSE_BELOW;
	size_t start = t->len;

	unfinished_put(t, &r->label, place != NULL && is_coarse ? ", " : ": ");
	if (place == NULL) {
		put_no_samples(t, &r->label);
		return;
	}
	if (is_coarse)
		text_printf(t, "%s, %u sample%s: ", t->len > start ? "coarse" : "Coarse",
			    (unsigned)a->kept, a->kept == 1 ? "" : "s");
	put_answer(t, a, place, t->len == start);
}
