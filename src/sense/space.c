/* space.c - joins mappings, modules, walking and naming; what is known of an address is remembered, so that a stack
 * seen before costs little. */
#include "sense/space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/units.h"
#include "sense/clock.h"
#include "sense/debuginfod.h"
#include "sense/kallsyms.h"
#include "sense/maps.h"
#include "sense/module.h"
#include "sense/naming.h"
#include "sense/openfile.h"
#include "sense/process.h"
#include "sense/walk.h"

#define KNOWN_PLACES  4096u
#define LEARNED_MOST  (2 * KNOWN_PLACES) /* each is found out, and then named */
#define KALLSYMS_PATH "/proc/kallsyms"
#define ASK_AGAIN_NS  (10 * NS_PER_MS) /* a file that is being read */
#define MAX_NAMED \
	(2 * WALK_MAX_STEPS) /* of one stack; functions come before what is inlined in them */
#define START_BYTES 128u     /* _start and what ld.so has behind it */

/* What is known of one address in one version of an address space; generation 0 is the kernel. */
struct known {
	uint64_t pc;
	uint32_t generation;
	bool is_filled, is_code, is_start;
	uint32_t place; /* pc in the module */
	struct module *module;
	const struct row *row;
	struct module_frames frames; /* .function NULL: not named yet */
};

/* Something is being learned: since when, and what was counted then. */
struct learning {
	uint64_t began_ns, table_ns;
};

struct spaces {
	struct naming *names;
	struct modules *modules;
	struct processes *processes;
	struct kallsyms *kernel;
	bool is_kernel_tried;
	uint64_t unnamed;
	uint64_t learned;	 /* places, up to LEARNED_MOST */
	uint64_t table_ns;	 /* CPU time of building tables, and of learning places */
	struct process *process; /* of the walk in work; NULL: unknown */
	struct known known[KNOWN_PLACES];
	uint64_t pcs[WALK_MAX_STEPS];
	const struct frame *named[MAX_NAMED]; /* what stands there, innermost first */
};

int spaces_open(struct spaces **out, struct err *err)
{
	struct spaces *s = calloc(1, sizeof(*s));
	int rc = s != NULL ? naming_open(&s->names) : -ENOMEM;

	if (rc == 0)
		rc = modules_open(s->names, &s->modules);
	if (rc == 0)
		rc = processes_open(s->names, &s->processes);
	if (rc < 0) {
		spaces_close(s);
		return err_set(err, rc, "cannot watch address spaces: no memory");
	}
	*out = s;
	return 0;
}

void spaces_close(struct spaces *s)
{
	if (s == NULL)
		return;
	processes_close(s->processes);
	modules_close(s->modules);
	kallsyms_close(s->kernel);
	naming_close(s->names);
	free(s);
}

void spaces_read(struct spaces *s, pid_t pid)
{
	struct process *process = processes_get(s->processes, pid);

	if (process != NULL)
		processes_read(s->processes, process);
}

void spaces_map(struct spaces *s, const struct mapping_event *m)
{
	struct process *process = processes_get(s->processes, m->pid);

	if (process != NULL)
		processes_map(s->processes, process, m);
}

void spaces_fork(struct spaces *s, pid_t parent, pid_t child)
{
	struct process *from = processes_find(s->processes, parent), *to;

	if (from == NULL || parent == child)
		return;
	to = processes_get(s->processes, child);
	if (to == NULL)
		return;
	from->maps->owners++;
	processes_set_maps(s->processes, to, from->maps);
}

void spaces_exec(struct spaces *s, pid_t pid)
{
	struct process *process = processes_get(s->processes, pid);

	if (process == NULL)
		return;
	processes_set_maps(s->processes, process, NULL);
	processes_drop_jit(s->processes, process);
}

void spaces_exit(struct spaces *s, pid_t pid)
{
	processes_drop(s->processes, pid);
}

