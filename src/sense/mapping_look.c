/* mapping_look.c - what can be seen of an attached process at little cost: counts so far, its clock, whether it is still there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "core/units.h"
#include "sense/mapping_reader.h"

void mapping_reader_peek(const struct mapping_reader *reader, uint32_t id, uint64_t *out_calls,
			 uint64_t *out_timed)
{
	uint32_t slots = mapping_slot_count(reader);
	uint64_t calls = 0, timed = 0, calls_before, timed_before;

	*out_calls = *out_timed = 0;
	if (id >= mapping_reader_names(reader))
		return;
	for (uint32_t i = 0; i < slots; i++) {
		const struct mapping_slot *slot = &reader->shared->slots[i];

		timed += MAPPING_READ(slot->entries[id].firsts) +
			 MAPPING_READ(slot->entries[id].others);
		calls += MAPPING_READ(slot->paces[id].calls);
	}
	calls_before = reader->seen[id].sum.calls;
	timed_before = reader->seen[id].sum.firsts + reader->seen[id].sum.others;
	/* What goes back is not believed: mapping_reader_turn() counts it as torn. */
	*out_calls = calls > calls_before ? calls - calls_before : 0;
	*out_timed = timed > timed_before ? timed - timed_before : 0;
	if (*out_timed > *out_calls)
		*out_timed = *out_calls;
}

bool mapping_reader_has_ticks(const struct mapping_reader *reader)
{
	return reader->tick_scale != 0 && MAPPING_READ(reader->shared->host.has_ticks) != 0;
}

bool mapping_reader_has_forked(const struct mapping_reader *reader)
{
	return MAPPING_READ(reader->shared->host.forks) != 0;
}

uint64_t mapping_reader_now_ns(const struct mapping_reader *reader)
{
	struct timespec now;

#ifdef __x86_64__
	if (mapping_reader_has_ticks(reader))
		return (uint64_t)(((unsigned __int128)__rdtsc() * reader->tick_scale) >> 32);
#endif
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void mapping_reader_use_clock(struct mapping_reader *reader)
{
	reader->tick_scale = 0;
}

uint64_t mapping_reader_tick_scale(const struct mapping_reader *reader)
{
	return reader->tick_scale;
}

uint64_t mapping_reader_covered_ns(const struct mapping_reader *reader)
{
	return reader->covered_ns;
}

/* Whether a line of /proc/PID/maps is of this file: "start-end perms offset major:minor inode path". */
static bool is_line_of(const char *line, const struct stat *file)
{
	unsigned major_part, minor_part;
	unsigned long long inode;

	/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote these numbers */
	return sscanf(line, "%*x-%*x %*4s %*x %x:%x %llu", &major_part, &minor_part, &inode) == 3 &&
	       inode == file->st_ino && major_part == major(file->st_dev) &&
	       minor_part == minor(file->st_dev);
}

bool mapping_reader_is_there(const struct mapping_reader *reader)
{
	char path[64], line[512];
	bool is_start = true, is_found = false;
	struct stat file;
	FILE *maps;

	if (reader->pid == 0 || fstat(reader->fd, &file) != 0)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)reader->pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return errno != ENOENT && errno != ESRCH;
	while (!is_found && fgets(line, sizeof(line), maps) != NULL) {
		is_found = is_start && is_line_of(line, &file);
		is_start = strchr(line, '\n') != NULL; /* a long path comes in pieces */
	}
	if (ferror(maps) != 0 && errno != ESRCH)
		is_found = true; /* not known */
	fclose(maps);
	return is_found;
}
