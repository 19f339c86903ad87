/* places_inlined.c - the child that reads which functions were inlined. */
#include "sense/places_inlined.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/units.h"
#include "sense/dwarffile.h"
#include "sense/dwarflines.h"
#include "sense/elffile.h"
#include "sense/sandbox.h"

#define MAX_UNITS 20000u
#define MAX_DIES  4000000u
#define MAX_DEPTH 16u /* of namespaces and classes */

/* The child's side. */
struct inlined {
	struct pattern *const *patterns;
	size_t count;
	size_t dies; /* looked at */
	uint64_t found;
	struct forms forms;
};

static void look_at(struct inlined *in, Dwarf_Die *function)
{
	const char *name;

	if (!dwarf_func_inline(function))
		return;
	name = dwarffile_name(function);
	if (name == NULL)
		return;
	forms_set(&in->forms, (struct str){ name, (uint32_t)strnlen(name, STR_MAX_BYTES) });
	for (size_t i = 0; i < in->count; i++)
		if (pattern_takes_name(in->patterns[i], &in->forms) != PATTERN_NO)
			in->found |= UINT64_C(1) << i;
}

static bool has_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
}

/* All functions of a unit; not those within functions. */
static void look_through(struct inlined *in, Dwarf_Die *unit)
{
	Dwarf_Die path[MAX_DEPTH];
	size_t depth = 0;
	int rc = dwarf_child(unit, &path[0]);

	for (; in->dies < MAX_DIES; in->dies++) {
		int tag;

		if (rc != 0) { /* the end of this level */
			if (depth == 0)
				return;
			depth--;
			rc = dwarf_siblingof(&path[depth], &path[depth]);
			continue;
		}
		tag = dwarf_tag(&path[depth]);
		if (tag == DW_TAG_subprogram)
			look_at(in, &path[depth]);
		if (has_functions(tag) && depth + 1 < MAX_DEPTH &&
		    dwarf_child(&path[depth], &path[depth + 1]) == 0)
			depth++;
		else
			rc = dwarf_siblingof(&path[depth], &path[depth]);
	}
}

static _Noreturn void be_child(struct inlined *in, int fd, int pipe)
{
	Dwarf_CU *unit = NULL;
	Dwarf *dbg = NULL;
	Dwarf_Die die;
	Elf *elf = NULL;
	uint8_t type;

	if (sandbox_enter(&sandbox_once) < 0)
		_exit(1);
	if (elffile_check(fd) == 0)
		elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf != NULL && dwarflines_check_sizes(elf, INLINED_MAX_BYTES) == 0)
		dbg = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	for (size_t i = 0; dbg != NULL && i < MAX_UNITS; i++) {
		uint64_t before = in->found;

		if (dwarf_get_units(dbg, unit, &unit, NULL, &type, &die, NULL) != 0)
			break;
		look_through(in, &die);
		/* Each is said at once: the time may be over before the end. */
		if (in->found != before &&
		    write(pipe, &in->found, sizeof(in->found)) != (ssize_t)sizeof(in->found))
			_exit(1);
	}
	_exit(0);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / NS_PER_MS;
}

/* The last thing that the child said. */
static uint64_t listen_to(int pipe, uint64_t end_ms)
{
	uint64_t at_ms, found = 0, said;

	while ((at_ms = now_ms()) < end_ms) {
		struct pollfd p = { .fd = pipe, .events = POLLIN };

		if (poll(&p, 1, (int)(end_ms - at_ms)) <= 0)
			continue;
		if (read(pipe, &said, sizeof(said)) != (ssize_t)sizeof(said))
			break;
		found |= said;
	}
	return found;
}

uint64_t inlined_find(int fd, struct pattern *const *patterns, size_t count, uint32_t most_ms,
		      uint32_t *spent_ms)
{
	struct inlined *in = calloc(1, sizeof(*in));
	uint64_t start_ms = now_ms(), found = 0;
	int pipes[2];
	pid_t child;

	if (in == NULL || pipe2(pipes, O_CLOEXEC) < 0) {
		free(in);
		return 0;
	}
	in->patterns = patterns;
	in->count = count < INLINED_MAX_WISHES ? count : INLINED_MAX_WISHES;
	child = sandbox_fork();
	if (child == 0)
		be_child(in, fd, pipes[1]);
	close(pipes[1]);
	if (child > 0) {
		found = listen_to(pipes[0], start_ms + most_ms);
		kill(child, SIGKILL); /* it has said all, or too little for too long */
		while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	close(pipes[0]);
	free(in);
	*spent_ms += (uint32_t)(now_ms() - start_ms);
	return count < INLINED_MAX_WISHES ? found & ((UINT64_C(1) << count) - 1) : found;
}
