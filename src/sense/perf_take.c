/* perf_take.c - samples become ticks: weighed, asked for, and only if wanted walked and named. */
#include <string.h>

#include "sense/perf.h"
#include "sense/perf_weight.h"

/* The order in which the kernel gives the registers of our mask, as places in struct stack_copy. */
static const uint8_t reg_order[DWARF_REG_COUNT] = {
	DWARF_RAX, DWARF_RBX, DWARF_RCX, DWARF_RDX, DWARF_RSI, DWARF_RDI,
	DWARF_RBP, DWARF_RSP, DWARF_RIP, DWARF_R8,  DWARF_R9,  DWARF_R10,
	DWARF_R11, DWARF_R12, DWARF_R13, DWARF_R14, DWARF_R15,
};

/* A sample's bytes behind its fixed part, read with bounds: foreign lengths are never trusted. */
struct cursor {
	const uint8_t *at;
	size_t left;
};

static bool take_word(struct cursor *c, uint64_t *out)
{
	if (c->left < sizeof(*out))
		return false;
	memcpy(out, c->at, sizeof(*out));
	c->at += sizeof(*out);
	c->left -= sizeof(*out);
	return true;
}

/* Kernel part of the call chain: its markers (PERF_CONTEXT_KERNEL...) are not addresses. */
static bool take_chain(struct cursor *c, uint64_t *chain, size_t max, size_t *out_count)
{
	uint64_t count, word;
	size_t kept = 0;

	if (!take_word(c, &count) || count > c->left / sizeof(word))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		if (!take_word(c, &word))
			return false;
		if (word < (uint64_t)PERF_CONTEXT_MAX && kept < max)
			chain[kept++] = word;
	}
	*out_count = kept;
	return true;
}

static bool take_user(struct cursor *c, struct stack_copy *copy)
{
	uint64_t abi, size, used = 0;

	if (!take_word(c, &abi))
		return false;
	if (abi != PERF_SAMPLE_REGS_ABI_NONE)
		for (size_t i = 0; i < DWARF_REG_COUNT; i++)
			if (!take_word(c, &copy->regs[reg_order[i]]))
				return false;
	/* A 32-bit program has other registers; its stacks are not walked. */
	copy->has_user = abi == PERF_SAMPLE_REGS_ABI_64;
	if (!take_word(c, &size) || size > c->left)
		return false;
	copy->bytes = c->at;
	c->at += size;
	c->left -= size;
	if (size > 0 && (!take_word(c, &used) || used > size))
		return false;
	copy->len = used;
	return true;
}

static size_t fixed_bytes(const struct sampler *s)
{
	if (!s->means.has_read)
		return PERF_SAMPLE_AT_READ;
	return PERF_SAMPLE_AT_READ + (s->means.has_lost ? 16u : 8u);
}

/* Walks the sample's stack into s->path behind the thread's frame. Returns the depth. */
static size_t walk(struct sampler *s, const struct perf_record *record,
		   const struct perf_thread *thread, enum stack_end *out_end)
{
	uint64_t chain[PERF_MAX_STACK_DEPTH];
	struct stack_copy copy = { .at_ns = record->at_ns, .kernel = chain };
	struct cursor c = { perf_rings_bytes(&s->rings, record) + fixed_bytes(s),
			    record->header.size - fixed_bytes(s) };
	bool is_whole = true;

	if (s->means.has_kernel)
		is_whole = take_chain(&c, chain, PERF_MAX_STACK_DEPTH, &copy.kernel_count);
	if (!is_whole || !take_user(&c, &copy))
		copy.has_user = false;
	s->path[0] = perf_thread_frame(thread);
	return 1 + spaces_walk(s->spaces, (pid_t)thread->pid, &copy, s->path + 1, SPACE_MAX_FRAMES,
			       out_end);
}

