/* bpf_take.c - records of the ring become ticks: weighed and walked by the kernel, asked for, named if wanted. */
#include <errno.h>
#include <string.h>

#include "sense/bpf.h"

/* The kernel's order of registers (struct pt_regs), as places in struct stack_copy; the rest are none of ours. */
static const uint8_t reg_order[RECORD_REG_COUNT] = {
	DWARF_R15,	 DWARF_R14, DWARF_R13,	     DWARF_R12,	      DWARF_RBP, DWARF_RBX,
	DWARF_R11,	 DWARF_R10, DWARF_R9,	     DWARF_R8,	      DWARF_RAX, DWARF_RCX,
	DWARF_RDX,	 DWARF_RSI, DWARF_RDI,	     DWARF_REG_COUNT, DWARF_RIP, DWARF_REG_COUNT,
	DWARF_REG_COUNT, DWARF_RSP, DWARF_REG_COUNT,
};

#define RING_HEAD_BYTES 8u /* the kernel's own, before each record */
#define ALL_REGS	((1u << DWARF_REG_COUNT) - 1)

/* A record that was checked: nothing of it lies outside. */
struct sample {
	struct record_sample head;
	const uint64_t *frames; /* of user mode, then of the kernel */
	struct record_left left;
	const uint8_t *stack;
};

static bool has_copy(const struct record_sample *head)
{
	return head->stack == RECORD_LEFT || head->is_checked;
}

static bool read_sample(const void *record, size_t bytes, struct sample *out)
{
	const uint8_t *at = record;
	size_t frames, need;

	if (bytes < sizeof(out->head))
		return false;
	memcpy(&out->head, at, sizeof(out->head));
	frames = (size_t)out->head.user_count + out->head.kernel_count;
	need = sizeof(out->head) + frames * sizeof(*out->frames);
	if (has_copy(&out->head))
		need += sizeof(out->left) + out->head.stack_bytes;
	if (bytes < need || out->head.weight_ns == 0 || out->head.stack > RECORD_NONE)
		return false;
	out->frames = (const uint64_t *)(const void *)(at + sizeof(out->head));
	out->stack = (const uint8_t *)(out->frames + frames);
	if (!has_copy(&out->head))
		return true;
	memcpy(&out->left, out->stack, sizeof(out->left));
	out->stack += sizeof(out->left);
	return true;
}

/* Registers where the walk was left: all of them in front of a call, else the three that were followed. */
static void copy_regs(const struct record_left *left, struct stack_copy *copy)
{
	if (!left->is_behind) {
		for (size_t i = 0; i < RECORD_REG_COUNT; i++)
			if (reg_order[i] < DWARF_REG_COUNT)
				copy->regs[reg_order[i]] = left->regs[i];
	}
	copy->known = ALL_REGS;
	/* What a signal interrupted is in front of no call, but has other registers than the walk began with. */
	if (left->is_behind || left->pc != copy->regs[DWARF_RIP])
		copy->known = 1u << DWARF_RIP | 1u << DWARF_RSP | 1u << DWARF_RBP;
	if (!left->has_bp)
		copy->known &= ~(1u << DWARF_RBP);
	copy->regs[DWARF_RIP] = left->pc;
	copy->regs[DWARF_RSP] = left->sp;
	copy->regs[DWARF_RBP] = left->bp;
	copy->is_behind = left->is_behind;
}

static enum stack_end end_of(const struct record_sample *head)
{
	return head->stack == RECORD_BROKEN ? STACK_BROKEN
	       : head->stack == RECORD_DEEP ? STACK_CUT
					    : STACK_WHOLE;
}

/* How much of the stack was asked for: a copy that is shorter ends where the stack does. */
static size_t asked_bytes(const struct record_sample *head)
{
	return head->stack_bytes == RECORD_STACK_BYTES_LEAST ? RECORD_STACK_BYTES_LEAST
							     : RECORD_STACK_BYTES;
}

