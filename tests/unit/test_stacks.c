/* test_stacks.c - what shows that a program can switch stacks, and what does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "core/scoped.h"
#include "sense/stacks.h"
#include "traced.h"

static const char untouched[] = "untouched";

static bool finds_in(const char *target, char *out, size_t size)
{
	char path[PATH_MAX];
	struct stacks_program of = { .program = path };

	traced_path(target, path);
	snprintf(out, size, "%s", untouched);
	return stacks_find(&of, out, size);
}

static void what_a_program_uses_or_has_shows_that_it_switches_stacks(void **state)
{
	char out[128];

	(void)state;
	assert_true(finds_in("libswitches.so", out, sizeof(out)));
	assert_string_equal(out, "swapcontext, in libswitches.so");
	assert_true(finds_in("libfcontext.so", out, sizeof(out)));
	assert_string_equal(out, "jump_fcontext, in libfcontext.so");
}

static void a_c_library_that_offers_it_shows_nothing(void **state)
{
	struct stacks_program of = { .pid = getpid() };
	char out[128] = "untouched";

	(void)state;
	assert_false(stacks_find(&of, out, sizeof(out)));
	assert_string_equal(out, untouched);
}

static void openssl_is_excused(void **state)
{
	char out[128];

	(void)state;
	assert_false(finds_in("libcrypto.so", out, sizeof(out)));
	assert_string_equal(out, untouched);
}

/* Of a process its mapped files are looked at, this one's too. */
static void a_library_that_a_process_has_mapped_shows_it(void **state)
{
	static const struct {
		const char *library, *want;
	} cases[] = {
		{ "libswitches.so", "swapcontext, in libswitches.so" },
		{ "libfcontext.so", "jump_fcontext, in libfcontext.so" },
	};
	struct stacks_program of = { .pid = getpid() };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char out[128], path[PATH_MAX];
		void *library;

		assert_false(stacks_find(&of, out, sizeof(out)));
		traced_path(cases[i].library, path);
		library = dlopen(path, RTLD_NOW);
		assert_non_null(library);
		assert_true(stacks_find(&of, out, sizeof(out)));
		assert_string_equal(out, cases[i].want);
		dlclose(library);
	}
}

static void what_cannot_be_read_shows_nothing(void **state)
{
	const struct stacks_program gone = { .program = "/no/such/program" },
				    nobody = { .pid = -1 };
	char out[128];

	(void)state;
	assert_false(stacks_find(&gone, out, sizeof(out)));
	assert_false(stacks_find(&nobody, out, sizeof(out)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_program_uses_or_has_shows_that_it_switches_stacks),
		cmocka_unit_test(a_c_library_that_offers_it_shows_nothing),
		cmocka_unit_test(openssl_is_excused),
		cmocka_unit_test(a_library_that_a_process_has_mapped_shows_it),
		cmocka_unit_test(what_cannot_be_read_shows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
