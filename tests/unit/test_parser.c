/* test_parser.c - foreign files are read by a child that can do nothing else, and what it says is looked through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "core/scoped.h"
#include "rust_names.h"
#include "sense/elffile.h"
#include "sense/parser.h"
#include "sense/sandbox.h"
#include "traced.h"

static struct parser *parser;

static int open_parser(void **state)
{
	(void)state;
	return parser_open(true, &parser);
}

static int close_parser(void **state)
{
	(void)state;
	parser_close(parser);
	return 0;
}

static struct parser_file open_target(const char *name)
{
	struct parser_file file = { .debug_count = 0 };
	char path[PATH_MAX];

	traced_path(name, path);
	file.fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file.fd >= 0);
	assert_int_equal(parser_file_identify(&file), 0);
	return file;
}

static pid_t child(void)
{
	struct parser_facts facts;

	parser_facts(parser, &facts);
	return facts.pid;
}

/* ---- what it reads ---- */

static void a_file_is_read_as_we_would_read_it(void **state)
{
	struct parser_file file = open_target("walker");
	struct tables ours = { 0 }, theirs = { 0 };

	(void)state;
	assert_int_equal(elffile_read(file.fd, &ours), 0);
	assert_int_equal(elffile_add_plt(file.fd, &ours), 0);
	assert_int_equal(parser_read_tables(parser, &file, &theirs), 0);
	assert_int_equal(theirs.row_count, ours.row_count);
	assert_memory_equal(theirs.rows, ours.rows, ours.row_count * sizeof(*ours.rows));
	assert_int_equal(theirs.symbol_count, ours.symbol_count);
	assert_memory_equal(theirs.names, ours.names, ours.name_bytes);
	assert_int_equal(theirs.function_count, ours.function_count);
	assert_int_equal(theirs.rule_set_count, ours.rule_set_count);
	assert_int_equal(theirs.base, ours.base);
	assert_int_equal(theirs.segment_count, ours.segment_count);
	tables_free(&ours);
	tables_free(&theirs);
	close(file.fd);
}

static void what_is_no_file_for_us_is_said(void **state)
{
	struct parser_file file = { .fd = memfd_create("test", MFD_CLOEXEC) };
	struct tables t = { 0 };

	(void)state;
	assert_int_equal(write(file.fd, "#!/bin/sh\n", 10), 10);
	assert_int_equal(parser_file_identify(&file), 0);
	assert_int_equal(parser_read_id(parser, &file, &t), -ENOEXEC);
	assert_int_equal(parser_read_tables(parser, &file, &t), -ENOEXEC);
	close(file.fd);
}

static void one_child_reads_all_files(void **state)
{
	struct parser_file a = open_target("walker"), b = open_target("libnames.so");
	struct tables t = { 0 };
	struct parser_facts facts;
	pid_t first;

	(void)state;
	assert_int_equal(parser_read_id(parser, &a, &t), 0);
	first = child();
	assert_true(first > 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(parser_read_tables(parser, i % 2 == 0 ? &a : &b, &t), 0);
		tables_free(&t);
	}
	assert_int_equal(child(), first);
	parser_facts(parser, &facts);
	assert_int_equal(facts.deaths, 0);
	assert_true(facts.live_ns > 0);
	assert_int_equal(facts.live_ns, facts.spent_ns);
	close(a.fd);
	close(b.fd);
}

struct seen {
	uint64_t wanted;
	size_t count;
	uint32_t line;
	char file[256];
};

static void take_line(void *owner, uint64_t address, uint32_t line, const char *file,
		      uint32_t file_len)
{
	struct seen *s = owner;

	assert_int_equal(address, s->wanted);
	if (s->count++ > 0)
		return;
	s->line = line;
	snprintf(s->file, sizeof(s->file), "%.*s", (int)file_len, file);
}

/* Where the function `hidden` of libnames.so lies. */
static struct parser_file find_hidden(struct seen *out)
{
	struct parser_file file = open_target("libnames.so");
	struct tables t = { 0 };

	*out = (struct seen){ 0 };
	assert_int_equal(parser_read_tables(parser, &file, &t), 0);
	for (size_t i = 0; i < t.symbol_count; i++)
		if (t.symbols[i].name_len == 6 &&
		    memcmp(t.names + t.symbols[i].name, "hidden", 6) == 0)
			out->wanted = t.base + t.symbols[i].start;
	tables_free(&t);
	assert_int_not_equal(out->wanted, 0);
	return file;
}

