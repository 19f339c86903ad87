/* link_scripts.c - fixed questions as a script. */
#include "fleet/link_scripts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int next(void *self, struct ask *out, struct err *err)
{
	struct asked *a = self;

	(void)err;
	if (a->at == a->count)
		return 0;
	*out = a->asks[a->at];
	return 1;
}

static int columns(void *self, const char *const *names, uint32_t count)
{
	struct asked *a = self;

	if (count > 0)
		snprintf(a->columns[a->at], sizeof(a->columns[0]), "%s", names[0]);
	return 0;
}

static int row(void *self, const struct cell *cells, uint32_t count)
{
	struct asked *a = self;

	if (a->rows[a->at]++ == 0 && count > 0)
		snprintf(a->cells[a->at], sizeof(a->cells[0]), "%.*s",
			 cells[0].bytes != NULL ? (int)(cells[0].len < 63 ? cells[0].len : 63) : 6,
			 cells[0].bytes != NULL ? cells[0].bytes : "(null)");
	return a->enough_after > 0 && a->rows[a->at] >= a->enough_after;
}

static int ended(void *self, const struct answer *answer, struct err *err)
{
	struct asked *a = self;

	a->answers[a->at++] = *answer;
	if (a->stops_at + 1 == (int)a->at && a->stops_at >= 0)
		return err_set(err, -ECANCELED, "stopped on purpose");
	return 0;
}

struct script asked_script(struct asked *a)
{
	a->at = 0;
	memset(a->answers, 0, sizeof(a->answers));
	memset(a->cells, 0, sizeof(a->cells));
	memset(a->columns, 0, sizeof(a->columns));
	memset(a->rows, 0, sizeof(a->rows));
	return (struct script){
		.self = a, .next = next, .columns = columns, .row = row, .ended = ended
	};
}