/* Lets go of a module that is of another build than what is mapped. */
static void check_build(struct spaces *s, struct mapping *m)
{
	const struct tables *t = m->module != NULL ? module_tables(m->module) : NULL;

	if (t == NULL || t->build_id_bytes == 0 ||
	    openfile_may_be_build(s->process->pid, m, t->build_id, t->build_id_bytes))
		return;
	module_drop(m->module);
	m->module = NULL;
}

/* Finds the module of a mapping, once; while its file is being read, the mapping has none. */
static void settle(struct spaces *s, struct mapping *m)
{
	struct modules_found found = { false, false };
	uint64_t before_ns, now_ns;
	int fd;

	if (m->is_settled)
		return;
	now_ns = clock_read_ns(CLOCK_MONOTONIC_COARSE);
	if (now_ns < m->ask_again_ns)
		return;
	before_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	if (m->kind == MAPPING_VDSO) {
		m->module = modules_vdso(s->modules, &found);
	} else if (m->kind == MAPPING_FILE) {
		fd = openfile_mapping(s->process->pid, m);
		if (fd >= 0) {
			m->module = modules_get(s->modules, fd, m->file, &found);
			close(fd);
			check_build(s, m);
		}
	}
	m->is_settled = !found.is_pending;
	m->ask_again_ns = now_ns + ASK_AGAIN_NS;
	s->table_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	if (found.has_freed)
		memset(s->known, 0, sizeof(s->known));
}

static struct mapping *find_mapping(struct spaces *s, uint64_t pc)
{
	struct process *p = s->process;
	struct mapping *m = maps_find(p->maps, pc);

	if (m == NULL && ++p->unknown_count >= p->patience) {
		processes_read(s->processes, p);
		m = maps_find(p->maps, pc);
	}
	return m;
}

static bool is_start(const struct tables *t, uint32_t place)
{
	return t->entry != 0 && place >= t->entry && place - t->entry < START_BYTES;
}

static struct known *place_of(struct spaces *s, uint32_t generation, uint64_t pc)
{
	uint64_t h = (pc ^ (uint64_t)generation << 40) * UINT64_C(0x9e3779b97f4a7c15);

	return &s->known[h >> 52];
}

/* What is learned of a place stays known: it is paid once, and no longer period makes it cheaper. */
static struct learning learning_begin(const struct spaces *s)
{
	return (struct learning){ clock_read_ns(CLOCK_THREAD_CPUTIME_ID), spaces_table_ns(s) };
}

/* Of a program with more places than are remembered, they are learned again and again: that is the price of samples. */
static void learning_end(struct spaces *s, const struct learning *l)
{
	uint64_t took_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - l->began_ns;
	uint64_t counted_ns = spaces_table_ns(s) - l->table_ns;

	if (s->learned >= LEARNED_MOST)
		return;
	s->learned++;
	s->table_ns += took_ns > counted_ns ? took_ns - counted_ns : 0;
}

/* Finds out what `pc` of the process in work is. */
static struct known *learn(struct spaces *s, uint64_t pc)
{
	struct mapping *m = find_mapping(s, pc);
	uint32_t generation;
	struct known *k;

	if (m != NULL)
		settle(s, m);
	generation = s->process->maps->generation;
	k = place_of(s, generation, pc);
	*k = (struct known){ .pc = pc, .generation = generation };
	/* An unknown address may become known without an event, and a file that is being read will be. */
	k->is_filled = m != NULL && m->is_settled;
	k->is_code = m != NULL;
	if (m != NULL && m->module != NULL) {
		const struct tables *t = module_tables(m->module);

		if (tables_place(t, pc - m->start + m->file_offset, &k->place)) {
			k->module = m->module;
			k->row = tables_row(t, k->place);
			k->is_start = is_start(t, k->place);
		}
	}
	return k;
}

/* The same, from memory when it was asked before. */
static struct known *look_up(struct spaces *s, uint64_t pc)
{
	uint32_t generation = s->process->maps->generation;
	struct known *k = place_of(s, generation, pc);
	struct learning learning;

