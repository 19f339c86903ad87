/* price.c - the three-part controller. Between "over" and "under a quarter" nothing moves: a step of 1/8 from
 * under a quarter stays far below the whole, so that a steady target never makes the period swing. */
#include "core/price.h"

#include "core/units.h"

#define SAVE_AFTER_KEPT	 200u
#define SAVE_CLOSEST_NS	 NS_PER_S
#define SAVE_FURTHEST_NS (60 * NS_PER_S)
#define SAVE_PART_OF	 4u /* saving may take one in so many parts of the price */
#define QUIET_PART_OF	 4u
#define SHRINK_PART_OF	 8u

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

void price_init(struct price *p, uint64_t limit_ppm, uint64_t base_ns, uint64_t max_ns)
{
	*p = (struct price){
		.limit_ppm = limit_ppm, .base_ns = base_ns, .max_ns = max_ns, .period_ns = base_ns
	};
}

/* The part of ten minutes' one-time costs that falls into this window. */
static uint64_t spread_share(struct price *p, const struct price_spent *spent)
{
	p->once_ns[p->once_at] += spent->once_ns;
	p->once_sum_ns += spent->once_ns;
	return (uint64_t)((unsigned __int128)p->once_sum_ns * spent->window_ns /
			  (PRICE_SPREAD_WINDOWS * NS_PER_S));
}

/* Time goes on: what is older than ten minutes is forgotten. */
static void spread_advance(struct price *p, uint64_t window_ns)
{
	uint64_t cells = (p->once_into_ns + window_ns) / NS_PER_S;

	p->once_into_ns = (p->once_into_ns + window_ns) % NS_PER_S;
	if (cells > PRICE_SPREAD_WINDOWS)
		cells = PRICE_SPREAD_WINDOWS;
	for (; cells > 0; cells--) {
		p->once_at = (p->once_at + 1) % PRICE_SPREAD_WINDOWS;
		p->once_sum_ns -= p->once_ns[p->once_at];
		p->once_ns[p->once_at] = 0;
	}
}

static void remember_debt(struct price *p, uint64_t took_ns, uint64_t left_ns)
{
	uint64_t most_ns = units_ppm_of(PRICE_SPREAD_WINDOWS * NS_PER_S, p->limit_ppm);

	if (took_ns > left_ns)
		p->debt_ns += took_ns - left_ns;
	else
		p->debt_ns = less(p->debt_ns, left_ns - took_ns);
	if (p->debt_ns > most_ns)
		p->debt_ns = most_ns;
}

static void double_period(struct price *p)
{
	p->quiet_windows = 0;
	p->period_ns = p->period_ns > p->max_ns / 2 ? p->max_ns : p->period_ns * 2;
}

static void shrink_period(struct price *p)
{
	uint64_t step_ns = p->period_ns / SHRINK_PART_OF;

	p->period_ns -= step_ns > 0 ? step_ns : 1;
	if (p->period_ns < p->base_ns)
		p->period_ns = p->base_ns;
}

uint64_t price_next_period(struct price *p, const struct price_spent *spent)
{
	uint64_t allowed_ns = units_ppm_of(spent->window_ns, p->limit_ppm);
	uint64_t spread_ns = spread_share(p, spent);
	uint64_t left_ns = less(less(allowed_ns, spent->fixed_ns), spread_ns);

	if (spent->window_ns == 0)
		return p->period_ns;
	spread_advance(p, spent->window_ns);
	remember_debt(p, spent->sample_ns, left_ns);
	p->is_fixed_over = spent->fixed_ns > allowed_ns;
	if (p->is_fixed_over)
		left_ns = allowed_ns; /* what the period cannot mend must not drive it */

	if (spent->sample_ns > left_ns) {
		double_period(p);
		return p->period_ns;
	}
	if (p->is_fixed_over || spent->sample_ns >= left_ns / QUIET_PART_OF) {
		p->quiet_windows = 0;
		return p->period_ns;
	}
	if (p->quiet_windows < PRICE_QUIET_WINDOWS)
		p->quiet_windows++;
	if (p->quiet_windows == PRICE_QUIET_WINDOWS && p->debt_ns == 0)
		shrink_period(p);
	return p->period_ns;
}

bool price_save_is_due(uint64_t limit_ppm, uint64_t since_save_ns, uint64_t kept_since_save,
		       uint64_t last_save_ns)
{
	if (since_save_ns < SAVE_CLOSEST_NS)
		return false;
	if (since_save_ns >= SAVE_FURTHEST_NS)
		return true;
	return kept_since_save >= SAVE_AFTER_KEPT &&
	       last_save_ns <= units_ppm_of(since_save_ns, limit_ppm) / SAVE_PART_OF;
}
