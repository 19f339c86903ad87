/* fuzz_report_watch.c - a watch with any numbers and names that the store would let through, on its way to words, JSON and a page. */
#include <stdio.h>

#include "cli/report_page_watch.h"
#include "core/calls.h"
#include "core/watch_findings.h"
#include "core/watch_verdict.h"
#include "core/watchlist.h"
#include "fuzz/fuzz.h"
#include "fuzz/rows.h"
#include "store/check.h"

enum { WATCHED = 6, WINDOWS = 4, SLOW = 5, PARTS = 3, LEDGER = 4, STEPS = 3 };

/* All rows, in arrays that last. */
struct rows {
	struct watched_row watched[WATCHED];
	struct window_row windows[WATCHED * WINDOWS];
	struct histogram_step steps[WATCHED * WINDOWS][STEPS];
	struct slow_row slow[SLOW];
	struct slow_part_row parts[SLOW * PARTS];
	struct ledger_row ledger[LEDGER];
};

static uint64_t at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

/* A window whose numbers are of the same calls; what cannot be made so is a window without calls. */
static void fill_window(struct input *in, struct window_row *w, struct histogram_step *steps,
			uint32_t watched, uint32_t at)
{
	struct calls_row row;

	*w = (struct window_row){ .watched = watched, .at = at };
	w->calls = take(in, 50);
	w->never_timed = take(in, 50);
	w->span_ns = take(in, 50);
	w->covered_ns = take(in, 2) == 0 ? at_most(take(in, 50), w->span_ns) : w->span_ns;
	w->firsts = at_most(take(in, 10), w->calls);
	w->others = at_most(take(in, 40), w->calls - w->firsts);
	if (w->firsts + w->others == 0) {
		w->never_timed += w->calls;
		w->calls = 0;
	}
	w->weight = w->others * (1 + take(in, 8));
	w->weight_squared = at_most(w->weight * (1 + take(in, 8)), UINT64_C(1) << 55);
	w->first_ns = w->firsts > 0 ? take(in, 50) : 0;
	w->first_own_ns = at_most(take(in, 50), w->first_ns);
	w->weighted_ns = w->others > 0 ? take(in, 55) : 0;
	w->weighted_own_ns = at_most(take(in, 55), w->weighted_ns);
	w->probe_ns = w->others > 0 ? take(in, 50) : 0;
	w->variance_0 = (double)take(in, 60);
	w->variance_1_ns = (double)take(in, 60);
	w->variance_2_ns2 = (double)take(in, 62) * (double)take(in, 30);
	w->max_ns = w->firsts + w->others > 0 ? take(in, 62) : 0;
	w->interval = (uint32_t)take(in, 16);
	for (uint32_t i = 0, bucket = 0; i < STEPS && w->firsts + w->others > 0; i++) {
		bucket += 1 + (uint32_t)take(in, 9);
		if (bucket >= BUCKET_COUNT)
			break;
		steps[i] = (struct histogram_step){ .at = bucket, .weight = 1 + take(in, 50) };
		w->histogram.count = i + 1;
		w->histogram.weight += steps[i].weight;
	}
	w->histogram.steps = steps;
	row = watchlist_calls_row(w);
	if (!calls_row_is_sound(&row))
		*w = (struct window_row){ .watched = watched, .at = at, .span_ns = 1 };
}

static void fill_slow(struct input *in, struct rows *rows, struct recording *r)
{
	for (uint32_t i = 0; i < SLOW; i++) {
		struct slow_row *slow = &rows->slow[i];
		uint64_t before_ns = take(in, 40);

		fill_row(in, &table_slow_frame, slow, 40);
		slow->id = i * 2;
		slow->duration_ns = slow->rest_ns + slow->other_ns;
		for (uint32_t place = 0; place < PARTS && take(in, 2) > 0; place++) {
			before_ns = at_most(take(in, 40), before_ns);
			rows->parts[r->slow_part_count++] = (struct slow_part_row){
				slow->id, place, (uint32_t)take(in, 8) % WATCHED * 3, before_ns
			};
			slow->duration_ns += before_ns;
		}
	}
}

