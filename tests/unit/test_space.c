/* test_space.c - address spaces of processes that fork, execute, end, and whose files are replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/scoped.h"
#include "sense/openfile.h"
#include "traced.h"

static struct traced target;
static struct frame frames[SPACE_MAX_FRAMES];
static char folder[] = "/tmp/tare-test-XXXXXX";

/* The stack of `pid` by the target's sample, as "root;...;innermost". */
static enum stack_end walk(struct spaces *s, pid_t pid, size_t max, char *out, size_t size)
{
	enum stack_end end;
	size_t len = 0, count = spaces_walk(s, pid, &target.copy, frames, max, &end);

	assert_true(count <= max);
	out[0] = '\0';
	for (size_t i = 0; i < count && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%.*s", i ? ";" : "",
					(int)frames[i].name.len, frames[i].name.bytes);
	return end;
}

static void start(const char *program, const char *mode)
{
	char path[PATH_MAX];

	traced_path(program, path);
	assert_true(traced_start(&target, path, mode));
	traced_sample(&target);
}

static void a_child_has_its_parents_space_until_it_executes(void **state)
{
	const pid_t child = 999999; /* no process: all that is known is from its parent */
	char text[4096], of_child[4096];
	struct spaces *s;

	(void)state;
	start("walker", "chain");
	assert_int_equal(spaces_open(&s, NULL), 0);
	spaces_read(s, target.pid);
	spaces_fork(s, target.pid, child);
	assert_int_equal(walk(s, target.pid, 64, text, sizeof(text)), STACK_WHOLE);
	assert_int_equal(walk(s, child, 64, of_child, sizeof(of_child)), STACK_WHOLE);
	assert_string_equal(text, of_child);
	spaces_exec(s, child);
	assert_int_equal(walk(s, child, 64, text, sizeof(text)), STACK_BROKEN);
	assert_string_equal(text, "[broken];[unknown]");
	assert_int_equal(walk(s, target.pid, 64, text, sizeof(text)), STACK_WHOLE);
	spaces_exit(s, target.pid);
	spaces_exit(s, child);
	spaces_close(s);
	traced_end(&target);
}

static void a_stack_deeper_than_wanted_keeps_both_ends(void **state)
{
	char text[4096];
	struct spaces *s;

	(void)state;
	start("walker", "chain");
	assert_int_equal(spaces_open(&s, NULL), 0);
	assert_int_equal(walk(s, target.pid, 5, text, sizeof(text)), STACK_WHOLE);
	assert_string_equal(text, "_start;__libc_start_main;[cut 3];middle;inner");
	assert_int_equal(frames[2].kind, FRAME_MARKER);
	assert_int_equal(walk(s, target.pid, 1, text, sizeof(text)), STACK_WHOLE);
	assert_string_equal(text, "[cut 7]");
	spaces_close(s);
	traced_end(&target);
}

static void kernel_frames_come_last_and_innermost_at_the_end(void **state)
{
	const uint64_t addresses[] = { UINT64_C(0xffffffff81000010), UINT64_C(0xffffffff81000020) };
	struct spaces *s;
	struct stack_copy none = { .kernel = addresses, .kernel_count = 2 };
	enum stack_end end;

	(void)state;
	start("walker", "chain");
	assert_int_equal(spaces_open(&s, NULL), 0);
	target.copy.kernel = addresses;
	target.copy.kernel_count = 2;
	assert_int_equal(spaces_walk(s, target.pid, &target.copy, frames, 64, &end), 9);
	assert_int_equal(frames[6].kind, FRAME_NATIVE);
	assert_int_equal(frames[7].kind, FRAME_KERNEL);
	assert_int_equal(frames[8].kind, FRAME_KERNEL);
	if (spaces_kernel_names(s)[0] != '\0')
		assert_memory_equal(frames[8].name.bytes, "[kernel]", 8);
	assert_int_equal(spaces_walk(s, 2, &none, frames, 64, &end), 2);
	assert_int_equal(end, STACK_WHOLE);
	spaces_close(s);
	traced_end(&target);
}

