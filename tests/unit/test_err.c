/* test_err.c - failures as text. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/err.h"

static void setting_returns_the_code_and_clears_the_other_lines(void **state)
{
	struct err err = ERR_EMPTY;

	(void)state;
	err_set(&err, -EACCES, "cannot open '%s'", "x");
	err_works(&err, "everything else");
	err_mend(&err, "chmod u+r x");
	assert_int_equal(err_set(&err, -EIO, "cannot read '%s'", "y"), -EIO);
	assert_int_equal(err.code, -EIO);
	assert_string_equal(err.msg, "cannot read 'y'");
	assert_string_equal(err.works, "");
	assert_string_equal(err.mend, "");
}

static void a_message_that_does_not_fit_says_so(void **state)
{
	static char name[3000];
	struct err err = ERR_EMPTY;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	err_set(&err, -ENOENT, "cannot open '%s'", name);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	assert_string_equal(err.msg + sizeof(err.msg) - 4, "...");
}

static void nobody_to_tell_is_no_crash(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, -EINVAL, "cannot"), -EINVAL);
	assert_int_equal(err_works(NULL, "x"), 0);
	assert_int_equal(err_mend(NULL, "x"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(setting_returns_the_code_and_clears_the_other_lines),
		cmocka_unit_test(a_message_that_does_not_fit_says_so),
		cmocka_unit_test(nobody_to_tell_is_no_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
