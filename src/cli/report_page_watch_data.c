/* report_page_watch_data.c - what the page of a watch reads: every window of every function with all sums that an estimate of
 * any range needs, so that the page can tell a range's numbers with their errors as core/watch_analysis.h does. Windows and
 * slow frames are letters (format/vlq.h); web/src/watch/decode.ts reads them in the order in which they are written here.
 *
 * A recording may hold more than a page may weigh. With each halving histograms become coarser or neighbouring windows one; at
 * last the functions with the least own time keep only their sums over the whole run. The page says which of these happened. */
#include "cli/report_page_watch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/calls.h"
#include "core/pace.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_words.h"
#include "core/watchlist.h"
#include "format/vlq.h"

#define MOST_FUNCTIONS 256u
#define MOST_OTHERS    64u /* tasks and frames; and what is not watched */

/* How much is taken away, least first. */
struct level {
	uint32_t coarse; /* 2^coarse steps of a histogram become one */
	uint32_t merged; /* so many rows of windows become one */
};
static const struct level levels[] = { { 0, 1 }, { 1, 1 }, { 2, 1 }, { 2, 2 }, { 3, 2 }, { 3, 4 } };

/* The page's data while they are put together. */
struct packing {
	const struct report *r;
	struct level level;
	uint32_t *chosen; /* owned: places in the analysis, in its order */
	uint32_t count;
	struct text *windows; /* owned: by chosen row */
	bool *is_pooled;      /* owned: by chosen row: it keeps only its sum */
};

static void packing_free(struct packing *p)
{
	for (uint32_t i = 0; p->windows != NULL && i < p->count; i++)
		text_free(&p->windows[i]);
	free(p->windows);
	free(p->chosen);
	free(p->is_pooled);
}

/* ---- windows as letters ---- */

static void put_double(struct text *t, double value)
{
	text_printf(t, "%.6g", isfinite(value) ? value : 0);
}

static int64_t less(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b); /* the reader has checked that both are below 2^63 */
}

/* One row: whole numbers, then the sums for its variance around its own mean, which six digits can tell: around 0 they would
 * cancel one another out. */
static void put_row(struct text *t, const struct calls_row *row, uint64_t before)
{
	vlq_put(t, row->at - before);
	vlq_put(t, row->calls);
	vlq_put(t, row->never_timed);
	vlq_put(t, row->span_ns);
	vlq_put(t, row->span_ns - row->covered_ns);
	vlq_put(t, row->firsts);
	vlq_put(t, row->first_ns);
	vlq_put_signed(t, less(row->first_ns, row->first_own_ns));
	vlq_put(t, row->others);
	vlq_put(t, row->weight);
	vlq_put(t, row->weight_squared);
	vlq_put(t, row->weighted_ns);
	vlq_put_signed(t, less(row->weighted_ns, row->weighted_own_ns));
	vlq_put(t, row->probe_ns);
	vlq_put(t, row->max_ns);
	vlq_put(t, row->interval);
}

static void put_variances(struct text *t, const struct calls_row *row)
{
	const double *v = row->variance;
	double mean_ns = row->weight > 0 ? (double)row->weighted_ns / (double)row->weight : 0;

	put_double(t, v[0]);
	text_put(t, ",");
	put_double(t, v[1] - mean_ns * v[0]);
	text_put(t, ",");
	put_double(t, v[2] - mean_ns * (2 * v[1] - mean_ns * v[0]));
}

static void put_histogram(struct text *t, const struct histogram *h)
{
	uint32_t before = 0;

	vlq_put(t, h->count);
	for (uint32_t i = 0; i < h->count; i++) {
		uint32_t at = h->steps[i].at >> h->coarse;

		vlq_put(t, at - before);
		vlq_put(t, h->steps[i].weight);
		before = at;
	}
}

/* The rows of one function at this level. `out_rows` is the caller's to free also on failure; it has room for `count`. */
static int merge_rows(const struct window_row *windows, uint32_t count, uint64_t merged,
		      struct calls_row *out_rows, uint32_t *out_count)
{
	uint32_t made = 0;
	int status = 0;

	for (uint32_t i = 0; i < count && status == 0; i++) {
		struct calls_row row = watchlist_calls_row(&windows[i]);

		row.at /= merged;
		if (made == 0 || out_rows[made - 1].at != row.at)
			out_rows[made++] = (struct calls_row){ .at = row.at };
		status = calls_pool(&out_rows[made - 1], &row);
	}
	*out_count = made;
	return status;
}

static void free_rows(struct calls_row *rows, uint32_t count)
{
	for (uint32_t i = 0; rows != NULL && i < count; i++)
		calls_row_free(&rows[i]);
	free(rows);
}

