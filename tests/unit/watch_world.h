/* watch_world.h - for one test program: the programs of src/bpf as they are, the kernel's helpers, and a program that is
 * watched: one thread with a stack, its calls, and a clock. */
#ifndef TARE_TESTS_WATCH_WORLD_H
#define TARE_TESTS_WATCH_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/watch.bpf.c" /* NOLINT(bugprone-suspicious-include): the programs are what is tested */

#define POINTS	   4u
#define CPUS	   1200u
#define STACK_TOP  UINT64_C(0x7000100000)
#define WORDS	   4096u
#define TRAMPOLINE UINT64_C(0x7ffff000)
#define NEVER	   GAP_MAX_INTERVAL

enum { OUTER, MIDDLE, INNER, FRAME };

/* A call that goes on. */
struct call {
	uint64_t sp, back;
	uint32_t point;
	bool has_return;
};

/* The thread, and what lies around it. */
static struct {
	struct watch_point points[POINTS];
	struct watch_counter counters[POINTS * CPUS];
	struct watch_histogram histograms[POINTS];
	struct task_struct task;
	struct mm_struct memory;
	struct xol_area area;
	struct thread thread;
	struct watch_frame frame;
	bool has_thread, has_frame, has_no_memory;
	uint64_t stack[WORDS];
	uint64_t sp, now_ns, random, cookie;
	uint32_t cpu, tgid;
	bool is_return;
	struct call calls[512];
	uint32_t depth;
	struct watch_frame slow[8];
	uint32_t slow_count;
	uint64_t slow_bytes;
} w;

/* ---- the kernel's helpers ---- */

void *bpf_map_lookup_elem(const void *map, const void *key)
{
	uint32_t at = *(const uint32_t *)key;

	if (map == &points)
		return at < POINTS ? &w.points[at] : NULL;
	if (map == &counters)
		return at < POINTS * CPUS ? &w.counters[at] : NULL;
	assert_ptr_equal(map, &histograms);
	return at < POINTS ? &w.histograms[at] : NULL;
}

void *bpf_task_storage_get(const void *map, struct task_struct *task, void *value, uint64_t flags)
{
	bool *has = map == &threads ? &w.has_thread : &w.has_frame;
	void *storage = map == &threads ? (void *)&w.thread : (void *)&w.frame;

	(void)value;
	assert_ptr_equal(task, &w.task);
	if (!*has && (flags != BPF_LOCAL_STORAGE_GET_F_CREATE || w.has_no_memory))
		return NULL;
	*has = true;
	return storage;
}

uint32_t bpf_get_smp_processor_id(void)
{
	return w.cpu;
}

uint64_t bpf_ktime_get_ns(void)
{
	return w.now_ns;
}

uint32_t bpf_get_prandom_u32(void)
{
	return gap_random(&w.random);
}

uint64_t bpf_get_attach_cookie(void *regs)
{
	(void)regs;
	return w.cookie;
}

static uint64_t *word(uint64_t address)
{
	assert_true(address % 8 == 0 && address < STACK_TOP && address >= STACK_TOP - 8 * WORDS);
	return &w.stack[(STACK_TOP - address) / 8 - 1];
}

long bpf_probe_read_user(void *out, uint32_t bytes, const void *from)
{
	assert_int_equal(bytes, 8);
	*(uint64_t *)out = *word((uint64_t)(uintptr_t)from);
	return 0;
}

struct task_struct *bpf_get_current_task_btf(void)
{
	return &w.task;
}

uint64_t bpf_get_current_task(void)
{
	return (uint64_t)(uintptr_t)&w.task;
}

uint64_t bpf_get_current_pid_tgid(void)
{
	return (uint64_t)w.tgid << 32 | 7;
}

long bpf_get_ns_current_pid_tgid(uint64_t dev, uint64_t ino, struct bpf_pidns_info *out,
				 uint32_t bytes)
{
	assert_int_equal(bytes, sizeof(*out));
	if (dev != 4 || ino != 5)
		return -22;
	out->tgid = w.tgid + 1000;
	return 0;
}

long bpf_ringbuf_output(const void *ring, const void *record, uint64_t bytes, uint64_t flags)
{
	assert_ptr_equal(ring, &slow);
	assert_int_equal(flags, BPF_RB_NO_WAKEUP);
	w.slow_bytes = bytes;
	if (w.slow_count == 8)
		return -11;
	memcpy(&w.slow[w.slow_count++], record, bytes);
	return 0;
}

