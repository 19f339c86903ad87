/* test_jit.c - what a program says of code that it made itself: perf maps and jitdumps, believed only where they may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "core/scoped.h"
#include "made_jit.h"
#include "sense/jit.h"
#include "sense/jitfile.h"
#include "sense/openfile.h"

static int new_file(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	if (text != NULL)
		assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

/* The name of `address` at `at_ns`; "" for none. */
static const char *name_of(const struct jitfile *f, int fd, uint64_t address, uint64_t at_ns)
{
	static struct jitfile_code code;
	static char name[STR_MAX_BYTES + 1];

	name[0] = '\0';
	if (jitfile_find(f, fd, address, at_ns, &code))
		snprintf(name, sizeof(name), "%.*s", (int)code.name_bytes, code.name);
	return name;
}

/* ---- perf maps ---- */

/* The lines that people reported: plain, with 0x, with blanks, overlapping, without bytes, cut. */
static void lines_of_all_kinds_are_read_and_others_counted(void **state)
{
	int fd = new_file("1000 10 plain\n"
			  "0x2000 0x20 hexed\n"
			  "3000 30 LazyCompile:*a b /tmp/x y.js:3\n"
			  "1008 10 later\n"
			  "4000 0 empty\n"
			  "nonsense\n"
			  "5000 50 cut off");
	struct jitfile f = { .device = 0 };

	(void)state;
	assert_int_equal(jitfile_read(&f, fd), 0);
	assert_string_equal(name_of(&f, fd, 0x1000, 0), "plain");
	assert_string_equal(name_of(&f, fd, 0x1007, 0), "plain");
	assert_string_equal(name_of(&f, fd, 0x1008, 0), "later"); /* over the end of the other */
	assert_string_equal(name_of(&f, fd, 0x1017, 0), "later");
	assert_string_equal(name_of(&f, fd, 0x1018, 0), "");
	assert_string_equal(name_of(&f, fd, 0x201f, 0), "hexed");
	assert_string_equal(name_of(&f, fd, 0x2020, 0), "");
	assert_string_equal(name_of(&f, fd, 0x3001, 0), "LazyCompile:*a b /tmp/x y.js:3");
	assert_string_equal(name_of(&f, fd, 0x4000, 0), "");
	assert_string_equal(name_of(&f, fd, 0x5000, 0), ""); /* it may go on */
	assert_int_equal(f.index.rejected, 2);
	assert_int_equal(write(fd, " no more\n6000 1 last\n", 21), 21);
	assert_int_equal(jitfile_read(&f, fd), 0);
	assert_string_equal(name_of(&f, fd, 0x5000, 0), "cut off no more");
	assert_string_equal(name_of(&f, fd, 0x6000, 0), "last");
	assert_int_equal(f.index.rejected, 2); /* what was read is not read again */
	jitfile_free(&f);
	close(fd);
}

static void a_map_that_is_written_anew_is_read_anew(void **state)
{
	int fd = new_file("1000 10 old\n2000 10 gone\n");
	struct jitfile f = { .device = 0 };

	(void)state;
	assert_int_equal(jitfile_read(&f, fd), 0);
	assert_string_equal(name_of(&f, fd, 0x2000, 0), "gone");
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, "1000 10 new\n", 12, 0), 12);
	assert_int_equal(jitfile_read(&f, fd), 0);
	assert_string_equal(name_of(&f, fd, 0x1000, 0), "new");
	assert_string_equal(name_of(&f, fd, 0x2000, 0), "");
	jitfile_free(&f);
	close(fd);
}

static void a_line_without_end_costs_itself_alone(void **state)
{
	static char line[200000];
	int fd = new_file("1000 10 before\n2000 10 ");
	struct jitfile f = { .device = 0 };

	(void)state;
	memset(line, 'x', sizeof(line));
	assert_int_equal(write(fd, line, sizeof(line)), sizeof(line));
	assert_int_equal(write(fd, "\n3000 10 behind\n", 16), 16);
	assert_int_equal(jitfile_read(&f, fd), 0);
	assert_string_equal(name_of(&f, fd, 0x1000, 0), "before");
	assert_string_equal(name_of(&f, fd, 0x2000, 0), "");
	assert_string_equal(name_of(&f, fd, 0x3000, 0), "behind");
	assert_int_equal(f.index.rejected, 1);
	jitfile_free(&f);
	close(fd);
}

