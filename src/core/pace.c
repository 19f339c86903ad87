/* pace.c - the share-out of the price. All products are in 128 bits: calls and costs are what others measured. */
#include "core/pace.h"

#include "core/units.h"

#define TIMING_PART 4u /* slices leave a quarter of the price to timing */
#define WAKING_PART 10u

typedef unsigned __int128 wide;

static uint64_t narrow(wide value)
{
	return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

static uint64_t price_ps(const struct pace_limits *limits, uint64_t window_ns)
{
	return narrow((wide)window_ns * limits->price_ppm * PS_PER_NS / PPM);
}

struct pace_costs pace_costs_in_force(const struct pace_costs *measured,
				      const struct pace_costs *assumed)
{
	struct pace_costs costs = *measured;

	if (costs.untimed_ps == 0)
		costs.untimed_ps = assumed->untimed_ps;
	if (costs.extra_ps == 0)
		costs.extra_ps = assumed->extra_ps;
	if (costs.hook_ps == 0)
		costs.hook_ps = assumed->hook_ps;
	return costs;
}

uint64_t pace_charge_ps(const struct pace_costs *costs, uint64_t calls, uint64_t timed)
{
	return narrow((wide)calls * costs->untimed_ps + (wide)calls * costs->hook_ps +
		      (wide)timed * costs->extra_ps);
}

uint32_t pace_share_timed(const struct pace_watch *watch)
{
	uint64_t extra_ps = watch->costs.extra_ps;
	uint64_t timed = extra_ps > 0 ? watch->share_ps / extra_ps : UINT32_MAX;

	if (timed == 0)
		return 1;
	return timed > UINT32_MAX ? UINT32_MAX : (uint32_t)timed;
}

void pace_start(const struct pace_limits *limits, uint64_t window_ns, struct pace_watch *watches,
		size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct pace_costs costs = watches[i].costs;

		watches[i] = (struct pace_watch){
			.costs = costs,
			.interval = limits->given,
			.share_ps = price_ps(limits, window_ns) / count,
		};
	}
}

/* One window on its way through the judgement. */
struct judging {
	const struct pace_limits *limits;
	struct pace_watch *watches;
	const struct pace_seen *seen;
	size_t count;
	uint64_t price_ps;
	uint64_t window_ns;
	struct pace_judged judged;
};

/* What counting all calls would have cost: a sliced watch saw only a part of the window. One that was not attached at
 * all keeps what was last seen. */
static void see_loads(struct judging *j)
{
	for (size_t i = 0; i < j->count; i++) {
		const struct pace_seen *seen = &j->seen[i];
		struct pace_watch *watch = &j->watches[i];
		uint64_t counting_ps = pace_charge_ps(&watch->costs, seen->calls, 0);

		j->judged.ran += seen->calls > 0;
		if (watch->is_sliced && seen->covered_ns == 0)
			continue;
		watch->load_ps = counting_ps;
		if (seen->covered_ns > 0 && seen->covered_ns < j->window_ns)
			watch->load_ps =
				narrow((wide)counting_ps * j->window_ns / seen->covered_ns);
	}
}

/* What counting takes of a window: sliced watches by what they may take. */
static wide sum_counting(const struct judging *j, bool with_sliced)
{
	wide sum = 0;

	for (size_t i = 0; i < j->count; i++) {
		const struct pace_watch *watch = &j->watches[i];

		if (!watch->is_sliced)
			sum += watch->load_ps;
		else if (with_sliced)
			sum += watch->slice_ps;
	}
	return sum;
}

static int64_t left_after(const struct judging *j, wide counting_ps)
{
	uint64_t counted_ps = counting_ps > INT64_MAX ? INT64_MAX : (uint64_t)counting_ps;

	return (int64_t)narrow((wide)j->price_ps * 9 / 10) - (int64_t)counted_ps;
}

static uint32_t interval_for(const struct judging *j, size_t at, int64_t left_ps)
{
	const struct pace_limits *limits = j->limits;
	wide all_timed_ps = (wide)j->judged.ran * j->seen[at].calls * j->watches[at].costs.extra_ps;

	if (left_ps <= 0)
		return limits->most;

	wide interval = (all_timed_ps + (uint64_t)left_ps - 1) / (uint64_t)left_ps;

	if (interval < limits->given)
		return limits->given;
	return interval > limits->most ? limits->most : (uint32_t)interval;
}

/* Does no interval keep the price? */
static bool no_interval_helps(const struct judging *j)
{
	wide spending_ps = sum_counting(j, true);
	int64_t left_ps = left_after(j, spending_ps);

	if (left_ps <= 0)
		return true;
	for (size_t i = 0; i < j->count; i++)
		spending_ps += (wide)j->seen[i].calls * j->watches[i].costs.extra_ps /
			       interval_for(j, i, left_ps);
	return spending_ps > j->price_ps;
}

