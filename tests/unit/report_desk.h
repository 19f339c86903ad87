/* report_desk.h - a recording of a watch, what it says, and paper to print it on: for tests of the report. */
#ifndef TARE_TEST_REPORT_DESK_H
#define TARE_TEST_REPORT_DESK_H

#include "build_watch.h"
#include "cli/report_watch.h"
#include "core/watch_analysis.h"

struct desk {
	struct build_watch b; /* built by the test */
	struct watch_analysis a;
	struct report report;
	struct screen screen;
	char *bytes;
	size_t len;
};

#define DESK_EMPTY ((struct desk){ .bytes = NULL })

/* Accepts the empty value, and may run twice. */
void desk_free(struct desk *d);

/* Reads what was built in `b`, and lays down paper of 80 columns. */
void desk_open(struct desk *d);

/* Fresh paper. */
void desk_paper(struct desk *d, unsigned columns, bool is_ascii);

/* What stands on the paper. Borrowed until more is printed. */
const char *desk_printed(struct desk *d);

/* Do these words stand there? */
void assert_has(struct desk *d, const char *words);
void assert_lacks(struct desk *d, const char *words);

size_t lines_of(const char *text);

#endif