	if (k->is_filled && k->pc == pc && k->generation == generation)
		return k;
	learning = learning_begin(s);
	k = learn(s, pc);
	learning_end(s, &learning);
	return k;
}

static struct walk_code find_code(void *owner, uint64_t pc)
{
	const struct known *k = look_up(owner, pc);

	return (struct walk_code){ .tables = k->module != NULL ? module_tables(k->module) : NULL,
				   .row = k->row,
				   .is_code = k->is_code,
				   .is_start = k->is_start };
}

/* A frame of a file that could not be read, of code without a file, or of nothing we know. */
static const struct frame *name_unread(struct spaces *s, uint64_t pc)
{
	const struct mapping *m = maps_find(s->process->maps, pc);
	struct frame frame = { .kind = FRAME_NATIVE };
	char text[STR_MAX_BYTES + 2];
	const char *slash;
	int len;

	if (m == NULL) {
		frame.name = (struct str)STR_LITERAL("[unknown]");
	} else if (m->file.len == 0) {
		frame.name = (struct str)STR_LITERAL("[code without a file]");
	} else {
		slash = memrchr(m->file.bytes, '/', m->file.len);
		frame.module = m->file;
		if (slash != NULL) {
			frame.module.bytes = slash + 1;
			frame.module.len = m->file.len - (uint32_t)(slash + 1 - m->file.bytes);
		}
		len = snprintf(text, sizeof(text), "[%.*s]", (int)frame.module.len,
			       frame.module.bytes);
		frame.name = (struct str){ text, len > 0 ? (uint32_t)len : 0 };
	}
	return naming_frame(s->names, &frame);
}

/* Is it code, but of no file that could be read? Then the process may say itself what it is. */
static bool is_own_code(struct spaces *s, uint64_t pc)
{
	const struct known *k = look_up(s, pc);

	return k->is_filled && k->is_code && k->module == NULL;
}

/* Has the process's own code on a stack named, all at once. */
static void ask_process(struct spaces *s, const struct stack_copy *copy, size_t pc_count)
{
	const struct jit_of of = { modules_namer(s->modules), s->names, copy->at_ns };
	uint64_t own[JIT_MAX_ASKED], before_ns;
	size_t count = 0;
	struct jit *jit;

	for (size_t i = 0; i < pc_count && count < JIT_MAX_ASKED; i++)
		if (is_own_code(s, s->pcs[i]))
			own[count++] = s->pcs[i];
	jit = count > 0 ? processes_jit(s->processes, s->process) : NULL;
	if (jit == NULL)
		return;
	before_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	jit_look(jit, s->process->maps);
	jit_ask(jit, &of, own, count);
	s->table_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
}

/* What the process says of its own code; that may change at any time, so it is not remembered here. */
static void name_own(struct spaces *s, uint64_t pc, uint64_t at_ns, struct module_frames *out)
{
	if (s->process->jit != NULL)
		out->function = jit_find(s->process->jit, pc, at_ns);
	out->is_named = out->function != NULL;
	out->is_pending = true;
	if (out->function == NULL)
		out->function = name_unread(s, pc);
}

static struct module_frames name_user(struct spaces *s, uint64_t pc, uint64_t at_ns)
{
	struct known *k = look_up(s, pc);
	struct module_frames frames = k->frames;

	if (frames.function == NULL && k->module != NULL) {
		/* A signal's trampoline is not called: its return address is its very first instruction. */
		uint32_t own = k->row != NULL && k->row->is_signal;
		struct learning learning = learning_begin(s);

		module_frames(s->modules, k->module, k->place + own, &frames);
		learning_end(s, &learning);
	} else if (frames.function == NULL) {
		name_own(s, pc, at_ns, &frames);
	}
	if (!frames.is_pending)
		k->frames = frames;
	s->unnamed += !frames.is_named;
	return frames;
}

void spaces_read_kernel(struct spaces *s)
{
	uint64_t before_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	if (s->is_kernel_tried)
		return;
	s->is_kernel_tried = true;
	(void)kallsyms_open(KALLSYMS_PATH, &s->kernel);
	s->table_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
}

