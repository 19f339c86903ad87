/* test_store_postgres.c - the PostgreSQL engine does what every engine must do, and gives the same rows as the SQLite engine. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/store_postgres.h"
#include "fleet_rows.h"
#include "fleet_store_suite.h"
#include "store/fleet_postgres.h"
#include "store/fleet_rules.h"

static struct stage stage = STAGE_EMPTY;

static const char *fresh(void)
{
	static char url[256];
	static int number;
	char sql[64], name[32];

	snprintf(name, sizeof(name), "suite%d", ++number);
	snprintf(sql, sizeof(sql), "CREATE DATABASE %s", name);
	stage_run(&stage, NULL, sql);
	pg_place_url(&stage, NULL, name, url, sizeof(url));
	return url;
}

static void what_is_put_comes_back_and_a_batch_is_written_once(void **state)
{
	struct fleet_batch batch;
	struct pg_place place;

	(void)state;
	pg_place_open(&place, &stage, "comes_back");
	store_batch(&batch, 7, 1000, DAWN_NS, 40);
	assert_false(store_put(&place, &batch));
	assert_true(store_put(&place, &batch));
	assert_int_equal(store_count(&place, &table_statement), 40);
	assert_int_equal(store_count(&place, &table_run), 2);
	assert_int_equal(store_count(&place, &table_baseline), 40);
	fleet_batch_free(&batch);
	pg_place_close(&place);
}

/* -- names of any bytes -- */

static int take_setting(void *owner, const void *row)
{
	const struct setting_row *s = row;
	struct setting_row **next = owner;

	assert_int_equal(s->value.len, (*next)->value.len);
	assert_memory_equal(s->value.bytes, (*next)->value.bytes, s->value.len);
	assert_int_equal(s->name.len, (*next)->name.len);
	assert_memory_equal(s->name.bytes, (*next)->name.bytes, s->name.len);
	++*next;
	return 0;
}

static void names_of_any_bytes_come_back_as_they_were(void **state)
{
	char long_value[4096];
	/* In the order in which they are kept: what is not text stands as "\x...". */
	struct setting_row rows[] = {
		{ .name = STR_LITERAL(""), .value = { long_value, sizeof(long_value) } },
		{ .name = STR_LITERAL("\\"), .value = STR_LITERAL("\\\\x") },
		{ .name = STR_LITERAL("\\x41"), .value = STR_LITERAL("\\x") },
		{ .name = STR_LITERAL("\xff\xfe"), .value = STR_LITERAL("\xc0\x80") },
		{ .name = STR_LITERAL("a'b\"c;--\n$1"), .value = STR_LITERAL("\xed\xa0\x80") },
		{ .name = STR_LITERAL("na\xc3\xafve"), .value = STR_LITERAL("\xf0\x9f\x90\x98") },
	}, *next = rows;
	struct fleet_batch batch = { .server = 1, .cycle = 1 };
	struct err err = ERR_EMPTY;
	struct pg_place place;

	(void)state;
	memset(long_value, 0xe9, sizeof(long_value));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		rows[i].server = 1;
		assert_int_equal(fleet_batch_add(&batch, &table_setting, BLOCK_PUT, &rows[i]), 0);
	}
	pg_place_open(&place, &stage, "any_bytes");
	store_put(&place, &batch);
	assert_int_equal(place.ops->scan(place.db, &table_setting, &FLEET_RANGE_ALL, take_setting,
					 &next, &err),
			 0);
	assert_int_equal(next - rows, ARRAY_LEN(rows));
	assert_int_equal(stage_number(&stage, "any_bytes",
				      "SELECT count(*) FROM tare.setting WHERE name = "
				      "'\\xfffe' OR value = '\xf0\x9f\x90\x98'"),
			 2);
	fleet_batch_free(&batch);
	pg_place_close(&place);
}

/* -- both engines -- */

