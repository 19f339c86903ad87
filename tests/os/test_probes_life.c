/* test_probes_life.c - probes while threads end, processes fork and exec, points come and go, and we are killed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "probes_stage.h"

#define ops (&watch_source_probes)

static const char *const works[] = { "work_nop5", "work_push", "work_other", NULL };

static uint64_t all_calls(const struct stage *s, uint32_t point)
{
	return s->rows[point].calls + s->rows[point].never_timed;
}

static void threads_that_end_inside_are_counted_and_their_timed_calls_abandoned(void **state)
{
	static const char *const names[] = { "leaver", NULL };

	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		uint64_t threads = mode == 0 ? 20000 : 2000;
		char text[32];
		struct stage s;

		snprintf(text, sizeof(text), "%u", (unsigned int)threads);
		stage_start(&s, (const char *const[]){ "ends", text, NULL });
		stage_open(&s, &(struct stage_wants){
				       .off = stage_modes[mode], .names = names, .interval = 4 });
		stage_round(&s);
		usleep(100000); /* joined is not yet gone */
		stage_turn(&s);
		assert_int_equal(all_calls(&s, 0), threads);
		assert_int_equal(stage_timed(&s, 0), 0);
		/* While another thread gets its stack the kernel cannot say whose a stack is: not timed, and counted as such. */
		ops->facts(s.source, &s.facts);
		assert_in_range(s.losses[0].abandoned + s.facts.lost_returns,
				threads / 4 - threads / 20, threads / 4 + threads / 20);
		assert_true(s.losses[0].abandoned >= threads / 10);
		stage_end(&s);
	}
}

static void children_of_a_fork_are_not_counted(void **state)
{
	static const char *const names[] = { "work_push", NULL };

	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct stage s;

		stage_start(&s, (const char *const[]){ "fork", "1000", NULL });
		stage_open(&s, &(struct stage_wants){
				       .off = stage_modes[mode], .names = names, .interval = 8 });
		stage_round(&s);
		stage_turn(&s);
		assert_int_equal(all_calls(&s, 0), 1000);
		stage_end(&s);
	}
}

static void an_exec_goes_on_being_watched(void **state)
{
	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct stage s;

		stage_start(&s, (const char *const[]){ "exec", "1000", NULL });
		stage_open(&s, &(struct stage_wants){
				       .off = stage_modes[mode], .names = works, .interval = 8 });
		stage_go(&s);
		stage_hear(&s, "here\n"); /* the new program */
		stage_round(&s);
		stage_turn(&s);
		assert_int_equal(all_calls(&s, 0), 1000);
		assert_int_equal(all_calls(&s, 1), 2000);
		stage_end(&s);
	}
}

static void a_child_that_has_not_executed_yet_is_watched_from_its_first_call(void **state)
{
	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct stage s;

		stage_start_waiting(&s, (const char *const[]){ "count", "1", "100", NULL });
		stage_open(&s, &(struct stage_wants){
				       .off = stage_modes[mode], .names = works, .interval = 8 });
		stage_let_exec(&s);
		stage_round(&s);
		stage_turn(&s);
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(all_calls(&s, i), 100);
		stage_end(&s);
	}
}

static void the_end_of_the_process_is_told(void **state)
{
	struct watch_source_facts facts;
	struct stage s;

	(void)state;
	stage_start(&s, (const char *const[]){ "count", "1", "100", NULL });
	stage_open(&s, &(struct stage_wants){ .names = works, .interval = 8 });
	ops->facts(s.source, &facts);
	assert_false(facts.is_over);
	stage_round(&s);
	kill(s.pid, SIGKILL);
	for (int i = 0; i < 200 && !facts.is_over; i++) {
		usleep(10000);
		ops->facts(s.source, &facts);
	}
	assert_true(facts.is_over);
	stage_turn(&s);
	assert_int_equal(all_calls(&s, 0), 100);
	stage_end(&s);
}

static void a_place_that_cannot_be_probed_does_not_lose_the_others_of_its_file(void **state)
{
	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct watch_source_settings settings;
		struct stage_wants wants = { .names = works };
		struct watched_row row = { 0 };
		struct stage s;

		stage_start(&s, (const char *const[]){ "count", "1", "100", NULL });
		stage_find(&s, &wants);
		s.places.rows[1].offset = UINT64_C(1) << 40;
		settings = (struct watch_source_settings){ .pid = s.pid,
							   .places = &s.places,
							   .interval = 8,
							   .switched_off = stage_modes[mode] };
		stage_open_with(&s, &settings);
		ops->describe(s.source, 1, &row);
		assert_true(row.why_not.len > 0);
		assert_int_equal(row.mode.len, 0);
		ops->describe(s.source, 2, &row);
		assert_int_equal(row.why_not.len, 0);
		assert_true(row.mode.len > 0);
		stage_round(&s);
		stage_turn(&s);
		assert_int_equal(all_calls(&s, 0), 100);
		assert_int_equal(all_calls(&s, 1), 0);
		assert_int_equal(all_calls(&s, 2), 100);
		stage_end(&s);
	}
}

/* The first byte of a function in the target's memory. */
static int first_byte(const struct stage *s, const struct place *place)
{
	char path[64], line[512];
	unsigned long long from, offset, length;
	unsigned char byte = 0;
	FILE *maps;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)s->pid);
	maps = fopen(path, "r");
	assert_non_null(maps);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)s->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	while (fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%llx-%llx %*s %llx", &from, &length, &offset) != 3 ||
		    strstr(line, "/probed") == NULL)
			continue;
		length -= from;
		if (place->offset >= offset && place->offset < offset + length)
			assert_int_equal(
				pread(fd, &byte, 1, (off_t)(from + place->offset - offset)), 1);
	}
	close(fd);
	fclose(maps);
	return byte;
}

