/* waits_take.c - what the kernel tells: waits that begin and end, threads that end, and the sums of each. */
#include <string.h>

#include "sense/waits_parts.h"

/* A wait begins, and was looked at. */
static void take_stack(struct waits_source *s, const struct waits_stack *record, size_t bytes)
{
	size_t used = bytes - offsetof(struct waits_stack, stack);
	struct waits_thread *thread = waits_thread_get(s, &record->head);
	struct waits_held *held;

	if (record->bytes < used)
		used = record->bytes;
	if (thread != NULL && !thread->has_frame)
		waits_know(s, thread);
	held = thread != NULL ? waits_hold(s, &record->head, (uint32_t)used) : NULL;
	if (held == NULL) {
		s->lost++;
		return;
	}
	memcpy(held->regs, record->regs, sizeof(held->regs));
	memcpy(held->stack, record->stack, used);
	held->has_stack = used > 0;
	held->is_cut = record->is_cut != 0;
	waits_let_go(s, thread->open);
	thread->open = held;
}

/* The wait ends: it is weighed with the others of its round. */
static void take_end(struct waits_source *s, const struct waits_end *end)
{
	struct waits_thread *thread = waits_thread_get(s, &end->head);
	struct waits_held *held;

	if (thread == NULL) {
		s->lost++;
		return;
	}
	held = thread->open;
	if (held != NULL && held->head.out_ns != end->head.out_ns) {
		waits_let_go(s, held);
		held = NULL;
	}
	thread->open = NULL;
	if (held == NULL)
		held = waits_hold(s, &end->head, 0); /* its beginning was lost */
	if (held == NULL) {
		s->lost++;
		return;
	}
	held->head.one_in = end->head.one_in;
	held->from_ns = end->from_ns;
	held->in_ns = end->in_ns > end->from_ns ? end->in_ns : end->from_ns;
	held->runnable_ns = end->runnable_ns;
	held->is_torn = held->read_ns != 0 && held->in_ns <= held->read_ns;
	*thread->ended_end = held;
	thread->ended_end = &held->next;
}

static void take_gone(struct waits_source *s, const struct waits_thread_line *line)
{
	struct waits_thread *thread = waits_thread_get(s, &line->head);

	if (thread == NULL)
		return;
	memcpy(&thread->line, line, offsetof(struct waits_thread_line, regs));
	thread->seen_ns = line->seen_ns;
	thread->is_told = true;
	thread->gone_look = s->looks;
}

int waits_take_record(void *owner, void *record, size_t bytes)
{
	struct waits_source *s = owner;
	const struct waits_head *head = record;

	if (bytes < sizeof(*head))
		return 0;
	if (head->kind == WAITS_STACK && bytes >= offsetof(struct waits_stack, stack))
		take_stack(s, record, bytes);
	else if (head->kind == WAITS_END && bytes >= sizeof(struct waits_end))
		take_end(s, record);
	else if (head->kind == WAITS_GONE && bytes >= offsetof(struct waits_thread_line, regs))
		take_gone(s, record);
	return 0;
}

/* Its stack does not change while it waits; if it has ended meanwhile, the record of that tells. */
static void visit(struct waits_source *s, struct waits_thread *thread,
		  const struct waits_thread_line *line)
{
	static const size_t sp = WAITS_REGS - 2;
	uint8_t memory[REMOTE_MOST_BYTES];
	size_t got = s->remote == NULL ? 0
				       : remote_read(s->remote, (pid_t)thread->pid, line->regs[sp],
						     memory, sizeof(memory));
	struct waits_held *held = waits_hold(s, &line->head, (uint32_t)got);

	s->visits++;
	s->unread += got == 0;
	if (held == NULL) {
		s->lost++;
		return;
	}
	memcpy(held->regs, line->regs, sizeof(held->regs));
	memcpy(held->stack, memory, got);
	held->has_stack = got > 0;
	held->is_cut = got == sizeof(memory);
	held->read_ns = waits_now_ns(s);
	waits_let_go(s, thread->open);
	thread->open = held;
}

void waits_take_line(struct waits_source *s, const struct waits_thread_line *line)
{
	struct waits_thread *thread = waits_thread_get(s, &line->head);

	/* The number is used again, and the record of its first thread's end was lost. */
	if (thread != NULL && thread->seen_ns != 0 && thread->seen_ns != line->seen_ns) {
		waits_finish(s, thread);
		thread = waits_thread_get(s, &line->head);
	}
	if (thread == NULL) {
		s->lost++;
		return;
	}
	thread->seen_ns = line->seen_ns;
	thread->line = *line;
	thread->is_told = true;
	if (line->head.kind == WAITS_STACK)
		visit(s, thread, line);
}
