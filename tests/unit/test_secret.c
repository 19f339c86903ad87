/* test_secret.c - secrets by reference: what may be read, what is refused, and that no message holds a value. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/settings.h"

static char place[] = "/tmp/tare-secret-XXXXXX";
static char reference[512];
static struct err err;
static char *got;

static int make_place(void **state)
{
	(void)state;
	umask(077);
	return mkdtemp(place) != NULL ? 0 : -1;
}

static int remove_place(void **state)
{
	char command[256];

	(void)state;
	secret_free(&got);
	snprintf(command, sizeof(command), "rm -rf '%s'", place);
	return system(command);
}

/* The reference to a file NAME of the place, behind `way`. */
static const char *refer(const char *way, const char *name)
{
	snprintf(reference, sizeof(reference), "%s%s/%s", way, place, name);
	return reference;
}

static void write_secret(const char *name, const char *bytes, size_t len, mode_t mode)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", place, name);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int read_it(const char *from)
{
	secret_free(&got);
	err = ERR_EMPTY;
	return secret_read(from, "password", "server 'a'", &got, &err);
}

static void must_refuse(const char *from, int code, const char *says)
{
	assert_int_equal(read_it(from), code);
	assert_null(got);
	assert_non_null(strstr(err.msg, "cannot read password of server 'a'"));
	if (strstr(err.msg, says) == NULL)
		fail_msg("it said: %s", err.msg);
	assert_null(strstr(err.msg, "hush"));
}

static void an_environment_variable_is_read(void **state)
{
	(void)state;
	setenv("TARE_TEST_SECRET", "hush", 1);
	assert_int_equal(read_it("env:TARE_TEST_SECRET"), 0);
	assert_string_equal(got, "hush");
	unsetenv("TARE_TEST_SECRET");
	must_refuse("env:TARE_TEST_SECRET", -ENOENT, "'TARE_TEST_SECRET' is not set");
	setenv("TARE_TEST_SECRET", "", 1);
	must_refuse("env:TARE_TEST_SECRET", -EINVAL, "it is empty in env:TARE_TEST_SECRET");
}

static void a_file_that_only_we_can_read_is_read(void **state)
{
	(void)state;
	write_secret("one", "hush word\r\n", 11, 0600);
	assert_int_equal(read_it(refer("file:", "one")), 0);
	assert_string_equal(got, "hush word");
	write_secret("one", "hush\n\n", 6, 0400);
	assert_int_equal(read_it(refer("file:", "one")), 0);
	assert_string_equal(got, "hush\n");
}

static void a_file_that_others_can_read_is_refused(void **state)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0601, 0644 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		write_secret("open", "hush", 4, modes[i]);
		must_refuse(refer("file:", "open"), -EACCES, "can be read by others");
		assert_non_null(strstr(err.mend, "chmod 600"));
	}
}

static void a_file_of_another_user_is_refused(void **state)
{
	char path[256];

	(void)state;
	if (geteuid() != 0)
		skip();
	write_secret("theirs", "hush", 4, 0600);
	snprintf(path, sizeof(path), "%s/theirs", place);
	assert_int_equal(chown(path, 12345, 12345), 0);
	must_refuse(refer("file:", "theirs"), -EACCES, "belongs to another user");
}

static void no_symbolic_link_is_followed(void **state)
{
	char path[256], link[256];

	(void)state;
	write_secret("real", "hush", 4, 0600);
	snprintf(path, sizeof(path), "%s/real", place);
	snprintf(link, sizeof(link), "%s/link", place);
	assert_int_equal(symlink(path, link), 0);
	must_refuse(refer("file:", "link"), -ELOOP, "behind a symbolic link");
	snprintf(link, sizeof(link), "%s/folder", place);
	assert_int_equal(symlink(place, link), 0);
	must_refuse(refer("file:", "folder/real"), -ELOOP, "behind a symbolic link");
}