static const struct place *place_of(const struct stage *s, const char *name)
{
	for (size_t i = 0; i < s->places.count; i++)
		if (s->places.rows[i].name.len == strlen(name) &&
		    memcmp(s->places.rows[i].name.bytes, name, strlen(name)) == 0)
			return &s->places.rows[i];
	fail();
	return NULL;
}

/* Probes the stage's target until it is killed. */
static _Noreturn void probe_forever(struct stage *s, const char *off, int told)
{
	struct watch_source_settings settings = {
		.pid = s->pid, .places = &s->places, .interval = 1, .switched_off = off
	};
	struct err err = ERR_EMPTY;
	char result = 'y';

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ops->open(&settings, &s->source, &err) < 0 || ops->start(s->source, &err) < 0)
		result = err.code == -EPERM || err.code == -ENOTSUP ? 's' : 'n';
	if (write(told, &result, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void kill_9_leaves_no_probe_behind(void **state)
{
	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct stage_wants wants = { .names = works };
		const struct place *push;
		struct stage s;
		int told[2];
		pid_t prober;
		char result = 0;

		stage_start(&s, (const char *const[]){ "count", "2", "1000", NULL });
		stage_find(&s, &wants);
		push = place_of(&s, "work_push");
		assert_int_equal(first_byte(&s, push), 0x55);
		assert_int_equal(pipe2(told, O_CLOEXEC), 0);
		prober = fork();
		if (prober == 0)
			probe_forever(&s, stage_modes[mode], told[1]);
		assert_int_equal(read(told[0], &result, 1), 1);
		if (result == 's')
			skip();
		assert_int_equal(result, 'y');
		stage_round(&s);
		assert_int_not_equal(first_byte(&s, push), 0x55);
		kill(prober, SIGKILL);
		waitpid(prober, NULL, 0);
		for (int i = 0; i < 300 && first_byte(&s, push) != 0x55; i++)
			usleep(10000);
		assert_int_equal(first_byte(&s, push), 0x55);
		stage_round(&s); /* it lives on */
		close(told[0]);
		close(told[1]);
		stage_end(&s);
	}
}

static void slices_of_one_lose_nothing_of_the_others(void **state)
{
	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct watch_source_facts facts;
		struct err err = ERR_EMPTY;
		uint32_t loud, second;
		struct stage s;

		stage_start(&s, (const char *const[]){ "count", "4", "80000", NULL });
		stage_open(&s, &(struct stage_wants){
				       .off = stage_modes[mode], .names = works, .interval = 16 });
		loud = stage_point(&s, "work_push");
		second = stage_point(&s, "work_nop5");
		stage_go(&s);
		for (int i = 0; i < 3; i++) {
			usleep(20000);
			assert_int_equal(ops->attach(s.source, loud, false, &err), 0);
			stage_turn(&s);
			usleep(20000);
			assert_int_equal(ops->attach(s.source, loud, true, &err), 0);
			stage_turn(&s);
		}
		assert_int_equal(ops->attach(s.source, second, false, &err), 0);
		stage_hear(&s, "done\n");
		stage_turn(&s);
		ops->facts(s.source, &facts);
		assert_true(facts.detach_ns > 0);
		assert_in_range(all_calls(&s, loud), 1, 319999);
		assert_in_range(all_calls(&s, second), 1, 320000);
		assert_int_equal(all_calls(&s, 3 - loud - second), 320000);
		stage_end(&s);
	}
}

static void a_detached_point_counts_nothing_and_gives_up_what_was_open(void **state)
{
	static const char *const names[] = { "long_one", "work_push", NULL };

	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct err err = ERR_EMPTY;
		uint64_t calls, timed;
		uint32_t outside;
		struct stage s;

		stage_start(&s, (const char *const[]){ "burst", "1000", "500", NULL });
		stage_open(&s, &(struct stage_wants){
				       .off = stage_modes[mode], .names = names, .interval = 1 });
		outside = stage_point(&s, "long_one");
		stage_go(&s);
		do {
			usleep(100);
			ops->peek(s.source, outside, &calls, &timed);
		} while (calls == 0);
		/* It goes on when it is detached; its return will not be seen. */
		assert_int_equal(ops->attach(s.source, outside, false, &err), 0);
		stage_hear(&s, "done\n");
		stage_round(&s);
		stage_turn(&s);
		assert_int_equal(all_calls(&s, outside), 1);
		assert_int_equal(all_calls(&s, 1 - outside), 2000);
		assert_int_equal(ops->attach(s.source, outside, true, &err), 0);
		stage_round(&s);
		stage_turn(&s);
		assert_int_equal(all_calls(&s, outside), 2);
		assert_int_equal(s.rows[outside].firsts, 1);
		assert_int_equal(s.losses[outside].abandoned, 1);
		stage_end(&s);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			threads_that_end_inside_are_counted_and_their_timed_calls_abandoned),
		cmocka_unit_test(children_of_a_fork_are_not_counted),
		cmocka_unit_test(an_exec_goes_on_being_watched),
		cmocka_unit_test(a_child_that_has_not_executed_yet_is_watched_from_its_first_call),
		cmocka_unit_test(the_end_of_the_process_is_told),
		cmocka_unit_test(
			a_place_that_cannot_be_probed_does_not_lose_the_others_of_its_file),
		cmocka_unit_test(kill_9_leaves_no_probe_behind),
		cmocka_unit_test(slices_of_one_lose_nothing_of_the_others),
		cmocka_unit_test(a_detached_point_counts_nothing_and_gives_up_what_was_open),
	};

	stage_target(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
