/* test_lines.c - lines of sources, read by a child that can do nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "sense/elffile.h"
#include "sense/lines.h"
#include "traced.h"

struct seen {
	uint64_t wanted;
	size_t count;
	uint32_t line;
	char file[256];
};

static bool is_the_one(void *owner, uint64_t address)
{
	return address == ((struct seen *)owner)->wanted;
}

static void take(void *owner, uint64_t address, uint32_t line, const char *file, uint32_t file_len)
{
	struct seen *s = owner;

	assert_int_equal(address, s->wanted);
	if (s->count++ > 0)
		return;
	s->line = line;
	snprintf(s->file, sizeof(s->file), "%.*s", (int)file_len, file);
}

/* A request for the function `hidden` of libnames.so. */
static struct lines_request request_hidden(struct seen *seen)
{
	char path[PATH_MAX];
	struct tables t;
	int fd;

	*seen = (struct seen){ 0 };
	traced_path("libnames.so", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elffile_read(fd, &t), 0);
	for (size_t i = 0; i < t.symbol_count; i++)
		if (t.symbols[i].name_len == 6 &&
		    memcmp(t.names + t.symbols[i].name, "hidden", 6) == 0)
			seen->wanted = t.base + t.symbols[i].start;
	tables_free(&t);
	assert_int_not_equal(seen->wanted, 0);
	return (struct lines_request){ fd, seen->wanted, is_the_one, take, seen };
}

static void a_function_is_where_it_was_declared(void **state)
{
	struct seen seen;
	struct lines_request request = request_hidden(&seen);
	uint64_t spent_ns = 0;

	(void)state;
	assert_int_equal(lines_read(&request, &spent_ns), 0);
	assert_true(seen.count > 0);
	assert_int_equal(seen.line, 1234); /* as the #line there says */
	assert_non_null(strstr(seen.file, "names.c"));
	print_message("%.2f ms of CPU in the child\n", (double)spent_ns / 1e6);
	request.address = 1;
	assert_int_equal(lines_read(&request, &spent_ns), -ENOENT);
	close(request.fd);
}

static bool dies(void *owner, uint64_t address)
{
	const struct rlimit none = { 0, 0 };

	(void)owner;
	(void)address;
	setrlimit(RLIMIT_CORE, &none);
	_exit(3);
}

static void a_child_that_dies_costs_its_lines(void **state)
{
	struct seen seen;
	struct lines_request request = request_hidden(&seen);
	uint64_t spent_ns = 0;

	(void)state;
	request.wants = dies;
	assert_int_equal(lines_read(&request, &spent_ns), -EIO);
	assert_int_equal(seen.count, 0);
	close(request.fd);
}

/* Runs in the child: true, and so an answer, only when nothing could be done. */
static bool is_powerless(void *owner, uint64_t address)
{
	return is_the_one(owner, address) && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 &&
	       socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 && fork() < 0 &&
	       kill(getppid(), 0) < 0 && unlink("/nonexistent/x") < 0 && errno == EPERM;
}

static void the_child_can_open_start_and_reach_nothing(void **state)
{
	struct seen seen;
	struct lines_request request = request_hidden(&seen);
	uint64_t spent_ns = 0;

	(void)state;
	request.wants = is_powerless;
	assert_int_equal(lines_read(&request, &spent_ns), 0);
	assert_true(seen.count > 0);
	close(request.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_where_it_was_declared),
		cmocka_unit_test(a_child_that_dies_costs_its_lines),
		cmocka_unit_test(the_child_can_open_start_and_reach_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
