/* measured.h - what was measured of calls, in words: durations with their error in a unit that suits them, what one call
 * costs, shares of timed calls, large counts. U+00A0 stands between number, unit and error. Pure and thread-safe. */
#ifndef TARE_CORE_MEASURED_H
#define TARE_CORE_MEASURED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

/* Units that durations of calls are shown in. */
enum measured_unit { MEASURED_NS, MEASURED_US, MEASURED_MS, MEASURED_S };

/* "ns", "µs", "ms", "s". Static. */
const char *measured_unit_name(enum measured_unit unit);

/* The largest unit that goes into it once; ns for less. */
enum measured_unit measured_unit_of(double ns);

/* One unit for a column of numbers: the one that suits the least that is not 0, or a larger one when the most would else
 * take more than `columns`. */
enum measured_unit measured_unit_for(double least_ns, double most_ns, unsigned columns);

#define MEASURED_NO_ERROR (-1.0)

/* A duration in a column's unit, which is not in it: "43.1" and "± 0.4". Digits by the error, as text_digits() says, and
 * no error that rounds to 0. An error larger than its value, or a value that would round to 0: "under 12". MEASURED_NO_ERROR: three digits and no error.
 * What would round to 0 and is not 0: "under 0.01". Nothing timed is the caller's to say. */
struct text_share measured_duration(double ns, double error_ns, enum measured_unit unit);

/* Appends "43.1 µs ± 0.4", or "43.1 µs" with MEASURED_NO_ERROR, in the unit that suits the value. */
void measured_put_duration(struct text *t, double ns, double error_ns);

/* A share that comes from timed calls, which may be over 1 (several threads), in parts: "18.6 %" and "± 0.4". "cannot
 * know" without an error; an error of 0 is that of an exact one, and not shown; an error larger than the value, or a
 * value that would round to 0, gives the upper end, "under 0.1 %". */
struct text_share measured_share(double value, double error, bool has_error);

/* Appends it in one piece: "18.6 % ± 0.4", "— cannot know". */
void measured_put_share(struct text *t, double value, double error, bool has_error);

/* Appends what one call costs, to 0.1 ns: "0.4 ns", "1,396.2 ns", "under 0.1 ns". 0 was not measured: "unmeasured (40 ns
 * assumed)". */
void measured_put_cost(struct text *t, uint64_t measured_ps, uint64_t assumed_ps);

/* Appends a rate or the like with three digits: "516,000", "12.3", "0.07", "under 0.01". */
void measured_put_number(struct text *t, double value);

/* Appends a count that need not be exact to the reader: "39,950", "10.2 million", "1.25 billion". */
void measured_put_many(struct text *t, uint64_t count);

#endif
