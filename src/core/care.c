/* care.c - patience, allowance and pauses for a helper process that may fail. */
#include "core/care.h"

void care_init(struct care *c, struct mono now)
{
	*c = (struct care){ .begun = now, .seen = now, .wait_left_ns = CARE_WAIT_MOST_NS };
}

void care_failed(struct care *c, struct mono now)
{
	if (mono_elapsed_ns(c->failed, now) >= CARE_CALM_NS)
		c->failures = 0;
	c->pause_ns = CARE_PAUSE_NS;
	for (uint32_t i = 0; i < c->failures && c->pause_ns < CARE_PAUSE_MOST_NS; i++)
		c->pause_ns *= 2;
	if (c->pause_ns > CARE_PAUSE_MOST_NS)
		c->pause_ns = CARE_PAUSE_MOST_NS;
	if (c->failures < UINT32_MAX)
		c->failures++;
	c->failed = now;
}

bool care_may_start(const struct care *c, struct mono now)
{
	return c->failures == 0 || mono_elapsed_ns(c->failed, now) >= c->pause_ns;
}

uint64_t care_wait_ns(struct care *c, struct mono now)
{
	c->wait_left_ns += mono_elapsed_ns(c->seen, now) / CARE_WAIT_ONE_IN;
	if (c->wait_left_ns > CARE_WAIT_MOST_NS)
		c->wait_left_ns = CARE_WAIT_MOST_NS;
	c->seen = now;
	return c->wait_left_ns;
}

void care_waited(struct care *c, uint64_t waited_ns)
{
	c->wait_left_ns -= waited_ns < c->wait_left_ns ? waited_ns : c->wait_left_ns;
}

bool care_may_spend(const struct care *c, uint64_t spent_ns, struct mono now)
{
	return spent_ns <= CARE_SPEND_NS + mono_elapsed_ns(c->begun, now) / CARE_SPEND_ONE_IN;
}

bool care_is_hung(uint64_t wall_ns, uint64_t cpu_ns)
{
	return cpu_ns > CARE_CPU_MOST_NS || wall_ns > CARE_WALL_MOST_NS;
}
