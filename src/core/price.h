/* price.h - keeps measuring inside its price. Three parts: per sample (controls the period); per save and
 * start-up (spread over ten minutes); fixed. Pure: what was spent comes in, the next period goes out. */
#ifndef TARE_CORE_PRICE_H
#define TARE_CORE_PRICE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/units.h"

#define PRICE_SPREAD_WINDOWS 600u /* ten minutes of 1 s windows */
#define PRICE_QUIET_WINDOWS  10u  /* windows under a quarter before the period shrinks */

/* What was spent in one window. */
struct price_spent {
	uint64_t window_ns; /* length of the window, about 1 s */
	uint64_t sample_ns; /* per-sample cost: ours and the kernel's */
	uint64_t once_ns;   /* saves and start-up: spread */
	uint64_t fixed_ns;
};

struct price {
	uint64_t limit_ppm;
	uint64_t base_ns;	/* the period never goes below this */
	uint64_t max_ns;	/* nor above this */
	uint64_t period_ns;	/* in force */
	uint32_t quiet_windows; /* in a row under a quarter of what is allowed */
	bool is_fixed_over;	/* the fixed part alone is over the price: say so */
	uint64_t debt_ns;	/* what samples took beyond what was left, not yet made good */
	uint64_t once_ns
		[PRICE_SPREAD_WINDOWS]; /* ring, a cell a second: one-time costs of ten minutes */
	uint64_t once_sum_ns;
	uint64_t once_into_ns; /* time that has passed in the cell `once_at` */
	uint32_t once_at;
};

/* `base_ns` > 0, `max_ns` >= base_ns. */
void price_init(struct price *p, uint64_t limit_ppm, uint64_t base_ns, uint64_t max_ns);

/* Judges one window and returns the period for the next. What is left for samples is the price less fixed part and
 * spread. Over it: the period doubles at once. Under a quarter of it for 10 windows: it shrinks by 1/8 a window, down
 * to the base, but not before what earlier windows took beyond it is made good (at most ten minutes' worth is
 * remembered), so that a target that is hot in bursts cannot take more than the price either. Fixed part alone over
 * the price: said, and the period is kept unless samples alone are over the price too. A window may have any length;
 * one of 0 is only remembered. */
uint64_t price_next_period(struct price *p, const struct price_spent *spent);

/* When to save: after 200 kept samples, never closer than 1 s, never further than 60 s apart, and in between only
 * as often as saving stays under a quarter of the price. `last_save_ns` is what the last one cost. */
bool price_save_is_due(uint64_t limit_ppm, uint64_t since_save_ns, uint64_t kept_since_save,
		       uint64_t last_save_ns);

#endif
