/* test_probes_frames.c - frames of a real program by probes, the slow ones among them, and who may use probes. */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "probes_stage.h"

#define ops (&watch_source_probes)
#define MS  UINT64_C(1000000)

static const char *const parts[] = { "part", NULL };

static void the_time_between_two_entries_is_a_frame(void **state)
{
	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct calls_estimate e;
		struct watched_row row = { 0 };
		struct stage s;
		uint32_t frame;

		stage_start(&s, (const char *const[]){ "frames", "200", "1000", NULL });
		stage_open(&s, &(struct stage_wants){ .off = stage_modes[mode],
						      .names = parts,
						      .frame = "tick",
						      .interval = 1 });
		frame = stage_point(&s, "tick");
		ops->describe(s.source, frame, &row);
		assert_int_equal(row.kind, WATCHED_FRAME);
		stage_round(&s);
		stage_turn(&s);
		/* 200 marks are 199 frames, each of them measured. */
		assert_int_equal(s.rows[frame].calls, 199);
		assert_int_equal(s.rows[frame].others, 199);
		assert_int_equal(s.rows[frame].weight, 199);
		e = calls_estimate(&s.rows[frame], 0);
		assert_true(e.has_total && e.total_error_ns == 0);
		assert_in_range(histogram_quantile_ns(&s.rows[frame].histogram, 0.3), MS / 5,
				MS / 4);
		stage_end(&s);
	}
}

static uint64_t part_ns(const struct frames_frame *frame, uint32_t function)
{
	for (uint32_t i = 0; i < frame->part_count; i++)
		if (frame->parts[i].function == function)
			return frame->parts[i].ns;
	return 0;
}

static void a_slow_frame_comes_once_with_its_parts_and_no_other_threads(void **state)
{
	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct frames_frame frame;
		uint64_t number = 0, last = 0;
		uint32_t tid = 0, slow = 0, part;
		struct stage s;

		stage_start(&s, (const char *const[]){ "frames", "60", "20", NULL });
		stage_open(&s, &(struct stage_wants){ .off = stage_modes[mode],
						      .names = parts,
						      .frame = "tick",
						      .interval = 1,
						      .slow_ns = 20 * MS });
		part = stage_point(&s, "part");
		stage_round(&s);
		stage_turn(&s);
		while (ops->take_slow(s.source, &frame, &tid, &number)) {
			uint64_t sum_ns = frame.rest_ns + frame.other_ns;

			for (uint32_t i = 0; i < frame.part_count; i++)
				sum_ns += frame.parts[i].ns;
			assert_int_equal(tid, s.pid);
			assert_true(frame.duration_ns >= 20 * MS);
			assert_int_equal(sum_ns, frame.duration_ns);
			/* Of 20.2 ms all but the hook is part()'s; the other thread's part() is not in it. */
			assert_true(part_ns(&frame, part) <= frame.duration_ns);
			if (number % 20 != 19)
				continue; /* a neighbour made it slow */
			assert_true(part_ns(&frame, part) > 19 * MS);
			assert_true(slow == 0 || number > last);
			last = number;
			slow++;
		}
		assert_int_equal(slow, 2); /* the third ends with no mark */
		assert_false(ops->take_slow(s.source, &frame, &tid, &number));
		stage_end(&s);
	}
}

/* Opens as a user without rights; 0: the refusal was as it must be. */
static int try_without_rights(struct stage *s)
{
	struct watch_source_settings settings = { .pid = s->pid,
						  .places = &s->places,
						  .interval = 8 };
	struct err err = ERR_EMPTY;
	int status;

	if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
		return 77;
	status = ops->open(&settings, &s->source, &err);
	if (status == 0)
		status = ops->start(s->source, &err);
	if (status == -ENOTSUP)
		return 77;
	if (status != -EPERM || strstr(err.msg, "65534") == NULL || err.works[0] == '\0' ||
	    strstr(err.mend, "cap_bpf,cap_perfmon+ep") == NULL)
		return 1;
	return 0;
}

static void without_rights_it_says_which_two_are_needed(void **state)
{
	struct stage_wants wants = { .names = parts };
	struct stage s;
	pid_t child;
	int status = 0;

	(void)state;
	stage_start(&s, (const char *const[]){ "frames", "1", "1", NULL });
	stage_find(&s, &wants);
	child = fork();
	if (child == 0)
		_exit(try_without_rights(&s));
	waitpid(child, &status, 0);
	stage_end(&s);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_between_two_entries_is_a_frame),
		cmocka_unit_test(a_slow_frame_comes_once_with_its_parts_and_no_other_threads),
		cmocka_unit_test(without_rights_it_says_which_two_are_needed),
	};

	stage_target(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
