/* make_page.h - recordings that pages are made of in tests: rich ones, ones whose every name is chosen by the test, and ones
 * that are too much for a page. */
#ifndef TARE_TESTS_MAKE_PAGE_H
#define TARE_TESTS_MAKE_PAGE_H

#include "core/frame.h"
#include "unit/build_recording.h"
#include "unit/build_watch.h"

/* Names of the test's choice. */
struct names {
	struct str *rows;
	uint32_t count;
};

/* Name `i` of a ring of them. */
static inline struct str name_at(const struct names *names, uint32_t i)
{
	return names->rows[i % names->count];
}

/* Six hours of a nightly job: three states, phases, ten threads of more, a gap, modules beyond the eight that have a colour,
 * more functions than a table shows at once, rights that are missing. */
void page_night(struct build *b);

/* Each name stands as a function, a thread, a module and a file, some in the label; the first one is the heaviest. */
void page_record_names(struct build *b, const struct names *names);

/* As many contexts as a recording holds. */
void page_record_crowd(struct build *b);

/* Each name stands as a watched function with its symbol, module and pattern; slow frames are made of them. */
void page_watch_names(struct build_watch *b, const struct names *names);

/* Three hundred functions over 360 windows. */
void page_watch_crowd(struct build_watch *b);

/* Each name stands as a server, its address and version, a statement, a database, a user, a procedure, a wait, and in each field
 * of two plans. */
void page_fleet_names(const char *url, const struct names *names);

/* Twenty servers with sixty statements each, all with plans that change. */
void page_fleet_crowd(const char *url);

#endif
