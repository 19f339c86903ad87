/* report_page_record.c - what a page of samples says before its script runs: the answer, its label, the ledger. */
#include <string.h>

#include "cli/report_page.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/verdict.h"

static const char *const state_words[STATE_COUNT] = { "● running", "○ waiting", "◐ runnable" };
static const char *const state_colours[STATE_COUNT] = { "run", "wait", "queue" };

static const struct report *report_of(const struct page *p)
{
	return p->owner;
}

static void put_title(struct text *t, const struct page *p)
{
	page_put_title(t, &report_of(p)->recording->label);
}

static void put_what(struct text *t, const struct page *p)
{
	page_put_ran(t, &report_of(p)->recording->label, "");
}

/* The name of a place as sentences have it. */
static void put_place(struct text *t, const struct function *place)
{
	text_put_function(t, text_without_arguments(place->name), PAGE_LEAD_NAME);
}

static void put_verdict(struct text *t, const struct page *p)
{
	const struct report *r = report_of(p);
	const struct function *place = verdict_place(r->recording, r->analysis);
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;
	SCOPED(text_free) struct text name = TEXT_EMPTY;

	verdict_put(&verdict, r->recording, r->analysis);
	if (place != NULL)
		put_place(&name, place);
	page_put_words(t, text_chars(&verdict), text_chars(&name));
	t->has_failed |= verdict.has_failed || name.has_failed;
}

static void put_scale(struct text *t, const struct page *p)
{
	const struct report *r = report_of(p);
	const struct function *place = verdict_place(r->recording, r->analysis);

	if (place == NULL || place->own.share.error >= 1)
		return;
	page_put_whisker(t, &(struct page_whisker){
				    .value = 100 * place->own.share.value,
				    .error = 100 * place->own.share.error,
				    .axis = 100,
				    .colour = state_colours[weighed_state(&place->own)],
				    .width = 720,
				    .is_coarse = place->own.share.is_coarse,
			    });
}

/* ---- leads ---- */

/* A place with its share, "X, 9.2 % ± 0.7". */
static void put_place_share(struct text *t, const struct analysis *a, const struct function *f)
{
	page_put_function(t, text_without_arguments(f->name), PAGE_LEAD_NAME);
	text_put(t, ", ");
	page_put_share(t, f->own.share, a->kept);
}

static bool is_sure(const struct share *share)
{
	return share->value > 0 && share->error < share->value;
}

/* The places behind the first. */
static void lead_next(struct text *t, const struct analysis *a)
{
	const struct function *f = a->functions;

	if (a->function_count < 2 || !is_sure(&f[1].own.share))
		return;
	text_put(t, "<li>Next ");
	text_put(t, a->function_count > 2 && is_sure(&f[2].own.share) ? "are " : "is ");
	put_place_share(t, a, &f[1]);
	if (a->function_count > 2 && is_sure(&f[2].own.share)) {
		text_put(t, ", and ");
		put_place_share(t, a, &f[2]);
	}
	text_put(t, ".</li>\n");
}

static void lead_thread(struct text *t, const struct analysis *a)
{
	const struct thread *busiest = a->threads;

	if (a->thread_count < 2 || !is_sure(&busiest->all.share))
		return;
	text_printf(t, "<li>The busiest of %u threads is ", a->thread_count);
	page_put_name(t, busiest->name, PAGE_LEAD_NAME);
	text_printf(t, " %u, ", busiest->tid);
	page_put_share(t, busiest->all.share, a->kept);
	text_put(t, ".</li>\n");
}

static bool is_cpu_clock(const struct label *label)
{
	return label->clock.len == 3 && memcmp(label->clock.bytes, "cpu", 3) == 0;
}

static void lead_missing(struct text *t, const struct label *label)
{
	SCOPED(text_free) struct text reason = TEXT_EMPTY;
	bool is_all = !is_cpu_clock(label) && label->kernel_stacks.len == 0;

	text_put(t, "<li>");
	if (is_cpu_clock(label))
		text_put(t, "Waiting is not measured: the clock is CPU time. ");
	if (label->kernel_stacks.len > 0) {
		head_put_reason(&reason, label->kernel_stacks);
		text_put(t, "Kernel stacks: ");
		page_put_words(t, text_chars(&reason), NULL);
		text_put(t, ". ");
	}
	text_put(t, is_all ? "Nothing was left out.</li>\n" : "</li>\n");
	t->has_failed |= reason.has_failed;
}

static void put_leads(struct text *t, const struct page *p)
{
	lead_next(t, report_of(p)->analysis);
	lead_thread(t, report_of(p)->analysis);
	page_put_lead_finding(t, p->findings);
	lead_missing(t, &report_of(p)->recording->label);
}

/* ---- tables ---- */

/* The end of the column's axis: a lone giant is broken off, so that the rest can be read. */
static double axis_of(const struct analysis *a, uint32_t count)
{
	double first = count > 0 ? a->functions[0].own.share.value : 0;
	double second = count > 1 ? a->functions[1].own.share.value : 0;

	return 112 * (second > 0 && first > 5 * second ? 1.5 * second : first);
}

static void first_row(struct text *t, const struct analysis *a, const struct function *f,
		      double axis)
{
	enum state state = weighed_state(&f->own);

	text_put(t, "<tr><th scope=\"row\">");
	page_put_function(t, f->name, PAGE_LEAD_NAME);
	text_put(t, frame_mark(f->kind));
	text_printf(t, "</th><td class=\"l\">%s</td><td>", state_words[state]);
	page_put_share(t, f->own.share, a->kept);
	text_put(t, "</td><td>");
	if (f->own.share.error < 1)
		page_put_whisker(t, &(struct page_whisker){ .value = 100 * f->own.share.value,
							    .error = 100 * f->own.share.error,
							    .axis = axis,
							    .colour = state_colours[state],
							    .width = 190,
							    .is_coarse = f->own.share.is_coarse });
	text_put(t, "</td></tr>\n");
}

