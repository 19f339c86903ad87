/* tasks_stage.h - a set of tasks under test beside the profile of its run; for the test_tasks programs. */
#ifndef TARE_TESTS_UNIT_TASKS_STAGE_H
#define TARE_TESTS_UNIT_TASKS_STAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "core/tasks.h"
#include "core/units.h"
#include "made_paths.h"

#define BASE_NS UINT64_C(10000000)

struct tasks_stage {
	struct profile *run;
	struct tasks *tasks;
	uint64_t clock_ns;
};

static inline struct tasks_settings tasks_roomy(void)
{
	return (struct tasks_settings){
		.profile = { .limits = { .slots = 1024,
					 .contexts = 512,
					 .paths = { 8192, 4096, 262144 } },
			     .base_ns = BASE_NS,
			     .seed = 7 },
		.room_bytes = 1 << 20,
	};
}

static inline void tasks_stage_open(struct tasks_stage *s, const struct tasks_settings *settings)
{
	struct err err = ERR_EMPTY;

	*s = (struct tasks_stage){ .run = NULL };
	assert_int_equal(profile_open(&settings->profile, &s->run, &err), 0);
	if (tasks_open(settings, s->run, &s->tasks, &err) != 0)
		fail_msg("%s", err.msg);
}

static inline void tasks_stage_close(struct tasks_stage *s)
{
	tasks_close(s->tasks);
	profile_close(s->run);
}

static inline uint32_t stage_begin(struct tasks_stage *s, const char *name)
{
	const struct task_begin begin = { .name = { name, (uint32_t)strlen(name) },
					  .pid = 10,
					  .parent_pid = NO_ID,
					  .at_ns = s->clock_ns,
					  .cpu_ns = COUNTER(s->clock_ns) };

	return tasks_begin(s->tasks, &begin);
}

static inline void stage_end(struct tasks_stage *s, uint32_t task)
{
	const struct task_end end = { .at_ns = s->clock_ns,
				      .state = TASK_ENDED,
				      .cpu_ns = COUNTER(s->clock_ns) };

	tasks_end(s->tasks, task, &end);
}

/* One tick of a base period, into the run and the task; its path only where one of them wants it. */
static inline void stage_tick(struct tasks_stage *s, uint32_t task, const char *text)
{
	struct frame path[16];
	size_t depth = made_path(text, path, ARRAY_LEN(path));
	struct tick tick = { .weight_ns = BASE_NS };
	bool is_wanted;

	s->clock_ns += BASE_NS;
	tick.from_ns = tick.at_ns = s->clock_ns;
	is_wanted = profile_wants(s->run, &tick);
	is_wanted |= tasks_wants(s->tasks, task, &tick);
	profile_add(s->run, &tick, is_wanted ? path : NULL, is_wanted ? depth : 0);
	tasks_add(s->tasks, task, &tick, is_wanted ? path : NULL, is_wanted ? depth : 0);
}

/* A task from its beginning to its end: so many ticks on one path. */
static inline uint32_t stage_task(struct tasks_stage *s, const char *name, uint32_t ticks,
				  const char *path)
{
	uint32_t task = stage_begin(s, name);

	for (uint32_t i = 0; i < ticks; i++)
		stage_tick(s, task, path);
	stage_end(s, task);
	return task;
}

#endif
