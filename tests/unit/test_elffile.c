/* test_elffile.c - foreign files: what is broken costs names, never us. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "core/scoped.h"
#include "sense/elffile.h"
#include "traced.h"

#define ROUNDS 300u

static uint8_t file[1u << 20];
static size_t file_len;

static void load(const char *name)
{
	char path[PATH_MAX];
	int fd;
	ssize_t len;

	traced_path(name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	len = read(fd, file, sizeof(file));
	assert_true(len > 0 && (size_t)len < sizeof(file));
	file_len = (size_t)len;
	close(fd);
}

/* Reads `len` bytes as a file; looks at what came out. */
static int read_bytes(const uint8_t *bytes, size_t len, size_t *out_rows)
{
	int fd = memfd_create("test", MFD_CLOEXEC), rc;
	struct tables t = { 0 };

	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	rc = elffile_read(fd, &t);
	close(fd);
	*out_rows = t.row_count;
	for (size_t i = 1; i < t.row_count; i++)
		assert_true(t.rows[i - 1].pc < t.rows[i].pc);
	for (size_t i = 0; i < t.symbol_count; i++)
		assert_true((size_t)t.symbols[i].name + t.symbols[i].name_len <= t.name_bytes);
	for (size_t i = 0; i < t.row_count; i++)
		if (t.rows[i].kind == ROW_RULES)
			assert_true((size_t)t.rows[i].offset < t.rule_set_count);
	tables_free(&t);
	return rc;
}

static uint64_t seed = 20261129;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void corrupted_bytes_cost_names_and_nothing_else(void **state)
{
	static uint8_t bad[sizeof(file)];
	size_t readable = 0, rows;

	(void)state;
	load("walker");
	for (size_t round = 0; round < ROUNDS; round++) {
		size_t flips = 1 + draw() % 64;

		memcpy(bad, file, file_len);
		for (size_t i = 0; i < flips; i++) {
			/* Half of them into the headers: of the file, and of its sections at the end. */
			size_t at = draw() % 4 == 0   ? draw() % 1024
				    : draw() % 3 == 0 ? file_len - 1 - draw() % 2048
						      : draw() % file_len;

			bad[at] = (uint8_t)draw();
		}
		if (round % 2 == 0) /* the header itself stays: deeper code is reached */
			memcpy(bad, file, sizeof(Elf64_Ehdr));
		readable += read_bytes(bad, file_len, &rows) == 0;
	}
	print_message("%zu of %u corrupted files were read in part\n", readable, ROUNDS);
	assert_true(readable > ROUNDS / 10);
}

static void a_file_cut_anywhere_is_read_as_far_as_it_goes(void **state)
{
	size_t rows;

	(void)state;
	load("walker");
	for (size_t round = 0; round < ROUNDS; round++)
		(void)read_bytes(file, draw() % file_len, &rows);
	assert_int_equal(read_bytes(file, file_len, &rows), 0);
	assert_true(rows > 20);
}

/* The section header that has `name`. */
static Elf64_Shdr *section(const char *name)
{
	Elf64_Ehdr *h = (Elf64_Ehdr *)file;
	Elf64_Shdr *sections = (Elf64_Shdr *)(file + h->e_shoff);
	const char *names = (const char *)file + sections[h->e_shstrndx].sh_offset;

	for (size_t i = 0; i < h->e_shnum; i++)
		if (strcmp(names + sections[i].sh_name, name) == 0)
			return &sections[i];
	fail_msg("no section %s", name);
	return NULL;
}