static void what_is_no_file_is_refused_without_waiting(void **state)
{
	char path[256];

	(void)state;
	alarm(10); /* a wait would be for ever */
	snprintf(path, sizeof(path), "%s/pipe", place);
	assert_int_equal(mkfifo(path, 0600), 0);
	must_refuse(refer("file:", "pipe"), -EACCES, "is no regular file");
	must_refuse("file:/", -EACCES, "is no regular file");
	must_refuse(refer("file:", "nowhere"), -ENOENT, "No such file");
	must_refuse("file:relative", -EINVAL, "is no absolute path");
	alarm(0);
}

static void an_empty_long_or_binary_file_is_refused(void **state)
{
	static char large[5000];

	(void)state;
	write_secret("bad", "", 0, 0600);
	must_refuse(refer("file:", "bad"), -EINVAL, "it is empty in file:");
	write_secret("bad", "\n", 1, 0600);
	must_refuse(refer("file:", "bad"), -EINVAL, "it is empty in file:");
	write_secret("bad", "hu\0sh", 5, 0600);
	must_refuse(refer("file:", "bad"), -EINVAL, "holds a NUL");
	memset(large, 'x', sizeof(large));
	write_secret("bad", large, sizeof(large), 0600);
	must_refuse(refer("file:", "bad"), -EINVAL, "over 4096 bytes");
	write_secret("bad", large, 4096, 0600);
	assert_int_equal(read_it(refer("file:", "bad")), 0);
	assert_int_equal(strlen(got), 4096);
}

static void a_credential_is_read_from_its_folder_only(void **state)
{
	(void)state;
	unsetenv("CREDENTIALS_DIRECTORY");
	must_refuse("cred:db", -ENOENT, "$CREDENTIALS_DIRECTORY is not set");
	assert_non_null(strstr(err.mend, "LoadCredential=db:"));
	setenv("CREDENTIALS_DIRECTORY", place, 1);
	write_secret("db", "hush\n", 5, 0440);
	assert_int_equal(read_it("cred:db"), 0);
	assert_string_equal(got, "hush");
	write_secret("db", "hush\n", 5, 0444);
	must_refuse("cred:db", -EACCES, "can be read by others");
	must_refuse("cred:../db", -EINVAL, "is no name");
	must_refuse("cred:", -EINVAL, "is no name");
	must_refuse("cred:.db", -EINVAL, "is no name");
	must_refuse("cred:none", -ENOENT, "No such file");
}

static void a_literal_is_told_from_a_reference(void **state)
{
	(void)state;
	assert_true(secret_is_literal("hush"));
	assert_true(secret_is_literal("environment"));
	assert_false(secret_is_literal("env:X"));
	assert_false(secret_is_literal("file:/x"));
	assert_false(secret_is_literal("cred:x"));
	assert_false(secret_is_literal(""));
	assert_int_equal(read_it("hush"), 0);
	assert_string_equal(got, "hush");
	must_refuse("", -EINVAL, "it is empty");
}

static void it_fails_for_who_wants_no_words_too(void **state)
{
	char *out = NULL;

	(void)state;
	unsetenv("CREDENTIALS_DIRECTORY");
	assert_int_equal(secret_read("cred:word", "password", "a", &out, NULL), -ENOENT);
	assert_int_equal(secret_read("", "password", "a", &out, NULL), -EINVAL);
	assert_null(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_fails_for_who_wants_no_words_too),
		cmocka_unit_test(an_environment_variable_is_read),
		cmocka_unit_test(a_file_that_only_we_can_read_is_read),
		cmocka_unit_test(a_file_that_others_can_read_is_refused),
		cmocka_unit_test(a_file_of_another_user_is_refused),
		cmocka_unit_test(no_symbolic_link_is_followed),
		cmocka_unit_test(what_is_no_file_is_refused_without_waiting),
		cmocka_unit_test(an_empty_long_or_binary_file_is_refused),
		cmocka_unit_test(a_credential_is_read_from_its_folder_only),
		cmocka_unit_test(a_literal_is_told_from_a_reference),
	};

	return cmocka_run_group_tests_name("secret", tests, make_place, remove_place);
}
