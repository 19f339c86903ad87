/* test_tables.c - tables that come from a process which read a hostile file are looked through before they are used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/scoped.h"
#include "sense/tables.h"

/* Good tables, small enough to break one number of each. */
static struct row rows[3];
static struct rule_set rule_sets[1];
static uint8_t exprs[4];
static struct function functions[2];
static struct symbol symbols[2];
static char names[8];

static struct tables good(void)
{
	memset(rows, 0, sizeof(rows));
	memset(rule_sets, 0, sizeof(rule_sets));
	rows[0] = (struct row){ .pc = 16, .kind = ROW_CFA, .reg = DWARF_RSP, .offset = 8 };
	rows[1] = (struct row){ .pc = 32, .kind = ROW_RULES };
	rows[2] = (struct row){ .pc = 48, .kind = ROW_GAP };
	rule_sets[0].cfa = (struct rule){ .kind = RULE_REG, .reg = DWARF_RBP };
	rule_sets[0].regs[DWARF_RIP] =
		(struct rule){ .kind = RULE_AT_EXPR, .offset = 1, .expr_len = 3 };
	functions[0] = (struct function){ 16, 16 };
	functions[1] = (struct function){ 32, 16 };
	symbols[0] = (struct symbol){ .start = 16, .size = 16, .name_len = 4 };
	symbols[1] = (struct symbol){ .start = 32, .size = 16, .name = 4, .name_len = 4 };
	return (struct tables){ .rows = rows,
				.row_count = 3,
				.rule_sets = rule_sets,
				.rule_set_count = 1,
				.exprs = exprs,
				.expr_bytes = sizeof(exprs),
				.functions = functions,
				.function_count = 2,
				.symbols = symbols,
				.symbol_count = 2,
				.names = names,
				.name_bytes = sizeof(names) };
}

static void cut_rows(struct tables *t)
{
	(void)t;
	rows[1].pc = rows[0].pc;
}

static void no_such_kind(struct tables *t)
{
	(void)t;
	rows[0].kind = 7;
}

static void no_such_register(struct tables *t)
{
	(void)t;
	rows[0].reg = DWARF_REG_COUNT;
}

static void no_such_register_behind(struct tables *t)
{
	(void)t;
	rows[0].kind = ROW_DEREF;
	rows[0].reg = 31;
}

static void no_such_rule_set(struct tables *t)
{
	(void)t;
	rows[1].offset = 1;
}

static void a_rule_set_before_the_first(struct tables *t)
{
	(void)t;
	rows[1].offset = -1;
}

static void a_frame_without_an_address(struct tables *t)
{
	(void)t;
	rule_sets[0].cfa.kind = RULE_SAME;
}

static void a_frame_by_no_register(struct tables *t)
{
	(void)t;
	rule_sets[0].cfa.reg = 200;
}

static void an_expression_beyond_the_end(struct tables *t)
{
	(void)t;
	rule_sets[0].regs[DWARF_RIP].expr_len = 4;
}

static void an_expression_before_the_begin(struct tables *t)
{
	(void)t;
	rule_sets[0].regs[DWARF_RIP].offset = -1;
}

static void a_rule_of_no_kind(struct tables *t)
{
	(void)t;
	rule_sets[0].regs[DWARF_RBX].kind = 9;
}

static void functions_that_overlap(struct tables *t)
{
	(void)t;
	functions[0].size = 17;
}

static void symbols_out_of_order(struct tables *t)
{
	(void)t;
	symbols[1].start = 15;
}

static void a_name_beyond_the_end(struct tables *t)
{
	(void)t;
	symbols[1].name = 5;
}

static void a_name_far_beyond_the_end(struct tables *t)
{
	(void)t;
	symbols[1].name = UINT32_MAX - 2;
}

static void a_name_that_is_too_long(struct tables *t)
{
	static char many[STR_MAX_BYTES + 8];

	t->names = many;
	t->name_bytes = sizeof(many);
	symbols[1].name = 0;
	symbols[1].name_len = STR_MAX_BYTES + 1;
}

static void too_many_segments(struct tables *t)
{
	t->segment_count = TABLES_MAX_SEGMENTS + 1;
}

static void a_long_build_id(struct tables *t)
{
	t->build_id_bytes = TABLES_MAX_BUILD_ID + 1;
}

static void a_debuglink_without_an_end(struct tables *t)
{
	memset(t->debuglink, 'x', sizeof(t->debuglink));
}

static void a_debuglink_that_is_a_path(struct tables *t)
{
	strcpy(t->debuglink, "../../etc/passwd");
}

static void tables_that_would_lead_astray_are_refused(void **state)
{
	static const struct {
		const char *name;
		void (*spoil)(struct tables *t);
	} cases[] = {
		{ "two rows at one address", cut_rows },
		{ "a row of no kind", no_such_kind },
		{ "a frame by a register that there is not", no_such_register },
		{ "the same, behind a pointer", no_such_register_behind },
		{ "a rule set that there is not", no_such_rule_set },
		{ "a rule set before the first", a_rule_set_before_the_first },
		{ "a frame without an address", a_frame_without_an_address },
		{ "a frame by no register, in a rule set", a_frame_by_no_register },
		{ "an expression beyond the end", an_expression_beyond_the_end },
		{ "an expression before the begin", an_expression_before_the_begin },
		{ "a rule of no kind", a_rule_of_no_kind },
		{ "functions that overlap", functions_that_overlap },
		{ "symbols out of order", symbols_out_of_order },
		{ "a name beyond the end", a_name_beyond_the_end },
		{ "a name far beyond the end", a_name_far_beyond_the_end },
		{ "a name that is too long", a_name_that_is_too_long },
		{ "too many segments", too_many_segments },
		{ "a long build-id", a_long_build_id },
		{ "a debuglink without an end", a_debuglink_without_an_end },
		{ "a debuglink that is a path", a_debuglink_that_is_a_path },
	};
	struct tables t = good();

	(void)state;
	assert_true(tables_check(&t));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s\n", cases[i].name);
		t = good();
		cases[i].spoil(&t);
		assert_false(tables_check(&t));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_that_would_lead_astray_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
