/* report_desk.c - a recording of a watch, what it says, and paper to print it on. */
#include "report_desk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void desk_free(struct desk *d)
{
	if (d->screen.out != NULL)
		fclose(d->screen.out);
	free(d->bytes);
	screen_free(&d->screen);
	watch_analysis_free(&d->a);
	build_watch_free(&d->b);
	d->screen.out = NULL;
	d->bytes = NULL;
}

void desk_paper(struct desk *d, unsigned columns, bool is_ascii)
{
	if (d->screen.out != NULL)
		fclose(d->screen.out);
	free(d->bytes);
	screen_free(&d->screen);
	d->bytes = NULL;
	d->screen = (struct screen){ .columns = columns, .is_ascii = is_ascii };
	d->screen.out = open_memstream(&d->bytes, &d->len);
	assert_non_null(d->screen.out);
}

/* Reads what was built; it can be printed then. */
void desk_open(struct desk *d)
{
	struct err err = ERR_EMPTY;

	build_watch_sort(&d->b);
	assert_int_equal(watch_analysis_open(&d->b.r, 0, UINT64_MAX, &d->a, &err), 0);
	d->report = (struct report){ .recording = &d->b.r, .watch = &d->a, .path = "x.tare" };
	desk_paper(d, 80, false);
}

const char *desk_printed(struct desk *d)
{
	fflush(d->screen.out);
	assert_false(d->screen.has_failed);
	return d->bytes;
}

void assert_has(struct desk *d, const char *words)
{
	if (strstr(desk_printed(d), words) == NULL)
		fail_msg("\"%s\" is not in\n%s", words, desk_printed(d));
}

void assert_lacks(struct desk *d, const char *words)
{
	if (strstr(desk_printed(d), words) != NULL)
		fail_msg("\"%s\" is in\n%s", words, desk_printed(d));
}

size_t lines_of(const char *text)
{
	size_t lines = 0;

	for (; *text != '\0'; text++)
		lines += *text == '\n';
	return lines;
}
