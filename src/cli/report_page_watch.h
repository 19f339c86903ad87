/* report_page_watch.h - the rooms of a watch's page among themselves. `page->owner` is the report, whose `watch` is there. */
#ifndef TARE_CLI_REPORT_PAGE_WATCH_H
#define TARE_CLI_REPORT_PAGE_WATCH_H

#include "cli/report_page.h"
#include "cli/report_watch.h"

/* ---- report_page_watch_head.c ---- */

/* The verdict and its whisker, the sentences under it, and the five largest parts. */
void watch_page_verdict(struct text *t, const struct page *p);
void watch_page_scale(struct text *t, const struct page *p);
void watch_page_leads(struct text *t, const struct page *p);
void watch_page_first(struct text *t, const struct page *p);

/* ---- report_page_watch_tables.c ---- */

/* What a reader without a script gets: functions, and slow frames. */
void watch_page_plain(struct text *t, const struct page *p);

/* What watching took, function by function, then part by part. */
void watch_page_ledger(struct text *t, const struct page *p);

/* ---- report_page_watch_data.c ---- */

/* The members of the data's object. -ENOMEM. */
int watch_page_data(struct json *j, const struct page *p, struct err *err);

#endif