struct tick perf_tick(struct sampler *s, const struct perf_thread *thread, uint64_t at_ns,
		      uint64_t weight_ns)
{
	uint64_t elapsed_ns = perf_elapsed_ns(s, at_ns);

	/* Two CPUs' clocks may disagree by some ns: never tell the sink of a step back. */
	if (elapsed_ns < s->last_ns)
		elapsed_ns = s->last_ns;
	s->last_ns = elapsed_ns;
	s->given_ns += weight_ns;
	return (struct tick){ .from_ns = elapsed_ns,
			      .at_ns = elapsed_ns,
			      .weight_ns = weight_ns,
			      .state = STATE_RUNNING,
			      .pid = thread->pid,
			      .tid = thread->tid };
}

/* Time of ticks that fell in kernel mode and were not delivered, because we may not look there: on a path of its own, or
 * the next function in user mode would carry it. */
static void give_withheld(struct sampler *s, const struct perf_thread *thread, uint64_t at_ns,
			  uint64_t weight_ns, const struct sampler_sink *sink)
{
	struct tick tick = perf_tick(s, thread, at_ns, weight_ns);

	s->path[0] = perf_thread_frame(thread);
	s->path[1] = (struct frame){ .key = s->kernel_key,
				     .kind = FRAME_MARKER,
				     .name = STR_LITERAL("[kernel]") };
	if (sink->wants(sink->owner, &tick))
		sink->take(sink->owner, &tick, s->path, 2, STACK_WHOLE);
	else
		sink->take(sink->owner, &tick, NULL, 0, STACK_WHOLE);
}

static void lose(struct sampler *s, uint64_t at_ns, const struct sampler_sink *sink)
{
	s->lost_count++;
	sink->lost(sink->owner, perf_elapsed_ns(s, at_ns), 1);
}

/* What the sample weighs; 0: nothing. */
static uint64_t weigh(struct sampler *s, const struct perf_record *record,
		      struct perf_thread *thread, bool *out_has_gap, uint64_t *out_period_ns)
{
	struct perf_reading reading = {
		.id = perf_rings_word(&s->rings, record, PERF_SAMPLE_AT_ID),
		.gaps = s->rings.rings[record->ring].gaps,
		.first_id = s->first_id,
	};
	uint64_t weight_ns, double_id;

	reading.period_ns = reading.id >= s->first_id ? s->events.period_ns : s->old_period_ns;
	*out_period_ns = reading.period_ns;
	if (!s->means.has_read) {
		*out_has_gap = false;
		return perf_weight_derived(thread, record->at_ns, reading.period_ns, s->lost_count);
	}
	reading.value_ns = perf_rings_word(&s->rings, record, PERF_SAMPLE_AT_READ);
	weight_ns = perf_weight_read(thread, &thread->slots[record->ring], &reading, out_has_gap,
				     &double_id);
	if (double_id != 0) {
		perf_events_drop(&s->events, double_id);
		s->has_dropped = true;
	}
	return weight_ns;
}

void perf_take_sample(struct sampler *s, const struct perf_record *record,
		      const struct sampler_sink *sink)
{
	uint64_t ids, weight_ns, period_ns, withheld_ns = 0;
	enum stack_end end = STACK_WHOLE;
	struct perf_thread *thread;
	struct tick tick;
	bool has_gap;

	if (record->header.size < fixed_bytes(s)) {
		lose(s, record->at_ns, sink);
		return;
	}
	ids = perf_rings_word(&s->rings, record, PERF_SAMPLE_AT_TID);
	thread = perf_follow_thread(s, (uint32_t)ids, (uint32_t)(ids >> 32), sink);
	if (thread == NULL) { /* more threads than there are places */
		lose(s, record->at_ns, sink);
		return;
	}
	weight_ns = weigh(s, record, thread, &has_gap, &period_ns);
	if (weight_ns == 0)
		return;
	if (!s->means.has_kernel && !has_gap)
		withheld_ns = perf_weight_withheld(weight_ns, period_ns);
	if (withheld_ns > 0)
		give_withheld(s, thread, record->at_ns, withheld_ns, sink);
	tick = perf_tick(s, thread, record->at_ns, weight_ns - withheld_ns);
	if (sink->wants(sink->owner, &tick)) {
		size_t depth = walk(s, record, thread, &end);

		sink->take(sink->owner, &tick, s->path, depth, end);
	} else {
		sink->take(sink->owner, &tick, NULL, 0, STACK_WHOLE);
	}
}
