/* report_page_watch.c - what a page of a watch says before its script runs: the answer, its label, the ledger. */
#include "cli/report_page.h"
#include "cli/report_watch.h"
#include "core/scoped.h"
#include "core/watch_verdict.h"

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

static void put_verdict(struct text *t, const struct page *p)
{
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;

	watch_verdict_put(&verdict, report_of(p)->recording, report_of(p)->watch);
	page_put_words(t, text_chars(&verdict), NULL);
	t->has_failed |= verdict.has_failed;
}

static void put_leads(struct text *t, const struct page *p)
{
	page_put_lead_finding(t, p->findings);
}

static void put_label(struct text *t, const struct page *p)
{
	const struct report *r = report_of(p);

	page_put_label_begin(t, r);
	page_put_facts(t, r, watch_label_rows, watch_label_count,
		       watch_price_is_unmeasured(r) ? NULL : &r->watch->price);
	text_put(t, "</dl>");
}

static void put_ledger(struct text *t, const struct page *p)
{
	const struct label *label = &report_of(p)->recording->label;
	const struct page_part parts[] = {
		{ "saves", label->save_ns, label->saves, "measured", true },
		{ "start-up", label->start_ns, 1, "measured", true },
		{ "fixed", label->fixed_ns, 0, "measured", true },
	};

	page_put_parts(t, label, parts, ARRAY_LEN(parts));
}

static int put_data(struct json *j, const struct page *p, struct err *err)
{
	(void)err;
	json_put_u64(j, "functions", report_of(p)->watch->functions);
	return 0;
}

static const struct page_kind kind = {
	.instrument = "watch",
	.proof = "What watching took, part by part, as a share of one CPU.",
	.put_title = put_title,
	.put_what = put_what,
	.put_verdict = put_verdict,
	.put_leads = put_leads,
	.put_label = put_label,
	.put_ledger = put_ledger,
	.put_data = put_data,
};

int watch_page(struct app *app, const struct report *r, const struct report_opts *opts,
	       struct err *err)
{
	struct report owner = *r;
	struct page page = {
		.kind = &kind, .owner = &owner, .findings = r->findings, .path = r->path
	};

	return page_write(app, &page, opts, err);
}
