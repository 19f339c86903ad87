/* made_calls.h - a function of a made program, called so and so often in a window and timed as gap.h says: what libtare
 * and the probes do, without a clock. Only timed calls cost anything to simulate. */
#ifndef TARE_TESTS_MADE_CALLS_H
#define TARE_TESTS_MADE_CALLS_H

#include <string.h>

#include "core/calls.h"
#include "core/gap.h"
#include "core/pace.h"
#include "core/units.h"

#define WINDOW_NS (10 * NS_PER_S)

/* How long call number `place` of a window takes. */
typedef uint64_t (*made_time)(uint64_t place, void *owner);

struct made {
	uint64_t random;
	made_time time;
	void *owner;
	struct calls_seen seen;	    /* the last window */
	struct histogram histogram; /* of it */
	uint64_t *weights, places;  /* when set: sum of weights by place */
	uint32_t doubled;
};

static inline void made_take(struct made *m, uint64_t place, uint32_t weight)
{
	uint64_t ns = m->time(place, m->owner);

	if (place == 0) {
		m->seen.firsts++;
		m->seen.first_ns += ns;
	} else {
		m->seen.others++;
		m->seen.weight += weight;
		m->seen.weight_squared += (uint64_t)weight * weight;
		m->seen.weighted_ns += ns * weight;
		bucket_add_square(&m->seen.squares, ns, weight);
	}
	if (ns > m->seen.max_ns)
		m->seen.max_ns = ns;
	(void)histogram_add(&m->histogram, bucket_of(ns), place == 0 ? 1 : weight);
	if (m->weights != NULL && place < m->places)
		m->weights[place] += place == 0 ? 1 : weight;
}

/* One window of `calls` calls under what is in force in `watch`. */
static inline void made_window(struct made *m, const struct pace_watch *watch, uint32_t most,
			       uint64_t calls)
{
	uint32_t interval = watch->interval;
	uint64_t spent_ps = 0, place = 0;

	m->seen = (struct calls_seen){ .calls = calls,
				       .span_ns = WINDOW_NS,
				       .covered_ns = WINDOW_NS };
	m->doubled = 0;
	histogram_free(&m->histogram);
	while (place < calls) {
		bool is_start = place == 0;

		made_take(m, place, interval);
		spent_ps += watch->costs.extra_ps;
		while (spent_ps >= gap_limit(watch->share_ps, m->doubled) && interval < most) {
			interval = gap_doubled(interval, most);
			m->doubled++;
			is_start = true;
		}
		place += is_start ? gap_first(&m->random, interval)
				  : gap_later(&m->random, interval);
	}
	m->seen.interval = interval;
}

static inline struct pace_seen made_seen(const struct made *m)
{
	return (struct pace_seen){ m->seen.calls, m->seen.firsts + m->seen.others,
				   m->seen.covered_ns };
}

#endif