/* Few values for keys, so that rows meet and sums add up; one name for what has one. */
static void squeeze(struct made_row *m, const struct table *t, struct rng *r)
{
	static const struct str names[] = { STR_LITERAL("idle"), STR_LITERAL("b\xff"),
					    STR_LITERAL("\\x41") };

	for (size_t i = 1; i < t->field_count; i++) {
		const struct field *f = &t->fields[i];
		void *at = m->row + f->offset;

		if (strcmp(f->name, "at_wall_ns") == 0)
			*(int64_t *)at = DAWN_NS + (int64_t)rng_below(r, 2 * 86400) * 1000000000;
		else if (f->type == FIELD_STR && !f->is_key && strcmp(f->name, "reason") != 0)
			*(struct str *)at = names[i % ARRAY_LEN(names)];
		else if (f->type == FIELD_U32 && strcmp(f->name, "reading") == 0)
			*(uint32_t *)at = (uint32_t)rng_below(r, READING_COUNT);
		else if (f->type == FIELD_U32)
			*(uint32_t *)at = (uint32_t)rng_below(r, 1000);
		else if (!f->is_key)
			continue;
		else if (f->type == FIELD_STR)
			*(struct str *)at = names[rng_below(r, ARRAY_LEN(names))];
		else if (f->type == FIELD_I64 || f->type == FIELD_U64)
			*(int64_t *)at = (int64_t)rng_below(r, 3);
		if (f->is_key && f->type == FIELD_U32)
			*(uint32_t *)at %= 3;
	}
}

static bool is_sum(const struct table *t)
{
	for (size_t i = 0; i < fleet_table_count; i++)
		if (fleet_tables[i].hourly == t || fleet_tables[i].daily == t)
			return true;
	return false;
}

static void at_its_cycle(struct run_row *run, uint64_t cycle)
{
	run->cycle = cycle;
	run->at_wall_ns = DAWN_NS + (int64_t)cycle * FLEET_HOUR_NS;
}

static void make_batch(struct fleet_batch *out, uint64_t n, struct rng *r)
{
	struct made_row *m = calloc(1, sizeof(*m));

	*out = (struct fleet_batch){ .server = 1 + (uint32_t)(n % 5), .cycle = n / 6 };
	for (size_t i = 0; i < fleet_table_count; i++) {
		const struct table *t = fleet_tables[i].table;

		for (uint64_t k = rng_below(r, 5); !is_sum(t) && k > 0; k--) {
			bool is_run = t == &table_run;

			made_row_fill(m, t, out->server, r);
			squeeze(m, t, r);
			if (is_run)
				at_its_cycle((struct run_row *)(void *)m->row, out->cycle);
			assert_int_equal(
				fleet_batch_add(out, t,
						rng_below(r, 8) == 0 && !is_run &&
								fleet_tables[i].keep == KEEP_STATE
							? BLOCK_DROP
							: BLOCK_PUT,
						m->row),
				0);
		}
	}
	free(m);
}

/* All rows of a table as bytes that can be compared: each column with its length. */
struct copies {
	const struct table *table;
	struct copy {
		char *bytes;
		size_t len;
	} * rows;
	size_t count;
};

static size_t column_bytes(const struct field *f, const void *at, const void **out)
{
	static const uint8_t sizes[] = {
		[FIELD_U32] = 4, [FIELD_U64] = 8,     [FIELD_I64] = 8,	   [FIELD_BOOL] = 1,
		[FIELD_F64] = 8, [FIELD_COUNTER] = 8, [FIELD_DIGEST] = 32, [FIELD_BLOB] = 0
	};

	*out = at;
	if (f->type == FIELD_STR) {
		*out = ((const struct str *)at)->bytes;
		return ((const struct str *)at)->len;
	}
	if (f->type == FIELD_BLOB) {
		*out = ((const struct blob *)at)->bytes;
		return ((const struct blob *)at)->len;
	}
	return sizes[f->type];
}

