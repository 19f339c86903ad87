/* ledger.h - what measuring took, window by window, in at most LEDGER_WINDOWS rows: when they are full,
 * neighbours merge, as everything with a time axis does. Sums are exact. Pure. */
#ifndef TARE_CORE_LEDGER_H
#define TARE_CORE_LEDGER_H

#include "core/dirty.h"
#include "core/recording.h"

#define LEDGER_WINDOWS 256u

struct ledger {
	struct ledger_row rows[LEDGER_WINDOWS];
	uint32_t used;
	uint32_t halvings;     /* a row is 1 << halvings windows */
	uint32_t open_windows; /* windows in the last row so far */
	struct dirty dirty;
	bool has_shrunk; /* since the last save */
};

/* -ENOMEM. */
int ledger_init(struct ledger *l);

/* Accepts the empty value, and may run twice. */
void ledger_free(struct ledger *l);

/* Adds one window; its `id` is ignored. */
void ledger_add(struct ledger *l, const struct ledger_row *window);

/* The sum of all windows (id 0, period of the last). */
struct ledger_row ledger_total(const struct ledger *l);

/* Appends the rows that changed since ledger_saved(). -ENOMEM. */
int ledger_changes(const struct ledger *l, struct changes *out);

/* What ledger_changes() gave is saved: forgets the marks. */
void ledger_saved(struct ledger *l);

#endif
