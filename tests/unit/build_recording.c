/* build_recording.c - small recordings by hand. */
#include "build_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/units.h"

#define ROOM 4500u

/* Rows are taken once: pointers to them stay good. */
static void *rows(size_t size)
{
	void *all = calloc(ROOM, size);

	assert_non_null(all);
	return all;
}

void build_begin(struct build *b)
{
	*b = (struct build){ .r = {
		.label = {
			.instrument = STR_LITERAL("record"),
			.command = STR_LITERAL("./job --all"),
			.comm = STR_LITERAL("job"),
			.host = STR_LITERAL("host"),
			.kernel = STR_LITERAL("Linux 6.1.0"),
			.tare_version = STR_LITERAL("0.1.0"),
			.pid = 41,
			.cpu_count = 2,
			.started_wall_ns = INT64_C(1764300000000000000),
			.saved_wall_ns = INT64_C(1764303600000000000),
			.elapsed_ns = 3600 * NS_PER_S,
			.is_finished = true,
			.ended_by = STR_LITERAL("exit"),
			.engine = STR_LITERAL("perf"),
			.clock = STR_LITERAL("cpu"),
			.base_period_ns = 10 * NS_PER_MS,
			.period_ns = 10 * NS_PER_MS,
			.is_jittered = true,
			.one_in = 1,
			.threads = 1,
			.processes = 1,
			.slot_count = 1024,
			.slot_ns = 4 * NS_PER_S,
			.batches = BATCH_COUNT,
			.size_limit_bytes = 4 << 20,
			.saves = 60,
			.price_limit_ppm = 5000,
			.kernel_tick_ps = 1500000,
			.own_rss_bytes = 12 << 20,
			.writer_pid = 40,
		},
		.file_bytes = 1 << 20,
	} };
	b->r.nodes = rows(sizeof(*b->r.nodes));
	b->r.frames = rows(sizeof(*b->r.frames));
	b->r.slots = rows(sizeof(*b->r.slots));
	b->r.contexts = rows(sizeof(*b->r.contexts));
	b->r.ledger = rows(sizeof(*b->r.ledger));
	b->r.tasks = rows(sizeof(*b->r.tasks));
	b->r.task_names = rows(sizeof(*b->r.task_names));
}

static struct str keep_name(struct build *b, const char *bytes, size_t len)
{
	char *copy = malloc(len + 1);

	assert_non_null(copy);
	if (b->name_count == b->name_room) {
		b->name_room = b->name_room == 0 ? 256 : 2 * b->name_room;
		b->names = realloc(b->names, b->name_room * sizeof(*b->names));
		assert_non_null(b->names);
	}
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	b->names[b->name_count++] = copy;
	return (struct str){ copy, (uint32_t)len };
}

static bool is_equal(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0);
}

static uint32_t frame_id(struct build *b, const struct frame_row *want)
{
	struct frame_row *f;

	for (uint32_t i = 0; i < b->r.frame_count; i++) {
		f = &b->r.frames[i];
		if (f->kind == want->kind && f->pid == want->pid && f->tid == want->tid &&
		    f->line == want->line && is_equal(f->name, want->name) &&
		    is_equal(f->module, want->module) && is_equal(f->file, want->file))
			return f->id;
	}
	assert_true(b->r.frame_count < ROOM);
	f = &b->r.frames[b->r.frame_count];
	*f = *want;
	f->id = b->r.frame_count++;
	return f->id;
}

static uint32_t node_id(struct build *b, uint32_t parent, uint32_t frame)
{
	for (uint32_t i = 0; i < b->r.node_count; i++)
		if (b->r.nodes[i].parent == parent && b->r.nodes[i].frame == frame)
			return b->r.nodes[i].id;
	assert_true(b->r.node_count < ROOM);
	b->r.nodes[b->r.node_count] =
		(struct node_row){ .id = b->r.node_count, .parent = parent, .frame = frame };
	return b->r.node_count++;
}

static struct frame_row thread_frame(struct build *b, const char *part, size_t len)
{
	struct frame_row f = { .kind = FRAME_THREAD };
	const char *slash = memchr(part, '/', len);
	char *end;

	assert_non_null(slash);
	f.name = keep_name(b, part, (size_t)(slash - part));
	f.pid = (uint32_t)strtoul(slash + 1, &end, 10);
	f.tid = (uint32_t)strtoul(end + 1, NULL, 10);
	return f;
}

static struct frame_row function_frame(struct build *b, const char *part, size_t len)
{
	struct frame_row f = { .kind = FRAME_NATIVE };
	const char *at = memchr(part, '@', len), *plus = memrchr(part, '+', len);
	const char *end = part + len, *colon;
	bool has_module = plus != NULL && (part[0] != '[' || plus > strchr(part, ']'));

	if (has_module) {
		f.module = keep_name(b, plus + 1, (size_t)(end - plus - 1));
		end = plus;
	}
	if (at != NULL) {
		colon = memrchr(at, ':', (size_t)(end - at));
		assert_non_null(colon);
		f.file = keep_name(b, at + 1, (size_t)(colon - at - 1));
		f.line = (uint32_t)strtoul(colon + 1, NULL, 10);
		end = at;
	}
	if (strncmp(part, "k:", 2) == 0) {
		f.kind = FRAME_KERNEL;
		part += 2;
	} else if (part[0] == '[' && !has_module) {
		f.kind = FRAME_MARKER;
	}
	f.name = keep_name(b, part, (size_t)(end - part));
	return f;
}

