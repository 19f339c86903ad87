/* charge.h - what sampling takes on the job's account: each tick, and each switch of a watched thread, at which the kernel moves the
 * thread's timer away and back. Costs come from a calibration. Pure. */
#ifndef TARE_CORE_CHARGE_H
#define TARE_CORE_CHARGE_H

#include <stdint.h>

/* Unit costs; 0: unmeasured, and charged as nothing. */
struct charge_costs {
	uint64_t tick_ps; /* one tick, kept or lost */
	uint64_t
		still_ps; /* a switch to a watched thread and one from it, while its timer is not the next of its CPU */
	uint64_t
		in_ps; /* what switching to it takes more while it is: the timer of the CPU is set anew */
	uint64_t out_ps; /* the same of switching from it */
	uint64_t
		jiffy_ns; /* between two ticks of the kernel's own, which are such timers too; 0: it has none */
};

/* What was seen in one window. */
struct charge_seen {
	uint64_t window_ns;
	uint64_t ticks;
	uint64_t switches;  /* to watched threads */
	uint64_t period_ns; /* in force */
	uint64_t ran_ns;    /* CPU time of the job */
	/* Of the run so far: time of its threads on a CPU, and waiting for one that others had. */
	uint64_t all_ran_ns, all_waited_ns;
	uint64_t threads; /* of it so far; 0: not known */
};

struct charge {
	uint64_t tick_ns;
	uint64_t switch_ns; /* what a longer period makes less */
	uint64_t still_ns;  /* of switches too, and what no period changes */
};

/* How often the timer of a running thread is the next one of its CPU, in millionths: it is due after anything up to
 * a period, the kernel's own tick after anything up to a jiffy. A thread begins with a whole period ahead of it, so one that
 * has `lived_ns` of CPU time in all may never come near its end; 0: not known, and taken for long. */
uint64_t charge_next_ppm(uint64_t period_ns, uint64_t jiffy_ns, uint64_t lived_ns);

/* What one window took from the job. What moving a timer away takes falls on whoever runs next: on the job as far as it
 * would keep a CPU busy if it were alone, else on nobody's time. */
struct charge charge_window(const struct charge_costs *costs, const struct charge_seen *seen);

#endif
