/* jit.c - what a process says of its own code, a question a stack. */
#include "sense/jit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "core/units.h"
#include "sense/clock.h"
#include "sense/openfile.h"
#include "sense/procfs.h"

#define MAX_FILES      (1 + JIT_MAX_DUMPS)
#define KNOWN_PLACES   2048u	       /* a power of two */
#define FIRST_PAUSE_NS NS_PER_S	       /* until a map that is not there is looked for again ... */
#define MAX_PAUSE_NS   (64 * NS_PER_S) /* ... each time twice as long */

struct jit_source {
	int fd;		  /* owned */
	bool is_given_up; /* no file for us, or the parser died of it */
	struct parser_file_id id;
	uint64_t bytes;	  /* when it was last looked at */
	uint64_t version; /* another one whenever it grew */
	uint64_t rejected;
};

/* What is known of one address, and when it holds. */
struct jit_known {
	uint64_t address; /* 0: free */
	uint64_t version;
	uint64_t since_ns, until_ns;
	const struct frame *frame; /* NULL: nothing is said of it */
};

struct jit {
	pid_t pid;
	uint64_t start_ticks; /* with the number, who it is */
	struct jit_source files[MAX_FILES];
	size_t count;
	bool has_map;
	uint64_t map_after_ns, map_pause_ns; /* CLOCK_MONOTONIC_COARSE */
	uint32_t dumps_of; /* generation of the mappings in which dumps were looked for */
	uint64_t version;  /* of all files together */
	struct jit_known known[KNOWN_PLACES];
};

int jit_open(pid_t pid, struct jit **out)
{
	struct jit *j = calloc(1, sizeof(*j));
	int rc = j != NULL ? procfs_start_ticks(pid, pid, &j->start_ticks) : -ENOMEM;

	if (rc < 0) {
		free(j);
		return rc;
	}
	j->pid = pid;
	j->map_pause_ns = FIRST_PAUSE_NS;
	*out = j;
	return 0;
}

void jit_close(struct jit *j)
{
	if (j == NULL)
		return;
	for (size_t i = 0; i < j->count; i++)
		close(j->files[i].fd);
	free(j);
}

uint64_t jit_rejected(const struct jit *j)
{
	uint64_t rejected = 0;

	for (size_t i = 0; i < j->count; i++)
		rejected += j->files[i].rejected;
	return rejected;
}

/* ---- files ---- */

/* Takes over `fd`, unless that file is known. */
static bool add_file(struct jit *j, int fd, const struct stat *st)
{
	bool is_new = j->count < MAX_FILES;

	for (size_t i = 0; i < j->count; i++)
		is_new = is_new && (j->files[i].id.inode != st->st_ino ||
				    j->files[i].id.device != st->st_dev);
	if (!is_new) {
		close(fd);
		return false;
	}
	j->files[j->count++] =
		(struct jit_source){ .fd = fd,
				     .id = { .device = st->st_dev, .inode = st->st_ino } };
	j->version++;
	return true;
}

/* Was it this process all the time, and not another that got its number? */
static bool is_still_it(const struct jit *j)
{
	uint64_t ticks;

	return procfs_start_ticks(j->pid, j->pid, &ticks) == 0 && ticks == j->start_ticks;
}

static void look_for_map(struct jit *j)
{
	struct procfs_self self;
	struct stat st;
	uint64_t now_ns;
	char path[64];
	int fd = -ESRCH;

	now_ns = clock_read_ns(CLOCK_MONOTONIC_COARSE);
	if (now_ns < j->map_after_ns)
		return;
	if (procfs_self(j->pid, &self) == 0) {
		snprintf(path, sizeof(path), "tmp/perf-%d.map", (int)self.pid);
		fd = openfile_of_process(j->pid, path, &st);
	}
	if (fd >= 0 && is_still_it(j)) {
		j->has_map = true;
		add_file(j, fd, &st);
		return;
	}
	if (fd >= 0)
		close(fd);
	j->map_after_ns = now_ns + j->map_pause_ns;
	j->map_pause_ns = j->map_pause_ns < MAX_PAUSE_NS ? 2 * j->map_pause_ns : MAX_PAUSE_NS;
}

