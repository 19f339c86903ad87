/* plan_string.h - strings and numbers of foreign JSON, one at a time. Pure. */
#ifndef TARE_FLEET_PLAN_STRING_H
#define TARE_FLEET_PLAN_STRING_H

#include <stddef.h>

#include "core/text.h"

/* Where a reader stands in foreign JSON. */
struct plan_bytes {
	const char *json; /* borrowed */
	size_t len, at;
};

/* The byte it stands at; NUL at the end. */
char plan_bytes_peek(const struct plan_bytes *b);

/* Moves over blanks. */
void plan_bytes_skip(struct plan_bytes *b);

/* Reads a string from its opening quote to behind its closing one into `out` (cleared first): unescaped, NULs left out, what is no UTF-8
 * as U+FFFD. -EBADMSG. */
int plan_bytes_string(struct plan_bytes *b, struct text *out);

/* Moves over a number. Returns its length, at most 64; 0: none stands here. */
size_t plan_bytes_number(struct plan_bytes *b);

/* Moves over "true", "false" or "null" and returns its first letter; 0: none stands here. */
char plan_bytes_word(struct plan_bytes *b);

/* Appends a JSON string with its quotes. `bytes` is UTF-8. */
void plan_put_string(struct text *out, const char *bytes, size_t len);

#endif
