/* test_plan_json.c - a plan's JSON without its constants, its shape, its cost, and what is no plan. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "core/scoped.h"
#include "fleet/plan_json.h"
#include "fleet/plans.h"

static struct plan_read read_plan(const char *json)
{
	struct plan_read plan = PLAN_READ_EMPTY;
	struct err err = ERR_EMPTY;

	if (plan_read(json, strlen(json), &plan, &err) != 0)
		fail_msg("%s: %s", err.msg, json);
	return plan;
}

static const char scan[] =
	"[\n  {\n    \"Plan\": {\n      \"Node Type\": \"Index Scan\",\n      \"Parallel Aware\": "
	"false,\n"
	"      \"Index Name\": \"t_pkey\",\n      \"Relation Name\": \"t 2024\",\n"
	"      \"Startup Cost\": 0.28,\n      \"Total Cost\": 8.30,\n      \"Plan Rows\": 12,\n"
	"      \"Plan Width\": 8,\n      \"Output\": [\"a\", \"'x'::text\", \"7\"],\n"
	"      \"Index Cond\": \"(t.a = 42)\"\n    },\n    \"Settings\": {\n"
	"      \"search_path\": \"\\\"b\\\"\",\n      \"work_mem\": \"64MB\",\n"
	"      \"plan_cache_mode\": \"force_generic_plan\",\n      \"jit\": \"off\"\n    },\n"
	"    \"Query Identifier\": -9223372036854775808\n  }\n]\n";

static void expressions_lose_their_constants_and_names_stay(void **state)
{
	struct plan_read plan = read_plan(scan);

	(void)state;
	assert_string_equal(
		text_chars(&plan.redacted),
		"[{\"Plan\":{\"Node Type\":\"Index Scan\",\"Parallel Aware\":false,"
		"\"Index Name\":\"t_pkey\",\"Relation Name\":\"t 2024\",\"Startup Cost\":0.28,"
		"\"Total Cost\":8.30,\"Plan Rows\":12,\"Plan Width\":8,"
		"\"Output\":[\"a\",\"'?'::text\",\"?\"],\"Index Cond\":\"(t.a = ?)\"},"
		"\"Settings\":{\"work_mem\":\"64MB\",\"jit\":\"off\"}}]");
	assert_string_equal(text_chars(&plan.settings), "work_mem = 64MB, jit = off");
	assert_true(plan.total_cost == 8.30);
	assert_true(plan.plan_rows == 12);
	assert_true(plan.query_id == INT64_MIN);
	assert_false(plan.is_utility || plan.is_pruned || plan.is_shell);
	plan_read_free(&plan);
	plan_read_free(&plan);
}

/* A plan of one node with these members. */
static struct plan_read read_node(const char *members)
{
	char json[1024];

	snprintf(json, sizeof(json), "[{\"Plan\":{\"Node Type\":\"Seq Scan\"%s}}]", members);
	return read_plan(json);
}

