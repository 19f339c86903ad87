/* rows.h - a row struct into an SQLite statement and back, by the descriptors of core/fields.h: a column is
 * written in one place only. */
#ifndef TARE_STORE_ROWS_H
#define TARE_STORE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "core/err.h"
#include "core/fields.h"

/* All strings of a recording on the way in. While it grows, a struct str holds an offset instead of an address;
 * rows_settle() turns them. The empty value is all zero but for `most`. */
struct rows_text {
	char *bytes; /* owned */
	size_t used, room;
	size_t steps; /* bytes of histograms so far */
	size_t most;  /* neither is ever more than this: what a file can hold */
	unsigned
		version; /* of the recording that is read; columns that came later are left as they are */
};

/* Since this version of a recording its blobs end with a CRC-32, the lowest byte first; an empty one has none. */
#define ROWS_CRC_SINCE 3u
#define ROWS_CRC_BYTES 4u

#define ROWS_NEWEST 9999u

/* Writes "name, name, ..." of all columns of `t` that version `version` of a recording has. -ENAMETOOLONG. */
int rows_names(const struct table *t, unsigned version, char *out, size_t size);

/* Binds all columns of `row` in order from parameter 1. Strings are borrowed until the statement is reset. -ERANGE: a
 * number of 2^63 or more, or a string over STR_MAX_BYTES; -ENOMEM. The message names table and column. */
int rows_bind(sqlite3_stmt *stmt, const struct table *t, const void *row, struct err *err);

/* Reads the current row of a statement that selects all columns of text->version in order into a zeroed row, which then owns its
 * histograms, after a failure too. Foreign values are checked: -EBADMSG with table and column; -ENOMEM. */
int rows_read(sqlite3_stmt *stmt, const struct table *t, void *out_row, struct rows_text *text,
	      struct err *err);

/* Frees what a row owns. */
void rows_drop(const struct table *t, void *row);

/* Turns offsets into addresses, for `count` rows, once `text` grows no more. */
void rows_settle(const struct table *t, void *rows, size_t count, const struct rows_text *text);

#endif