static void a_map_that_is_too_long_is_left_alone(void **state)
{
	int fd = new_file("1000 10 name\n");
	struct jitfile f = { .device = 0 };

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)JITFILE_MAX_MAP + 1), 0);
	assert_int_equal(jitfile_read(&f, fd), -EFBIG);
	jitfile_free(&f);
	close(fd);
}

/* Names of many overlapping pieces against a list that is gone through from its end. */
static void of_many_pieces_the_last_one_is_meant(void **state)
{
	static struct {
		uint64_t start, bytes;
	} all[30000];
	struct jitindex x = { .codes = NULL };
	uint64_t seed = 1, until_ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1;
		all[i].start = 0x10000 + (seed >> 44);
		all[i].bytes = 1 + (seed >> 20) % 300;
		assert_int_equal(jitindex_add(&x, &(struct jit_code){ .start = all[i].start,
								      .bytes = all[i].bytes,
								      .name_bytes = 1 }),
				 0);
	}
	assert_true(x.sorted > 0 && x.sorted < x.count); /* both parts are looked through */
	for (uint64_t address = 0x10000; address < 0x110000; address += 997) {
		const struct jit_code *code = jitindex_find(&x, address, UINT64_MAX, &until_ns);
		size_t i = ARRAY_LEN(all);

		while (i > 0 && (all[i - 1].start > address ||
				 address - all[i - 1].start >= all[i - 1].bytes))
			i--;
		if (i == 0)
			assert_null(code);
		else
			assert_int_equal(code->order, i - 1);
	}
	jitindex_free(&x);
}

/* ---- jitdumps ---- */

static void code_is_what_lay_there_when_the_sample_was_taken(void **state)
{
	int fd = new_file(NULL);
	struct jitfile f = { .device = 0 };
	struct jitfile_code code;

	(void)state;
	made_jit_begin(fd, 0);
	made_jit_load(fd, &(struct made_jit_code){ 100, 0x1000, 0x40, "first", NULL });
	made_jit_load(fd, &(struct made_jit_code){ 200, 0x1000, 0x20, "second", NULL });
	made_jit_move(fd, 300, 0x1020, 0x5000, 0x20);
	made_jit_line(fd, 0x7000, "made.js", 12);
	made_jit_load(fd, &(struct made_jit_code){ 400, 0x7000, 0x10, "lined", NULL });
	assert_int_equal(jitfile_read(&f, fd), 0);
	assert_string_equal(name_of(&f, fd, 0x1000, 99), "");
	assert_string_equal(name_of(&f, fd, 0x1000, 100), "first");
	assert_string_equal(name_of(&f, fd, 0x1000, 199), "first");
	assert_string_equal(name_of(&f, fd, 0x1000, 200), "second");
	assert_string_equal(name_of(&f, fd, 0x1020, 250), "first"); /* not overwritten */
	assert_string_equal(name_of(&f, fd, 0x5000, 299), "");
	assert_string_equal(name_of(&f, fd, 0x5000, 0), "first");
	assert_true(jitfile_find(&f, fd, 0x1000, 150, &code));
	assert_int_equal(code.since_ns, 100);
	assert_int_equal(code.until_ns, 200);
	assert_true(jitfile_find(&f, fd, 0x7000, 0, &code));
	assert_int_equal(code.line, 12);
	assert_int_equal(code.file_bytes, strlen("made.js"));
	assert_memory_equal(code.file, "made.js", code.file_bytes);
	assert_int_equal(f.index.rejected, 0);
	jitfile_free(&f);
	close(fd);
}

static void a_dump_is_read_on_while_it_grows(void **state)
{
	const struct made_jit_code more = { 20, 0x2000, 0x10, "more", "0123456789abcdef" };
	int fd = new_file(NULL), whole = new_file(NULL);
	char bytes[4096];
	struct jitfile f = { .device = 0 };
	ssize_t len;

	(void)state;
	made_jit_begin(whole, 0);
	made_jit_load(whole, &(struct made_jit_code){ 10, 0x1000, 0x10, "one", NULL });
	made_jit_load(whole, &more);
	len = pread(whole, bytes, sizeof(bytes), 0);
	/* A byte at a time: whatever is cut, it is not read before it is whole. */
	for (ssize_t i = 0; i < len; i++) {
		assert_int_equal(write(fd, &bytes[i], 1), 1);
		assert_int_equal(jitfile_read(&f, fd), 0);
	}
	assert_string_equal(name_of(&f, fd, 0x1000, 0), "one");
	assert_string_equal(name_of(&f, fd, 0x2000, 0), "more");
	assert_int_equal(f.index.count, 2);
	jitfile_free(&f);
	close(fd);
	close(whole);
}

