/* report_table.c - "where the time goes" and "by thread". */
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "core/scoped.h"
#include "core/units.h"

#define GIANT	      5.0 /* a share so many times the next is broken off */
#define WHISKER_CELLS 10u
#define FIRST_THREADS 8u

/* Columns of the tables at 80; names take what is more. */
enum { NUMBER_END = 33, ERROR_AT = 34, LONE_END = 39 };	   /* own, or a thread's share */
enum { NUMBER2_END = 48, ERROR2_AT = 49, LONE2_END = 54 }; /* with callees */
enum { STATE_AT = 58, WHISKER_AT = 69, TABLE_COLUMNS = 80 };

/* "+-" takes a column more than "±". */
static size_t second_shift(const struct screen *s)
{
	return s->is_ascii ? 1 : 0;
}

static size_t extra_columns(const struct screen *s)
{
	size_t extra = s->columns > TABLE_COLUMNS ? s->columns - TABLE_COLUMNS : 0;

	return extra > 60 ? 60 : extra;
}

/* A share that takes part in a column's axis. */
static double axis_of(const struct share *shares, size_t count)
{
	double top = 0, next = 0, axis = 0;

	for (size_t i = 0; i < count; i++) {
		if (shares[i].value > top) {
			next = top;
			top = shares[i].value;
		} else if (shares[i].value > next) {
			next = shares[i].value;
		}
	}
	for (size_t i = 0; i < count; i++) {
		bool is_giant = next > 0 && shares[i].value > GIANT * next;
		double end = shares[i].value + (shares[i].error < 1 ? shares[i].error : 0);

		if (!is_giant && end > axis)
			axis = end;
	}
	return axis;
}

static size_t cell_of(double share, double axis, size_t cells)
{
	double at = share / axis * (double)cells + 1e-9; /* a hair under a cell is in it */

	return at <= 0 ? 0 : at >= (double)(cells - 1) ? cells - 1 : (size_t)at;
}

void table_whisker(struct text *t, struct share share, double axis, size_t cells)
{
	size_t low, high, middle;

	if (axis <= 0 || share.value <= 0 || share.error >= 1)
		return;
	low = cell_of(share.value - share.error, axis, cells);
	high = cell_of(share.value + share.error, axis, cells);
	middle = cell_of(share.value, axis, cells);
	if (share.value > axis) {
		for (size_t i = 0; i + 2 < cells; i++)
			text_put(t, "━");
		text_put(t, "//");
		return;
	}
	if (high - low < 2) {
		for (size_t i = 0; i <= middle; i++)
			text_put(t, "━");
		return;
	}
	for (size_t i = 0; i <= high; i++)
		text_put(t, i == middle	      ? "┼"
			    : i < low	      ? "━"
			    : i == low	      ? "├"
			    : i == high	      ? "┤"
			    : share.is_coarse ? "┄"
					      : "─");
}

static void put_share(struct screen *s, struct share share, uint64_t kept, size_t number_end)
{
	struct text_share parts = text_share(share, kept);
	char lone[48];

	if (parts.error[0] != '\0') {
		screen_put_right(s, parts.number, number_end);
		screen_to(s, number_end + 1);
		screen_put(s, parts.error);
		return;
	}
	snprintf(lone, sizeof(lone), "%s%s", parts.is_unknown ? "—" TEXT_NBSP : "", parts.number);
	screen_put_right(s, lone, number_end + (LONE_END - NUMBER_END));
}

static void put_state(struct screen *s, const struct weighed *w, size_t column)
{
	static const char *const words[STATE_COUNT] = { "● running", "○ waiting", "◐ runnable" };

	screen_to(s, column);
	screen_put(s, words[weighed_state(w)]);
}

static void put_whisker(struct screen *s, struct share share, double axis, size_t column)
{
	SCOPED(text_free) struct text bar = TEXT_EMPTY;

	if (s->columns < TABLE_COLUMNS)
		return;
	table_whisker(&bar, share, axis, WHISKER_CELLS);
	screen_to(s, column);
	screen_put(s, text_chars(&bar));
}

/* Columns that a name may take before a share that ends its number at `number_end`. */
static size_t name_room(struct share share, uint64_t kept, size_t number_end)
{
	struct text_share parts = text_share(share, kept);
	size_t width = text_columns(parts.number, strlen(parts.number));

	if (parts.is_unknown)
		width += 2;
	if (parts.error[0] == '\0')
		number_end += LONE_END - NUMBER_END;
	return number_end - width - 2;
}

static void function_row(struct screen *s, const struct report *r, const struct function *f,
			 double axis)
{
	uint64_t kept = r->analysis->kept;
	size_t extra = extra_columns(s), mark_len = strlen(frame_mark(f->kind));
	size_t room = name_room(f->own.share, kept, NUMBER_END + extra);

	screen_put_name(s, f->name, room > mark_len ? room - mark_len : 0, true);
	screen_put(s, frame_mark(f->kind));
	put_share(s, f->own.share, kept, NUMBER_END + extra);
	put_share(s, f->with_callees.share, kept, NUMBER2_END + extra + second_shift(s));
	put_state(s, f->own.ns > 0 ? &f->own : &f->with_callees, STATE_AT + extra);
	put_whisker(s, f->own.share, axis, WHISKER_AT + extra);
	screen_end(s);
}

static void unsampled_row(struct screen *s, const struct report *r)
{
	SCOPED(text_free) struct text share = TEXT_EMPTY;

	if (r->analysis->unsampled_ns == 0)
		return;
	text_put_exact_share(&share, r->analysis->unsampled_ns, r->analysis->clock_ns);
	screen_put(s, "(unsampled)");
	screen_put_right(s, text_chars(&share), NUMBER_END + extra_columns(s));
	screen_end(s);
}

