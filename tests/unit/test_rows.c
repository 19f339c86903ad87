/* test_rows.c - our rows against libdw's own unwinding: the same caller from thousands of places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/elffile.h"
#include "sense/walk.h"
#include "traced.h"

#define STACK_WORDS 65536u
#define PLACES	    4000u
#define STACK_START UINT64_C(0x7ffd00000000)

/* A stack of noise; all registers point into it, rsp lowest. */
static uint64_t noise[STACK_WORDS];
static struct registers callee;
static uint64_t seed = 1;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void make_noise(void)
{
	for (size_t i = 0; i < STACK_WORDS; i++)
		noise[i] = STACK_START + 8 * (16384 + draw() % 1024);
	for (size_t reg = 0; reg < DWARF_REG_COUNT; reg++)
		callee.value[reg] = STACK_START + 8 * (16384 + draw() % 512);
	callee.value[DWARF_RSP] = STACK_START + 8 * 16384;
	callee.known = (1u << DWARF_REG_COUNT) - 1;
}

static uint64_t load(uint64_t address)
{
	assert_in_range(address, STACK_START, STACK_START + sizeof(noise) - 8);
	return noise[(address - STACK_START) / 8];
}

/* libdw's decoded expressions, as far as the libraries of this machine have them. Returns false for others. */
static bool eval(const Dwarf_Op *ops, size_t count, uint64_t cfa, uint64_t *out, bool *out_is_value)
{
	uint64_t stack[32] = { 0 };
	size_t depth = 0;

	*out_is_value = false;
	for (size_t i = 0; i < count; i++) {
		uint8_t atom = ops[i].atom;

		if (atom >= DW_OP_breg0 && atom <= DW_OP_breg16)
			stack[depth++] = callee.value[atom - DW_OP_breg0] + ops[i].number;
		else if (atom == DW_OP_bregx)
			stack[depth++] = callee.value[ops[i].number] + ops[i].number2;
		else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
			stack[depth++] = (uint64_t)atom - DW_OP_lit0;
		else if (atom == DW_OP_call_frame_cfa)
			stack[depth++] = cfa;
		else if (atom == DW_OP_plus_uconst)
			stack[depth - 1] += ops[i].number;
		else if (atom == DW_OP_deref)
			stack[depth - 1] = load(stack[depth - 1]);
		else if (atom == DW_OP_stack_value)
			*out_is_value = true;
		else if (atom == DW_OP_regx) {
			stack[depth++] = callee.value[ops[i].number];
			*out_is_value = true;
		} else {
			uint64_t b = stack[--depth], a = stack[depth - 1];

			if (atom == DW_OP_plus)
				stack[depth - 1] = a + b;
			else if (atom == DW_OP_and)
				stack[depth - 1] = a & b;
			else if (atom == DW_OP_shl)
				stack[depth - 1] = a << b;
			else if (atom == DW_OP_ge)
				stack[depth - 1] = (int64_t)a >= (int64_t)b;
			else
				return false;
		}
	}
	*out = stack[depth - 1];
	return true;
}

/* A register of the caller as libdw sees it: 1 with its value, 0 when it is lost or not ours to compare. */
static int caller_of(Dwarf_Frame *frame, int reg, uint64_t cfa, uint64_t *out)
{
	Dwarf_Op room[3], *ops;
	size_t count;
	bool is_value;

	assert_int_equal(dwarf_frame_register(frame, reg, room, &ops, &count), 0);
	if (count == 0 && ops == room)
		return 0;
	if (count == 0) {
		*out = callee.value[reg];
		return 1;
	}
	if (!eval(ops, count, cfa, out, &is_value))
		return 0;
	if (is_value)
		return 1;
	/* What was popped is back in its register. */
	*out = *out < callee.value[DWARF_RSP] && reg != DWARF_RIP ? callee.value[reg] : load(*out);
	return 1;
}

struct score {
	size_t same, ends, gaps, skipped;
};

