/* charge.c - what sampling takes on the job's account. */
#include "core/charge.h"

#include "core/units.h"

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

/* part / whole in millionths, at most all. */
static uint64_t share_ppm(uint64_t part, uint64_t whole)
{
	if (whole == 0)
		return 0;
	return at_most((uint64_t)((unsigned __int128)part * PPM / whole), PPM);
}

/* Of the last `left_ns` before a timer is due: for how long, on average, it is due before the jiffy. */
static uint64_t next_ns(uint64_t left_ns, uint64_t jiffy_ns)
{
	if (left_ns >= jiffy_ns)
		return jiffy_ns / 2;
	return left_ns - (uint64_t)((unsigned __int128)left_ns * left_ns / (2 * jiffy_ns));
}

uint64_t charge_next_ppm(uint64_t period_ns, uint64_t jiffy_ns, uint64_t lived_ns)
{
	uint64_t whole_ns, rest_ns;

	if (jiffy_ns == 0 || period_ns == 0)
		return PPM;
	whole_ns = next_ns(period_ns, jiffy_ns);
	if (lived_ns == 0)
		return share_ppm(whole_ns, period_ns);
	rest_ns = whole_ns - next_ns(period_ns - lived_ns % period_ns, jiffy_ns);
	return share_ppm(lived_ns / period_ns * whole_ns + rest_ns, lived_ns);
}

/* `count` times `each_ps`, as far as two shares reach. */
static uint64_t times_ns(uint64_t count, uint64_t each_ps, uint64_t share, uint64_t of_it)
{
	unsigned __int128 ps =
		(unsigned __int128)count * units_ppm_of(units_ppm_of(each_ps, share), of_it);

	return (uint64_t)(ps / PS_PER_NS);
}

/* How long a thread of the job would have run in the window, had no other program had the CPU. */
static uint64_t alone_ns(const struct charge_seen *seen)
{
	unsigned __int128 ns = seen->ran_ns;

	if (seen->all_ran_ns > 0)
		ns += ns * seen->all_waited_ns / seen->all_ran_ns;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

struct charge charge_window(const struct charge_costs *costs, const struct charge_seen *seen)
{
	uint64_t lived_ns = seen->threads > 0 ? seen->all_ran_ns / seen->threads : 0;
	uint64_t next = charge_next_ppm(seen->period_ns, costs->jiffy_ns, lived_ns);
	uint64_t busy = share_ppm(alone_ns(seen), seen->window_ns);
	uint64_t switches = seen->switches;

	return (struct charge){
		.tick_ns = times_ns(seen->ticks, costs->tick_ps, PPM, PPM),
		.switch_ns = times_ns(switches, costs->in_ps, next, PPM) +
			     times_ns(switches, costs->out_ps, next, busy),
		.still_ns = times_ns(switches, costs->still_ps / 2, PPM, PPM + busy),
	};
}
