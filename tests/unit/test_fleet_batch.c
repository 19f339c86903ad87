/* test_fleet_batch.c - rows on their way: owned copies, what no store can hold is refused, and packed bytes come back. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/crc.h"
#include "core/fleet_batch.h"
#include "core/recording.h"
#include "core/rng.h"
#include "core/scoped.h"
#include "fleet_rows.h"

static void the_crc_is_that_of_zlib(void **state)
{
	(void)state;
	assert_int_equal(crc32_of(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_of(crc32_of(0, "1234", 4), "56789", 5), 0xcbf43926);
	assert_int_equal(crc32_of(0, "", 0), 0);
}

/* Rows of all tables, both verbs, some more than once. */
static void fill(struct fleet_batch *b, struct rng *r, size_t rows)
{
	static struct made_row made;

	b->server = 7;
	b->cycle = 4711;
	for (size_t i = 0; i < rows; i++) {
		const struct table *t = fleet_tables[i % fleet_table_count].table;
		enum block_verb verb = rng_below(r, 5) == 0 ? BLOCK_DROP : BLOCK_PUT;

		assert_true(t->row_bytes <= sizeof(made.row));
		made_row_fill(&made, t, 7, r);
		assert_int_equal(fleet_batch_add(b, t, verb, made.row), 0);
	}
}

static void same_batches(const struct fleet_batch *a, const struct fleet_batch *b)
{
	size_t column;

	assert_int_equal(a->server, b->server);
	assert_int_equal(a->cycle, b->cycle);
	assert_int_equal(a->cut_strs, b->cut_strs);
	assert_int_equal(a->block_count, b->block_count);
	for (size_t i = 0; i < a->block_count; i++) {
		const struct fleet_block *x = &a->blocks[i], *y = &b->blocks[i];
		size_t columns =
			x->verb == BLOCK_DROP ? fleet_key_count(x->table) : x->table->field_count;

		assert_ptr_equal(x->table, y->table);
		assert_int_equal(x->verb, y->verb);
		assert_int_equal(x->count, y->count);
		for (size_t row = 0; row < x->count; row++)
			if (!made_rows_equal(x->table, columns, fleet_block_row(x, row),
					     fleet_block_row(y, row), &column))
				fail_msg("%s.%s differs", x->table->name,
					 x->table->fields[column].name);
	}
}