/* Compares both at one place. */
static void compare(const struct tables *t, Dwarf_CFI *cfi, uint64_t pc, struct score *score)
{
	static const int compared[] = { DWARF_RIP, DWARF_RBX, DWARF_RBP, DWARF_R12,
					DWARF_R13, DWARF_R14, DWARF_R15 };
	const struct row *row = tables_row(t, (uint32_t)(pc - t->base));
	struct registers ours;
	struct copied memory = { STACK_START, (const uint8_t *)noise, sizeof(noise), false };
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t count;
	uint64_t cfa, want;
	bool is_value;
	int rc;

	callee.value[DWARF_RIP] = pc;
	ours = callee;
	rc = dwarf_cfi_addrframe(cfi, pc, &frame);
	assert_true((rc == 0) == (row != NULL));
	if (row == NULL) {
		score->gaps++;
		return;
	}
	rc = walk_row(t, row, &ours, &memory);
	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	if (count == 0 || !eval(ops, count, 0, &cfa, &is_value)) {
		score->skipped++;
	} else if (caller_of(frame, DWARF_RIP, cfa, &want) == 0) {
		assert_int_equal(rc, 1);
		score->ends++;
	} else {
		for (size_t i = 0; i < ARRAY_LEN(compared); i++) {
			if (caller_of(frame, compared[i], cfa, &want) == 0)
				continue;
			if (ours.value[compared[i]] != want)
				print_message("pc 0x%llx, register %d\n", (unsigned long long)pc,
					      compared[i]);
			assert_int_equal(ours.value[compared[i]], want);
		}
		score->same++;
	}
	free(frame);
}

static double ms_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)(now.tv_sec - from->tv_sec) * 1e3 +
	       (double)(now.tv_nsec - from->tv_nsec) / 1e6;
}

/* Reads a file both ways and compares at every n-th row, and one byte before and after it. */
static void compare_file(const char *path, size_t least)
{
	struct tables t;
	struct score score = { 0 };
	struct timespec from;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;
	Dwarf_CFI *cfi;
	double ms;

	assert_true(fd >= 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	assert_int_equal(elffile_read(fd, &t), 0);
	ms = ms_since(&from);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	make_noise();
	for (size_t i = 0; i < t.row_count; i += 1 + t.row_count / PLACES) {
		uint64_t pc = t.base + t.rows[i].pc;

		compare(&t, cfi, pc, &score);
		compare(&t, cfi, pc - 1, &score);
		compare(&t, cfi, pc + 1, &score);
	}
	print_message("%s: %zu rows, %zu rule sets, %zu functions, %zu symbols, %zu KB in %.1f ms; "
		      "%zu places the same, %zu ends, %zu gaps, %zu skipped\n",
		      path, t.row_count, t.rule_set_count, t.function_count, t.symbol_count,
		      tables_bytes(&t) / 1024, ms, score.same, score.ends, score.gaps,
		      score.skipped);
	assert_true(score.same >= least);
	assert_true(score.skipped <= score.same / 100);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	tables_free(&t);
}

/* The file of a mapping of ours whose path contains `part`. */
static bool find_mapped(const char *part, char out[PATH_MAX])
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];
	bool is_found = false;

	assert_non_null(maps);
	while (!is_found && fgets(line, sizeof(line), maps) != NULL) {
		char *path = strchr(line, '/');

		if (path == NULL || strstr(path, part) == NULL)
			continue;
		path[strcspn(path, "\n")] = '\0';
		snprintf(out, PATH_MAX, "%s", path);
		is_found = true;
	}
	fclose(maps);
	return is_found;
}

static void rows_say_what_libdw_says(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_true(find_mapped("/libc.so", path));
	compare_file(path, 8000);
	assert_true(find_mapped("/libdw", path));
	compare_file(path, 8000);
	assert_true(find_mapped("/ld-linux", path));
	compare_file(path, 4000);
	traced_path("walker", path);
	compare_file(path, 50);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_say_what_libdw_says),
	};

	for (int i = 1; i < argc; i++) /* by hand: any file */
		compare_file(argv[i], 1);
	return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