static void a_function_is_where_it_was_declared(void **state)
{
	struct seen seen;
	struct parser_file file = find_hidden(&seen);
	struct parser_lines lines = { seen.wanted, &seen.wanted, 1, take_line, &seen };

	(void)state;
	assert_int_equal(parser_read_lines(parser, &file, &lines), 0);
	assert_true(seen.count > 0);
	assert_int_equal(seen.line, 1234); /* as the #line there says */
	assert_non_null(strstr(seen.file, "names.c"));
	lines.address = 1;
	assert_int_equal(parser_read_lines(parser, &file, &lines), -ENOENT);
	close(file.fd);
}

/* A string table without an end leads libdw beyond it. */
static void debug_information_without_end_costs_its_lines(void **state)
{
	static uint8_t bytes[1u << 20];
	struct seen seen;
	struct parser_file file = find_hidden(&seen);
	struct parser_lines lines = { seen.wanted, &seen.wanted, 1, take_line, &seen };
	ssize_t len = pread(file.fd, bytes, sizeof(bytes), 0);
	Elf64_Ehdr *h = (Elf64_Ehdr *)bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(bytes + h->e_shoff);
	const char *names = (const char *)bytes + sections[h->e_shstrndx].sh_offset;
	size_t changed = 0;

	(void)state;
	close(file.fd);
	for (size_t i = 0; i < h->e_shnum; i++) {
		const char *name = names + sections[i].sh_name;

		if (strcmp(name, ".debug_line_str") == 0 || strcmp(name, ".debug_str") == 0) {
			memset(bytes + sections[i].sh_offset, 'x', sections[i].sh_size);
			changed++;
		}
	}
	assert_true(changed > 0);
	file.fd = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(write(file.fd, bytes, (size_t)len), len);
	assert_int_equal(parser_file_identify(&file), 0);
	(void)parser_read_lines(parser, &file, &lines); /* whatever it says: we are alive */
	assert_true(seen.line == 0 || seen.line == 1234 || seen.line == 1235);
	close(file.fd);
}

/* ---- names ---- */

static char plain_text[64][256];

static void take_plain(void *owner, size_t at, struct str plain)
{
	assert_true(at < ARRAY_LEN(plain_text));
	snprintf(plain_text[at], sizeof(plain_text[at]), "%.*s", (int)plain.len, plain.bytes);
	++*(size_t *)owner;
}

static struct str str_of(const char *chars)
{
	return (struct str){ chars, (uint32_t)strlen(chars) };
}

static void names_are_what_their_compilers_mean_by_them(void **state)
{
	static const struct {
		const char *mangled, *plain;
	} others[] = {
		{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		  "core::fmt::Write::write_fmt" },
		{ "_ZN5space5thing3runEi", "space::thing::run(int)" },
		{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
		  "std::vector<int, std::allocator<int> >::push_back(int&&)" },
		{ "_ZZ4mainENKUlT_E_clIiEEDaS_",
		  "auto main::{lambda(auto:1)#1}::operator()<int>(int) const" },
		{ "main", "" },
		{ "_Znonsense", "" },
	};
	struct str mangled[ARRAY_LEN(rust_names) + ARRAY_LEN(others)];
	size_t count = 0, taken = 0, done;
	struct parser_plain_names names = { mangled, ARRAY_LEN(mangled), take_plain, &taken };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rust_names); i++)
		mangled[count++] = str_of(rust_names[i].mangled);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		mangled[count++] = str_of(others[i].mangled);
	memset(plain_text, 0, sizeof(plain_text));
	assert_int_equal(parser_read_plain(parser, &names, &done), 0);
	assert_int_equal(done, count);
	assert_int_equal(taken, count - 2);
	for (size_t i = 0; i < count; i++) {
		const char *want = i < ARRAY_LEN(rust_names)
					   ? rust_names[i].plain
					   : others[i - ARRAY_LEN(rust_names)].plain;

		print_message("%s\n", plain_text[i]);
		assert_string_equal(plain_text[i], want);
	}
}

/* As long as a file may make them, and with what ends a name in the middle. */
static void names_of_any_length_are_asked_for_in_turns(void **state)
{
	static char longest[70000];
	struct str mangled[80];
	size_t taken = 0, turns = 0, done;
	struct parser_plain_names names = { mangled, ARRAY_LEN(mangled), take_plain, &taken };

	(void)state;
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "_Z4000", 6);
	for (size_t i = 0; i < ARRAY_LEN(mangled); i++)
		mangled[i] = (struct str){ longest, 4006 };
	mangled[3].len = sizeof(longest);
	mangled[5] = (struct str){ "_Z1f\0v", 6 };
	for (; names.count > 0; turns++) {
		memset(plain_text, 0, sizeof(plain_text));
		assert_int_equal(parser_read_plain(parser, &names, &done), 0);
		assert_true(done > 0 && done <= names.count);
		names.mangled += done;
		names.count -= done;
	}
	assert_true(turns > 1);
	assert_int_equal(taken, ARRAY_LEN(mangled) - 2);
}