/* The rows, a blank, their variances, a blank, their histograms, a blank, how coarse those are: one letter a row. */
static void put_rows(struct text *t, struct calls_row *rows, uint32_t count, uint32_t coarse)
{
	vlq_put(t, count);
	for (uint32_t i = 0; i < count; i++)
		put_row(t, &rows[i], i > 0 ? rows[i - 1].at : 0);
	text_put(t, " ");
	for (uint32_t i = 0; i < count; i++) {
		text_put(t, i > 0 ? "," : "");
		put_variances(t, &rows[i]);
	}
	text_put(t, " ");
	for (uint32_t i = 0; i < count; i++) {
		histogram_coarsen(&rows[i].histogram, coarse);
		vlq_put(t, rows[i].histogram.coarse);
		put_histogram(t, &rows[i].histogram);
	}
}

static int pack_function(const struct packing *p, uint32_t place, uint64_t merged, struct text *out)
{
	const struct watched_answer *answer = &p->r->watch->rows[place];
	uint32_t count, made = 0;
	const struct window_row *windows = watch_windows(p->r->recording, answer->id, &count);
	struct calls_row *rows = calloc((size_t)count + 1, sizeof(*rows));
	int status = rows == NULL ? -ENOMEM : merge_rows(windows, count, merged, rows, &made);

	text_clear(out);
	if (status == 0)
		put_rows(out, rows, made, p->level.coarse);
	free_rows(rows, made);
	return status == 0 && out->has_failed ? -ENOMEM : status;
}

/* ---- what fits ---- */

static void choose(struct packing *p)
{
	const struct watch_analysis *a = p->r->watch;
	uint32_t others = 0, absent = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		bool is_frame = a->has_frames && i == a->frame;
		uint32_t *group = i < a->watched ? &others : &absent;

		if (i < a->functions ? i >= MOST_FUNCTIONS : !is_frame && *group >= MOST_OTHERS)
			continue;
		*group += i >= a->functions;
		p->chosen[p->count++] = i;
	}
}

/* Leaves only their sums to the last of the functions, which have the least own time: half of them for each halving beyond the
 * levels. */
static uint32_t first_pooled(const struct packing *p, unsigned halvings)
{
	if (halvings < ARRAY_LEN(levels))
		return p->count;
	return p->count >> (halvings - ARRAY_LEN(levels) + 1);
}

static int pack(struct packing *p, unsigned halvings)
{
	uint32_t room = p->r->watch->count + 1, whole;
	int status = 0;

	p->chosen = calloc(room, sizeof(*p->chosen));
	p->windows = calloc(room, sizeof(*p->windows));
	p->is_pooled = calloc(room, sizeof(*p->is_pooled));
	if (p->chosen == NULL || p->windows == NULL || p->is_pooled == NULL)
		return -ENOMEM;
	choose(p);
	p->level = levels[halvings < ARRAY_LEN(levels) ? halvings : ARRAY_LEN(levels) - 1];
	whole = first_pooled(p, halvings);
	for (uint32_t i = 0; i < p->count && status == 0; i++) {
		bool is_frame = p->r->watch->has_frames && p->chosen[i] == p->r->watch->frame;

		p->is_pooled[i] = i >= whole && !is_frame; /* all else is measured by the frame */
		status = pack_function(p, p->chosen[i],
				       p->is_pooled[i] ? UINT64_MAX : p->level.merged,
				       &p->windows[i]);
	}
	return status;
}

/* ---- one function ---- */

static const char *kind_of(const struct watched_row *row)
{
	static const char *const words[] = { "probe", "scope", "task", "frame" };

	return row->kind < ARRAY_LEN(words) ? words[row->kind] : "probe";
}

static void put_words(struct json *j, const char *key, struct text *words)
{
	if (words->len > 0)
		json_put_chars(j, key, text_chars(words));
	if (words->has_failed)
		json_fail(j, -ENOMEM);
	text_free(words);
}

/* Foreign names become harmless to read here: the page shows them as they are. */
static void put_names(struct json *j, const struct report *r, const struct watched_answer *answer)
{
	const struct watched_row *row = answer->row;
	struct str counted = watch_counted_why(row);
	struct text name = TEXT_EMPTY, module = TEXT_EMPTY, why = TEXT_EMPTY, notes = TEXT_EMPTY;

	if (row->name.len > 0)
		text_put_cut(&name, text_without_arguments(row->name), PAGE_MOST_NAME);
	else
		text_put_cut(&name, row->pattern, PAGE_MOST_NAME);
	put_words(j, "name", &name);
	text_put_cut(&module, row->module, WATCH_WHY_COLUMNS);
	put_words(j, "module", &module);
	text_put_cut(&why, row->why_not.len > 0 ? row->why_not : counted, WATCH_WHY_COLUMNS);
	put_words(j, "why", &why);
	if (answer < r->watch->rows + r->watch->watched)
		watch_put_notes(&notes, r, answer);
	put_words(j, "notes", &notes);
	json_put_chars(j, "kind", kind_of(row));
	if (row->why_not.len > 0)
		json_put_bool(j, "isDenied", watch_is_denied(row));
}

