/* test_plan_cases.c - plans that others met in the field, from a folder of cases beside the project: each is read, hashed and redacted, or refused. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "core/scoped.h"
#include "fleet/plan_json.h"
#include "fleet/text_sql.h"

static const char *folder;

static size_t read_file(const char *name, char **out)
{
	char path[4096];
	FILE *file;
	long size;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	rewind(file);
	*out = malloc((size_t)size + 1);
	assert_non_null(*out);
	assert_int_equal(fread(*out, 1, (size_t)size, file), size);
	fclose(file);
	return (size_t)size;
}

/* No string of the redacted plan holds a constant but the one that stands for all. */
static void check_strings(const json_t *value)
{
	const char *key;
	const json_t *member;
	size_t i;

	if (json_is_object(value))
		json_object_foreach((json_t *)(uintptr_t)value, key, member) check_strings(member);
	json_array_foreach(value, i, member) check_strings(member);
	if (!json_is_string(value))
		return;
	for (struct sql_scan scan = sql_begin(json_string_value(value), json_string_length(value));
	     ;) {
		struct sql_token token = sql_next(&scan);

		if (token.kind == SQL_END)
			return;
		if (token.kind == SQL_STRING)
			assert_true(token.len == 3 && memcmp(token.bytes, "'?'", 3) == 0);
	}
}

static void check_plan(const char *json, size_t len)
{
	SCOPED(plan_read_free) struct plan_read plan = PLAN_READ_EMPTY, again = PLAN_READ_EMPTY;
	struct err err = ERR_EMPTY;
	json_error_t error;
	json_t *tree;

	if (plan_read(json, len, &plan, &err) != 0)
		fail_msg("%s", err.msg);
	assert_true(plan.total_cost > 0);
	tree = json_loadb(plan.redacted.bytes, plan.redacted.len, 0, &error);
	assert_non_null(tree);
	check_strings(tree);
	json_decref(tree);
	assert_int_equal(plan_read(plan.redacted.bytes, plan.redacted.len, &again, &err), 0);
	assert_memory_equal(&plan.shape, &again.shape, sizeof(plan.shape));
	assert_in_range(plan.redacted.len, 2, len);
}

static void plans_of_the_field_are_read_and_texts_are_refused(void **state)
{
	DIR *files = opendir(folder);
	const struct dirent *entry;
	size_t plans = 0;

	(void)state;
	if (files == NULL) {
		print_message("there is no folder of cases here\n");
		skip();
	}
	while ((entry = readdir(files)) != NULL) {
		SCOPED(plan_read_free) struct plan_read plan = PLAN_READ_EMPTY;
		struct err err = ERR_EMPTY;
		char *bytes;
		size_t len;

		if (strncmp(entry->d_name, "pgplan-", 7) != 0)
			continue;
		print_message("%s\n", entry->d_name);
		len = read_file(entry->d_name, &bytes);
		if (strstr(entry->d_name, ".json") != NULL)
			check_plan(bytes, len);
		else
			assert_int_equal(plan_read(bytes, len, &plan, &err), -EBADMSG);
		free(bytes);
		plans++;
	}
	closedir(files);
	assert_true(plans > 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_of_the_field_are_read_and_texts_are_refused),
	};

	folder = argc > 1 ? argv[1] : "";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
