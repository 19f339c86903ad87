/* test_lines.c - lines of sources, read by a child that can do nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
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

/* A string table without an end leads libdw beyond it. */
static void debug_information_without_end_costs_its_lines(void **state)
{
	static uint8_t file[1u << 20];
	struct seen seen;
	struct lines_request request = request_hidden(&seen);
	ssize_t len = read(request.fd, file, sizeof(file));
	Elf64_Ehdr *h = (Elf64_Ehdr *)file;
	Elf64_Shdr *sections = (Elf64_Shdr *)(file + h->e_shoff);
	const char *names = (const char *)file + sections[h->e_shstrndx].sh_offset;
	uint64_t spent_ns = 0;
	size_t changed = 0;

	(void)state;
	close(request.fd);
	for (size_t i = 0; i < h->e_shnum; i++) {
		const char *name = names + sections[i].sh_name;

		if (strcmp(name, ".debug_line_str") == 0 || strcmp(name, ".debug_str") == 0) {
			memset(file + sections[i].sh_offset, 'x', sections[i].sh_size);
			changed++;
		}
	}
	assert_true(changed > 0);
	request.fd = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(write(request.fd, file, (size_t)len), len);
	(void)lines_read(&request, &spent_ns); /* whatever it says: we are alive */
	assert_true(seen.line == 0 || seen.line == 1234 || seen.line == 1235);
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
		cmocka_unit_test(debug_information_without_end_costs_its_lines),
		cmocka_unit_test(the_child_can_open_start_and_reach_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