/* ---- what it can do ---- */

/* What /proc/PID/status says of `key`, as a hexadecimal number; UINT64_MAX: nothing. */
static uint64_t status_of(pid_t pid, const char *key)
{
	char path[64], line[256];
	uint64_t number = UINT64_MAX;
	size_t len = strlen(key);
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, len) == 0 && line[len] == ':')
			number = strtoull(line + len + 1, NULL, 16);
	fclose(f);
	return number;
}

static bool could_drop_the_bounding_set(void)
{
	return (status_of(getpid(), "CapEff") >> 8 & 1) != 0; /* CAP_SETPCAP */
}

static void the_child_has_no_capability_and_a_filter(void **state)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapAmb" };
	struct parser_file file = open_target("walker");
	struct tables t = { 0 };

	(void)state;
	assert_int_equal(parser_read_id(parser, &file, &t), 0);
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		print_message("%s\n", sets[i]);
		assert_int_equal(status_of(child(), sets[i]), 0);
	}
	if (could_drop_the_bounding_set())
		assert_int_equal(status_of(child(), "CapBnd"), 0);
	assert_int_equal(status_of(child(), "NoNewPrivs"), 1);
	assert_int_equal(status_of(child(), "Seccomp"), 2);
	close(file.fd);
}

static void the_child_has_only_its_socket_open(void **state)
{
	struct parser_file file = open_target("walker");
	struct tables t = { 0 };
	char path[64];
	size_t count = 0;
	DIR *d;

	(void)state;
	assert_int_equal(parser_read_id(parser, &file, &t), 0);
	assert_int_equal(parser_read_id(parser, &file, &t),
			 0); /* the first one's are closed by now */
	usleep(20000);	     /* and so are the second one's */
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)child());
	d = opendir(path);
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		count += e->d_name[0] != '.';
	closedir(d);
	assert_int_equal(count, 1);
	close(file.fd);
}

/* In a child of the test's: exit status 0 when nothing could be done. */
static void try_everything(void)
{
	const struct sandbox_limits limits = { .memory_bytes = UINT64_C(64) << 20,
					       .cpu_s = SANDBOX_NO_LIMIT,
					       .descriptors = 16,
					       .may_receive = true };
	bool is_powerless;

	if (sandbox_enter(&limits) != 0)
		_exit(2);
	is_powerless = open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 && errno == EPERM &&
		       socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 && errno == EPERM &&
		       socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 && errno == EPERM &&
		       fork() < 0 && errno == EPERM && kill(getppid(), 0) < 0 && errno == EPERM &&
		       unlink("/nonexistent/x") < 0 && errno == EPERM &&
		       execl("/bin/true", "true", (char *)NULL) < 0 && errno == EPERM &&
		       ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 && errno == EPERM;
	_exit(is_powerless ? 0 : 1);
}

static void nothing_can_be_opened_started_or_reached(void **state)
{
	int status = -1;
	pid_t pid = sandbox_fork();

	(void)state;
	if (pid == 0)
		try_everything();
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, __WALL), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_child_ends_with_its_recorder(void **state)
{
	struct parser_file file = open_target("walker");
	struct tables t = { 0 };
	pid_t pid;

	(void)state;
	assert_int_equal(parser_read_id(parser, &file, &t), 0);
	pid = child();
	parser_close(parser);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(parser_open(true, &parser), 0);
	close(file.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read_as_we_would_read_it),
		cmocka_unit_test(what_is_no_file_for_us_is_said),
		cmocka_unit_test(one_child_reads_all_files),
		cmocka_unit_test(a_function_is_where_it_was_declared),
		cmocka_unit_test(debug_information_without_end_costs_its_lines),
		cmocka_unit_test(names_are_what_their_compilers_mean_by_them),
		cmocka_unit_test(names_of_any_length_are_asked_for_in_turns),
		cmocka_unit_test(the_child_has_no_capability_and_a_filter),
		cmocka_unit_test(the_child_has_only_its_socket_open),
		cmocka_unit_test(nothing_can_be_opened_started_or_reached),
		cmocka_unit_test(the_child_ends_with_its_recorder),
	};

	return cmocka_run_group_tests(tests, open_parser, close_parser);
}