static struct context_row *add_context(struct build *b, uint32_t node, uint64_t ns, uint64_t kept)
{
	struct context_row *c = &b->r.contexts[b->r.context_count];
	uint32_t batches = b->r.label.batches;

	assert_true(b->r.context_count < ROOM);
	*c = (struct context_row){ .task = TASK_RUN,
				   .id = b->r.context_count++,
				   .node = node,
				   .certain_ns = ns,
				   .running_ns = ns,
				   .kept = kept };
	for (uint32_t i = 0; i < batches; i++)
		c->batch_ns[i] = ns / batches;
	c->batch_ns[0] += ns % batches;
	b->r.label.weight_ns += ns;
	b->r.label.clock_ns += ns;
	b->r.label.kept += kept;
	b->r.label.ticks += kept;
	b->r.label.whole_stacks += kept;
	return c;
}

struct context_row *build_context(struct build *b, const char *path, uint64_t ns, uint64_t kept)
{
	uint32_t node = NO_ID;

	for (bool is_first = true; path != NULL; is_first = false) {
		const char *next = strstr(path, " > ");
		size_t len = next != NULL ? (size_t)(next - path) : strlen(path);

		if (!(is_first && len == 1 && path[0] == '-')) {
			struct frame_row f = is_first ? thread_frame(b, path, len)
						      : function_frame(b, path, len);

			node = node_id(b, node, frame_id(b, &f));
		}
		path = next != NULL ? next + 3 : NULL;
	}
	return add_context(b, node, ns, kept);
}

struct context_row *build_hostile(struct build *b, const char *thread, struct str name, uint64_t ns,
				  uint64_t kept)
{
	struct frame_row root = thread_frame(b, thread, strlen(thread));
	struct frame_row leaf = { .kind = FRAME_NATIVE,
				  .name = keep_name(b, name.bytes, name.len) };

	return build_leaf(b, &root, &leaf, ns, kept);
}

struct context_row *build_leaf(struct build *b, const struct frame_row *thread,
			       const struct frame_row *leaf, uint64_t ns, uint64_t kept)
{
	uint32_t node = node_id(b, NO_ID, frame_id(b, thread));

	return add_context(b, node_id(b, node, frame_id(b, leaf)), ns, kept);
}

struct ledger_row *build_window(struct build *b, uint64_t sample_ns, uint64_t fixed_ns)
{
	struct ledger_row *l = &b->r.ledger[b->r.ledger_count];

	assert_true(b->r.ledger_count < ROOM);
	*l = (struct ledger_row){ .id = b->r.ledger_count++,
				  .window_ns = NS_PER_S,
				  .sample_ns = sample_ns,
				  .fixed_ns = fixed_ns,
				  .period_ns = b->r.label.period_ns };
	return l;
}

struct slot_row *build_slot(struct build *b, uint32_t node, uint64_t running_ns, uint32_t kept,
			    uint32_t lost)
{
	struct slot_row *s = &b->r.slots[b->r.slot_count];

	assert_true(b->r.slot_count < ROOM);
	*s = (struct slot_row){ .task = TASK_RUN,
				.id = b->r.slot_count++,
				.node = node,
				.running_ns = running_ns,
				.kept = kept,
				.lost = lost };
	return s;
}

struct task_row *build_task(struct build *b, const char *name, uint64_t begin_ns,
			    uint64_t duration_ns)
{
	struct task_row *t = &b->r.tasks[b->r.task_count];

	assert_true(b->r.task_count < ROOM);
	*t = (struct task_row){ .id = 2 + b->r.task_count++,
				.state = TASK_ENDED,
				.pid = 41,
				.parent_pid = 40,
				.name = keep_name(b, name, strlen(name)),
				.begin_ns = begin_ns,
				.end_ns = begin_ns + duration_ns,
				.cpu_ns = NOT_MEASURED,
				.rss_bytes = NOT_MEASURED };
	b->r.label.tasks++;
	return t;
}

void build_task_context(struct build *b, struct task_row *task, const char *path, uint64_t ns,
			uint64_t kept)
{
	struct label whole = b->r.label;
	uint32_t run = b->r.context_count;
	struct context_row *c;

	/* Rows of tasks stand behind those of the run. */
	b->r.context_count += b->r.task_context_count;
	c = build_context(b, path, ns, kept);
	c->task = task->id;
	c->id = b->r.task_context_count++;
	b->r.context_count = run;
	b->r.label = whole;
	task->weight_ns += ns;
	task->ticks += kept;
	task->kept += kept;
	task->one_in = 1;
	task->slot_count = task->batches = BATCH_COUNT;
	task->slot_ns = NS_PER_S;
}

struct task_name_row *build_task_name(struct build *b, const char *name, uint64_t begun,
				      uint64_t longest_ns)
{
	struct task_name_row *n = &b->r.task_names[b->r.task_name_count];

	assert_true(b->r.task_name_count < ROOM);
	*n = (struct task_name_row){ .id = b->r.task_name_count++,
				     .name = keep_name(b, name, strlen(name)),
				     .begun = begun,
				     .ended = begun,
				     .total_ns = begun * longest_ns,
				     .longest_ns = longest_ns };
	n->log2_count[16] = begun;
	return n;
}

void build_free(struct build *b)
{
	for (size_t i = 0; i < b->name_count; i++)
		free(b->names[i]);
	free(b->names);
	b->names = NULL;
	b->name_count = b->name_room = 0;
	recording_free(&b->r);
}
