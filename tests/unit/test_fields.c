/* test_fields.c - the tables say all there is in a row, once, and in the words of the store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/fields.h"
#include "core/fleet.h"
#include "core/recording.h"
#include "core/scoped.h"

static size_t width(enum field_type type)
{
	switch (type) {
	case FIELD_U32:
		return sizeof(uint32_t);
	case FIELD_BOOL:
		return sizeof(bool);
	case FIELD_STR:
		return sizeof(struct str);
	case FIELD_BATCHES:
		return sizeof(uint64_t[BATCH_COUNT]);
	case FIELD_STEPS:
		return sizeof(struct histogram);
	case FIELD_DIGEST:
		return sizeof(struct digest);
	case FIELD_BLOB:
		return sizeof(struct blob);
	case FIELD_COUNTER:
	case FIELD_U64:
	case FIELD_I64:
	case FIELD_F64:
		break;
	}
	return sizeof(uint64_t);
}

static size_t alignment(enum field_type type)
{
	size_t bytes = width(type);

	return bytes < sizeof(uint64_t) ? bytes : sizeof(uint64_t);
}

/* The field that begins at or after `at`, the nearest; NULL: none. */
static const struct field *next_field(const struct table *t, size_t at)
{
	const struct field *best = NULL;

	for (size_t i = 0; i < t->field_count; i++) {
		const struct field *f = &t->fields[i];

		if (f->offset >= at && (best == NULL || f->offset < best->offset))
			best = f;
	}
	return best;
}

static void every_member_of_a_row_is_a_column(void **state)
{
	(void)state;
	for (size_t i = 0; i < table_count; i++) {
		const struct table *t = tables[i];
		size_t end = 0, seen = 0;
		const struct field *f;

		while ((f = next_field(t, end)) != NULL) {
			size_t align = alignment(f->type);

			print_message("%s.%s\n", t->name, f->name);
			assert_int_equal(f->offset, (end + align - 1) / align * align);
			end = f->offset + width(f->type);
			seen++;
		}
		assert_int_equal(seen, t->field_count);
		assert_true(t->row_bytes >= end && t->row_bytes - end < sizeof(uint64_t));
	}
}

static void keys_come_first_and_only_the_label_has_none(void **state)
{
	static const size_t keys[] = { 0, 1, 1, 2, 2, 1, 1, 1, 2, 1, 2, 1, 1 };

	(void)state;
	assert_int_equal(table_count, ARRAY_LEN(keys));
	for (size_t i = 0; i < table_count; i++)
		for (size_t j = 0; j < tables[i]->field_count; j++)
			assert_int_equal(tables[i]->fields[j].is_key, j < keys[i]);
}

static void names_are_plain_and_used_once_in_a_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < table_count; i++) {
		const struct table *t = tables[i];

		for (size_t j = 0; j < t->field_count; j++) {
			const char *name = t->fields[j].name;

			assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789"),
					 strlen(name));
			for (size_t k = 0; k < j; k++)
				assert_string_not_equal(name, t->fields[k].name);
		}
	}
}

static void each_column_says_in_a_sentence_what_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < table_count; i++) {
		assert_true(strlen(tables[i]->doc) > 10);
		for (size_t j = 0; j < tables[i]->field_count; j++) {
			const char *doc = tables[i]->fields[j].doc;

			assert_true(strlen(doc) > 5);
			assert_true(doc[strlen(doc) - 1] != '.');
			assert_null(strchr(doc, '|'));
			assert_null(strchr(doc, '\n'));
		}
	}
}

static void a_column_has_the_type_of_its_member(void **state)
{
	static const struct {
		const struct table *table;
		const char *name;
		enum field_type type;
	} cases[] = {
		{ &table_recording, "command", FIELD_STR },
		{ &table_recording, "pid", FIELD_U32 },
		{ &table_recording, "is_finished", FIELD_BOOL },
		{ &table_recording, "exit_status", FIELD_I64 },
		{ &table_recording, "weight_ns", FIELD_U64 },
		{ &table_node, "parent", FIELD_U32 },
		{ &table_context, "batch_ns", FIELD_BATCHES },
		{ &table_window, "variance_1_ns", FIELD_F64 },
		{ &table_window, "histogram", FIELD_STEPS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct field *found = NULL;

		for (size_t j = 0; j < cases[i].table->field_count; j++)
			if (strcmp(cases[i].table->fields[j].name, cases[i].name) == 0)
				found = &cases[i].table->fields[j];
		print_message("%s\n", cases[i].name);
		assert_non_null(found);
		assert_int_equal(found->type, cases[i].type);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_member_of_a_row_is_a_column),
		cmocka_unit_test(keys_come_first_and_only_the_label_has_none),
		cmocka_unit_test(names_are_plain_and_used_once_in_a_table),
		cmocka_unit_test(each_column_says_in_a_sentence_what_it_is),
		cmocka_unit_test(a_column_has_the_type_of_its_member),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
