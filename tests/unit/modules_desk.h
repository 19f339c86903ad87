/* modules_desk.h - what is read of files and named, for a program of tests: `modules`, with the names that they keep. Included once. */
#ifndef TARE_TESTS_MODULES_DESK_H
#define TARE_TESTS_MODULES_DESK_H

#include "sense/module.h"
#include "traced.h"

static struct naming *kept;
static struct modules *modules;

static int open_modules(void **state)
{
	(void)state;
	return naming_open(&kept) == 0 && modules_open(kept, &modules) == 0 ? 0 : -1;
}

static int close_modules(void **state)
{
	(void)state;
	modules_close(modules);
	naming_close(kept);
	return 0;
}

static struct module *read_module(const char *name)
{
	char path[PATH_MAX];
	struct modules_found found;
	struct module *m;
	int fd;

	traced_path(name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	do /* on a busy machine the parser takes its time */
		m = modules_get(modules, fd, (struct str){ path, (uint32_t)strlen(path) }, &found);
	while (found.is_pending);
	close(fd);
	assert_non_null(m);
	return m;
}

/* What stands at `pc`, once the parser has said all. */
static struct module_frames frames_at(struct module *m, uint32_t pc)
{
	struct module_frames frames;

	do
		module_frames(modules, m, pc, &frames);
	while (frames.is_pending);
	return frames;
}

#endif
