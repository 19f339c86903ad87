/* watch_words.c - what `tare watch` says: at the start, while it runs, and when it ends. */
#include <stdio.h>
#include <string.h>

#include "cli/watch.h"
#include "core/analysis.h"
#include "core/scoped.h"
#include "core/watch_words.h"

#define LINES_MOST 60u /* rows told at the start; the rest as a number */

void watch_format_cost(uint64_t ps, char *out, size_t size)
{
	double ns = (double)ps / (double)PS_PER_NS;

	if (ns < 10)
		snprintf(out, size, "%.1f ns", ns);
	else if (ns < 100)
		snprintf(out, size, "%.0f ns", ns);
	else
		snprintf(out, size, "%.1f µs", ns / (double)NS_PER_US);
}

/* ---- the start ---- */

static const char *how_of(const struct watched_row *row)
{
	switch ((enum watched_kind)row->kind) {
	case WATCHED_SCOPE:
		return "in process";
	case WATCHED_TASK:
		return "a task";
	case WATCHED_FRAME:
		return "the frame";
	default:
		return "";
	}
}

static void put_counted(struct text *line, struct str why)
{
	if (why.len == 0)
		return;
	text_put(line, "; counted only: ");
	text_put_name(line, why);
}

static bool is_watched(const struct watched_row *row)
{
	return row->why_not.len == 0 && (row->kind == WATCHED_PROBE || row->kind == WATCHED_SCOPE);
}

/* The row before this one that means the same name in the other way: a function, and a scope of libtare. NULL: none. */
static const struct watched_row *twin_of(const struct watch_session *s,
					 const struct watched_row *row)
{
	struct str name = text_without_arguments(row->name);

	for (uint32_t id = 0; is_watched(row) && id < row->id; id++) {
		const struct watched_row *other = watchlist_row(s->list, id);

		if (is_watched(other) && other->kind != row->kind &&
		    str_compare(text_without_arguments(other->name), name) == 0)
			return other;
	}
	return NULL;
}

static void say_twin(const struct watch_session *s, const struct watched_row *row)
{
	SCOPED(text_free) struct text line = TEXT_EMPTY;
	const struct watched_row *twin = twin_of(s, row);

	if (twin == NULL)
		return;
	text_put_name(&line, row->name);
	text_put(&line, " is watched twice, in rows of their own: the function in ");
	text_put_name(&line, row->kind == WATCHED_PROBE ? row->module : twin->module);
	text_put(&line, ", and the scope of libtare");
	if (!line.has_failed)
		fprintf(s->run.app->talk, "%s\n", text_chars(&line));
}

void watch_say_row(const struct watch_session *s, const struct watched_row *row)
{
	SCOPED(text_free) struct text line = TEXT_EMPTY;
	char cost[32];

	if (s->run.opts->is_quiet)
		return;
	text_put(&line, row->why_not.len > 0 ? "not watching " : "watching ");
	text_put_name(&line, row->name);
	if (row->module.len > 0) {
		text_put(&line, " (");
		text_put_name(&line, row->module);
		text_put(&line, ")");
	}
	if (row->why_not.len > 0) {
		text_put(&line, ": ");
		text_put_name(&line, row->why_not);
	} else {
		watch_format_cost(watch_call_ps(row, (uint32_t)s->opts->interval), cost,
				  sizeof(cost));
		text_printf(&line, " at %s a call%s, ", cost,
			    row->untimed_ps == 0 ? " (assumed)" : "");
		text_put(&line, how_of(row));
		text_put(&line, how_of(row)[0] != '\0' && row->first.len > 0 ? ", " : "");
		text_put_name(&line, row->first);
		put_counted(&line, watch_counted_why(row));
	}
	if (!line.has_failed)
		fprintf(s->run.app->talk, "%s\n", text_chars(&line));
	say_twin(s, row);
}

/* Two digits, rounded down: it is a limit. */
static uint64_t round_down(uint64_t count)
{
	uint64_t step = 1;

	while (count / step >= 100)
		step *= 10;
	return count / step * step;
}

/* Calls a second that the price pays for, of each of the watched. */
static void say_sum(const struct watch_session *s, uint64_t sum_ps)
{
	uint64_t second_ps = units_ppm_of(NS_PER_S * PS_PER_NS, s->run.opts->price_ppm);
	char sum[32], price[32], rate[32];

	watch_format_cost(sum_ps, sum, sizeof(sum));
	units_format_price(s->run.opts->price_ppm, price, sizeof(price));
	units_format_exact(round_down(second_ps / sum_ps), rate, sizeof(rate));
	fprintf(s->run.app->talk,
		"together %s a call of each; the price of %s allows %s calls a second of them\n",
		sum, price, rate);
}

/* Functions that are left out only because so many are meant: one line says it of all. */
static bool is_one_too_many(const struct watched_row *row)
{
	static const char words[] = PLACES_TOO_MANY;

	return row->why_not.len >= sizeof(words) - 1 &&
	       memcmp(row->why_not.bytes, words, sizeof(words) - 1) == 0;
}