static void put_function(struct json *j, const struct packing *p, uint32_t at)
{
	const struct watched_answer *answer = &p->r->watch->rows[p->chosen[at]];
	const struct watched_row *row = answer->row;
	const struct pace_costs measured = { row->untimed_ps, row->extra_ps, row->hook_ps };
	const struct pace_costs assumed = { row->assumed_untimed_ps, row->assumed_extra_ps,
					    row->assumed_hook_ps };
	const struct pace_costs costs = pace_costs_in_force(&measured, &assumed);

	json_open_object(j);
	put_names(j, p->r, answer);
	json_put_bool(j, "isWatched", p->chosen[at] < p->r->watch->watched);
	json_put_u64(j, "floorNs", (row->floor_ps + PS_PER_NS / 2) / PS_PER_NS);
	json_put_u64(j, "untimedPs", costs.untimed_ps + costs.hook_ps);
	json_put_u64(j, "extraPs", costs.extra_ps);
	json_put_u64(j, "chargedPs", row->charged_ps);
	json_put_u64(j, "interval", row->interval);
	json_put_bool(j, "cannotRank", answer->cannot_rank);
	json_put_bool(j, "isPooled", p->is_pooled[at]);
	json_put_chars(j, "windows", text_chars(&p->windows[at]));
	json_close(j);
}

/* ---- slow frames ---- */

/* The place of a watched row among the chosen ones, from 1; 0: it is not in the page. */
static uint32_t place_of(const struct packing *p, uint32_t id)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->r->watch->rows[p->chosen[i]].id == id)
			return i + 1;
	return 0;
}

static void put_slow_row(struct text *t, const struct slow_row *slow)
{
	vlq_put(t, slow->start_ns);
	vlq_put(t, slow->duration_ns);
	vlq_put(t, slow->rest_ns);
	vlq_put(t, slow->other_ns);
	vlq_put(t, (uint64_t)slow->is_worst | (uint64_t)slow->is_scaled << 1);
	vlq_put(t, slow->tid);
	vlq_put(t, slow->number);
}

static void put_slow(struct json *j, const struct packing *p)
{
	const struct recording *rec = p->r->recording;
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	uint32_t from = 0, to;

	for (uint32_t i = 0; i < rec->slow_count; i++) {
		while (from < rec->slow_part_count && rec->slow_parts[from].slow < rec->slow[i].id)
			from++;
		for (to = from;
		     to < rec->slow_part_count && rec->slow_parts[to].slow == rec->slow[i].id;)
			to++;
		put_slow_row(&t, &rec->slow[i]);
		vlq_put(&t, to - from);
		for (; from < to; from++) {
			vlq_put(&t, place_of(p, rec->slow_parts[from].watched));
			vlq_put(&t, rec->slow_parts[from].own_ns);
		}
	}
	json_put_chars(j, "slowFrames", text_chars(&t));
	if (t.has_failed)
		json_fail(j, -ENOMEM);
}

/* ---- all ---- */

static void put_times(struct json *j, const struct report *r, const struct packing *p)
{
	const struct watch_analysis *a = r->watch;
	const struct watch_row *w = &r->recording->watch;
	uint64_t row_ns = watch_window_starts_ns(r->recording, &(struct window_row){ .at = 1 });
	uint32_t rows = watch_rows_in(r->recording); /* a foreign file may say anything */

	rows = rows < CALLS_MOST_ROWS ? rows : CALLS_MOST_ROWS;
	json_put_double(j, "startedMs", (double)r->recording->label.started_wall_ns / 1e6);
	json_put_u64(j, "rowNs", row_ns * p->level.merged);
	json_put_u64(j, "rows", rows / p->level.merged + (rows % p->level.merged > 0));
	json_put_u64(j, "endNs", a->to_ns);
	json_put_u64(j, "rangeNs", a->range_ns);
	json_put_u64(j, "frames", w->frames);
	json_put_u64(j, "slowNs", w->slow_ns);
	json_put_u64(j, "slow", w->slow);
	json_put_bool(j, "hasDate", r->recording->label.elapsed_ns >= 24 * 3600 * NS_PER_S);
}

/* What had to go, so that it can be said. */
static void put_cuts(struct json *j, const struct report *r, const struct packing *p)
{
	uint32_t pooled = 0;

	for (uint32_t i = 0; i < p->count; i++)
		pooled += p->is_pooled[i];
	json_put_u64(j, "coarse", p->level.coarse);
	json_put_u64(j, "merged", p->level.merged);
	json_put_u64(j, "pooled", pooled);
	json_put_u64(j, "missing", r->watch->count - p->count);
}

int watch_page_data(struct json *j, const struct page *page, struct err *err)
{
	SCOPED(packing_free) struct packing p = { .r = page->owner };
	int frame = -1;
	int status = pack(&p, page->halvings);

	if (status < 0)
		return err_set(err, status, "cannot write the page: out of memory");
	put_times(j, p.r, &p);
	put_cuts(j, p.r, &p);
	for (uint32_t i = 0; i < p.count; i++)
		if (p.r->watch->has_frames && p.chosen[i] == p.r->watch->frame)
			frame = (int)i;
	json_key(j, "frame");
	json_i64(j, frame);
	json_key(j, "functions");
	json_open_array(j);
	for (uint32_t i = 0; i < p.count; i++)
		put_function(j, &p, i);
	json_close(j);
	put_slow(j, &p);
	return 0;
}