long bpf_find_vma(struct task_struct *task, uint64_t address,
		  long (*keep)(struct task_struct *task, struct vm_area_struct *area,
			       struct range *range),
		  struct range *range, uint64_t flags)
{
	struct vm_area_struct area = { .vm_start = STACK_TOP - 8 * WORDS,
				       .vm_end = STACK_TOP + 4096 };

	(void)address;
	(void)flags;
	return keep(task, &area, range);
}

bool bpf_session_is_return(void)
{
	return w.is_return;
}

/* ---- the program that is watched ---- */

static int start(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	memset(&control, 0, sizeof(control));
	w.task.mm = &w.memory;
	w.memory.start_stack = STACK_TOP + 8;
	w.memory.uprobes_state.xol_area = &w.area;
	w.area.vaddr = TRAMPOLINE;
	w.sp = STACK_TOP - 64;
	w.now_ns = 1000000;
	w.random = 42;
	w.tgid = 77;
	for (uint32_t i = 0; i < POINTS; i++)
		w.points[i].interval = 1;
	point_count = POINTS;
	frame_point = WATCH_NO_POINT;
	is_session = true;
	is_empty = false;
	only_tgid = 0;
	pid_ns_dev = pid_ns_ino = 0;
	control.window = 1;
	return 0;
}

static struct pt_regs regs_now(void)
{
	return (struct pt_regs){ .rsp = w.sp };
}

/* The entry probe at the stack pointer as it is. */
static void hit_entry(uint32_t point, uint64_t back)
{
	struct pt_regs regs = regs_now();
	bool has_return = true;

	w.cookie = point;
	w.is_return = false;
	if (is_session)
		has_return = watch_session(&regs) == 0;
	else
		watch_entry(&regs);
	w.calls[w.depth++] = (struct call){ w.sp, back, point, has_return };
	if (has_return)
		*word(w.sp) = TRAMPOLINE;
}

/* Calls a watched function from `back`. */
static void call_from(uint32_t point, uint64_t back)
{
	w.sp -= 8;
	*word(w.sp) = back;
	hit_entry(point, back);
}

static void call(uint32_t point)
{
	call_from(point, 0x1000 + 16 * point);
}

/* The innermost watched call jumps to another watched function. */
static void jump_to(uint32_t point)
{
	w.sp = w.calls[w.depth - 1].sp;
	hit_entry(point, w.calls[w.depth - 1].back);
}

static void hit_return(const struct call *done)
{
	struct pt_regs regs = regs_now();

	w.cookie = done->point;
	w.is_return = true;
	if (is_session)
		watch_session(&regs);
	else
		watch_return(&regs);
}

/* The innermost watched call returns, and with it those that it was jumped to from. */
static void leave_call(void)
{
	uint64_t sp = w.calls[w.depth - 1].sp;

	w.sp = sp + 8;
	while (w.depth > 0 && w.calls[w.depth - 1].sp == sp) {
		struct call done = w.calls[--w.depth];

		if (done.has_return)
			hit_return(&done);
	}
}

/* Leaves calls by longjmp until `depth` are left. */
static void long_jump(uint32_t depth)
{
	w.sp = w.calls[depth].sp + 8;
	w.depth = depth;
}

/* A function that is not watched is called, and uses so many words. */
static void enter_unwatched(uint32_t words)
{
	w.sp -= 8;
	*word(w.sp) = 0x9999;
	for (uint32_t i = 0; i < words; i++)
		*word(w.sp -= 8) = 0x5555;
}

static void leave_unwatched(uint32_t words)
{
	w.sp += 8 * (words + 1);
}

static void pass_ns(uint64_t ns)
{
	w.now_ns += ns;
}

static struct watch_counter *of(uint32_t point)
{
	return &w.counters[w.cpu * POINTS + point];
}

static void next_window(void)
{
	for (uint32_t i = 0; i < POINTS; i++) {
		w.points[i].firsts_base = w.points[i].firsts;
		w.points[i].timed_base = w.points[i].timed;
	}
	control.window++;
}

/* A call of so many ns without anything inside. */
static void run(uint32_t point, uint64_t ns)
{
	call(point);
	pass_ns(ns);
	leave_call();
}

#endif
