/* report_watch_label.c - the whole label of a watch: one function a fact, one row of the table at the end. */
#include <inttypes.h>
#include <string.h>

#include "cli/report_watch.h"
#include "core/measured.h"
#include "core/scoped.h"
#include "core/units.h"

#define MODES_MOST 16u /* told apart */

static void put_part(struct text *t, const char *word, uint64_t ns, const struct label *label)
{
	text_put(t, word);
	text_put(t, " ");
	text_put_exact_share(t, ns, label->elapsed_ns);
}

static void fact_processes(struct text *t, const struct report *r)
{
	if (r->recording->label.processes > 0)
		fact_seen(t, r);
	else
		text_put(t, "— not counted");
}

static void fact_price(struct text *t, const struct report *r)
{
	const struct label *label = &r->recording->label;

	watch_put_price(t, r);
	if (watch_price_is_unmeasured(r))
		return;
	put_part(t, ": calls", r->recording->watch.charged_ps / PS_PER_NS, label);
	put_part(t, ", reading", label->sample_ns, label);
	put_part(t, ", saves", label->save_ns, label);
	put_part(t, ", start-up", label->start_ns, label);
	put_part(t, ", fixed", label->fixed_ns, label);
}

static void fact_calls(struct text *t, const struct report *r)
{
	const struct watch_row *w = &r->recording->watch;

	text_put_exact(t, w->calls);
	text_put(t, " counted, ");
	text_put_exact(t, w->timed);
	text_put(t, " timed");
	for (uint32_t i = 0; i < r->watch->watched; i++)
		if (r->watch->rows[i].row->is_sliced) {
			text_put(t, "; of functions in slices, those while attached");
			break;
		}
}

static void fact_intervals(struct text *t, const struct report *r)
{
	const struct watch_row *w = &r->recording->watch;
	uint64_t changes = 0;

	for (uint32_t i = 0; i < r->recording->watched_count; i++)
		changes += r->recording->watched[i].interval_changes;
	text_printf(t, "one call in %u…%u is timed, each function at its own; ", w->interval_given,
		    w->interval_most);
	text_put_counted(t, changes, "change");
}

static bool is_equal(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0);
}

/* Was a function of this mode told already? */
static bool is_told(const struct recording *rec, uint32_t at)
{
	const struct watched_row *row = &rec->watched[at];

	for (uint32_t i = 0; i < at; i++)
		if (rec->watched[i].why_not.len == 0 && is_equal(rec->watched[i].mode, row->mode) &&
		    is_equal(rec->watched[i].first, row->first))
			return true;
	return false;
}

/* "session, nop5: untimed 76.1 ns, with the hook 876.2 ns, timed 1,702.4 ns, floor 800 ns" */
static void put_mode(struct text *t, const struct watched_row *row)
{
	struct watch_cost cost = watch_cost(row);

	text_put_cut(t, row->mode, 40);
	if (row->first.len > 0) {
		text_put(t, ", ");
		text_put_cut(t, row->first, 24);
	}
	text_put(t, ": untimed ");
	measured_put_cost(t, row->untimed_ps, row->assumed_untimed_ps);
	if (watch_is_hooked(row)) {
		text_put(t, ", with the hook ");
		measured_put_cost(t, cost.untimed_ps, cost.assumed_untimed_ps);
	}
	text_put(t, ", timed ");
	measured_put_cost(t, cost.timed_ps, cost.assumed_timed_ps);
	text_put(t, ", floor ");
	if (row->floor_ps == 0)
		text_put(t, "unmeasured");
	else
		text_put_duration(t, (row->floor_ps + PS_PER_NS / 2) / PS_PER_NS);
}