static void strings_are_kept_hidden_or_redacted_by_their_key(void **state)
{
	static const char *const cases[][2] = {
		{ ",\"Alias\":\"5 'x'\"", ",\"Alias\":\"5 'x'\"" },
		{ ",\"Subplan Name\":\"InitPlan 1 (returns $0)\"",
		  ",\"Subplan Name\":\"InitPlan 1 (returns $0)\"" },
		{ ",\"Foreign File\":\"/srv/canary\"", ",\"Foreign File\":\"?\"" },
		{ ",\"Foreign Program\":\"curl -u canary\"", ",\"Foreign Program\":\"?\"" },
		{ ",\"Remote SQL\":\"SELECT a FROM t WHERE b = 'x'\"",
		  ",\"Remote SQL\":\"SELECT a FROM t WHERE b = '?'\"" },
		{ ",\"Of Another\":\"a = 5\"", ",\"Of Another\":\"a = ?\"" },
		{ ",\"Of Another\":\"no {sql}\"", ",\"Of Another\":\"?\"" },
		{ ",\"Filter\":\"(a = 'no end)\"", ",\"Filter\":\"?\"" },
		{ ",\"Settings\":{\"work_mem\":\"64MB\"}", ",\"Settings\":{\"work_mem\":\"?\"}" },
		{ ",\"a'b\":\"x\"", ",\"?\":\"x\"" },
		{ ",\"\":true,\"x\":[1,null,[],{}]", ",\"?\":true,\"x\":[1,null,[],{}]" },
		{ ",\"Filter\":\"\\u0041\\ud83d\\ude00 \\ud83d = \\u0000\\\"\\n\\u0001\\\"\"",
		  ",\"Filter\":\"A\xf0\x9f\x98\x80 \xef\xbf\xbd = \\\"\\u000a\\u0001\\\"\"" },
		{ ",\"Alias\":\"caf\xe9\"", ",\"Alias\":\"caf\xef\xbf\xbd\"" },
		{ ",\"Filter\":\"(caf\xe9 = 'caf\xe9')\"",
		  ",\"Filter\":\"(caf\xef\xbf\xbd = '?')\"" },
		{ ",\"Grouping Sets\":[{\"Group Keys\":[[\"a\",\"5\"]]}]",
		  ",\"Grouping Sets\":[{\"Group Keys\":[[\"a\",\"?\"]]}]" },
		{ ",\"Query Identifier\":5,\"Filter\":\"a\"", ",\"Filter\":\"a\"" },
		{ ",\"Query Identifier\":{\"x\":[\"canary\"]}", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct plan_read plan = read_node(cases[i][0]);
		char want[512];
		json_error_t error;
		json_t *tree = json_loadb(plan.redacted.bytes, plan.redacted.len, 0, &error);

		snprintf(want, sizeof(want), "[{\"Plan\":{\"Node Type\":\"Seq Scan\"%s}}]",
			 cases[i][1]);
		assert_string_equal(text_chars(&plan.redacted), want);
		assert_non_null(tree);
		json_decref(tree);
		plan_read_free(&plan);
	}
}

static void one_shape(const char *a, const char *b, bool is_same)
{
	struct plan_read x = read_node(a), y = read_node(b);

	print_message("%s | %s\n", a, b);
	assert_int_equal(memcmp(&x.shape, &y.shape, sizeof(x.shape)) == 0, is_same);
	plan_read_free(&x);
	plan_read_free(&y);
}

static void a_shape_is_the_plan_without_costs_numbers_settings_and_order_of_keys(void **state)
{
	(void)state;
	one_shape(",\"Total Cost\":1.5,\"Plan Rows\":7", ",\"Total Cost\":2,\"Plan Rows\":1", true);
	one_shape(",\"Workers Planned\":2", "", true);
	one_shape(",\"Schema\":\"a\",\"Alias\":\"b\"", ",\"Alias\":\"b\",\"Schema\":\"a\"", true);
	one_shape(",\"Filter\":\"(a = 5)\"", ",\"Filter\":\"(a = 6)\"", true);
	one_shape(",\"Disabled\":false,\"x\":null", "", true);
	one_shape(",\"JIT\":{\"Functions\":5,\"Options\":{\"Inlining\":true}}", "", true);
	one_shape(",\"Sort Method\":\"quicksort\"", ",\"Sort Method\":\"external merge\"", true);
	one_shape(",\"Plans\":[{\"Node Type\":\"Sort\",\"Plan Rows\":5}]",
		  ",\"Plans\":[{\"Plan Rows\":6,\"Node Type\":\"Sort\"}]", true);
	one_shape(",\"Index Name\":\"a\"", ",\"Index Name\":\"b\"", false);
	one_shape(",\"Index Name\":\"a\"", ",\"Alias\":\"a\"", false);
	one_shape(",\"Filter\":\"(a = 5)\"", ",\"Filter\":\"(b = 5)\"", false);
	one_shape(",\"Parallel Aware\":true", "", false);
	one_shape(",\"Output\":[\"a\",\"b\"]", ",\"Output\":[\"b\",\"a\"]", false);
	one_shape(",\"Output\":[\"a\",\"b\"]", ",\"Output\":[\"ab\"]", false);
	one_shape(",\"Conflict Arbiter Indexes\":[\"a\",\"b\"]",
		  ",\"Conflict Arbiter Indexes\":[\"a\\\"b\"]", false);
	one_shape(",\"Plans\":[{\"Node Type\":\"Sort\"}]", ",\"Plans\":[{\"Node Type\":\"Hash\"}]",
		  false);
	one_shape(",\"Plans\":[{\"Node Type\":\"Sort\"}]",
		  ",\"Plans\":[{\"Node Type\":\"Sort\"},{\"Node Type\":\"Sort\"}]", false);
}

static void settings_and_identifiers_make_no_other_shape(void **state)
{
	struct plan_read a = read_plan("[{\"Plan\":{\"Node Type\":\"Result\"}}]");
	struct plan_read b = read_plan("[{\"Settings\":{\"jit\":\"off\"},\"Query Identifier\":5,"
				       "\"Plan\":{\"Node Type\":\"Result\"}}]");

	(void)state;
	assert_memory_equal(&a.shape, &b.shape, sizeof(a.shape));
	plan_read_free(&a);
	plan_read_free(&b);
}

static void a_node_whose_children_were_all_left_out_is_a_shell(void **state)
{
	static const struct {
		const char *members;
		bool is_pruned, is_shell;
	} cases[] = {
		{ ",\"Subplans Removed\":0", false, false },
		{ ",\"Subplans Removed\":4", true, true },
		{ ",\"Subplans Removed\":4,\"Plans\":[{\"Node Type\":\"Result\","
		  "\"Parent Relationship\":\"InitPlan\"}]",
		  true, true },
		{ ",\"Subplans Removed\":3,\"Plans\":[{\"Node Type\":\"Seq Scan\","
		  "\"Parent Relationship\":\"Member\"}]",
		  true, false },
		{ ",\"Plans\":[{\"Node Type\":\"Append\",\"Subplans Removed\":2}]", true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct plan_read plan = read_node(cases[i].members);

		assert_int_equal(plan.is_pruned, cases[i].is_pruned);
		assert_int_equal(plan.is_shell, cases[i].is_shell);
		plan_read_free(&plan);
	}
}

static void what_a_rule_made_of_one_statement_is_one_plan(void **state)
{
	struct plan_read plan = read_plan(
		"[{\"Plan\":{\"Node Type\":\"Result\",\"Total Cost\":1,\"Plan Rows\":2,\"Plans\":["
		"{\"Node Type\":\"Sort\",\"Total Cost\":9}]}},"
		"{\"Plan\":{\"Node Type\":\"Result\",\"Total Cost\":3,\"Plan Rows\":1e999}}]");

	(void)state;
	assert_true(plan.total_cost == 4);
	assert_true(plan.plan_rows > 1e300 && plan.plan_rows - plan.plan_rows == 0);
	plan_read_free(&plan);
	plan = read_plan("[\"Utility Statement\"]");
	assert_true(plan.is_utility);
	plan_read_free(&plan);
	plan = read_plan("{\"Plan\":{\"Node Type\":\"Result\",\"Total Cost\":5}}");
	assert_true(plan.total_cost == 5);
	plan_read_free(&plan);
}

static void what_is_no_plan_is_refused_whole(void **state)
{
	static const char *const cases[] = {
		"",
		" ",
		"[",
		"[]",
		"{}",
		"5",
		"null",
		"\"x\"",
		"[{}]",
		"[{\"Plan\":{}}]",
		"[{\"Plan\":{\"Node Type\":5}}]",
		"{\"Node Type\":\"x\"}",
		"[{\"Plan\":{\"Node Type\":\"x\"}}",
		"[{\"Plan\":{\"Node Type\":\"x\"}}] x",
		"[{\"Plan\":{\"Node Type\":\"x\"}},]",
		"[{\"Plan\":{\"Node Type\":\"x\",}}]",
		"[{\"Plan\":{,\"Node Type\":\"x\"}}]",
		"[{\"Plan\":{\"Node Type\":\"x\" \"y\":1}}]",
		"[{\"Plan\":{\"Node Type\":\"x\"]}]",
		"[{\"Plan\":{\"Node Type\":\"x\",\"a\":01}}]",
		"[{\"Plan\":{\"Node Type\":\"x\",\"a\":-}}]",
		"[{\"Plan\":{\"Node Type\":\"x\",\"a\":1.}}]",
		"[{\"Plan\":{\"Node Type\":\"x\",\"a\":1e}}]",
		"[{\"Plan\":{\"Node Type\":\"x\",\"a\":NaN}}]",
		"[{\"Plan\":{\"Node Type\":\"x\",\"a\":tru}}]",
		"[{\"Plan\":{\"Node Type\":\"x\",\"a\":\"\\q\"}}]",
		"[{\"Plan\":{\"Node Type\":\"x\",\"a\":\"\\u12g4\"}}]",
		"[{\"Plan\":{\"Node Type\":\"x\",\"a\":\"\n\"}}]",
		"[{\"Plan\":{\"Node Type\":\"x\",\"a\":\"\\",
		"[{\"Plan\":{\"Node Type\":\"x\",\"a\" 1}}]",
		"[{\"Plan\":{\"Node Type\":\"x\",5:1}}]",
	};
	char *out = NULL;
	size_t len = 0;
	struct digest shape;
	double cost, rows;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = ERR_EMPTY;

		print_message("%s\n", cases[i]);
		assert_int_equal(plan_redact(cases[i], strlen(cases[i]), &out, &len, &shape, &cost,
					     &rows, &err),
				 -EBADMSG);
		assert_int_equal(err.code, -EBADMSG);
		assert_null(out);
	}
}

/* A plan of `depth` objects and arrays within one another. */
static int read_deep(size_t depth)
{
	static const char before[] = "[{\"Plan\":{\"Node Type\":\"x\",\"a\":", after[] = "}}]";
	size_t nested = depth - 3, len = sizeof(before) - 1 + 2 * nested + sizeof(after) - 1;
	char *json = calloc(len, 1), *at = json;
	struct plan_read plan = PLAN_READ_EMPTY;
	struct err err = ERR_EMPTY;
	int code;

	assert_non_null(json);
	at = mempcpy(at, before, sizeof(before) - 1);
	memset(at, '[', nested);
	memset(at + nested, ']', nested);
	memcpy(at + 2 * nested, after, sizeof(after) - 1);
	code = plan_read(json, len, &plan, &err);
	plan_read_free(&plan);
	free(json);
	return code;
}

static void depth_and_size_are_bounded(void **state)
{
	struct plan_read plan = PLAN_READ_EMPTY;
	struct err err = ERR_EMPTY;

	(void)state;
	assert_int_equal(read_deep(PLAN_DEPTH_MOST), 0);
	assert_int_equal(read_deep(PLAN_DEPTH_MOST + 1), -E2BIG);
	assert_int_equal(read_deep(1000000), -E2BIG);
	assert_int_equal(plan_read("[]", (size_t)PLAN_JSON_MOST + 1, &plan, &err), -E2BIG);
}

static void no_word_of_a_plan_stands_in_a_failure(void **state)
{
	struct plan_read plan = PLAN_READ_EMPTY;
	struct err err = ERR_EMPTY;
	static const char json[] = "[{\"Plan\":{\"canary\":\"canary";

	(void)state;
	assert_int_equal(plan_read(json, sizeof(json) - 1, &plan, &err), -EBADMSG);
	assert_null(strstr(err.msg, "canary"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_lose_their_constants_and_names_stay),
		cmocka_unit_test(strings_are_kept_hidden_or_redacted_by_their_key),
		cmocka_unit_test(
			a_shape_is_the_plan_without_costs_numbers_settings_and_order_of_keys),
		cmocka_unit_test(settings_and_identifiers_make_no_other_shape),
		cmocka_unit_test(a_node_whose_children_were_all_left_out_is_a_shell),
		cmocka_unit_test(what_a_rule_made_of_one_statement_is_one_plan),
		cmocka_unit_test(what_is_no_plan_is_refused_whole),
		cmocka_unit_test(depth_and_size_are_bounded),
		cmocka_unit_test(no_word_of_a_plan_stands_in_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