static int copy_row(void *owner, const void *row)
{
	struct copies *c = owner;
	char *bytes = NULL;
	size_t used = 0;

	for (size_t i = 0; i < c->table->field_count; i++) {
		const struct field *f = &c->table->fields[i];
		const void *from;
		size_t len = column_bytes(f, (const char *)row + f->offset, &from);

		bytes = realloc(bytes, used + sizeof(len) + len);
		assert_non_null(bytes);
		memcpy(bytes + used, &len, sizeof(len));
		if (len > 0)
			memcpy(bytes + used + sizeof(len), from, len);
		used += sizeof(len) + len;
	}
	c->rows = realloc(c->rows, (c->count + 1) * sizeof(*c->rows));
	assert_non_null(c->rows);
	c->rows[c->count++] = (struct copy){ bytes, used };
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;
	int order = memcmp(x->bytes, y->bytes, x->len < y->len ? x->len : y->len);

	return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

static struct copies copies_of(const struct fleet_store_ops *ops, void *db, const struct table *t)
{
	struct copies c = { .table = t };
	struct err err = ERR_EMPTY;

	if (ops->scan(db, t, &FLEET_RANGE_ALL, copy_row, &c, &err) != 0)
		fail_msg("%s: %s: %s", ops->scheme, t->name, err.msg);
	if (c.count > 0)
		qsort(c.rows, c.count, sizeof(*c.rows), by_bytes);
	return c;
}

static void copies_free(struct copies *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->rows[i].bytes);
	free(c->rows);
}

/* Every table of both has the same rows. Returns how many there are. */
static size_t compare(struct pg_place *pg, void *sqlite, const char *when)
{
	size_t rows = 0;

	for (size_t t = 0; t < fleet_table_count; t++) {
		struct copies a = copies_of(pg->ops, pg->db, fleet_tables[t].table);
		struct copies b = copies_of(&fleet_store_sqlite, sqlite, fleet_tables[t].table);

		if (a.count != b.count)
			fail_msg("%s, table %s: %zu rows in PostgreSQL, %zu in SQLite", when,
				 a.table->name, a.count, b.count);
		for (size_t i = 0; i < a.count; i++)
			if (by_bytes(&a.rows[i], &b.rows[i]) != 0)
				fail_msg("%s, table %s: row %zu is another", when, a.table->name,
					 i);
		rows += a.count;
		copies_free(&a);
		copies_free(&b);
	}
	return rows;
}

static void tidy(const struct fleet_store_ops *ops, void *db, int64_t now_ns)
{
	struct fleet_limits limits = FLEET_LIMITS_DEFAULT;
	struct fleet_tidied tidied = { .is_more = true };
	struct err err = ERR_EMPTY;

	limits.raw_ns = 86400 * NS_PER_S;
	while (tidied.is_more)
		if (ops->tidy(db, (struct wall){ now_ns }, &limits, NS_PER_S, &tidied, &err) != 0)
			fail_msg("%s: %s", ops->scheme, err.msg);
}

static void both_engines_give_the_same_rows_and_the_same_sums(void **state)
{
	char dir[] = "/tmp/tare-both-XXXXXX", path[64];
	struct err err = ERR_EMPTY;
	struct pg_place pg;
	void *sqlite = NULL;
	struct rng r;

	(void)state;
	rng_seed(&r, 20261130);
	pg_place_open(&pg, &stage, "both");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fleet.tare", dir);
	if (fleet_store_sqlite.open(path, FLEET_WRITE, &sqlite, &err) != 0)
		fail_msg("%s", err.msg);
	for (uint64_t n = 0; n < 200; n++) {
		struct fleet_batch batch;
		const struct fleet_batch *batches[] = { &batch };
		bool was_there;

		make_batch(&batch, n, &r);
		if (fleet_store_sqlite.put(sqlite, batches, 1, &was_there, &err) != 0)
			fail_msg("%s", err.msg);
		assert_int_equal(store_put(&pg, &batch), was_there);
		fleet_batch_free(&batch);
	}
	assert_true(compare(&pg, sqlite, "as put") > 3000);
	tidy(pg.ops, pg.db, DAWN_NS + 2 * FLEET_DAY_NS + 300 * (int64_t)NS_PER_S);
	tidy(&fleet_store_sqlite, sqlite, DAWN_NS + 2 * FLEET_DAY_NS + 300 * (int64_t)NS_PER_S);
	assert_true(compare(&pg, sqlite, "tidied") > 3000);
	fleet_store_sqlite.close(sqlite);
	pg_place_close(&pg);
	unlink(path);
	rmdir(dir);
}

/* -- the price of a put -- */

