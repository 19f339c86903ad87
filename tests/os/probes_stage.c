/* probes_stage.c - the harness of the tests of probes. */
#include "probes_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"

#define ops (&watch_source_probes)

const char *const stage_modes[STAGE_MODES] = { NULL, "session", "multi" };

static const char *target;

void stage_target(int argc, char **argv)
{
	if (argc < 2)
		exit(2);
	target = argv[1];
}

static _Noreturn void run_target(int in, int out, int gate, const char *const *arguments)
{
	char *argv[8] = { (char *)target };
	char none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	for (size_t i = 0; i + 2 < ARRAY_LEN(argv) && arguments[i] != NULL; i++)
		argv[i + 1] = (char *)arguments[i];
	if (gate >= 0 && read(gate, &none, 1) != 1)
		_exit(126);
	execv(target, argv);
	_exit(127);
}

static void start(struct stage *s, const char *const *arguments, bool is_waiting)
{
	int in[2], out[2];

	memset(s, 0, sizeof(*s));
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0) {
		close(in[1]);
		run_target(in[0], out[1], is_waiting ? in[0] : -1, arguments);
	}
	close(in[0]);
	close(out[1]);
	s->to = in[1];
	s->from = out[0];
}

void stage_start(struct stage *s, const char *const *arguments)
{
	start(s, arguments, false);
	stage_hear(s, "here\n");
}

void stage_start_waiting(struct stage *s, const char *const *arguments)
{
	start(s, arguments, true);
}

void stage_let_exec(struct stage *s)
{
	stage_go(s);
	stage_hear(s, "here\n");
}

void stage_hear(struct stage *s, const char *text)
{
	struct pollfd from = { .fd = s->from, .events = POLLIN };
	char *at;

	while ((at = strstr(s->said, text)) == NULL) {
		ssize_t got;

		if (poll(&from, 1, 60000) <= 0)
			fail_msg("the target never said '%s'", text);
		got = read(s->from, s->said + s->said_length, sizeof(s->said) - 1 - s->said_length);
		if (got <= 0)
			fail_msg("the target ended before it said '%s'", text);
		s->said_length += (size_t)got;
		s->said[s->said_length] = '\0';
	}
	memset(at, '.', strlen(text)); /* heard */
}

void stage_go(struct stage *s)
{
	assert_int_equal(write(s->to, "x", 1), 1);
}

void stage_round(struct stage *s)
{
	stage_go(s);
	stage_hear(s, "done\n");
}

void stage_find(struct stage *s, const struct stage_wants *wants)
{
	char *patterns[STAGE_POINTS] = { NULL };
	struct places_settings settings = { .program = target, .patterns = patterns, .most = 40 };
	struct err err = ERR_EMPTY;

	while (wants->names[settings.pattern_count] != NULL) {
		patterns[settings.pattern_count] = (char *)wants->names[settings.pattern_count];
		settings.pattern_count++;
	}
	if (wants->frame != NULL)
		patterns[settings.pattern_count++] = (char *)wants->frame;
	if (places_find(&settings, &s->places, &err) != 0)
		fail_msg("%s", err.msg);
}

static bool is_named(const struct place *place, const char *name)
{
	return place->name.len == strlen(name) &&
	       memcmp(place->name.bytes, name, place->name.len) == 0;
}

/* Takes the frame's place out of the list into `out`. */
static void take_frame(struct stage *s, const char *name, struct place *out)
{
	for (size_t i = 0; i < s->places.count; i++) {
		if (!is_named(&s->places.rows[i], name))
			continue;
		*out = s->places.rows[i];
		memmove(&s->places.rows[i], &s->places.rows[i + 1],
			(s->places.count - i - 1) * sizeof(*out));
		s->places.count--;
		return;
	}
	fail_msg("there is no function '%s'", name);
}

void stage_open_with(struct stage *s, const struct watch_source_settings *settings)
{
	struct err err = ERR_EMPTY;
	int status = ops->open(settings, &s->source, &err);

	if (status == 0)
		status = ops->start(s->source, &err);
	if (status == 0)
		return;
	print_message("%s\n%s\n%s\n", err.msg, err.works, err.mend);
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	if (status == -EPERM || status == -ENOTSUP)
		skip();
	fail();
}

void stage_open(struct stage *s, const struct stage_wants *wants)
{
	struct watch_source_settings settings = { .pid = s->pid,
						  .places = &s->places,
						  .interval = wants->interval,
						  .slow_ns = wants->slow_ns,
						  .switched_off = wants->off };

	stage_find(s, wants);
	if (wants->frame != NULL) {
		take_frame(s, wants->frame, &s->frame);
		settings.frame = &s->frame;
	}
	stage_open_with(s, &settings);
}

static void pool(struct stage *s, uint32_t point)
{
	struct histogram histogram = HISTOGRAM_EMPTY;
	struct watchlist_losses losses;
	struct calls_seen seen;
	struct calls calls = CALLS_EMPTY;

	assert_int_equal(ops->seen(s->source, point, STAGE_S, &seen, &histogram, &losses), 0);
	assert_int_equal(calls_open(&calls, 1), 0);
	assert_int_equal(calls_add(&calls, 0, &seen, &histogram), 0); /* refuses what cannot be */
	if (calls.count > 0)
		assert_int_equal(calls_pool(&s->rows[point], &calls.rows[0]), 0);
	s->losses[point].abandoned += losses.abandoned;
	s->losses[point].backwards += losses.backwards;
	s->losses[point].clamped += losses.clamped;
	calls_close(&calls);
	histogram_free(&histogram);
}

void stage_turn(struct stage *s)
{
	assert_int_equal(ops->turn(s->source, false), 0);
	for (uint32_t i = 0; i < ops->points(s->source); i++)
		pool(s, i);
}

uint32_t stage_point(struct stage *s, const char *name)
{
	for (uint32_t i = 0; i < ops->points(s->source); i++) {
		struct watched_row row = { 0 };

		ops->describe(s->source, i, &row);
		if (row.name.len == strlen(name) && memcmp(row.name.bytes, name, row.name.len) == 0)
			return i;
	}
	fail_msg("there is no point '%s'", name);
	return 0;
}

uint64_t stage_timed(const struct stage *s, uint32_t point)
{
	return s->rows[point].firsts + s->rows[point].others;
}

void stage_end(struct stage *s)
{
	ops->close(s->source);
	s->source = NULL;
	close(s->to);
	close(s->from);
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	for (int i = 0; i < STAGE_POINTS; i++) {
		assert_int_equal(s->rows[i].histogram.weight,
				 s->rows[i].firsts + s->rows[i].weight);
		calls_row_free(&s->rows[i]);
	}
	places_free(&s->places);
}