/* "/tmp/jit-123.dump": whoever writes one maps it as code, so that a recorder hears of it. */
static bool is_dump_name(struct str path)
{
	static const char start[] = "jit-", end[] = ".dump";
	const char *slash = path.len > 0 ? memrchr(path.bytes, '/', path.len) : NULL;
	size_t len = slash != NULL ? path.len - (size_t)(slash + 1 - path.bytes) : 0;

	return len > sizeof(start) + sizeof(end) - 2 &&
	       memcmp(slash + 1, start, sizeof(start) - 1) == 0 &&
	       memcmp(slash + 1 + len - (sizeof(end) - 1), end, sizeof(end) - 1) == 0;
}

static void look_for_dumps(struct jit *j, const struct maps *maps)
{
	if (j->dumps_of == maps->generation)
		return;
	j->dumps_of = maps->generation;
	for (size_t i = 0; i < maps->count && j->count < MAX_FILES; i++) {
		const struct mapping *m = &maps->items[i];
		struct stat st;
		int fd;

		if (m->kind != MAPPING_FILE || !is_dump_name(m->file))
			continue;
		fd = openfile_mapping(j->pid, m);
		if (fd < 0)
			continue;
		if (openfile_check_own(j->pid, fd, makedev(m->dev_major, m->dev_minor), &st) < 0)
			close(fd);
		else
			add_file(j, fd, &st);
	}
}

void jit_look(struct jit *j, const struct maps *maps)
{
	if (!j->has_map)
		look_for_map(j);
	look_for_dumps(j, maps);
	for (size_t i = 0; i < j->count; i++) {
		struct jit_source *f = &j->files[i];
		struct stat st;

		if (f->is_given_up || fstat(f->fd, &st) < 0 || (uint64_t)st.st_size == f->bytes)
			continue;
		f->bytes = (uint64_t)st.st_size;
		j->version++;
	}
}

/* ---- addresses ---- */

static size_t place_of(uint64_t address)
{
	return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (KNOWN_PLACES - 1);
}

static bool holds_at(const struct jit_known *k, uint64_t address, uint64_t at_ns)
{
	return k->address == address &&
	       (at_ns == 0 || (k->since_ns <= at_ns && at_ns < k->until_ns));
}

const struct frame *jit_find(const struct jit *j, uint64_t address, uint64_t at_ns)
{
	const struct jit_known *k = &j->known[place_of(address)];

	return holds_at(k, address, at_ns) ? k->frame : NULL;
}

/* One question in work. */
struct asking {
	struct jit *jit;
	const struct jit_of *of;
	uint64_t addresses[JIT_MAX_ASKED];
	size_t count;
};

static void take_code(void *owner, size_t at, const struct parser_jit_code *code)
{
	struct asking *a = owner;
	uint64_t address = a->addresses[at];
	struct jit_known *k = &a->jit->known[place_of(address)];
	struct jit_known fresh = { .address = address,
				   .version = a->jit->version,
				   .since_ns = code->since_ns,
				   .until_ns = code->until_ns };

	if (code->name.len > 0) {
		struct frame frame = { .kind = FRAME_JIT,
				       .name = code->name,
				       .module = STR_LITERAL("[jit]"),
				       .file = code->file,
				       .line = code->line };

		fresh.frame = naming_frame(a->of->names, &frame);
	} else if (holds_at(k, address, a->of->at_ns) && k->frame != NULL &&
		   k->version == a->jit->version) {
		return; /* another of its files knows it */
	}
	*k = fresh;
}

static void ask_file(struct asking *a, struct jit_source *f)
{
	struct parser_file file = { .id = f->id, .fd = f->fd };
	struct parser_jit_at at = { .at_ns = a->of->at_ns,
				    .addresses = a->addresses,
				    .count = a->count,
				    .take = take_code,
				    .owner = a };
	int rc = parser_read_jit(a->of->parser, &file, &at, &f->rejected);

	/* What was known stays until the parser has time again. */
	if (rc < 0 && rc != -EAGAIN)
		f->is_given_up = true;
}

void jit_ask(struct jit *j, const struct jit_of *of, const uint64_t *addresses, size_t count)
{
	struct asking a = { .jit = j, .of = of };

	for (size_t i = 0; i < count && a.count < JIT_MAX_ASKED; i++) {
		const struct jit_known *k = &j->known[place_of(addresses[i])];

		if (!holds_at(k, addresses[i], of->at_ns) || k->version != j->version)
			a.addresses[a.count++] = addresses[i];
	}
	for (size_t i = 0; a.count > 0 && i < j->count; i++)
		if (!j->files[i].is_given_up)
			ask_file(&a, &j->files[i]);
}
