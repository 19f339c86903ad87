/* test_plan_memory.c - the way of a plan, from its questions to its row, with the n-th allocation failing, n = 1 ... all: no crash, no leak, and a
 * failure is said. The server is made up. Linked with --wrap, so that only our own calls fail. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "few_blocks.h"
#include "fleet/plans.h"

#define PLAN                                                                               \
	"[{\"Plan\":{\"Node Type\":\"Seq Scan\",\"Output\":[\"a\",\"'x'::text\"],\"Total " \
	"Cost\":1.5,\"Plan Rows\":1},"                                                     \
	"\"Settings\":{\"jit\":\"off\"}}]"

/* What a server would answer to a question of a plan. */
static int answer_rows(struct script *s, const struct ask *ask)
{
	struct cell holder[3] = { { "t", 1 }, { "b", 1 }, { "t", 1 } };
	struct cell timeouts[2] = { { "0", 1 }, { "50", 2 } };
	struct cell params[2] = { { "1", 1 }, { "16400,16401", 11 } };
	struct cell plan = { PLAN, sizeof(PLAN) - 1 };

	if (ask->kind == ASK_PREPARE)
		return 0;
	if (strstr(ask->sql, "statement_timeout'") != NULL)
		return s->row(s->self, timeouts, 2);
	if (strstr(ask->sql, "nspname") != NULL)
		return s->row(s->self, holder, 3);
	if (strstr(ask->sql, "array_length") != NULL)
		return s->row(s->self, params, 2);
	return strncmp(ask->sql, "EXPLAIN", 7) == 0 ? s->row(s->self, &plan, 1) : 0;
}

static int drive(struct script *s, struct err *err)
{
	for (;;) {
		struct ask ask = { 0 };
		struct answer answer = { .is_ok = true };
		int code = s->next(s->self, &ask, err);

		if (code <= 0)
			return code;
		if (ask.kind != ASK_CHAIN)
			answer_rows(s, &ask);
		for (uint32_t i = 0; i < ask.link_count; i++)
			answer_rows(s, &ask.links[i]);
		answer.links_done = ask.link_count;
		code = s->ended(s->self, &answer, err);
		if (code != 0)
			return code;
	}
}

static int count_found(void *owner, const struct plan_found *found)
{
	assert_int_equal(found->reason, PLAN_OK);
	assert_true(found->redacted.len > 0);
	++*(size_t *)owner;
	return 0;
}

static int take_plans(void)
{
	const struct plan_wanted wanted[] = {
		{ .text = STR_LITERAL("select a from t where b = $1"), .user = STR_LITERAL("u") },
		{ .text = STR_LITERAL("select date $1"),
		  .search_path = STR_LITERAL("x, \"$user\"") },
	};
	struct visit_limits limits = VISIT_LIMITS_DEFAULT;
	struct server_facts facts = { .version = 150000 };
	struct script script = { .self = NULL };
	struct err err = ERR_EMPTY;
	size_t found = 0;
	int code = plans_open(wanted, 2, &facts, &limits, count_found, &found, &script, &err);

	if (code == 0)
		code = drive(&script, &err);
	plans_close(&script);
	if (code == 0)
		assert_int_equal(found, 2);
	else
		assert_int_equal(err.code, code);
	return code;
}

static int redact_text(void)
{
	char *out = NULL;
	size_t len;
	int code =
		text_redact(STR_LITERAL("set a = b /* c */, 'd' where e = 5 and ffffffffffffffff = "
					"gggggggggggggggggggggggggggggggggggggggggggggggggggggggg"),
			    &out, &len);

	free(out);
	return code;
}

static int redact_plan(void)
{
	char *out = NULL;
	size_t len;
	struct digest shape;
	double cost, rows;
	struct err err = ERR_EMPTY;
	int code = plan_redact(PLAN, sizeof(PLAN) - 1, &out, &len, &shape, &cost, &rows, &err);

	free(out);
	return code;
}

static void check_each(int (*go)(void))
{
	long n = 0;
	int code;

	do {
		left = n++;
		blocks = 0;
		code = go();
		left = -1;
		assert_true(code == 0 || code == -ENOMEM);
		assert_int_equal(blocks, 0);
	} while (code != 0);
	print_message("%ld allocations\n", n - 1);
	assert_in_range(n, 2, 1000);
}

static void each_allocation_of_a_plan_may_fail(void **state)
{
	(void)state;
	check_each(take_plans);
	check_each(redact_plan);
}

static void each_allocation_of_a_text_may_fail(void **state)
{
	(void)state;
	check_each(redact_text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_of_a_plan_may_fail),
		cmocka_unit_test(each_allocation_of_a_text_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
