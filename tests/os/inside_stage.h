/* inside_stage.h - what the tests of the source in process share: a program with libtare as a child, and its source. Include
 * after cmocka.h. */
#ifndef TARE_TESTS_INSIDE_STAGE_H
#define TARE_TESTS_INSIDE_STAGE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/units.h"
#include "sense/watch_source.h"

static const struct watch_source_ops *const inside = &watch_source_inside;

static inline uint64_t stage_now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * NS_PER_S + (uint64_t)at.tv_nsec;
}

static inline void stage_pause_ms(uint64_t ms)
{
	struct timespec time = { .tv_sec = (time_t)(ms / 1000),
				 .tv_nsec = (long)(ms % 1000 * 1000000) };

	nanosleep(&time, NULL);
}

/* A program whose words go to `*out_fd`; it ends with the test. */
struct stage_program {
	pid_t pid;
	int in, out; /* what it reads from, and what it says */
};

static inline struct stage_program stage_program_start(char *const *argv)
{
	struct stage_program program;
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	program.pid = fork();
	assert_true(program.pid >= 0);
	if (program.pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execv(argv[0], argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	program.in = in[1];
	program.out = out[0];
	return program;
}

/* Tells targets/inside.c one line, and waits until it is done. */
static inline void stage_tell(const struct stage_program *program, const char *line)
{
	char answer[3];
	size_t have = 0;

	assert_int_equal(write(program->in, line, strlen(line)), strlen(line));
	assert_int_equal(write(program->in, "\n", 1), 1);
	while (have < 3) {
		ssize_t bytes = read(program->out, answer + have, 3 - have);

		assert_true(bytes > 0);
		have += (size_t)bytes;
	}
	assert_memory_equal(answer, "ok\n", 3);
}

/* Waits for its end; returns its status. */
static inline int stage_program_end(struct stage_program *program)
{
	int status = -1;

	if (program->in >= 0)
		close(program->in);
	if (program->out >= 0)
		close(program->out);
	program->in = program->out = -1;
	assert_int_equal(waitpid(program->pid, &status, 0), program->pid);
	return status;
}

/* The program may not have come so far as to have a mapping. */
static inline struct watch_source *stage_source(const struct watch_source_settings *settings)
{
	struct watch_source *source = NULL;
	struct err err = ERR_EMPTY;
	int status = -ENOENT;

	for (int tries = 0; tries < 400 && status == -ENOENT; tries++) {
		status = inside->open(settings, &source, &err);
		if (status == -ENOENT)
			stage_pause_ms(5);
	}
	if (status != 0)
		fail_msg("%s", err.msg);
	return source;
}

/* The point of a name; UINT32_MAX: there is none. */
static inline uint32_t stage_point(struct watch_source *source, const char *name)
{
	for (uint32_t point = 0; point < inside->points(source); point++) {
		struct watched_row row = { .id = 0 };

		inside->describe(source, point, &row);
		if (row.name.len == strlen(name) && memcmp(row.name.bytes, name, row.name.len) == 0)
			return point;
	}
	return UINT32_MAX;
}

/* What a point did in the ended window, its histogram thrown away. */
static inline struct calls_seen stage_seen(struct watch_source *source, uint32_t point,
					   uint64_t span_ns)
{
	struct histogram histogram = HISTOGRAM_EMPTY;
	struct watchlist_losses losses;
	struct calls_seen seen = { .calls = 0 };

	assert_int_equal(inside->seen(source, point, span_ns, &seen, &histogram, &losses), 0);
	histogram_free(&histogram);
	return seen;
}

#endif
