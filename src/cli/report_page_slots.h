/* report_page_slots.h - the slots of a recording as its page has them: all from the first to the last that was reached, and no more
 * than a screen shows: then neighbours merge, as in a timeline that is full. */
#ifndef TARE_CLI_REPORT_PAGE_SLOTS_H
#define TARE_CLI_REPORT_PAGE_SLOTS_H

#include "core/recording.h"

struct page_slots {
	struct slot_row *rows; /* owned: row i is slot i */
	uint32_t count;
	uint32_t of;	 /* slots that the run would have when full */
	uint32_t merged; /* how many of the recording's each is; 1: they are its own */
	uint64_t span_ns;
};

/* Takes the slots of `r`, merged once more with each of `halvings` above the first two, but to no fewer than would part its batches.
 * Of two that merge, the path that is shown stays with its share of both weights; the same recording gives the same. -ENOMEM. */
int page_slots_open(const struct recording *r, unsigned halvings, struct page_slots *out);

/* Accepts the empty value, and may run twice. */
void page_slots_free(struct page_slots *s);

#endif
