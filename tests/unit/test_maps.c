/* test_maps.c - what is mapped where, as the kernel tells it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "sense/maps.h"

static const struct {
	const char *sentence, *line;
	bool is_good, is_code;
	uint64_t start, len, offset, inode;
	uint32_t major, minor;
	enum mapping_kind kind;
	bool was_deleted;
	const char *file;
} lines[] = {
	{ "a library",
	  "7f0000001000-7f0000003000 r-xp 00002000 fe:01 1234                       /usr/lib/x.so",
	  true, true, 0x7f0000001000, 0x2000, 0x2000, 1234, 0xfe, 1, MAPPING_FILE, false,
	  "/usr/lib/x.so" },
	{ "data is no code", "1000-2000 rw-p 00000000 08:02 7 /x", true, false, 0x1000, 0x1000, 0,
	  7, 8, 2, MAPPING_FILE, false, "/x" },
	{ "a name with blanks", "1000-2000 r-xp 00000000 08:02 7  /opt/my  programs/a b", true,
	  true, 0x1000, 0x1000, 0, 7, 8, 2, MAPPING_FILE, false, "/opt/my  programs/a b" },
	{ "a name with a newline", "1000-2000 r-xp 00000000 08:02 7 /a\\012b", true, true, 0x1000,
	  0x1000, 0, 7, 8, 2, MAPPING_FILE, false, "/a\nb" },
	{ "a deleted file", "1000-2000 r-xp 00000000 08:02 7 /tmp/x (deleted)", true, true, 0x1000,
	  0x1000, 0, 7, 8, 2, MAPPING_FILE, true, "/tmp/x" },
	{ "memory with a name", "1000-2000 r-xp 00000000 00:01 9 /memfd:jit (deleted)", true, true,
	  0x1000, 0x1000, 0, 9, 0, 1, MAPPING_FILE, true, "/memfd:jit" },
	{ "the vdso", "7fff0000-7fff2000 r-xp 00000000 00:00 0 [vdso]", true, true, 0x7fff0000,
	  0x2000, 0, 0, 0, 0, MAPPING_VDSO, false, "[vdso]" },
	{ "memory without a name", "1000-2000 rwxp 00000000 00:00 0 ", true, true, 0x1000, 0x1000,
	  0, 0, 0, 0, MAPPING_NAMELESS, false, "" },
	{ "the heap", "1000-2000 rwxp 00000000 00:00 0 [heap]", true, true, 0x1000, 0x1000, 0, 0, 0,
	  0, MAPPING_NAMELESS, false, "" },
	{ "as perf calls memory without a name", "1000-2000 rwxp 00000000 00:00 0 //anon", true,
	  true, 0x1000, 0x1000, 0, 0, 0, 0, MAPPING_NAMELESS, false, "" },
	{ "a name with the look of a deleted one is taken for one",
	  "1000-2000 r-xp 00000000 08:02 7 / (deleted)", true, true, 0x1000, 0x1000, 0, 7, 8, 2,
	  MAPPING_NAMELESS, true, "" },
	{ "nothing", "", false, false, 0, 0, 0, 0, 0, 0, MAPPING_FILE, false, "" },
	{ "no end", "1000", false, false, 0, 0, 0, 0, 0, 0, MAPPING_FILE, false, "" },
	{ "an end before its start", "2000-1000 r-xp 00000000 08:02 7 /x", false, false, 0, 0, 0, 0,
	  0, 0, MAPPING_FILE, false, "" },
	{ "a number too large", "10000000000000000-2 r-xp 00000000 08:02 7 /x", false, false, 0, 0,
	  0, 0, 0, 0, MAPPING_FILE, false, "" },
	{ "an inode too large", "1000-2000 r-xp 00000000 08:02 99999999999999999999 /x", false,
	  false, 0, 0, 0, 0, 0, 0, MAPPING_FILE, false, "" },
	{ "letters for numbers", "zz-yy r-xp 00000000 08:02 7 /x", false, false, 0, 0, 0, 0, 0, 0,
	  MAPPING_FILE, false, "" },
};

static void lines_are_read_as_the_kernel_writes_them(void **state)
{
	char path[4200];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct mapping_event e;
		struct mapping m;
		bool is_code;

		print_message("%s\n", lines[i].sentence);
		assert_int_equal(maps_parse_line(lines[i].line, strlen(lines[i].line), path,
						 sizeof(path), &e, &is_code),
				 lines[i].is_good);
		if (!lines[i].is_good)
			continue;
		maps_describe(&e, &m);
		assert_int_equal(is_code, lines[i].is_code);
		assert_int_equal(m.start, lines[i].start);
		assert_int_equal(m.end - m.start, lines[i].len);
		assert_int_equal(m.file_offset, lines[i].offset);
		assert_int_equal(m.inode, lines[i].inode);
		assert_int_equal(m.dev_major, lines[i].major);
		assert_int_equal(m.dev_minor, lines[i].minor);
		assert_int_equal(m.kind, lines[i].kind);
		assert_int_equal(m.was_deleted, lines[i].was_deleted);
		assert_int_equal(m.file.len, strlen(lines[i].file));
		if (m.file.len > 0)
			assert_memory_equal(m.file.bytes, lines[i].file, m.file.len);
	}
}

static void put(struct maps *m, uint64_t start, uint64_t end, uint64_t inode)
{
	struct mapping mapping = { .start = start, .end = end, .file_offset = 0, .inode = inode };

	assert_int_equal(maps_insert(m, &mapping), 0);
}

/* The list as "start-end:inode+offset ...". */
static void assert_list(const struct maps *m, const char *want)
{
	char text[512] = "";
	size_t len = 0;

	for (size_t i = 0; i < m->count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%llx-%llx:%llu+%llx",
					i ? " " : "", (unsigned long long)m->items[i].start,
					(unsigned long long)m->items[i].end,
					(unsigned long long)m->items[i].inode,
					(unsigned long long)m->items[i].file_offset);
	assert_string_equal(text, want);
}

