/* report_page_record_data.c - what the script of a page of samples draws from: paths, their weights, and slots. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_page.h"
#include "core/scoped.h"

int record_page_data(struct json *j, const struct page *p, struct err *err)
{
	const struct report *r = p->owner;

	(void)err;
	json_put_u64(j, "contexts", r->recording->context_count);
	return 0;
}