/* Functions with weight stand first, in order; those without only name slots. */
static uint32_t functions_with_weight(const struct analysis *a)
{
	uint32_t count = a->function_count;

	while (count > 0 && a->functions[count - 1].with_callees.ns == 0)
		count--;
	return count;
}

uint32_t table_functions(struct screen *s, const struct report *r, const char *title,
			 bool shows_all)
{
	const struct analysis *a = r->analysis;
	uint32_t count = functions_with_weight(a), first = count, more = 0;
	size_t extra = extra_columns(s);
	struct share *shares;
	double axis;

	if (!shows_all && first > TABLE_FIRST_ROWS)
		first = TABLE_FIRST_ROWS;
	shares = calloc(first > 0 ? first : 1, sizeof(*shares));
	if (shares == NULL) {
		s->has_failed = true;
		return 0;
	}
	for (uint32_t i = 0; i < first; i++)
		shares[i] = a->functions[i].own.share;
	axis = axis_of(shares, first);
	free(shares);
	screen_put(s, title);
	screen_put_right(s, "own", 35 + extra);
	screen_put_right(s, "with callees", 55 + extra);
	screen_to(s, 60 + extra);
	screen_put(s, "state");
	screen_end(s);
	for (uint32_t i = 0; i < count; i++) {
		const struct function *f = &a->functions[i];

		if (i < first || f->kind == FRAME_MARKER)
			function_row(s, r, f, axis);
		else
			more++;
	}
	unsampled_row(s, r);
	return more;
}

static void thread_row(struct screen *s, const struct report *r, const struct thread *t,
		       double axis)
{
	uint64_t kept = r->analysis->kept;
	size_t extra = extra_columns(s), room = name_room(t->all.share, kept, NUMBER_END + extra);
	char id[32] = "", count[32];

	if (t->pid != 0)
		snprintf(id, sizeof(id), " (%u/%u)", t->pid, t->tid);
	screen_put_name(s, t->name, room > strlen(id) ? room - strlen(id) : 0, false);
	screen_put(s, id);
	put_share(s, t->all.share, kept, NUMBER_END + extra);
	units_format_exact(t->all.kept, count, sizeof(count));
	screen_put_right(s, count, LONE2_END + extra);
	put_state(s, &t->all, STATE_AT + extra);
	put_whisker(s, t->all.share, axis, WHISKER_AT + extra);
	screen_end(s);
}

/* Those that waited and never ran, in one line. */
static void threads_that_never_ran(struct screen *s, const struct report *r, uint32_t count)
{
	SCOPED(text_free) struct text line = TEXT_EMPTY;
	const struct analysis *a = r->analysis;
	uint64_t ns = 0;

	if (count == 0)
		return;
	for (uint32_t i = 0; i < a->thread_count; i++)
		ns += a->threads[i].all.state_ns[STATE_RUNNING] == 0 ? a->threads[i].all.ns : 0;
	text_put_counted(&line, count, "thread");
	text_put(&line, " never ran: ");
	text_put_exact_share(&line, ns, a->sampled_ns);
	text_put(&line, " of all threads' time");
	screen_put(s, text_chars(&line));
	screen_end(s);
	s->has_failed |= line.has_failed;
}

/* `left`: more rows than are shown. */
static void threads_left_out(struct screen *s, const struct report *r, uint32_t left)
{
	const struct analysis *a = r->analysis;
	uint64_t ever = r->recording->label.threads;
	char line[96];

	if (left > 0) {
		snprintf(line, sizeof(line), "%u more: tare report --all", left);
		screen_put(s, line);
		screen_end(s);
	}
	if (ever > a->thread_count) {
		snprintf(line, sizeof(line), "%llu more never sampled",
			 (unsigned long long)(ever - a->thread_count));
		screen_put(s, line);
		screen_end(s);
	}
}

/* How many threads have rows of their own: all, or where waiting was recorded, those that ran, if any did. */
static uint32_t threads_to_list(const struct report *r, bool shows_all)
{
	const struct analysis *a = r->analysis;
	uint32_t ran = 0;

	for (uint32_t i = 0; i < a->thread_count; i++)
		ran += a->threads[i].all.state_ns[STATE_RUNNING] > 0;
	return shows_all || ran == 0 || !label_has_waiting(&r->recording->label) ? a->thread_count
										 : ran;
}

void table_threads(struct screen *s, const struct report *r, bool shows_all)
{
	const struct analysis *a = r->analysis;
	uint32_t ran = threads_to_list(r, shows_all), count = ran, row = 0;
	size_t extra = extra_columns(s);
	struct share *shares;
	double axis;

	if (!shows_all && count > FIRST_THREADS)
		count = FIRST_THREADS;
	shares = calloc(count > 0 ? count : 1, sizeof(*shares));
	if (shares == NULL) {
		s->has_failed = true;
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		shares[i] = a->threads[i].all.share;
	axis = axis_of(shares, count);
	free(shares);
	screen_put(s, "by thread");
	screen_put_right(s, "share", 36 + extra);
	screen_put_right(s, "kept", LONE2_END + extra);
	screen_to(s, 60 + extra);
	screen_put(s, "state");
	screen_end(s);
	for (uint32_t i = 0; i < a->thread_count && row < count; i++) {
		if (ran < a->thread_count && a->threads[i].all.state_ns[STATE_RUNNING] == 0)
			continue;
		thread_row(s, r, &a->threads[i], axis);
		row++;
	}
	threads_that_never_ran(s, r, a->thread_count - ran);
	threads_left_out(s, r, ran - count);
}
