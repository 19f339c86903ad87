/* report_page_watch.c - the page of a watch: which parts it has. */
#include "cli/report_page_watch.h"

#include "core/scoped.h"

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

static void put_label(struct text *t, const struct page *p)
{
	const struct report *r = report_of(p);

	page_put_label_begin(t, r);
	page_put_facts(t, r, watch_label_rows, watch_label_count,
		       watch_price_is_unmeasured(r) ? NULL : &r->watch->price);
	text_put(t, "</dl>");
}

static const struct page_kind kind = {
	.instrument = "watch",
	.proof = "What watching took, function by function. Costs of a call are measured here, the "
		 "hook included.",
	.put_title = put_title,
	.put_what = put_what,
	.put_verdict = watch_page_verdict,
	.put_scale = watch_page_scale,
	.put_leads = watch_page_leads,
	.put_first = watch_page_first,
	.put_label = put_label,
	.put_plain = watch_page_plain,
	.put_ledger = watch_page_ledger,
	.put_data = watch_page_data,
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