static void a_put_is_as_many_statements_however_many_rows_it_has(void **state)
{
	const uint32_t counts[] = { 5, 50, 2000 };
	uint64_t statements[ARRAY_LEN(counts)];
	struct pg_place place;

	(void)state;
	pg_place_open(&place, &stage, "statements");
	for (size_t i = 0; i <= ARRAY_LEN(counts); i++) { /* the first one makes partitions */
		const struct pg_store *p = place.db;
		uint64_t before = p->wire.statements;
		struct fleet_batch batch;

		store_batch(&batch, 1, 1 + i, DAWN_NS + (int64_t)i, counts[i > 0 ? i - 1 : 0]);
		assert_false(store_put(&place, &batch));
		if (i > 0)
			statements[i - 1] = p->wire.statements - before;
		fleet_batch_free(&batch);
	}
	assert_int_equal(statements[1], statements[0]);
	assert_int_equal(statements[2], statements[0]);
	/* BEGIN, locks, check, horizons; a COPY each for runs, statements, waits; an INSERT each for lives, baselines,
	 * queries, payloads, marks; COMMIT. */
	assert_int_equal(statements[0], 4 + 3 + 5 + 1);
	pg_place_close(&place);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define VISITS 120
#define ROWS   150

/* Statement rows alone, by a COPY and a transaction each visit, into a table with the same key. */
static double copy_plainly(struct pg_place *place, struct fleet_batch *batches)
{
	struct pg_wire *w = &((struct pg_store *)place->db)->wire;
	struct err err = ERR_EMPTY;
	double began = seconds();

	for (size_t i = 0; i < VISITS; i++) {
		const struct fleet_block *block =
			fleet_batch_block(&batches[i], &table_statement, BLOCK_PUT);
		struct pg_bytes bytes = { NULL, 0, 0, false };

		pg_copy_begin(&bytes);
		assert_int_equal(
			pg_rows_copy(&bytes, &table_statement, block->rows, block->count, &err), 0);
		pg_copy_end(&bytes);
		pg_deadline(w, 60000);
		if (pg_copy(w, "COPY tare.plain FROM STDIN (FORMAT binary)", bytes.bytes,
			    bytes.used, &err) != 0)
			fail_msg("%s", err.msg);
		pg_bytes_free(&bytes);
	}
	return seconds() - began;
}

static void a_visit_is_put_in_a_few_times_the_time_of_a_bare_copy(void **state)
{
	struct fleet_batch *batches = calloc(VISITS, sizeof(*batches));
	double put_s, copy_s;
	struct pg_place place;

	(void)state;
	pg_place_open(&place, &stage, "speed");
	stage_run(&stage, "speed", "CREATE TABLE tare.plain (LIKE tare.statement INCLUDING ALL)");
	for (uint32_t i = 0; i < VISITS; i++)
		store_batch(&batches[i], 1 + i % 40, i / 40, DAWN_NS + i / 40 * 60000000000, ROWS);
	put_s = seconds();
	for (size_t i = 0; i < VISITS; i++)
		assert_false(store_put(&place, &batches[i]));
	put_s = seconds() - put_s;
	copy_s = copy_plainly(&place, batches);
	print_message(
		"visits of %d statements with their baselines and queries: %.0f statement rows a "
		"second, %.1f times a bare COPY of the statement rows\n",
		ROWS, VISITS * ROWS / put_s, put_s / copy_s);
#if !defined(__SANITIZE_ADDRESS__)
	assert_true(put_s < 25 * copy_s);
#endif
	for (size_t i = 0; i < VISITS; i++)
		fleet_batch_free(&batches[i]);
	free(batches);
	pg_place_close(&place);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_comes_back_and_a_batch_is_written_once),
		cmocka_unit_test(names_of_any_bytes_come_back_as_they_were),
		cmocka_unit_test(both_engines_give_the_same_rows_and_the_same_sums),
		cmocka_unit_test(a_put_is_as_many_statements_however_many_rows_it_has),
		cmocka_unit_test(a_visit_is_put_in_a_few_times_the_time_of_a_bare_copy),
	};
	const struct fleet_suite all = { &fleet_store_postgres, fresh, false };
	int failed;

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	stage_open(&stage, NULL);
	failed = cmocka_run_group_tests(tests, NULL, NULL) + fleet_store_suite(&all);
	stage_close(&stage);
	return failed != 0;
}