static void fact_a_call(struct text *t, const struct report *r)
{
	const struct recording *rec = r->recording;
	unsigned told = 0, more = 0;

	for (uint32_t i = 0; i < rec->watched_count; i++) {
		if (rec->watched[i].why_not.len > 0 || is_told(rec, i))
			continue;
		if (told == MODES_MOST) {
			more++;
			continue;
		}
		text_put(t, told++ > 0 ? "; " : "");
		put_mode(t, &rec->watched[i]);
	}
	if (more > 0)
		text_printf(t, "; %u more modes", more);
	if (told == 0)
		text_put(t, "— nothing was watched");
	else if (rec->watch.calibrations == 1)
		text_put(t, "; measured once");
	else if (rec->watch.calibrations > 1) {
		text_put(t, "; measured ");
		text_put_counted(t, rec->watch.calibrations, "time");
	}
}

static void fact_windows(struct text *t, const struct report *r)
{
	const struct watch_row *w = &r->recording->watch;

	text_put_counted(t, w->windows, "window");
	text_put(t, " of ");
	text_put_duration(t, w->window_ns);
	if (w->windows_in_row > 1) {
		text_put(t, ", ");
		text_put_exact(t, w->windows_in_row);
		text_put(t, " in a row");
	}
}

static void fact_frames(struct text *t, const struct report *r)
{
	const struct watch_row *w = &r->recording->watch;

	if (!r->watch->has_frames) {
		text_put(t, "none were marked");
		return;
	}
	text_put_counted(t, w->frames, "frame");
	if (w->slow_ns == 0)
		return;
	text_put(t, ", ");
	text_put_exact(t, w->slow);
	text_put(t, " of ");
	text_put_duration(t, w->slow_ns);
	text_put(t, " or longer, ");
	text_put_exact(t, r->recording->slow_count);
	text_put(t, " kept");
	if (w->scaled > 0) {
		text_put(t, "; parts scaled down in ");
		text_put_exact(t, w->scaled);
	}
}

static void fact_lost(struct text *t, const struct report *r)
{
	uint64_t expired = r->recording->watch.expired;

	watch_put_lost(t, r);
	if (expired > 0) {
		text_put(t, "; switched off by the program ");
		text_put_counted(t, expired, "time");
		text_put(t, ": the recorder was silent");
	}
}

static void fact_not_watched(struct text *t, const struct report *r)
{
	uint32_t missing = r->watch->count - r->watch->watched;

	if (missing == 0) {
		text_put(t, "0");
		return;
	}
	text_printf(t, "%u of %u: ", missing, r->watch->count);
	for (uint32_t i = r->watch->watched; i < r->watch->count; i++) {
		text_put(t, i > r->watch->watched ? " · " : "");
		watch_put_why_not(t, r->watch->rows[i].row);
	}
}

static void fact_engine(struct text *t, const struct report *r)
{
	const struct watch_row *w = &r->recording->watch;

	text_put_cut(t, w->sources, 40);
	if (w->hook.len > 0) {
		text_put(t, ", ");
		text_put_cut(t, w->hook, 40);
	}
	if (w->hook_why.len > 0) {
		text_put(t, " (");
		text_put_cut(t, w->hook_why, 200);
		text_put(t, ")");
	}
	text_put(t, ", times by ");
	text_put_cut(t, w->clock, 40);
	if (w->attach_ns > 0) {
		text_put(t, "; attaching took ");
		text_put_duration(t, w->attach_ns);
	}
	if (w->detach_ns > 0) {
		text_put(t, ", detaching ");
		text_put_duration(t, w->detach_ns);
	}
	if (w->scope.len > 0) {
		text_put(t, "; ");
		text_put_cut(t, w->scope, 200);
	}
}

const struct fact watch_label_rows[] = {
	{ "label", fact_tare },		 { "when", fact_when },		 { "where", fact_where },
	{ "seen", fact_processes },	 { "price", fact_price },	 { "size", fact_size },
	{ "calls", fact_calls },	 { "interval", fact_intervals }, { "a call", fact_a_call },
	{ "windows", fact_windows },	 { "frames", fact_frames },	 { "lost", fact_lost },
	{ "missing", fact_not_watched }, { "engine", fact_engine },	 { "memory", fact_memory },
	{ "marks", fact_marks },
};
const size_t watch_label_count = ARRAY_LEN(watch_label_rows);

void watch_label(struct screen *s, const struct report *r)
{
	label_facts(s, r, watch_label_rows, watch_label_count);
}
