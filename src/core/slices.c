/* slices.c - periods from loads; all products are in 128 bits. */
#include "core/slices.h"

typedef unsigned __int128 wide;

static uint64_t narrow(wide value)
{
	return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

/* value x part / whole, rounded up. */
static uint64_t scale_up(uint64_t value, uint64_t part, uint64_t whole)
{
	return narrow(((wide)value * part + whole - 1) / whole);
}

struct slices_plan slices_plan_next(const struct slices_need *need)
{
	struct slices_plan plan = { .is_always = need->load_ps <= need->slice_ps,
				    .is_possible = need->load_ps == 0 || need->slice_ps > 0 };

	if (plan.is_always || !plan.is_possible)
		return plan;

	uint64_t least_ns = SLICES_LEAST_NS + need->detach_ns;
	uint64_t period_ns = scale_up(least_ns, need->load_ps, need->slice_ps);

	plan.period_ns = period_ns < SLICES_PERIOD_NS ? SLICES_PERIOD_NS : period_ns;
	plan.allowed_ps = narrow((wide)need->slice_ps * plan.period_ns / need->window_ns);
	plan.attached_ns =
		narrow((wide)plan.period_ns * need->slice_ps / need->load_ps) - need->detach_ns;
	if (plan.attached_ns < SLICES_LEAST_NS)
		plan.attached_ns = SLICES_LEAST_NS; /* the last bit of the division */
	return plan;
}

bool slices_is_cut(const struct slices_plan *plan, uint64_t attached_ns, uint64_t spent_ps,
		   uint64_t since_ps, uint64_t since_ns, uint64_t detach_ns)
{
	if (attached_ns >= plan->attached_ns)
		return true;

	uint64_t detach_ps = since_ns > 0 ? scale_up(since_ps, detach_ns, since_ns) : 0;

	return (wide)spent_ps + detach_ps >= plan->allowed_ps;
}

uint64_t slices_rest_ns(const struct slices_plan *plan, const struct slices_need *need,
			uint64_t attached_ns, uint64_t spent_ps)
{
	uint64_t period_ns = plan->period_ns;

	if (spent_ps > plan->allowed_ps && need->slice_ps > 0)
		period_ns = scale_up(need->window_ns, spent_ps, need->slice_ps);
	return period_ns > attached_ns ? period_ns - attached_ns : 0;
}