static void the_newest_mapping_covers_what_was_there(void **state)
{
	struct maps *m = maps_open();

	(void)state;
	put(m, 0x5000, 0x6000, 1);
	put(m, 0x1000, 0x3000, 2);
	assert_list(m, "1000-3000:2+0 5000-6000:1+0");
	put(m, 0x2000, 0x5800, 3); /* cuts both */
	assert_list(m, "1000-2000:2+0 2000-5800:3+0 5800-6000:1+800");
	put(m, 0x3000, 0x4000, 4); /* makes a hole */
	assert_list(m,
		    "1000-2000:2+0 2000-3000:3+0 3000-4000:4+0 4000-5800:3+2000 5800-6000:1+800");
	put(m, 0x0, 0x10000, 5); /* covers all */
	assert_list(m, "0-10000:5+0");
	assert_non_null(maps_find(m, 0xffff));
	assert_null(maps_find(m, 0x10000));
	maps_release(m);
}

static void a_copy_changes_alone(void **state)
{
	struct maps *m = maps_open(), *copy;

	(void)state;
	put(m, 0x1000, 0x3000, 2);
	copy = maps_copy(m);
	put(copy, 0x2000, 0x3000, 3);
	assert_list(m, "1000-3000:2+0");
	assert_list(copy, "1000-2000:2+0 2000-3000:3+0");
	maps_release(copy);
	maps_release(m);
}

static void mappings_without_end_stop_at_the_ceiling(void **state)
{
	struct maps *m = maps_open();
	size_t refused = 0;

	(void)state;
	for (uint64_t i = 0; i < MAPS_MAX + 100; i++) {
		struct mapping mapping = { .start = i * 0x2000, .end = i * 0x2000 + 0x1000 };

		refused += maps_insert(m, &mapping) < 0;
	}
	assert_in_range(refused, 100, 102);
	maps_release(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_read_as_the_kernel_writes_them),
		cmocka_unit_test(the_newest_mapping_covers_what_was_there),
		cmocka_unit_test(a_copy_changes_alone),
		cmocka_unit_test(mappings_without_end_stop_at_the_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