static void say_too_many(const struct watch_session *s, uint32_t count, struct str why_not)
{
	SCOPED(text_free) struct text line = TEXT_EMPTY;

	text_printf(&line, "not watching %u more: ", count);
	text_put_name(&line, why_not);
	if (count > 0 && !line.has_failed)
		fprintf(s->run.app->talk, "%s\n", text_chars(&line));
}

/* A return probe on every call, timed or not: only sessions leave it out of those that a switch of stacks would break. */
static bool has_return_probe(const struct watch_session *s)
{
	static const struct str pair = STR_LITERAL("entry+return");

	for (uint32_t id = 0; id < watchlist_count(s->list); id++) {
		const struct watched_row *row = watchlist_row(s->list, id);

		if (row->why_not.len == 0 && row->kind == WATCHED_PROBE &&
		    str_compare(row->mode, pair) == 0)
			return true;
	}
	return false;
}

void watch_say_start(const struct watch_session *s)
{
	uint32_t count = watchlist_count(s->list), told = 0, too_many = 0;
	struct str why_not = STR_EMPTY;
	uint64_t sum_ps = 0;

	if (s->run.opts->is_quiet)
		return;
	for (uint32_t id = 0; id < count; id++) {
		const struct watched_row *row = watchlist_row(s->list, id);

		if (row->why_not.len == 0)
			sum_ps += watch_call_ps(row, (uint32_t)s->opts->interval);
		if (is_one_too_many(row)) {
			why_not = row->why_not;
			too_many++;
		} else if (told++ < LINES_MOST) {
			watch_say_row(s, row);
		}
	}
	say_too_many(s, too_many, why_not);
	if (told > LINES_MOST)
		fprintf(s->run.app->talk, "and %u more: tare report tells them all\n",
			told - LINES_MOST);
	if (s->expects_inside)
		fprintf(s->run.app->talk, "watching the scopes of libtare in %s as it names them\n",
			s->run.comm);
	if (s->inside_why[0] != '\0')
		fprintf(s->run.app->talk, "not watching the scopes of libtare: %s\n",
			s->inside_why);
	if (sum_ps > 0)
		say_sum(s, sum_ps);
	if (has_return_probe(s))
		fprintf(s->run.app->talk, "warning: without uprobe sessions every call gets a "
					  "return probe, which breaks a "
					  "program that switches stacks inside it; nothing shows "
					  "that this one does\n");
}

/* ---- while it runs, and at the end ---- */

/* What watching takes, in millionths of one CPU, as the price is kept: start-up and calibration over ten minutes. */
static uint64_t running_ppm(const struct watch_session *s, struct mono now)
{
	uint64_t elapsed_ns = mono_elapsed_ns(s->run.start, now);
	const struct label *l = &s->run.label;

	return run_share_ppm(l->sample_ns + l->kernel_ns + l->fixed_ns + l->save_ns, elapsed_ns) +
	       run_share_ppm(l->start_ns,
			     elapsed_ns > WATCH_PLAN_SPREAD_NS ? elapsed_ns : WATCH_PLAN_SPREAD_NS);
}

static struct run_words words_of(const struct watch_session *s, struct mono now)
{
	struct run_words words = { .now = now, .running_ppm = running_ppm(s, now) };
	char all[32], part[32], window[32], lost[32];
	uint64_t calls, timed;

	watch_sources_live(&s->sources, &calls, &timed);
	units_format_count(calls, all, sizeof(all));
	units_format_count(timed, part, sizeof(part));
	units_format_duration(s->opts->window_ns, window, sizeof(window));
	units_format_count(s->run.label.lost, lost, sizeof(lost));
	snprintf(words.counted, sizeof(words.counted), "%s calls, %s timed", all, part);
	snprintf(words.axis, sizeof(words.axis), "window %s", window);
	snprintf(words.lost, sizeof(words.lost), "lost %s", lost);
	return words;
}

void watch_status(const void *session, struct mono now, unsigned columns, char *out, size_t size)
{
	const struct watch_session *s = session;
	struct run_words words = words_of(s, now);

	run_status(&s->run, &words, columns, out, size);
}

void watch_summary(const void *session)
{
	const struct watch_session *s = session;
	struct run_words words = words_of(s, run_end(&s->run));

	run_summary(&s->run, &words);
}

void watch_summary_json(const void *session)
{
	const struct watch_session *s = session;
	const struct label *l = &s->run.label;
	const struct run_number numbers[] = {
		{ "elapsed_ns", l->elapsed_ns },
		{ "watched", s->watched },
		{ "not_watched", s->not_watched },
		{ "windows", s->watch.windows },
		{ "calls", s->watch.calls },
		{ "timed", s->watch.timed },
		{ "frames", s->watch.frames },
		{ "slow_frames", s->watch.slow },
		{ "lost", l->lost },
		{ "own_cpu_ns", l->own_cpu_ns },
		{ "charged_ns", l->kernel_ns },
		{ "price_limit_ppm", l->price_limit_ppm },
		{ "file_bytes", s->run.file_bytes },
		{ "size_limit_bytes", l->size_limit_bytes },
	};

	run_json(&s->run, numbers, ARRAY_LEN(numbers));
}
