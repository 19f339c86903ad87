/* field_columns.h - how a table of columns is written: the type of a column is taken from its member, so that the two
 * cannot part. Internal to core. */
#ifndef TARE_CORE_FIELD_COLUMNS_H
#define TARE_CORE_FIELD_COLUMNS_H

#include "core/fields.h"
#include "core/fleet.h"
#include "core/recording.h"
#include "core/scoped.h"

/* clang-format off */
#define TYPE_OF(row, member)                   \
	_Generic(((struct row *)NULL)->member, \
		uint32_t: FIELD_U32,           \
		uint64_t: FIELD_U64,           \
		int64_t: FIELD_I64,            \
		bool: FIELD_BOOL,              \
		struct str: FIELD_STR,         \
		double: FIELD_F64,             \
		struct histogram: FIELD_STEPS, \
		struct counter: FIELD_COUNTER, \
		struct digest: FIELD_DIGEST,   \
		struct blob: FIELD_BLOB,       \
		uint64_t *: FIELD_BATCHES)
/* clang-format on */

/* A column whose name is not its member's. */
#define COLUMN_AS(row, name, member, key, doc)                                     \
	{                                                                          \
		name, TYPE_OF(row, member), offsetof(struct row, member), key, doc \
	}
#define COLUMN(row, member, key, doc) COLUMN_AS(row, #member, member, key, doc)
#define FIELD(row, member, doc)	      COLUMN(row, member, 0, doc)
#define FIELD_SINCE(row, member, since, doc)                                               \
	{                                                                                  \
#member, TYPE_OF(row, member), offsetof(struct row, member), 0, doc, since \
	}
#define KEY(row, member, doc) COLUMN(row, member, 1, doc)

#endif