static const struct frame *name_kernel(struct spaces *s, uint64_t pc)
{
	struct known *k = place_of(s, 0, pc);
	struct frame frame = { .kind = FRAME_KERNEL };

	if (!k->is_filled || k->pc != pc || k->generation != 0) {
		spaces_read_kernel(s);
		*k = (struct known){ .pc = pc, .is_filled = true };
		k->frames.is_named = s->kernel != NULL &&
				     kallsyms_find(s->kernel, pc, &frame.name, &frame.module);
		if (!k->frames.is_named)
			frame = (struct frame){ .kind = FRAME_KERNEL,
						.name = STR_LITERAL("[kernel]") };
		k->frames.function = naming_frame(s->names, &frame);
	}
	s->unnamed += !k->frames.is_named;
	return k->frames.function;
}

static struct frame marker(struct spaces *s, const char *text)
{
	struct frame frame = { .kind = FRAME_MARKER, .name = { text, (uint32_t)strlen(text) } };

	return *naming_frame(s->names, &frame);
}

/* What stands below a walk that did not reach its end; NULL: nothing. */
static const char *end_marker(enum stack_end end)
{
	return end == STACK_BROKEN ? "[broken]" : end == STACK_CUT ? "[cut]" : NULL;
}

/* Where frames go, from the root on: of a stack that is too deep its middle is left out. */
struct giving {
	struct frame *out;
	size_t max, count;
	size_t at, root, gone; /* frames so far; those before the gap, and in it */
};

static void give(struct spaces *s, struct giving *g, const struct frame *frame)
{
	char text[32];
	size_t at = g->at++;

	if (at == g->root && g->gone > 0 && g->count < g->max) {
		snprintf(text, sizeof(text), "[cut %zu]", g->gone);
		g->out[g->count++] = marker(s, text);
	}
	if ((at < g->root || at >= g->root + g->gone) && g->count < g->max)
		g->out[g->count++] = *frame;
}

/* Names what was walked, innermost first: a place has more than one frame where functions were inlined. Returns how many. */
static size_t name_walked(struct spaces *s, const struct stack_copy *copy, size_t pc_count)
{
	size_t count = 0;

	ask_process(s, copy, pc_count);
	for (size_t i = 0; i < pc_count; i++) {
		struct module_frames frames = name_user(s, s->pcs[i], copy->at_ns);
		size_t room = MAX_NAMED - count - (pc_count - i), inlined = frames.inlined_count;

		for (size_t k = inlined < room ? inlined : room; k-- > 0;)
			s->named[count++] = frames.inlined[k];
		s->named[count++] = frames.function;
	}
	return count;
}

/* Marker, user frames, kernel frames. */
static void give_all(struct spaces *s, const struct stack_copy *copy, size_t user_count,
		     const char *below, struct giving *g)
{
	if (below != NULL) {
		struct frame frame = marker(s, below);

		give(s, g, &frame);
	}
	while (user_count > 0)
		give(s, g, s->named[--user_count]);
	for (size_t i = copy->kernel_count; i-- > 0;)
		give(s, g, name_kernel(s, copy->kernel[i] - (i > 0 ? 1 : 0)));
}

/* Walks on from where the engine left off, into s->pcs. Returns how many frames of user mode there are. */
static size_t walk_user(struct spaces *s, const struct stack_copy *copy, enum stack_end *out_end)
{
	size_t count =
		copy->walked_count < WALK_MAX_STEPS - 1 ? copy->walked_count : WALK_MAX_STEPS - 1;

	if (count > 0)
		memcpy(s->pcs, copy->walked, count * sizeof(s->pcs[0]));
	*out_end = count > 0 ? copy->walked_end : STACK_WHOLE;
	if (s->process == NULL && (copy->has_user || count > 0)) {
		*out_end = STACK_BROKEN;
		return 0;
	}
	if (copy->has_user)
		count += walk_stack(copy, find_code, s, s->pcs + count, WALK_MAX_STEPS - count,
				    out_end);
	return count;
}