static void fill(struct input *in, struct rows *rows, struct recording *r)
{
	fill_row(in, &table_recording, &r->label, 63);
	r->label.instrument = (struct str)STR_LITERAL("watch");
	fill_row(in, &table_watch, &r->watch, 63);
	r->watch.windows_in_row |= 1;
	r->watch.interval_given %= 65536;
	r->watch.interval_most %= 65536;
	r->watch.refused = take(in, 1) == 0 ? NO_ID : (uint32_t)take(in, 8) % WATCHED * 3;
	for (uint32_t i = 0; i < WATCHED; i++) {
		fill_row(in, &table_watched, &rows->watched[i], 58);
		rows->watched[i].id = i * 3;
		rows->watched[i].kind %= WATCHED_FRAME + 1;
		rows->watched[i].interval %= 65536;
		if (take(in, 2) > 0)
			rows->watched[i].why_not = STR_EMPTY;
		for (uint32_t w = 0, at = 0; w < WINDOWS; w++, at += 1 + (uint32_t)take(in, 6)) {
			uint32_t place = r->window_count++;

			fill_window(in, &rows->windows[place], rows->steps[place], i * 3, at);
		}
	}
	fill_slow(in, rows, r);
	for (uint32_t i = 0; i < LEDGER; i++)
		fill_row(in, &table_ledger, &rows->ledger[i], 56);
}

static void print(const struct report *r, FILE *out, bool is_ascii)
{
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;
	SCOPED(screen_free)
	struct screen s = { .out = out, .columns = is_ascii ? 70 : 150, .is_ascii = is_ascii };
	struct err err = ERR_EMPTY;

	watch_verdict_put(&verdict, r->recording, r->watch);
	screen_wrap(&s, text_chars(&verdict), 0);
	watch_head(&s, r);
	watch_table(&s, r, false);
	watch_table(&s, r, true);
	watch_frames(&s, r, false);
	watch_frames(&s, r, true);
	watch_grown(&s, r);
	watch_label(&s, r);
	(void)watch_over_time(&s, r, "a", &err);
	(void)watch_over_time(&s, r, "", &err);
}

static void print_and_check(const struct report *r, int how)
{
	char *bytes = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&bytes, &len);

	if (out == NULL)
		abort();
	if (how < 2)
		print(r, out, how == 1);
	else if (watch_json(out, r) != 0)
		abort();
	fclose(out);
	check_printed(bytes, len, how == 2);
	free(bytes);
}

/* The page: its markup, and its data, cut so and so often. */
static void put_page_and_check(const struct report *r)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	struct report owner = *r;
	struct page page = { .owner = &owner, .findings = r->findings, .path = r->path };

	watch_page_verdict(&t, &page);
	watch_page_scale(&t, &page);
	watch_page_leads(&t, &page);
	watch_page_first(&t, &page);
	watch_page_plain(&t, &page);
	watch_page_ledger(&t, &page);
	if (t.has_failed)
		abort();
	check_printed(t.bytes, t.len, false);
	for (page.halvings = 0; page.halvings < 9; page.halvings += 4) {
		char *bytes = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&bytes, &len);
		struct err err = ERR_EMPTY;
		struct json j;

		if (out == NULL)
			abort();
		json_begin(&j, json_to_file, out, 0);
		json_open_object(&j);
		if (watch_page_data(&j, &page, &err) != 0)
			abort();
		json_close(&j);
		if (json_end(&j) != 0)
			abort();
		fclose(out);
		check_printed(bytes, len, true);
		free(bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct rows rows;
	struct recording r = { .watched = rows.watched,
			       .windows = rows.windows,
			       .slow = rows.slow,
			       .slow_parts = rows.parts,
			       .ledger = rows.ledger,
			       .watched_count = WATCHED,
			       .slow_count = SLOW,
			       .ledger_count = LEDGER };
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	SCOPED(findings_free) struct findings f = { .count = 0 };
	struct report report = { .recording = &r, .watch = &a, .findings = &f, .path = "x.tare" };
	struct input in = { bytes, size };
	struct err err = ERR_EMPTY;

	rows = (struct rows){ 0 };
	fill(&in, &rows, &r);
	r.file_bytes = take(&in, 63);
	if (check_watch(&r, true, &err) != 0)
		return 0; /* the store would not have read it */
	if (watch_analysis_open(&r, 0, UINT64_MAX, &a, &err) != 0 ||
	    watch_findings_open(&r, &a, &f, &err) != 0)
		abort();
	for (int how = 0; how < 3; how++)
		print_and_check(&report, how);
	put_page_and_check(&report);
	return 0;
}
