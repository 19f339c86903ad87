/* counter.h - a number that may not be measured: three answers, zero, not measured, and the value. The store keeps
 * NOT_MEASURED as NULL. Values are below 2^63. */
#ifndef TARE_CORE_COUNTER_H
#define TARE_CORE_COUNTER_H

#include <stdint.h>

struct counter {
	uint64_t value;
};
#define NOT_MEASURED   ((struct counter){ UINT64_MAX })
#define COUNTER(n)     ((struct counter){ (n) })
#define IS_MEASURED(c) ((c).value != UINT64_MAX)

#endif