static size_t find_loudest(const struct judging *j)
{
	size_t loudest = j->count;

	for (size_t i = 0; i < j->count; i++) {
		const struct pace_watch *watch = &j->watches[i];

		if (watch->is_sliced || watch->is_fixed || watch->load_ps == 0)
			continue;
		if (loudest == j->count || watch->load_ps > j->watches[loudest].load_ps)
			loudest = i;
	}
	return loudest;
}

/* Ends all slices when counting everything leaves a quarter of the price. */
static void end_slices(struct judging *j)
{
	wide all_ps = 0;

	for (size_t i = 0; i < j->count; i++)
		all_ps += j->watches[i].load_ps;
	if (left_after(j, all_ps) < (int64_t)(j->price_ps / TIMING_PART))
		return;
	for (size_t i = 0; i < j->count; i++)
		j->watches[i].is_sliced = false;
}

/* What slices may take together: nine tenths of the price, less a quarter for timing, less what is counted always. */
static int64_t left_for_slices(const struct judging *j)
{
	return left_after(j, sum_counting(j, false)) - (int64_t)(j->price_ps / TIMING_PART);
}

static int64_t least_for_slices(const struct judging *j)
{
	return (int64_t)(j->price_ps / 20 * 3);
}

static void slice_loudest(struct judging *j)
{
	do {
		size_t loudest = find_loudest(j);

		if (loudest == j->count)
			return;
		j->watches[loudest].is_sliced = true;
	} while (left_for_slices(j) < least_for_slices(j));
}

static void share_among_slices(struct judging *j)
{
	int64_t left_ps = left_for_slices(j);

	j->judged.sliced = 0;
	for (size_t i = 0; i < j->count; i++)
		j->judged.sliced += j->watches[i].is_sliced;
	for (size_t i = 0; i < j->count; i++) {
		struct pace_watch *watch = &j->watches[i];

		watch->slice_ps =
			watch->is_sliced && left_ps > 0 ? (uint64_t)left_ps / j->judged.sliced : 0;
	}
}

/* Also when what is counted always leaves too little for the slices there are. */
static bool is_too_dear(const struct judging *j)
{
	return no_interval_helps(j) ||
	       (j->judged.sliced > 0 && left_for_slices(j) < least_for_slices(j));
}

/* The rate at which the loudest one alone would use up what the others leave. */
static void refuse(struct judging *j)
{
	const struct pace_watch *watch = &j->watches[j->judged.loudest];
	wide others_ps = sum_counting(j, true) - watch->load_ps;
	int64_t left_ps = left_after(j, others_ps);
	wide call_ps = (wide)watch->costs.untimed_ps + watch->costs.hook_ps +
		       watch->costs.extra_ps / j->limits->most;

	j->judged.is_refused = true;
	if (left_ps > 0 && call_ps > 0)
		j->judged.allowed_rate = narrow((wide)left_ps * NS_PER_S / j->window_ns / call_ps);
}

static void share_out(struct judging *j)
{
	wide counting_ps = sum_counting(j, true);
	uint64_t rest_ps = counting_ps < j->price_ps ? j->price_ps - (uint64_t)counting_ps : 0;
	size_t ran = j->judged.ran, sleeping = j->count - ran;
	uint64_t waking_ps = ran == 0 ? j->price_ps : j->price_ps / WAKING_PART;

	j->judged.left_ps = left_after(j, counting_ps);
	for (size_t i = 0; i < j->count; i++) {
		struct pace_watch *watch = &j->watches[i];

		if (j->seen[i].calls == 0) {
			watch->share_ps = waking_ps / sleeping;
			continue;
		}
		watch->interval = interval_for(j, i, j->judged.left_ps);
		watch->share_ps = rest_ps / ran;
	}
}

struct pace_judged pace_next_window(const struct pace_limits *limits, uint64_t window_ns,
				    struct pace_watch *watches, const struct pace_seen *seen,
				    size_t count, bool may_slice)
{
	struct judging j = { .limits = limits,
			     .watches = watches,
			     .seen = seen,
			     .count = count,
			     .price_ps = price_ps(limits, window_ns),
			     .window_ns = window_ns };

	see_loads(&j);
	end_slices(&j);
	j.judged.loudest = find_loudest(&j);
	share_among_slices(&j);
	if (j.judged.loudest < count && is_too_dear(&j)) {
		if (may_slice)
			slice_loudest(&j);
		else
			refuse(&j);
		share_among_slices(&j);
	}
	share_out(&j);
	return j.judged;
}