/* Walks the copy of a stack that the kernel walked, and compares. What leaves the copy is not judged. */
static void check(struct bpf_sampler *b, const struct sample *sample, uint32_t pid, size_t depth)
{
	struct stack_copy copy = { .has_user = true,
				   .bytes = sample->stack,
				   .len = sample->head.stack_bytes,
				   .asked = asked_bytes(&sample->head),
				   .kernel = sample->frames + sample->head.user_count,
				   .kernel_count = sample->head.kernel_count };
	enum stack_end end;
	size_t count;
	bool is_like;

	copy_regs(&sample->left, &copy);
	count = spaces_walk(b->base.spaces, (pid_t)pid, &copy, b->other, SPACE_MAX_FRAMES, &end);
	if (end == STACK_CUT)
		return;
	is_like = count == depth;
	for (size_t i = 0; i < count && is_like; i++)
		is_like = b->other[i].key == b->base.path[1 + i].key;
	b->compared++;
	b->unlike += !is_like;
}

/* Names the sample's stack into base.path behind the thread's frame. Returns the depth. */
static size_t name(struct bpf_sampler *b, const struct sample *sample,
		   const struct perf_thread *thread, enum stack_end *out_end)
{
	const struct record_sample *head = &sample->head;
	struct sampler *s = &b->base;
	struct stack_copy copy = { .at_ns = head->at_ns,
				   .walked = sample->frames,
				   .walked_count = head->user_count,
				   .walked_end = end_of(head),
				   .kernel = sample->frames + head->user_count,
				   .kernel_count = head->kernel_count };
	size_t depth;

	if (head->stack == RECORD_LEFT) {
		copy.has_user = true;
		copy.bytes = sample->stack;
		copy.len = head->stack_bytes;
		copy.asked = asked_bytes(head);
		copy_regs(&sample->left, &copy);
	}
	s->path[0] = perf_thread_frame(thread);
	depth = spaces_walk(s->spaces, (pid_t)thread->pid, &copy, s->path + 1, SPACE_MAX_FRAMES,
			    out_end);
	if (head->is_checked && b->other != NULL)
		check(b, sample, thread->pid, depth);
	return 1 + depth;
}

/* The thread of a sample. One that we do not know, of a process that is gone, has no name to be had: entered, it would stay, since
 * its end was told before. */
static struct perf_thread *thread_of(struct bpf_sampler *b, const struct record_sample *head)
{
	if (perf_threads_find(b->base.threads, head->tid) == NULL &&
	    !procfs_is_running((pid_t)head->tid))
		return NULL;
	return perf_follow_thread(&b->base, head->pid, head->tid, b->sink);
}

static void take_sample(struct bpf_sampler *b, const struct sample *sample)
{
	const struct sampler_sink *sink = b->sink;
	const struct record_sample *head = &sample->head;
	enum stack_end end = STACK_WHOLE;
	struct perf_thread *thread;
	struct tick tick;

	b->base.record_ns = head->at_ns;
	thread = thread_of(b, head);
	if (thread == NULL) { /* or more threads than there are places */
		b->base.lost_count++;
		sink->lost(sink->owner, perf_elapsed_ns(&b->base, head->at_ns), 1);
		return;
	}
	tick = perf_tick(&b->base, thread, head->at_ns, head->weight_ns);
	if (sink->wants(sink->owner, &tick)) {
		size_t depth = name(b, sample, thread, &end);

		sink->take(sink->owner, &tick, b->base.path, depth, end);
	} else {
		sink->take(sink->owner, &tick, NULL, 0, STACK_WHOLE);
	}
	if (head->stack == RECORD_LEFT)
		bpf_want(b, head->pid, head->life);
}

int bpf_take(void *owner, void *record, size_t bytes)
{
	struct bpf_sampler *b = owner;
	struct sample sample;
	bool is_late;

	if (!read_sample(record, bytes, &sample)) {
		b->torn++;
		return 0;
	}
	b->ticks_given++;
	if (!has_copy(&sample.head)) {
		b->walked_count++;
		b->walked_bytes += (bytes + 7) / 8 * 8 + RING_HEAD_BYTES;
	}
	is_late = sample.head.at_ns > b->base.rings.until_ns;
	if (is_late) /* what it needs may have come into the other rings since they were looked at */
		b->drained = perf_rings_look(&b->base.rings, sample.head.at_ns, b->err);
	if (b->drained == 0)
		b->drained = bpf_follow_until(b, sample.head.at_ns);
	if (b->drained != 0)
		return b->drained;
	take_sample(b, &sample);
	return is_late ? -EAGAIN : 0; /* later ones are for the next drain */
}