static void a_batch_owns_copies_of_what_was_added(void **state)
{
	struct fleet_batch b = FLEET_BATCH_EMPTY;
	struct rng r;
	static struct made_row rows[40];
	const struct fleet_block *block;
	size_t column;

	(void)state;
	rng_seed(&r, 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct made_row copy;

		made_row_fill(&rows[i], &table_server, 7, &r);
		copy = rows[i];
		assert_int_equal(fleet_batch_add(&b, &table_server, BLOCK_PUT, copy.row), 0);
		memset(&copy, 0xee, sizeof(copy));
	}
	block = fleet_batch_block(&b, &table_server, BLOCK_PUT);
	assert_non_null(block);
	assert_int_equal(block->count, ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_true(made_rows_equal(&table_server, table_server.field_count, rows[i].row,
					    fleet_block_row(block, i), &column));
	assert_null(fleet_batch_block(&b, &table_server, BLOCK_DROP));
	assert_null(fleet_batch_block(&b, &table_run, BLOCK_PUT));
	assert_true(b.bytes >= ARRAY_LEN(rows) * sizeof(struct server_row));
	fleet_batch_free(&b);
	fleet_batch_free(&b);
	assert_int_equal(b.block_count, 0);
}

static void a_long_string_is_cut_at_the_end_of_a_character_and_counted(void **state)
{
	static char text[3 * STR_MAX_BYTES];
	struct fleet_batch b = FLEET_BATCH_EMPTY;
	struct setting_row row = { .server = 1, .name = STR_LITERAL("search_path") };
	const struct setting_row *kept;

	(void)state;
	/* 4,095 bytes, then characters of three bytes: the first of them does not fit whole. */
	memset(text, 'x', STR_MAX_BYTES - 1);
	for (size_t i = STR_MAX_BYTES - 1; i + 3 <= sizeof(text); i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	row.value = (struct str){ text, sizeof(text) };
	assert_int_equal(fleet_batch_add(&b, &table_setting, BLOCK_PUT, &row), 0);
	row.value.len = STR_MAX_BYTES;
	memset(text, 'x', sizeof(text));
	assert_int_equal(fleet_batch_add(&b, &table_setting, BLOCK_PUT, &row), 0);
	assert_int_equal(b.cut_strs, 1);
	kept = b.blocks[0].rows;
	assert_int_equal(kept[0].value.len, STR_MAX_BYTES - 1);
	assert_int_equal(kept[1].value.len, STR_MAX_BYTES);
	/* No text at all: cut where it must be. */
	memset(text, 0x80, sizeof(text));
	row.value.len = sizeof(text);
	assert_int_equal(fleet_batch_add(&b, &table_setting, BLOCK_PUT, &row), 0);
	kept = b.blocks[0].rows;
	assert_int_equal(kept[2].value.len, STR_MAX_BYTES);
	assert_int_equal(b.cut_strs, 2);
	fleet_batch_free(&b);
}

static void a_string_loses_its_nuls_and_that_is_counted(void **state)
{
	struct fleet_batch b = FLEET_BATCH_EMPTY;
	struct setting_row row = { .server = 1,
				   .name = STR_LITERAL("a\0b\0"),
				   .value = STR_LITERAL("\0\0") };
	const struct setting_row *kept;

	(void)state;
	assert_int_equal(fleet_batch_add(&b, &table_setting, BLOCK_PUT, &row), 0);
	kept = b.blocks[0].rows;
	assert_int_equal(kept->name.len, 2);
	assert_memory_equal(kept->name.bytes, "ab", 2);
	assert_int_equal(kept->value.len, 0);
	assert_int_equal(b.cut_strs, 2);
	fleet_batch_free(&b);
}

static void what_no_store_can_hold_is_refused_and_the_batch_is_as_it_was(void **state)
{
	struct fleet_batch b = FLEET_BATCH_EMPTY;
	struct statement_row row = { .server = 1 };
	struct plan_row plan = { .server = 1, .total_cost = NAN, .plan.bytes[0] = 1 };
	struct payload_row payload = { .server = 1 };

	(void)state;
	row.span_ns = UINT64_C(1) << 63;
	assert_int_equal(fleet_batch_add(&b, &table_statement, BLOCK_PUT, &row), -ERANGE);
	row.span_ns = 0;
	row.counters[STATEMENT_CALLS] = COUNTER(UINT64_C(1) << 63);
	assert_int_equal(fleet_batch_add(&b, &table_statement, BLOCK_PUT, &row), -ERANGE);
	row.counters[STATEMENT_CALLS] = NOT_MEASURED;
	row.key.dbid = NO_ID;
	assert_int_equal(fleet_batch_add(&b, &table_statement, BLOCK_PUT, &row), -ERANGE);
	assert_int_equal(fleet_batch_add(&b, &table_plan, BLOCK_PUT, &plan), -ERANGE);
	assert_int_equal(fleet_batch_add(&b, &table_payload, BLOCK_PUT, &payload), -ERANGE);
	assert_int_equal(b.block_count, 0);
	assert_int_equal(b.bytes, 0);
	row.key.dbid = 5;
	assert_int_equal(fleet_batch_add(&b, &table_statement, BLOCK_PUT, &row), 0);
	/* Of a row that is to go only its key matters. */
	plan.total_cost = NAN;
	plan.search_path = (struct str){ (const char *)1, 77 };
	assert_int_equal(fleet_batch_add(&b, &table_plan, BLOCK_DROP, &plan), 0);
	fleet_batch_free(&b);
}

static void packed_bytes_come_back_as_the_same_batch(void **state)
{
	struct rng r;

	(void)state;
	rng_seed(&r, 42);
	for (size_t rows = 0; rows < 400; rows = rows * 3 + 1) {
		struct fleet_batch b = FLEET_BATCH_EMPTY, back = FLEET_BATCH_EMPTY;
		struct err err = ERR_EMPTY;
		void *bytes;
		size_t len;

		fill(&b, &r, rows);
		assert_int_equal(fleet_batch_pack(&b, &bytes, &len), 0);
		if (fleet_batch_unpack(bytes, len, &back, &err) != 0)
			fail_msg("%s", err.msg);
		same_batches(&b, &back);
		free(bytes);
		fleet_batch_free(&b);
		fleet_batch_free(&back);
	}
}

static void any_cut_and_any_flipped_bit_is_seen(void **state)
{
	struct fleet_batch b = FLEET_BATCH_EMPTY, back = FLEET_BATCH_EMPTY;
	struct rng r;
	struct err err = ERR_EMPTY;
	void *bytes;
	size_t len;

	(void)state;
	rng_seed(&r, 43);
	fill(&b, &r, fleet_table_count);
	assert_int_equal(fleet_batch_pack(&b, &bytes, &len), 0);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(fleet_batch_unpack(bytes, cut, &back, &err), -EBADMSG);
	for (size_t i = 0; i < len; i++) {
		((uint8_t *)bytes)[i] ^= (uint8_t)(1u << i % 8);
		assert_int_equal(fleet_batch_unpack(bytes, len, &back, &err), -EBADMSG);
		((uint8_t *)bytes)[i] ^= (uint8_t)(1u << i % 8);
	}
	assert_int_equal(back.block_count, 0);
	assert_int_equal(fleet_batch_unpack(bytes, len, &back, &err), 0);
	fleet_batch_free(&back);
	fleet_batch_free(&b);
	free(bytes);
}

/* Bytes with a right header around a body of any kind. */
static int unpack_body(const uint8_t *body, size_t len, struct err *err)
{
	SCOPED(fleet_batch_free) struct fleet_batch back = FLEET_BATCH_EMPTY;
	uint8_t bytes[1024] = "tarebat1";
	uint32_t crc = crc32_of(0, body, len);

	assert_true(len + 16 <= sizeof(bytes));
	for (size_t i = 0; i < 4; i++) {
		bytes[8 + i] = (uint8_t)(len >> 8 * i);
		bytes[12 + i] = (uint8_t)(crc >> 8 * i);
	}
	memcpy(bytes + 16, body, len);
	return fleet_batch_unpack(bytes, len + 16, &back, err);
}

static void a_body_that_lies_is_refused_with_where(void **state)
{
	static const struct {
		const char *name, *says;
		size_t len;
		const char *body;
	} cases[] = {
		{ "a table that is none", "no table of a fleet", 9, "\1\1\0\1\4mode\0" },
		{ "a verb that is none", "neither put nor drop", 13, "\1\1\0\1\7capture\2" },
		{ "fewer columns than its key", "has other columns", 14, "\1\1\0\1\7capture\0\1" },
		{ "more columns than there are", "has other columns", 14, "\1\1\0\1\7capture\0\6" },
		{ "a column of another kind", "column reading: of another kind", 16,
		  "\1\1\0\1\7capture\0\2\0\1" },
		{ "more rows than bytes", "more rows than there are bytes", 17,
		  "\1\1\0\1\7capture\1\2\0\0\177" },
		{ "a key that is NULL", "value out of range", 23,
		  "\1\1\0\1\7capture\1\2\0\0\1\5\xff\xff\xff\xff\x0f" },
		{ "a number that is not the shortest", "column server, row 0", 19,
		  "\1\1\0\1\7capture\1\2\0\0\1\x80\0" },
		{ "something behind the end", "something follows", 5, "\1\1\0\0\0" },
		{ "more blocks than there can be", "no head of a batch", 4, "\1\1\0\177" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = ERR_EMPTY;

		print_message("%s\n", cases[i].name);
		assert_int_equal(unpack_body((const uint8_t *)cases[i].body, cases[i].len, &err),
				 -EBADMSG);
		if (strstr(err.msg, cases[i].says) == NULL)
			fail_msg("'%s' does not say '%s'", err.msg, cases[i].says);
	}
}

static void columns_that_a_table_gained_since_are_not_measured(void **state)
{
	/* A run row that was packed with its key and one column: the rest is 0. */
	static const char run[] = "\1\2\0\1\3run\0\4\0\1\0\2\1\1\3\2\3";
	/* A statement with key, life and span only. */
	static const char statement[] = "\1\2\0\1\11statement\0\10\0\2\0\0\2\3\0\1\1"
					"\1\2\5\6\7\1\0\11";
	SCOPED(fleet_batch_free) struct fleet_batch back = FLEET_BATCH_EMPTY;
	uint8_t bytes[256] = "tarebat1";
	struct err err = ERR_EMPTY;
	uint32_t crc = crc32_of(0, statement, sizeof(statement) - 1);
	const struct statement_row *row;

	(void)state;
	if (unpack_body((const uint8_t *)run, sizeof(run) - 1, &err) != 0)
		fail_msg("%s", err.msg);
	bytes[8] = sizeof(statement) - 1;
	for (size_t i = 0; i < 4; i++)
		bytes[12 + i] = (uint8_t)(crc >> 8 * i);
	memcpy(bytes + 16, statement, sizeof(statement) - 1);
	if (fleet_batch_unpack(bytes, 16 + sizeof(statement) - 1, &back, &err) != 0)
		fail_msg("%s", err.msg);
	row = back.blocks[0].rows;
	assert_int_equal(row->at_wall_ns, 1);
	assert_int_equal(row->span_ns, 9);
	assert_int_equal(row->longest_ns, 0);
	for (size_t i = 0; i < STATEMENT_COUNTERS; i++)
		assert_false(IS_MEASURED(row->counters[i]));
}

static void a_table_is_found_by_its_name_only(void **state)
{
	(void)state;
	assert_ptr_equal(fleet_table_find("wait_hour", 9)->table, &table_wait_hour);
	assert_null(fleet_table_find("wait_hour", 8));
	assert_null(fleet_table_find("recording", 9));
	assert_int_equal(fleet_key_count(&table_statement), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_crc_is_that_of_zlib),
		cmocka_unit_test(a_batch_owns_copies_of_what_was_added),
		cmocka_unit_test(a_long_string_is_cut_at_the_end_of_a_character_and_counted),
		cmocka_unit_test(a_string_loses_its_nuls_and_that_is_counted),
		cmocka_unit_test(what_no_store_can_hold_is_refused_and_the_batch_is_as_it_was),
		cmocka_unit_test(packed_bytes_come_back_as_the_same_batch),
		cmocka_unit_test(any_cut_and_any_flipped_bit_is_seen),
		cmocka_unit_test(a_body_that_lies_is_refused_with_where),
		cmocka_unit_test(columns_that_a_table_gained_since_are_not_measured),
		cmocka_unit_test(a_table_is_found_by_its_name_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