static void copy_file(const char *from, const char *to)
{
	static char bytes[1u << 20];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	ssize_t len = read(in, bytes, sizeof(bytes));

	assert_true(len > 0);
	assert_int_equal(write(out, bytes, (size_t)len), len);
	close(in);
	close(out);
}

/* Another program takes over the path while the old one runs: names are the old one's. */
static void a_replaced_file_never_names_the_one_that_runs(void **state)
{
	char walker[PATH_MAX], other[PATH_MAX], path[PATH_MAX], fresh[PATH_MAX], text[4096];
	struct spaces *s;

	(void)state;
	traced_path("walker", walker);
	traced_path("walker_fp", other);
	snprintf(path, sizeof(path), "%s/program", folder);
	snprintf(fresh, sizeof(fresh), "%s/fresh", folder);
	copy_file(walker, path);
	copy_file(other, fresh);
	assert_true(traced_start(&target, path, "chain"));
	traced_sample(&target);
	assert_int_equal(rename(fresh, path), 0);
	assert_int_equal(spaces_open(&s, NULL), 0);
	assert_int_equal(walk(s, target.pid, 64, text, sizeof(text)), STACK_WHOLE);
	assert_non_null(strstr(text, "_start;__libc_start_main;"));
	assert_non_null(strstr(text, ";main;outer;middle;inner"));
	assert_int_equal(frames[6].module.len, strlen("program"));
	assert_memory_equal(frames[6].module.bytes, "program", strlen("program"));
	spaces_close(s);
	traced_end(&target);
	unlink(path);
}

/* The mapping of the file at `path` in a process that is gone. */
static struct mapping gone_mapping(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (struct mapping){ .start = 0x1000,
				 .end = 0x2000,
				 .inode = st.st_ino,
				 .dev_major = major(st.st_dev),
				 .dev_minor = minor(st.st_dev),
				 .kind = MAPPING_FILE,
				 .seen_s = INT64_MAX / 2,
				 .file = { path, (uint32_t)strlen(path) } };
}

static void only_the_very_file_is_opened(void **state)
{
	const pid_t dead = 999999;
	char walker[PATH_MAX], path[PATH_MAX], fifo[PATH_MAX];
	struct mapping m;
	struct statx x;
	int fd;

	(void)state;
	traced_path("walker", walker);
	snprintf(path, sizeof(path), "%s/file", folder);
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	copy_file(walker, path);
	m = gone_mapping(path);
	fd = openfile_mapping(dead, &m);
	assert_true(fd >= 0);
	close(fd);
	m.inode++;
	assert_int_equal(openfile_mapping(dead, &m), -ESTALE);
	m = gone_mapping(path);
	m.dev_minor++;
	assert_int_equal(openfile_mapping(dead, &m), -ESTALE);
	m = gone_mapping(path);
	m.was_deleted = true;
	assert_true(openfile_mapping(dead, &m) < 0);
	m = gone_mapping(path);
	assert_int_equal(statx(AT_FDCWD, path, 0, STATX_BTIME, &x), 0);
	if (x.stx_mask & STATX_BTIME) { /* an inode used again, after the mapping was seen */
		m.seen_s = x.stx_btime.tv_sec - 10;
		assert_int_equal(openfile_mapping(dead, &m), -ESTALE);
	}
	assert_int_equal(mkfifo(fifo, 0600), 0);
	m = gone_mapping(fifo);
	assert_int_equal(openfile_mapping(dead, &m), -ENOEXEC); /* and does not wait */
	unlink(fifo);
	unlink(path);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_has_its_parents_space_until_it_executes),
		cmocka_unit_test(a_stack_deeper_than_wanted_keeps_both_ends),
		cmocka_unit_test(kernel_frames_come_last_and_innermost_at_the_end),
		cmocka_unit_test(a_replaced_file_never_names_the_one_that_runs),
		cmocka_unit_test(only_the_very_file_is_opened),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