static void absurd_sizes_are_not_believed(void **state)
{
	static const uint64_t sizes[] = { UINT64_MAX, UINT64_MAX - 63, UINT64_C(1) << 40,
					  UINT32_MAX, INT32_MAX };
	static const char *const names[] = { ".eh_frame", ".symtab", ".strtab", ".shstrtab",
					     ".note.gnu.build-id" };
	size_t rows;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
			load("walker");
			section(names[i])->sh_size = sizes[k];
			(void)read_bytes(file, file_len, &rows);
			load("walker");
			section(names[i])->sh_offset = sizes[k];
			(void)read_bytes(file, file_len, &rows);
		}
	}
	load("walker");
	((Elf64_Ehdr *)file)->e_shnum = 65279;
	(void)read_bytes(file, file_len, &rows);
	((Elf64_Ehdr *)file)->e_shnum = 0;
	assert_int_equal(read_bytes(file, file_len, &rows), -ENOEXEC);
}

/* Every function refers to another function as if that were what they have in common. */
static void a_function_that_stands_for_a_cie_is_skipped(void **state)
{
	Elf64_Shdr *eh;
	size_t rows, at = 0;
	uint32_t len, second = 0;

	(void)state;
	load("walker");
	eh = section(".eh_frame");
	while (at + 8 < eh->sh_size) {
		uint8_t *entry = file + eh->sh_offset + at;
		uint32_t back;

		memcpy(&len, entry, 4);
		memcpy(&back, entry + 4, 4);
		if (len == 0)
			break;
		if (back != 0 && second == 0)
			second = (uint32_t)at;
		if (back != 0) {
			back = (uint32_t)at + 4 - second;
			memcpy(entry + 4, &back, 4);
		}
		at += len + 4;
	}
	assert_true(second > 0);
	assert_int_equal(read_bytes(file, file_len, &rows), 0);
	assert_true(rows <= 1);
}

/* All functions are said to begin where the first one does. */
static void of_overlapping_functions_one_is_kept(void **state)
{
	Elf64_Shdr *eh;
	size_t at = 0, rows, all;
	uint32_t len, back;
	int64_t first = 0;

	(void)state;
	load("walker");
	eh = section(".eh_frame");
	assert_int_equal(read_bytes(file, file_len, &all), 0);
	for (; at + 12 < eh->sh_size; at += len + 4) {
		uint8_t *entry = file + eh->sh_offset + at;
		int32_t distance;

		memcpy(&len, entry, 4);
		memcpy(&back, entry + 4, 4);
		if (len == 0)
			break;
		if (back == 0)
			continue;
		memcpy(&distance, entry + 8, 4);
		if (first == 0)
			first = distance + (int64_t)at;
		distance = (int32_t)(first - (int64_t)at);
		memcpy(entry + 8, &distance, 4);
	}
	assert_int_equal(read_bytes(file, file_len, &rows), 0);
	assert_in_range(rows, 2, all / 2);
}

static void what_is_no_program_for_this_machine_is_refused(void **state)
{
	size_t rows;

	(void)state;
	assert_int_equal(read_bytes((const uint8_t *)"", 0, &rows), -ENOEXEC);
	assert_int_equal(read_bytes((const uint8_t *)"#!/bin/sh\n", 10, &rows), -ENOEXEC);
	load("walker");
	file[EI_CLASS] = ELFCLASS32;
	assert_int_equal(read_bytes(file, file_len, &rows), -ENOEXEC);
	load("walker");
	((Elf64_Ehdr *)file)->e_machine = EM_AARCH64;
	assert_int_equal(read_bytes(file, file_len, &rows), -ENOEXEC);
	load("walker");
	((Elf64_Ehdr *)file)->e_type = ET_REL;
	assert_int_equal(read_bytes(file, file_len, &rows), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(corrupted_bytes_cost_names_and_nothing_else),
		cmocka_unit_test(a_file_cut_anywhere_is_read_as_far_as_it_goes),
		cmocka_unit_test(absurd_sizes_are_not_believed),
		cmocka_unit_test(a_function_that_stands_for_a_cie_is_skipped),
		cmocka_unit_test(of_overlapping_functions_one_is_kept),
		cmocka_unit_test(what_is_no_program_for_this_machine_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