size_t spaces_walk(struct spaces *s, pid_t pid, const struct stack_copy *copy, struct frame *out,
		   size_t max, enum stack_end *out_end)
{
	struct giving giving = { .out = out, .max = max };
	enum stack_end end = STACK_WHOLE;
	size_t pc_count, user_count, total;
	const char *below;

	s->process = processes_find(s->processes, pid);
	if (s->process == NULL && (copy->has_user || copy->walked_count > 0)) {
		spaces_read(s, pid);
		s->process = processes_find(s->processes, pid);
	}
	pc_count = walk_user(s, copy, &end);
	*out_end = end;
	below = end_marker(end);
	user_count = name_walked(s, copy, pc_count);
	total = user_count + copy->kernel_count + (below != NULL);
	giving.root = total;
	if (total > max) {
		giving.root = max / 2;
		giving.gone = total - (max - 1);
	}
	give_all(s, copy, user_count, below, &giving);
	return giving.count;
}

/* What the mapping's first byte is in the tables, modulo 2^32: it may lie before the first segment that the mapping holds. False: it
 * holds none. */
static bool place_of_start(const struct mapping *m, const struct tables *t, uint32_t *out)
{
	for (size_t i = 0; i < t->segment_count; i++) {
		const struct segment *segment = &t->segments[i];
		uint64_t from = segment->file_offset > m->file_offset ? segment->file_offset
								      : m->file_offset;
		uint32_t place;

		if (from - m->file_offset >= m->end - m->start || !tables_place(t, from, &place))
			continue;
		*out = place - (uint32_t)(from - m->file_offset);
		return true;
	}
	return false;
}

size_t spaces_areas(struct spaces *s, pid_t pid, struct space_area *out, size_t max,
		    uint64_t *out_version)
{
	const struct process *p = processes_find(s->processes, pid);
	size_t count = 0;

	*out_version = 0;
	if (p == NULL)
		return 0;
	for (size_t i = 0; i < p->maps->count && count < max; i++) {
		const struct mapping *m = &p->maps->items[i];
		struct space_area area = { .start = m->start, .end = m->end, .module = m->module };

		if (m->is_settled &&
		    (m->module == NULL || place_of_start(m, module_tables(m->module), &area.place)))
			out[count++] = area;
	}
	/* Of one list of mappings, settled ones only ever become more. */
	*out_version = (uint64_t)p->maps->generation << 32 | count;
	return count;
}

uint64_t spaces_table_ns(const struct spaces *s)
{
	return s->table_ns + modules_lines_ns(s->modules);
}

uint64_t spaces_unread(const struct spaces *s)
{
	return modules_unread(s->modules);
}

uint64_t spaces_reading_ns(const struct spaces *s)
{
	return modules_reading_ns(s->modules);
}

int spaces_ask_servers(struct spaces *s, struct err *err)
{
	struct debuginfod *servers;
	int rc = debuginfod_open(&servers, err);

	if (rc == 0)
		modules_ask_servers(s->modules, servers);
	return rc;
}

static void tell_none(void *owner, const struct frame *from, const struct frame *to)
{
	(void)owner;
	(void)from;
	(void)to;
}

void spaces_mind(struct spaces *s,
		 void (*renamed)(void *owner, const struct frame *from, const struct frame *to),
		 void *owner)
{
	modules_mind(s->modules);
	if (modules_take_debug(s->modules, renamed != NULL ? renamed : tell_none, owner))
		memset(s->known, 0, sizeof(s->known));
}

size_t spaces_awaited(const struct spaces *s)
{
	return modules_awaited(s->modules);
}

uint64_t spaces_unnamed(const struct spaces *s)
{
	return s->unnamed;
}

const char *spaces_kernel_names(struct spaces *s)
{
	return s->kernel != NULL ? "" : kallsyms_reason(KALLSYMS_PATH);
}