static void times_of_another_clock_are_not_compared(void **state)
{
	int fd = new_file(NULL);
	struct jitfile f = { .device = 0 };

	(void)state;
	made_jit_begin(fd, 1);
	made_jit_load(fd, &(struct made_jit_code){ UINT64_MAX, 0x1000, 0x40, "ticks", NULL });
	assert_int_equal(jitfile_read(&f, fd), 0);
	assert_string_equal(name_of(&f, fd, 0x1000, 5), "ticks");
	jitfile_free(&f);
	close(fd);
}

/* ---- which files are believed ---- */

static char map_path[64];

static int open_own_map(void)
{
	struct stat st;

	return openfile_of_process(getpid(), map_path + 1, &st);
}

static void write_map(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1000 10 made\n", 13), 13);
	close(fd);
}

static void only_a_plain_file_of_its_own_is_opened(void **state)
{
	char other[80];
	int fd;

	(void)state;
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(other, sizeof(other), "%s.other", map_path);
	unlink(map_path);
	assert_true(open_own_map() < 0);
	write_map(map_path, 0600);
	fd = open_own_map();
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(link(map_path, other), 0);
	assert_int_equal(open_own_map(), -EPERM); /* somebody else's file by another name */
	unlink(map_path);
	assert_int_equal(symlink(other, map_path), 0);
	assert_true(open_own_map() < 0);
	unlink(map_path);
	assert_int_equal(mkfifo(map_path, 0600), 0);
	assert_int_equal(open_own_map(), -ENOEXEC); /* and does not wait */
	unlink(map_path);
	if (geteuid() == 0) {
		write_map(map_path, 0600);
		assert_int_equal(chown(map_path, 12345, 12345), 0);
		assert_int_equal(open_own_map(), -EPERM);
		unlink(map_path);
	}
	unlink(other);
}

/* ---- a process's own code, by the parser child ---- */

static void names_follow_a_map_that_grows(void **state)
{
	struct naming *names;
	struct parser *parser;
	struct jit *jit;
	struct maps *maps = maps_open();
	const uint64_t pcs[] = { 0x1005, 0x2005 };
	FILE *map;

	(void)state;
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(map_path, "we");
	assert_non_null(map);
	fputs("1000 10 early\n", map);
	fflush(map);
	assert_int_equal(naming_open(&names), 0);
	assert_int_equal(parser_open(true, &parser), 0);
	assert_int_equal(jit_open(getpid(), &jit), 0);

	const struct jit_of of = { parser, names, 0 };

	jit_look(jit, maps);
	jit_ask(jit, &of, pcs, 2);
	assert_non_null(jit_find(jit, 0x1005, 0));
	assert_memory_equal(jit_find(jit, 0x1005, 0)->name.bytes, "early", 5);
	assert_int_equal(jit_find(jit, 0x1005, 0)->kind, FRAME_JIT);
	assert_null(jit_find(jit, 0x2005, 0));
	fputs("2000 10 late\n1000 10 again\nwhat\n", map);
	fflush(map);
	jit_look(jit, maps);
	jit_ask(jit, &of, pcs, 2);
	assert_memory_equal(jit_find(jit, 0x1005, 0)->name.bytes, "again", 5);
	assert_memory_equal(jit_find(jit, 0x2005, 0)->name.bytes, "late", 4);
	assert_int_equal(jit_rejected(jit), 1);
	jit_close(jit);
	parser_close(parser);
	naming_close(names);
	maps_release(maps);
	fclose(map);
	unlink(map_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_all_kinds_are_read_and_others_counted),
		cmocka_unit_test(a_map_that_is_written_anew_is_read_anew),
		cmocka_unit_test(a_line_without_end_costs_itself_alone),
		cmocka_unit_test(a_map_that_is_too_long_is_left_alone),
		cmocka_unit_test(of_many_pieces_the_last_one_is_meant),
		cmocka_unit_test(code_is_what_lay_there_when_the_sample_was_taken),
		cmocka_unit_test(a_dump_is_read_on_while_it_grows),
		cmocka_unit_test(times_of_another_clock_are_not_compared),
		cmocka_unit_test(only_a_plain_file_of_its_own_is_opened),
		cmocka_unit_test(names_follow_a_map_that_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
