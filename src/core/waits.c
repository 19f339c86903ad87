/* waits.c - weights of waits that were looked at, scaled to exact sums. */
#include "core/waits.h"

static uint64_t less(uint64_t whole_ns, uint64_t part_ns)
{
	return whole_ns > part_ns ? whole_ns - part_ns : 0;
}

static uint64_t at_most(uint64_t ns, uint64_t most_ns)
{
	return ns < most_ns ? ns : most_ns;
}

void waits_tell(struct waits *w, const struct waits_account *account)
{
	uint64_t *exact_ns = w->exact_ns;

	exact_ns[STATE_RUNNING] = at_most(account->running_ns, account->wall_ns);
	exact_ns[STATE_RUNNABLE] =
		at_most(account->runnable_ns, account->wall_ns - exact_ns[STATE_RUNNING]);
	exact_ns[STATE_WAITING] =
		account->wall_ns - exact_ns[STATE_RUNNING] - exact_ns[STATE_RUNNABLE];
	w->open_ns = account->open_ns;
}

static uint64_t length_of(const struct wait *wait, enum state state)
{
	return state == STATE_WAITING ? wait->waiting_ns : wait->runnable_ns;
}

/* n × length × scale; what has no room is as much as there is room for. */
static uint64_t estimate(const struct wait *wait, enum state state)
{
	unsigned __int128 ns = (unsigned __int128)length_of(wait, state) * wait->one_in;

	if (ns > UINT64_MAX)
		return UINT64_MAX;
	if (wait->scale_ppm == 0)
		return (uint64_t)ns;
	ns = ns * wait->scale_ppm / PPM;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

void waits_count(struct waits *w, const struct wait *wait)
{
	static const enum state states[] = { STATE_WAITING, STATE_RUNNABLE };

	for (int i = 0; i < 2; i++) {
		uint64_t *sum_ns = &w->looked_ns[states[i]];

		if (__builtin_add_overflow(*sum_ns, estimate(wait, states[i]), sum_ns))
			*sum_ns = UINT64_MAX;
	}
}

/* What all short waits took. */
static uint64_t short_ns(const struct waits *w, enum state state)
{
	uint64_t open_ns = state == STATE_WAITING ? w->open_ns : 0;

	return less(less(w->exact_ns[state], w->long_ns[state]), open_ns);
}

uint64_t waits_weigh(struct waits *w, const struct wait *wait, enum state state)
{
	uint64_t whole_ns = short_ns(w, state), looked_ns = w->looked_ns[state];
	uint64_t ns = estimate(wait, state);

	if (looked_ns > whole_ns)
		ns = (uint64_t)((unsigned __int128)ns * whole_ns / looked_ns);
	ns = at_most(ns, less(whole_ns, w->given_ns[state]));
	w->given_ns[state] += ns;
	return ns;
}

void waits_give(struct waits *w, enum state state, uint64_t ns)
{
	w->long_ns[state] += ns;
}

uint64_t waits_rest(const struct waits *w, enum state state)
{
	return less(less(w->exact_ns[state], w->long_ns[state]), w->given_ns[state]);
}

uint32_t waits_next_rate(uint32_t rate, uint64_t spent_ns, uint64_t allowed_ns, uint32_t most)
{
	if (spent_ns > allowed_ns)
		return rate > 1 ? rate / 2 : 1;
	if (spent_ns >= allowed_ns / 2)
		return rate;
	rate += rate / 4 + 1;
	return rate < most ? rate : most;
}
