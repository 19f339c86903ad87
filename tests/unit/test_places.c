/* test_places.c - functions that users name, found in files made for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/stat.h>

#include "core/scoped.h"
#include "sense/places.h"
#include "sense/places_pattern.h"
#include "traced.h"

/* Finds what one pattern means in a target. */
static int find_in(const char *target, const char *pattern, struct places *out)
{
	char path[PATH_MAX];
	char *patterns[] = { (char *)pattern };
	struct places_settings settings = {
		.program = path, .patterns = patterns, .pattern_count = 1, .most = PLACES_MOST
	};
	struct err err;

	traced_path(target, path);
	return places_find(&settings, out, &err);
}

static bool is_text(struct str s, const char *want)
{
	return s.len == strlen(want) && memcmp(s.bytes, want, s.len) == 0;
}

static bool has_text(struct str s, const char *want)
{
	return memmem(s.bytes, s.len, want, strlen(want)) != NULL;
}

/* The names of the rows that can be watched, in order, with blanks between. */
static void names_of(const struct places *p, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < p->count && len < size; i++)
		if (p->rows[i].why_not.len == 0)
			len += (size_t)snprintf(out + len, size - len, "%s%.*s", len > 0 ? " " : "",
						(int)p->rows[i].name.len, p->rows[i].name.bytes);
}

