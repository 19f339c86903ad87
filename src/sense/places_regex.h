/* places_regex.h - one regular expression of a user's (POSIX, extended), run over many names: bounded in what it may repeat,
 * in memory and in time. One thread. */
#ifndef TARE_SENSE_PLACES_REGEX_H
#define TARE_SENSE_PLACES_REGEX_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/frame.h"

#define REGEX_MAX_BYTES	  256u
#define REGEX_MAX_REPEATS 1000u /* of all {n} together: they are written out when it is compiled */
#define REGEX_MAX_NS	  UINT64_C(3000000000) /* CPU time for all names */

struct regex {
	char text[REGEX_MAX_BYTES + 1];
	regex_t compiled;
	bool is_open;
	size_t bytes;		     /* looked at since it was compiled */
	uint64_t searches, spent_ns; /* CPU time, estimated */
	bool is_over;		     /* it took REGEX_MAX_NS: from now on it takes nothing */
};

/* Reads an expression. It may not look back (\1), which can take for ever. -EINVAL with where and why; -ENOMEM. Free it with
 * regex_close(). */
int regex_open(struct str text, struct regex *out, struct err *err);

/* Does it match somewhere in the name? False for a name longer than STR_MAX_BYTES. */
bool regex_takes(struct regex *r, struct str name);

/* Accepts the all-zero value, and may run twice. */
void regex_close(struct regex *r);

#endif
