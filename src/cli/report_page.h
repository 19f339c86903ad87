/* report_page.h - the page that `tare report --html` writes: one file that asks nothing of the network. Its head, label and
 * findings are plain HTML, from the words of the terminal's report; a script draws the rest from a block of JSON. */
#ifndef TARE_CLI_REPORT_PAGE_H
#define TARE_CLI_REPORT_PAGE_H

#include "cli/report.h"
#include "core/err.h"
#include "core/findings.h"
#include "core/text.h"
#include "format/json.h"

#define PAGE_MOST_BYTES	   (1000u * 1000u) /* of a page, its script and style included */
#define PAGE_MOST_NAME	   240u		   /* columns of a foreign name in the data */
#define PAGE_LEAD_NAME	   60u		   /* columns of one in a sentence */
#define PAGE_FIRST	   5u		   /* rows of the first table */
#define PAGE_PLAIN_ROWS	   60u		   /* rows of a table for readers without a script */
#define PAGE_MOST_HALVINGS 20u

struct app;
struct page;

/* Appends a part of the page; `t` is HTML, or where it says so plain text. */
typedef void (*page_put_fn)(struct text *t, const struct page *p);

/* One kind of page. Members that may be NULL say so. */
struct page_kind {
	const char *instrument; /* "record" */
	const char *script;	/* of viewer.h; NULL: the instrument's */
	size_t most_bytes;	/* 0: PAGE_MOST_BYTES */
	const char *proof;	/* under "Ledger": how its numbers are known; ours, no markup */
	page_put_fn put_title;	/* plain text: what ran */
	page_put_fn put_what;	/* one line over the verdict: what ran, where, when, how it ended */
	page_put_fn put_verdict;  /* inside <h1>; page_put_words() of the verdict */
	page_put_fn put_scale;	  /* its whisker, by page_put_whisker(); may be NULL */
	page_put_fn put_leads;	  /* two or three <li> */
	page_put_fn put_first;	  /* a whole <table> of the five largest; may be NULL */
	page_put_fn put_label;	  /* pairs, by page_put_fact() */
	page_put_fn put_plain;	  /* tables for readers without a script; may be NULL */
	page_put_fn put_ledger;	  /* a whole <table>, or several */
	page_put_fn put_links;	  /* <a>s to its own sections behind the findings; may be NULL */
	page_put_fn put_sections; /* those <section>s; may be NULL */
	page_put_fn put_foot;	  /* <span>s beside the file's name; may be NULL */
	/* Writes the members of the data's object, which is open. With each halving of p->halvings about half as many rows;
	 * what is left out is counted, and the count is written. A failure fills `err`. */
	int (*put_data)(struct json *j, const struct page *p, struct err *err);
};

/* One page. Borrowed. */
struct page {
	const struct page_kind *kind;
	void *owner; /* what the kind's functions read: its report */
	const struct findings *findings;
	const char *path;  /* of the recording */
	unsigned halvings; /* how often its rows were halved so that it fits */
};

/* ---- report_page.c ---- */

/* Writes the page to opts->html: beside it first, then under its name at once, and says so. Refuses where there is a file, unless
 * opts->may_overwrite. -ENOTSUP: this build has no viewer; -E2BIG: even without rows it is too large; -EEXIST, -EIO, -ENOMEM. */
int page_write(struct app *app, struct page *p, const struct report_opts *opts, struct err *err);

/* ---- report_page_html.c: nothing else makes HTML of text; markup of ours is text_put() ---- */

/* Appends text so that it is text, in an element and in a quoted attribute. What is hidden in it stays hidden: names go
 * through page_put_name() or were made harmless before. */
void page_put_text(struct text *t, const char *chars);

/* Appends words of the report: text, with the error of a number, and what was not measured or not allowed, as the page shows them.
 * `code` stands in the type of names where it first comes; NULL or empty: none. */
void page_put_words(struct text *t, const char *chars, const char *code);

/* Appends a foreign name, made harmless and cut to `columns`, in the type of names. */
void page_put_name(struct text *t, struct str name, size_t columns);
/* The same for a function, shortened before it is cut. */
void page_put_function(struct text *t, struct str name, size_t columns);

/* Appends the place where the script draws a whisker; all numbers are in one unit. */
struct page_whisker {
	double value, error; /* an error of 0: exact */
	double axis;	     /* what its right end stands for */
	double limit;	     /* 0: none */
	const char *colour;  /* a token of the style: "edge", or a state's */
	unsigned width;
	bool is_coarse;
};
void page_put_whisker(struct text *t, const struct page_whisker *w);

/* Appends a share as words of the report. */
void page_put_share(struct text *t, struct share share, uint64_t range_kept);

/* ---- report_page_parts.c: what several kinds have ---- */

/* What ran, as plain text for the title; and the line over the verdict: "CMD on HOST, FROM to UNTIL, status 0", then `more`. */
void page_put_title(struct text *t, const struct label *label);
void page_put_ran(struct text *t, const struct label *label, const char *more);

/* The lead that names the first finding, or says that there is none. */
void page_put_lead_finding(struct text *t, const struct findings *f);

/* Begins a label of a recording: its heading, "<dl>", and how long it is. The caller ends it: "</dl>". */
void page_put_label_begin(struct text *t, const struct report *r);

/* Appends a fact of the label. What follows the first "; " or ": " in `words` is set small, on a line of its own. */
void page_put_fact(struct text *t, const char *key, const char *words);

/* The same with a whisker. */
void page_put_fact_drawn(struct text *t, const char *key, const char *words,
			 const struct page_whisker *w);

/* The facts that the terminal's label has, but for those that stand in the head. `price`: of one CPU; NULL: not measured. */
void page_put_facts(struct text *t, const struct report *r, const struct fact *facts, size_t count,
		    const struct share *price);

/* A table of what measuring took, part by part, as shares of one CPU over the run. */
struct page_part {
	const char *name;
	uint64_t ns, times; /* times 0: it has no count */
	const char *known;  /* how */
	bool is_measured;
};
void page_put_parts(struct text *t, const struct label *label, const struct page_part *parts,
		    size_t count);

/* ---- report_page_record.c, report_page_watch.c, report_page_collect.c ---- */

struct fleet_report;

/* Write the page of a recording of samples, of a watch, of a fleet to opts->html, as page_write(). */
int record_page(struct app *app, const struct report *r, const struct report_opts *opts,
		struct err *err);
int watch_page(struct app *app, const struct report *r, const struct report_opts *opts,
	       struct err *err);
int fleet_page(struct app *app, struct fleet_report *r, const struct report_opts *opts,
	       struct err *err);

/* ---- report_page_tasks.c ---- */

/* The link to the section of tasks, and the section; nothing where the run is not parted. */
void page_put_tasks_link(struct text *t, const struct report *r);
void page_put_tasks(struct text *t, const struct report *r);

/* ---- report_page_record_data.c ---- */

/* The data of a page of samples. -ENOMEM. */
int record_page_data(struct json *j, const struct page *p, struct err *err);

#endif