static void put_first(struct text *t, const struct page *p)
{
	const struct analysis *a = report_of(p)->analysis;
	uint32_t count = a->function_count < PAGE_FIRST ? a->function_count : PAGE_FIRST;

	if (verdict_place(report_of(p)->recording, a) == NULL)
		return;
	text_put(t, "<table><caption class=\"vh\">The largest places</caption><thead><tr>"
		    "<th scope=\"col\" class=\"l\">where the time goes</th>"
		    "<th scope=\"col\" class=\"l\">state</th><th scope=\"col\">own</th>"
		    "<th scope=\"col\"><span class=\"vh\">interval, drawn</span></th></tr></thead>"
		    "<tbody>\n");
	for (uint32_t i = 0; i < count && a->functions[i].own.ns > 0; i++)
		first_row(t, a, &a->functions[i], axis_of(a, count));
	text_put(t, "</tbody></table>");
}

static void plain_row(struct text *t, const struct analysis *a, const struct function *f)
{
	text_put(t, "<tr><th scope=\"row\">");
	page_put_function(t, f->name, PAGE_MOST_NAME);
	text_put(t, frame_mark(f->kind));
	text_put(t, "</th><td>");
	page_put_share(t, f->own.share, a->kept);
	text_put(t, "</td><td>");
	page_put_share(t, f->with_callees.share, a->kept);
	text_printf(t, "</td><td class=\"l\">%s</td></tr>\n",
		    state_words[weighed_state(f->own.ns > 0 ? &f->own : &f->with_callees)]);
}

static void put_plain(struct text *t, const struct page *p)
{
	const struct analysis *a = report_of(p)->analysis;
	uint32_t count = a->function_count;

	while (count > 0 && a->functions[count - 1].with_callees.ns == 0)
		count--;
	text_put(t, "<div class=\"sheet wide\"><table><caption>Functions</caption><thead><tr>"
		    "<th scope=\"col\" class=\"l\">function</th><th scope=\"col\">own</th>"
		    "<th scope=\"col\">with callees</th><th scope=\"col\" class=\"l\">state</th>"
		    "</tr></thead><tbody>\n");
	for (uint32_t i = 0; i < count && i < PAGE_PLAIN_ROWS; i++)
		plain_row(t, a, &a->functions[i]);
	if (count > PAGE_PLAIN_ROWS)
		text_printf(
			t, "<tr><td class=\"l\" colspan=\"4\">%u more: tare report --all</td></tr>",
			count - PAGE_PLAIN_ROWS);
	text_put(t, "</tbody></table></div>\n");
}

/* ---- label and ledger ---- */

static void put_label(struct text *t, const struct page *p)
{
	const struct report *r = report_of(p);
	const struct label *label = &r->recording->label;
	SCOPED(text_free) struct text reason = TEXT_EMPTY;

	page_put_label_begin(t, r);
	page_put_facts(t, r, label_of_samples, label_of_samples_count,
		       label_is_price_unmeasured(r) ? NULL : &r->analysis->price);
	if (is_cpu_clock(label))
		page_put_fact(t, "waiting", "— not measured: the clock is CPU time");
	if (label->kernel_stacks.len > 0) {
		head_put_reason(&reason, label->kernel_stacks);
		page_put_fact(t, "kernel", text_chars(&reason));
	}
	text_clear(&reason);
	text_put_cut(&reason, label->children, 200);
	if (label->children.len > 0)
		page_put_fact(t, "children", text_chars(&reason));
	text_put(t, "</dl>");
	t->has_failed |= reason.has_failed;
}

static void put_ledger(struct text *t, const struct page *p)
{
	const struct label *label = &report_of(p)->recording->label;
	bool is_calibrated = label->kernel_tick_ps > 0;
	const struct page_part parts[] = {
		{ "samples", label->sample_ns, label->ticks, "measured", true },
		{ "in the kernel", label->kernel_ns, label->ticks,
		  label->stops > 0 ? "measured: threads were stopped for it"
				   : "calibrated in a child of ours, at least",
		  is_calibrated },
		{ "saves", label->save_ns, label->saves, "measured", true },
		{ "start-up", label->start_ns, 1, "measured", true },
		{ "fixed", label->fixed_ns, 0, "measured", true },
	};

	page_put_parts(t, label, parts, ARRAY_LEN(parts));
}

static void put_links(struct text *t, const struct page *p)
{
	page_put_tasks_link(t, report_of(p));
}

static void put_sections(struct text *t, const struct page *p)
{
	page_put_tasks(t, report_of(p));
}

static const struct page_kind kind = {
	.instrument = "record",
	.proof = "What recording took, part by part, as a share of one CPU.",
	.put_title = put_title,
	.put_what = put_what,
	.put_verdict = put_verdict,
	.put_scale = put_scale,
	.put_leads = put_leads,
	.put_first = put_first,
	.put_label = put_label,
	.put_plain = put_plain,
	.put_ledger = put_ledger,
	.put_links = put_links,
	.put_sections = put_sections,
	.put_data = record_page_data,
};

int record_page(struct app *app, const struct report *r, const struct report_opts *opts,
		struct err *err)
{
	struct report owner = *r;
	struct page page = {
		.kind = &kind, .owner = &owner, .findings = r->findings, .path = r->path
	};

	return page_write(app, &page, opts, err);
}
