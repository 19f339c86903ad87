/* care.h - how a recorder treats a helper process of its own that works on foreign bytes, and may die over them or hang: how
 * long it may be waited for, how much it may spend, and when it is started again. Nothing that a hostile file does makes the
 * recorder stand still, or makes the price more than a fixed share. Pure: times are arguments. */
#ifndef TARE_CORE_CARE_H
#define TARE_CORE_CARE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/units.h"

#define CARE_WAIT_MOST_NS  (NS_PER_S)	   /* that waiting may take at once ... */
#define CARE_WAIT_ONE_IN   10u		   /* ... and of all time, one part in so many */
#define CARE_SPEND_NS	   (10 * NS_PER_S) /* CPU time of the helper: so much at first ... */
#define CARE_SPEND_ONE_IN  200u		   /* ... and of all time, one part in so many */
#define CARE_PAUSE_NS	   (NS_PER_S) /* after the first failure; each further one doubles it ... */
#define CARE_PAUSE_MOST_NS (600 * NS_PER_S) /* ... up to this */
#define CARE_CALM_NS \
	(3600 *      \
	 NS_PER_S) /* after so long without a failure all are forgiven: longer than any pause */
#define CARE_CPU_MOST_NS  (2 * NS_PER_S)  /* for one request: then it counts as hung ... */
#define CARE_WALL_MOST_NS (10 * NS_PER_S) /* ... or when it has answered nothing for so long */

/* All members are private. */
struct care {
	struct mono begun, seen;
	uint64_t wait_left_ns;
	uint32_t failures; /* since it was calm */
	struct mono failed;
	uint64_t pause_ns; /* after `failed` */
};

/* A helper that never failed. */
void care_init(struct care *c, struct mono now);

/* It died, or had to be killed: sets the pause. */
void care_failed(struct care *c, struct mono now);

/* May it be started (again)? */
bool care_may_start(const struct care *c, struct mono now);

/* For how long it may be waited for now: what was not used of a tenth of all time, up to a second. */
uint64_t care_wait_ns(struct care *c, struct mono now);

/* So long was waited. */
void care_waited(struct care *c, uint64_t waited_ns);

/* May it be given more to do, when it has spent `spent_ns` of CPU time since care_init()? */
bool care_may_spend(const struct care *c, uint64_t spent_ns, struct mono now);

/* Is it hung? `wall_ns` and `cpu_ns` since it was asked. Both are needed: on a busy machine it may wait for a CPU, and a file
 * system of the target's own making can hold it without one. */
bool care_is_hung(uint64_t wall_ns, uint64_t cpu_ns);

#endif
