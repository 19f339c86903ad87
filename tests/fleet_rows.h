/* fleet_rows.h - rows of any fleet table made up by their descriptors, and compared by them. */
#ifndef TARE_TESTS_FLEET_ROWS_H
#define TARE_TESTS_FLEET_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/fields.h"
#include "core/rng.h"

#define FLEET_ROW_BYTES	     512u /* no row struct is larger */
#define FLEET_ROW_TEXT_BYTES 16384u

/* A made-up row and the bytes of its strings. */
struct made_row {
	_Alignas(16) char row[FLEET_ROW_BYTES];
	char text[FLEET_ROW_TEXT_BYTES];
	size_t text_used;
};

/* Fills a row of `t` with values of every kind: 0 and the largest, NULL where it may be, strings of any bytes but NUL. The first
 * column, the server, is `server`. */
void made_row_fill(struct made_row *out, const struct table *t, uint32_t server, struct rng *r);

/* Are the first `columns` columns of two rows the same? *out_column: the first that is not. */
bool made_rows_equal(const struct table *t, size_t columns, const void *a, const void *b,
		     size_t *out_column);

#endif