static void a_pattern_means_what_the_user_wrote(void **state)
{
	static const struct {
		const char *pattern, *want;
	} cases[] = {
		{ "plain", "plain" },
		{ "libnames.so:strong", "strong" },
		{ "libnames:strong", "strong" },
		{ "lib*:strong", "strong" },
		{ "other.so:strong", "" },
		{ "s*ng", "strong" },
		{ "/^st.*g$/", "strong" },
		{ "libnames.so:/^(strong|use)$/", "strong use" },
		{ "hidden", "hidden" },
		{ "space::thing::run", "space::thing::run(int)" },
		{ "space::thing::run(int)", "space::thing::run(int)" },
		{ "space::thing::run( int )", "space::thing::run(int)" },
		{ "space::thing::run(long)", "" },
		{ "space::thing::*", "space::thing::run(int)" },
		{ "_ZN5space5thing3runEi", "space::thing::run(int)" },
		{ "core::fmt::Write::write_fmt", "core::fmt::Write::write_fmt" },
		{ "foo::example_function", "foo::example_function" },
		{ "run", "" },
		{ "nothing*", "" },
		{ "puts", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct places p = PLACES_EMPTY;
		char names[256];

		print_message("%s\n", cases[i].pattern);
		assert_int_equal(find_in("libnames.so", cases[i].pattern, &p), 0);
		names_of(&p, names, sizeof(names));
		assert_string_equal(names, cases[i].want);
		assert_true(p.count > 0); /* or why not */
		assert_true(is_text(p.rows[0].pattern, cases[i].pattern));
		places_free(&p);
		places_free(&p);
	}
}

static void names_of_cpp_are_read_as_written(void **state)
{
	static const struct {
		const char *pattern, *want;
	} cases[] = {
		{ "app::Parser::parse", "app::Parser::parse(char const*) app::Parser::parse(int)" },
		{ "app::Parser::parse(int)", "app::Parser::parse(int)" },
		{ "app::Parser::parse(char const*)", "app::Parser::parse(char const*)" },
		{ "app::Parser::parse(const char *)", "app::Parser::parse(char const*)" },
		{ "app::Parser::parse(char*)", "" },
		{ "app::Parser::parse(char*", "app::Parser::parse(char const*)" },
		{ "app::Parser::parse(char)", "" },
		{ "app::Parser::peek", "app::Parser::peek() const" },
		{ "app::Parser::peek() const", "app::Parser::peek() const" },
		{ "app::Parser::peek()", "" },
		{ "app::Parser::conv",
		  "int app::Parser::conv<int>(int) long app::Parser::conv<long>(long)" },
		{ "app::Parser::conv<int>", "int app::Parser::conv<int>(int)" },
		{ "app::Parser::conv<char>", "" },
		{ "app::Parser::operator()", "app::Parser::operator()(int)" },
		{ "app::Parser::operator()(int)", "app::Parser::operator()(int)" },
		{ "app::Parser::operator<", "app::Parser::operator<(app::Parser const&) const" },
		{ "app::Parser::operator bool", "app::Parser::operator bool() const" },
		{ "app::Parser::~Parser", "app::Parser::~Parser() app::Parser::~Parser()" },
		{ "(anonymous namespace)::hid", "(anonymous namespace)::hid(int)" },
		{ "_ZThn16_N3app6Parser5parseEi", "non-virtual thunk to app::Parser::parse(int)" },
		{ "app::Pars*::?eek", "app::Parser::peek() const" },
		{ "app::*::parse(int)", "app::Parser::parse(int)" },
		{ "/^app::Parser::parse.char/", "app::Parser::parse(char const*)" },
		{ "cloned", "cloned.constprop.0" },
		{ "parted", "" },
		{ "parted.part.0", "parted.part.0" },
		{ "chilly*", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct places p = PLACES_EMPTY;
		char names[512];

		print_message("%s\n", cases[i].pattern);
		assert_int_equal(find_in("libplaces.so", cases[i].pattern, &p), 0);
		names_of(&p, names, sizeof(names));
		assert_string_equal(names, cases[i].want);
		assert_true(p.count > 0);
		places_free(&p);
	}
}

static void strings_and_allocators_may_be_written_short(void **state)
{
	static const char *const patterns[] = {
		"sum",
		"sum(std::vector<std::string>&, const char*)",
		"sum(std::vector<std::string, std::allocator<std::string> >&, char const*)",
		"sum(std::vector<std::basic_string<char>> &, char const *)",
		"sum(std::vector*",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		struct places p = PLACES_EMPTY;

		print_message("%s\n", patterns[i]);
		assert_int_equal(find_in("libplaces.so", patterns[i], &p), 0);
		assert_int_equal(p.count, 1);
		assert_int_equal(p.rows[0].why_not.len, 0);
		places_free(&p);
	}
}

static void versions_are_told_apart(void **state)
{
	static const struct {
		const char *pattern;
		size_t want;
	} cases[] = {
		{ "api", 2 },		{ "api@PLACES_1", 1 },
		{ "api@@PLACES_2", 1 }, { "api@PLACES_2", 1 },
		{ "api@PLACES", 2 },	{ "api@@PLACES", 1 },
		{ "api@@PLACES_1", 0 }, { "api@PLACE", 0 },
		{ "api@PLACES_*", 2 },	{ "libplaces:api@PLACES_1", 1 },
	};
	uint64_t old_api = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct places p = PLACES_EMPTY;
		size_t count = 0;

		print_message("%s\n", cases[i].pattern);
		assert_int_equal(find_in("libplaces.so", cases[i].pattern, &p), 0);
		for (size_t k = 0; k < p.count; k++)
			count += p.rows[k].why_not.len == 0;
		assert_int_equal(count, cases[i].want);
		if (i == 1)
			old_api = p.rows[0].start;
		if (i == 2)
			assert_int_not_equal(p.rows[0].start, old_api);
		if (count == 0)
			assert_true(has_text(p.rows[0].why_not, "not found in this version"));
		places_free(&p);
	}
}

static void what_cannot_be_watched_says_why(void **state)
{
	static const struct {
		const char *target, *pattern, *want;
	} cases[] = {
		{ "libplaces.so", "folded", "inlined away" },
		{ "libplaces.so", "chooses", "IFUNC" },
		{ "libplaces.so", "chilly.cold", "jumped to, not called" },
		{ "libplaces.so", "variable", "as a variable, not as a function" },
		{ "libplaces.so", "label", "as a label" },
		{ "libplaces.so", "elsewhere", "libplaces.so only calls it, and no file here" },
		{ "libplaces.so", "aligned_on", "; did you mean aligned_one?" },
		{ "libplaces.so", "alinged_two", "; did you mean aligned_two" },
		{ "libplaces.so", "FOLDS", "; did you mean folds?" },
		{ "libplaces.so", "parse", "; did you mean app::Parser::parse" },
		{ "libplaces.so", "lib.so:qqqqqq", "no file here is called lib.so: there is lib" },
		{ "libplaces.so", "qqqqqq", "no function of libplaces.so is called so" },
		{ "libplaces.so", "qqqqqq*", "no function of libplaces.so fits it" },
		{ "libplaces_go.so", "folds", "Go binary" },
		{ "walker", "walker:raise", "walker only calls it; libc.so.6 has it" },
		{ "walker", "_start", "not called but jumped to" },
		{ "walker", "vfork", "returns twice" },
		{ "walker", "dlsym", "looks at where it was called from" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct places p = PLACES_EMPTY;

		assert_int_equal(find_in(cases[i].target, cases[i].pattern, &p), 0);
		print_message("%s: %.*s\n", cases[i].pattern, (int)p.rows[0].why_not.len,
			      p.rows[0].why_not.bytes);
		assert_true(p.count > 0);
		assert_true(has_text(p.rows[0].why_not, cases[i].want));
		places_free(&p);
	}
}

static void probes_move_where_no_jump_of_the_file_leads(void **state)
{
	static const struct {
		const char *name;
		uint64_t want_skip;
		enum place_first want;
	} cases[] = {
		{ "pushes", 4, PLACE_PUSH }, { "entered", 0, PLACE_OTHER },
		{ "enters", 2, PLACE_PUSH }, { "loops", 0, PLACE_OTHER },
		{ "tests", 2, PLACE_PUSH },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct places p = PLACES_EMPTY;

		print_message("%s\n", cases[i].name);
		assert_int_equal(find_in("libplaces.so", cases[i].name, &p), 0);
		assert_int_equal(p.count, 1);
		assert_int_equal(p.rows[0].offset - p.rows[0].start, cases[i].want_skip);
		assert_int_equal(p.rows[0].first, cases[i].want);
		assert_int_not_equal(p.rows[0].bytes, 0);
		places_free(&p);
	}
}

static void names_of_one_address_are_one_row(void **state)
{
	static const char *const aliases[] = { "plain", "_plain", "__plain", "pl" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
		struct places p = PLACES_EMPTY;

		assert_int_equal(find_in("libnames.so", aliases[i], &p), 0);
		assert_int_equal(p.count, 1);
		assert_true(is_text(p.rows[0].name, "plain"));
		assert_true(is_text(p.rows[0].module, "libnames.so"));
		assert_int_equal(p.rows[0].why_not.len, 0);
		places_free(&p);
	}
}

static void what_cannot_be_found_says_where_was_looked(void **state)
{
	struct places p = PLACES_EMPTY;

	(void)state;
	assert_int_equal(find_in("walker", "no_such_function", &p), 0);
	assert_int_equal(p.count, 1);
	assert_true(is_text(p.rows[0].name, "no_such_function"));
	assert_true(has_text(p.rows[0].why_not, "not found: no function of walker or its "));
	places_free(&p);
	assert_int_equal(find_in("no_such_program", "main", &p), -ENOENT);
}

static void a_program_brings_its_libraries(void **state)
{
	struct places p = PLACES_EMPTY;

	(void)state;
	assert_int_equal(find_in("walker", "libc.so:malloc", &p), 0);
	assert_int_equal(p.count, 1);
	assert_int_equal(p.rows[0].why_not.len, 0);
	assert_int_not_equal(p.rows[0].offset, 0);
	places_free(&p);
}

static void no_more_than_the_most_are_watched_and_the_rest_is_listed(void **state)
{
	char path[PATH_MAX], *patterns[] = { (char *)"*", (char *)"strong" };
	struct places_settings settings = {
		.program = path, .patterns = patterns, .pattern_count = 2, .most = 2
	};
	struct places p = PLACES_EMPTY;
	struct err err;
	size_t watched = 0, beyond = 0;

	(void)state;
	traced_path("libnames.so", path);
	assert_int_equal(places_find(&settings, &p, &err), 0);
	for (size_t i = 0; i < p.count; i++) {
		watched += p.rows[i].why_not.len == 0;
		beyond += has_text(p.rows[i].why_not, "more than 2 functions");
	}
	assert_int_equal(watched, 2);
	assert_true(beyond > 5);
	places_free(&p);
}

static void a_function_that_two_patterns_mean_is_one_row(void **state)
{
	char path[PATH_MAX], *patterns[] = { (char *)"api", (char *)"nothing", (char *)"fold*",
					     (char *)"folds" };
	struct places_settings settings = {
		.program = path, .patterns = patterns, .pattern_count = 4, .most = 9
	};
	struct places p = PLACES_EMPTY;
	struct err err;

	(void)state;
	traced_path("libplaces.so", path);
	assert_int_equal(places_find(&settings, &p, &err), 0);
	assert_int_equal(p.count, 4); /* two versions of api, nothing, folds */
	assert_true(is_text(p.rows[3].pattern, "fold*"));
	assert_int_equal(p.met_count, 3);
	assert_true(is_text(p.met[0], "api"));
	assert_true(is_text(p.met[2], "folds"));
	places_free(&p);
	settings.only_found = true;
	assert_int_equal(places_find(&settings, &p, &err), 0);
	assert_int_equal(p.count, 3);
	places_free(&p);
}

static void the_files_of_a_process_are_searched(void **state)
{
	char *patterns[] = { (char *)"the_files_of_a_process_are_searched", (char *)"libc:free" };
	struct places_settings settings = {
		.pid = getpid(), .patterns = patterns, .pattern_count = 2, .most = PLACES_MOST
	};
	char want[64];
	struct places p = PLACES_EMPTY;
	struct err err;

	(void)state;
	assert_int_equal(places_find(&settings, &p, &err), 0);
	assert_int_equal(p.count, 2);
	assert_int_equal(p.rows[0].why_not.len, 0);
	assert_true(is_text(p.rows[0].module, "test_places"));
	assert_int_equal(p.rows[1].why_not.len, 0);
	snprintf(want, sizeof(want), "/proc/%d/root/", (int)getpid());
	assert_memory_equal(p.rows[0].path, want, strlen(want));
	assert_int_equal(access(p.rows[1].path, R_OK), 0);
	places_free(&p);
	settings.pid = INT32_MAX;
	assert_int_equal(places_find(&settings, &p, &err), -ESRCH);
}

static void a_program_that_was_deleted_is_searched(void **state)
{
	char path[] = "/tmp/tare-test-XXXXXX", program[PATH_MAX], command[2 * PATH_MAX + 16];
	char *patterns[] = { (char *)"outer" };
	struct places_settings settings = { .patterns = patterns, .pattern_count = 1, .most = 9 };
	struct places p = PLACES_EMPTY;
	struct err err;
	int status, fd;

	(void)state;
	traced_path("walker", program);
	close(mkstemp(path));
	snprintf(command, sizeof(command), "cp %s %s && chmod 700 %s", program, path, path);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
	settings.pid = fork();
	if (settings.pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, 0);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(settings.pid, &status, 0), settings.pid);
	unlink(path);
	assert_int_equal(places_find(&settings, &p, &err), 0);
	assert_int_equal(p.count, 1);
	assert_int_equal(p.rows[0].why_not.len, 0);
	fd = open(p.rows[0].path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
	places_free(&p);
	kill(settings.pid, SIGKILL);
	waitpid(settings.pid, &status, 0);
}

static void a_script_leads_to_what_runs_it(void **state)
{
	char path[] = "/tmp/tare-test-XXXXXX", program[PATH_MAX], line[PATH_MAX + 32];
	char *patterns[] = { (char *)"outer" };
	struct places_settings settings = {
		.program = path, .patterns = patterns, .pattern_count = 1, .most = 9
	};
	struct places p = PLACES_EMPTY;
	struct err err;
	int fd = mkstemp(path), len;

	(void)state;
	traced_path("walker", program);
	len = snprintf(line, sizeof(line), "#! %s -x\necho\n", program);
	assert_int_equal(write(fd, line, (size_t)len), len);
	assert_int_equal(places_find(&settings, &p, &err), strlen(program) > 240 ? -ENOENT : 0);
	if (p.count > 0) {
		assert_true(is_text(p.rows[0].module, "walker"));
		assert_true(has_text(p.note, "is a script"));
	}
	places_free(&p);
	assert_int_equal(ftruncate(fd, 0), 0);
	len = snprintf(line, sizeof(line), "#!%s\n", path); /* runs itself */
	assert_int_equal(pwrite(fd, line, (size_t)len, 0), len);
	assert_int_equal(places_find(&settings, &p, &err), -ELOOP);
	close(fd);
	unlink(path);
}

static void what_is_no_program_is_refused(void **state)
{
	char folder[] = "/tmp/tare-test-XXXXXX", path[64], *patterns[] = { (char *)"main" };
	struct places_settings settings = { .patterns = patterns, .pattern_count = 1, .most = 9 };
	struct places p = PLACES_EMPTY;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	settings.program = path;
	assert_int_equal(places_find(&settings, &p, &err), -ENOEXEC);
	unlink(path);
	rmdir(folder);
	settings.program = "/dev/zero";
	assert_int_equal(places_find(&settings, &p, &err), -ENOEXEC);
	settings.program = "/etc/passwd";
	assert_int_equal(places_find(&settings, &p, &err), -ENOEXEC);
	assert_non_null(strstr(err.msg, "no program for x86-64"));
	settings.program = "";
	assert_int_equal(places_find(&settings, &p, &err), -ENOENT);
	settings.program = "/";
	assert_int_equal(places_find(&settings, &p, &err), -ENOEXEC);
}

static void patterns_that_cannot_be_read_are_refused(void **state)
{
	static const struct {
		const char *pattern, *want;
	} cases[] = {
		{ "", "it is empty" },
		{ "//", "it is empty" },
		{ "/a", "'/' is missing" },
		{ "/(/", "Unmatched" },
		{ "/(a)\\1/", "looks back" },
		{ "/(((a{1,20}){1,20}){1,20})/", "repeats more than 1000 times" },
		{ "/a{1001}/", "repeats more than" },
		{ "libc.so:", "no function's name" },
	};
	char longest[PATTERN_MAX_BYTES + 2];
	struct places p = PLACES_EMPTY;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char path[PATH_MAX], *patterns[] = { (char *)cases[i].pattern };
		struct places_settings settings = {
			.program = path, .patterns = patterns, .pattern_count = 1, .most = 9
		};
		struct err err;

		print_message("%s\n", cases[i].pattern);
		traced_path("libplaces.so", path);
		assert_int_equal(places_find(&settings, &p, &err), -EINVAL);
		assert_non_null(strstr(err.msg, cases[i].want));
	}
	memset(longest, 'a', sizeof(longest));
	longest[PATTERN_MAX_BYTES + 1] = '\0';
	assert_int_equal(find_in("libplaces.so", longest, &p), -EINVAL);
	longest[PATTERN_MAX_BYTES] = '\0';
	assert_int_equal(find_in("libplaces.so", longest, &p), 0);
	places_free(&p);
}

static void a_list_has_everything_in_order_the_program_first(void **state)
{
	char path[PATH_MAX];
	struct places_settings settings = { .program = path };
	struct places p = PLACES_EMPTY;
	struct err err;

	(void)state;
	traced_path("walker", path);
	assert_int_equal(places_list(&settings, &p, &err), 0);
	assert_true(p.count > 1000); /* libc is there too */
	assert_int_equal(p.beyond, 0);
	assert_true(is_text(p.rows[0].module, "walker"));
	for (size_t i = 1; i < p.count; i++) {
		struct str a = p.rows[i - 1].module, b = p.rows[i].module;
		int order = memcmp(a.bytes, b.bytes, a.len < b.len ? a.len : b.len);

		assert_true(order <= 0 || is_text(a, "walker"));
		assert_false(is_text(b, "walker") && !is_text(a, "walker"));
		a = p.rows[i - 1].name;
		b = p.rows[i].name;
		if (is_text(p.rows[i].module, "walker") && is_text(p.rows[i - 1].module, "walker"))
			assert_true(memcmp(a.bytes, b.bytes, a.len < b.len ? a.len : b.len) <= 0);
	}
	places_free(&p);
}

/* A copy of a library in which `from` is `to`, of the same length. */
static void copy_with(const char *from, const char *to, char path[])
{
	char source[PATH_MAX];
	static char bytes[1 << 20];
	ssize_t count;
	int in, out = mkstemp(path);

	traced_path("libplaces.so", source);
	in = open(source, O_RDONLY | O_CLOEXEC);
	count = read(in, bytes, sizeof(bytes));
	assert_true(count > 0 && (size_t)count < sizeof(bytes));
	for (char *at = bytes; (at = memmem(at, (size_t)(bytes + count - at), from, strlen(from)));)
		memcpy(at, to, strlen(from));
	assert_int_equal(write(out, bytes, (size_t)count), count);
	close(in);
	close(out);
}

static void names_are_any_bytes(void **state)
{
	static const char evil[] = "e\033[1m\n\xffx";
	char path[] = "/tmp/tare-test-XXXXXX", *patterns[] = { (char *)evil };
	struct places_settings settings = {
		.program = path, .patterns = patterns, .pattern_count = 1, .most = 9
	};
	struct places p = PLACES_EMPTY;
	struct err err;

	(void)state;
	copy_with("evil_name", "e\033[1m\n\xffx\0", path);
	assert_int_equal(places_find(&settings, &p, &err), 0);
	assert_int_equal(p.count, 1);
	assert_true(is_text(p.rows[0].name, evil));
	assert_int_equal(p.rows[0].why_not.len, 0);
	places_free(&p);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_means_what_the_user_wrote),
		cmocka_unit_test(names_of_cpp_are_read_as_written),
		cmocka_unit_test(strings_and_allocators_may_be_written_short),
		cmocka_unit_test(versions_are_told_apart),
		cmocka_unit_test(what_cannot_be_watched_says_why),
		cmocka_unit_test(probes_move_where_no_jump_of_the_file_leads),
		cmocka_unit_test(a_function_that_two_patterns_mean_is_one_row),
		cmocka_unit_test(the_files_of_a_process_are_searched),
		cmocka_unit_test(a_program_that_was_deleted_is_searched),
		cmocka_unit_test(a_script_leads_to_what_runs_it),
		cmocka_unit_test(what_is_no_program_is_refused),
		cmocka_unit_test(patterns_that_cannot_be_read_are_refused),
		cmocka_unit_test(a_list_has_everything_in_order_the_program_first),
		cmocka_unit_test(names_are_any_bytes),
		cmocka_unit_test(names_of_one_address_are_one_row),
		cmocka_unit_test(what_cannot_be_found_says_where_was_looked),
		cmocka_unit_test(a_program_brings_its_libraries),
		cmocka_unit_test(no_more_than_the_most_are_watched_and_the_rest_is_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
