/* process.c - processes by id, and what the kernel says is mapped in them. */
#include "sense/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/scoped.h"

#define BUCKETS	       4096u
#define READ_BYTES     65536u
#define MAX_MAPS_BYTES (32u << 20)
#define FIRST_PATIENCE 16u
#define MAX_PATIENCE   65536u

struct processes {
	struct naming *names;
	struct process *buckets[BUCKETS];
	size_t count;
	uint32_t last_generation;
	size_t jit_count;
};

static void fd_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static void memory_free(char **bytes)
{
	free(*bytes);
}

int processes_open(struct naming *names, struct processes **out)
{
	struct processes *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return -ENOMEM;
	p->names = names;
	*out = p;
	return 0;
}

void processes_close(struct processes *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (p->buckets[i] != NULL)
			processes_drop(p, p->buckets[i]->pid);
	free(p);
}

struct process *processes_find(const struct processes *p, pid_t pid)
{
	struct process *at = p->buckets[(uint32_t)pid % BUCKETS];

	while (at != NULL && at->pid != pid)
		at = at->next;
	return at;
}

struct process *processes_get(struct processes *p, pid_t pid)
{
	struct process **bucket = &p->buckets[(uint32_t)pid % BUCKETS];
	struct process *process = processes_find(p, pid);

	if (process != NULL || p->count == PROCESSES_MAX)
		return process;
	process = calloc(1, sizeof(*process));
	if (process == NULL)
		return NULL;
	process->maps = maps_open();
	if (process->maps == NULL) {
		free(process);
		return NULL;
	}
	process->maps->generation = ++p->last_generation;
	process->pid = pid;
	process->patience = FIRST_PATIENCE;
	process->next = *bucket;
	*bucket = process;
	p->count++;
	return process;
}

struct jit *processes_jit(struct processes *p, struct process *process)
{
	if (process->jit == NULL && p->jit_count < PROCESSES_MAX_JITS &&
	    jit_open(process->pid, &process->jit) == 0)
		p->jit_count++;
	return process->jit;
}

void processes_drop_jit(struct processes *p, struct process *process)
{
	p->jit_count -= process->jit != NULL;
	jit_close(process->jit);
	process->jit = NULL;
}

void processes_drop(struct processes *p, pid_t pid)
{
	struct process **at = &p->buckets[(uint32_t)pid % BUCKETS], *gone;

	while (*at != NULL && (*at)->pid != pid)
		at = &(*at)->next;
	gone = *at;
	if (gone == NULL)
		return;
	*at = gone->next;
	maps_release(gone->maps);
	processes_drop_jit(p, gone);
	free(gone);
	p->count--;
}

void processes_set_maps(struct processes *p, struct process *process, struct maps *maps)
{
	if (maps == NULL) {
		maps = maps_open();
		if (maps == NULL)
			return;
		maps->generation = ++p->last_generation;
	}
	maps_release(process->maps);
	process->maps = maps;
	process->unknown_count = 0;
	process->patience = FIRST_PATIENCE;
}

static int64_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now.tv_sec;
}

static int insert(struct processes *p, struct maps *maps, const struct mapping_event *event)
{
	struct mapping mapping;

	if (event->len == 0 || event->start + event->len < event->start)
		return 0;
	maps_describe(event, &mapping);
	mapping.file = naming_keep(p->names, mapping.file.bytes, mapping.file.len);
	mapping.seen_s = now_s();
	return maps_insert(maps, &mapping);
}

/* A list that only this process owns, for changing it. */
static struct maps *own_maps(struct process *process)
{
	struct maps *copy;

	if (process->maps->owners == 1)
		return process->maps;
	copy = maps_copy(process->maps);
	if (copy == NULL)
		return NULL;
	maps_release(process->maps);
	process->maps = copy;
	return copy;
}

void processes_map(struct processes *p, struct process *process, const struct mapping_event *event)
{
	struct maps *maps = own_maps(process);

	if (maps == NULL)
		return;
	maps->generation = ++p->last_generation;
	insert(p, maps, event);
}

/* Takes the whole lines of `bytes`; returns how many bytes they were, or a negative errno. */
static ssize_t add_lines(struct processes *p, struct maps *maps, const char *bytes, size_t len)
{
	char path[PATH_MAX + 64];
	const char *newline;
	size_t at = 0;

	while ((newline = memchr(bytes + at, '\n', len - at)) != NULL) {
		size_t line_len = (size_t)(newline - bytes) - at;
		struct mapping_event event;
		bool is_code;

		if (maps_parse_line(bytes + at, line_len, path, sizeof(path), &event, &is_code) &&
		    is_code) {
			int rc = insert(p, maps, &event);

			if (rc < 0)
				return rc;
		}
		at += line_len + 1;
	}
	return (ssize_t)at;
}

static int read_lines(struct processes *p, struct maps *maps, int fd)
{
	SCOPED(memory_free) char *bytes = malloc(READ_BYTES);
	size_t have = 0, total = 0;
	ssize_t count, used;

	if (bytes == NULL)
		return -ENOMEM;
	while (total < MAX_MAPS_BYTES) {
		count = read(fd, bytes + have, READ_BYTES - have);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return (int)count;
		total += (size_t)count;
		have += (size_t)count;
		used = add_lines(p, maps, bytes, have);
		if (used < 0)
			return (int)used;
		if (used == 0 && have == READ_BYTES)
			return -EINVAL;
		have -= (size_t)used;
		memmove(bytes, bytes + used, have);
	}
	return 0;
}

static void keep_modules(const struct maps *old, struct maps *fresh)
{
	for (size_t i = 0; i < fresh->count; i++) {
		struct mapping *m = &fresh->items[i];
		const struct mapping *was = maps_find(old, m->start);

		if (was == NULL || was->start != m->start || was->end != m->end ||
		    was->inode != m->inode || was->file_offset != m->file_offset ||
		    was->dev_major != m->dev_major || was->dev_minor != m->dev_minor)
			continue;
		m->seen_s = was->seen_s;
		m->is_settled = was->is_settled;
		m->module = was->module;
		module_hold(m->module);
	}
}

void processes_read(struct processes *p, struct process *process)
{
	char path[64];
	uint32_t patience = process->patience;
	struct maps *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)process->pid);

	SCOPED(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	process->unknown_count = 0;
	process->patience = patience < MAX_PATIENCE ? 2 * patience : patience;
	if (fd < 0)
		return;
	maps = maps_open();
	if (maps == NULL)
		return;
	read_lines(p, maps, fd);
	if (maps->count == 0) { /* it died, or is a kernel thread */
		maps_release(maps);
		return;
	}
	maps->generation = ++p->last_generation;
	keep_modules(process->maps, maps);
	patience = process->patience;
	processes_set_maps(p, process, maps);
	process->patience = patience;
}
