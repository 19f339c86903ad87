/* waits_give.c - weighs the waits of a thread against its exact sums, and gives them to the sink with their stacks. */
#include <string.h>

#include "core/scoped.h"
#include "sense/waits_parts.h"

#define PART_MOST_NS (60 * NS_PER_S) /* of a long wait under way: given at least so often */

/* struct pt_regs on x86-64, word by word, as DWARF numbers. */
static const enum stack_reg reg_order[] = {
	DWARF_R15, DWARF_R14, DWARF_R13, DWARF_R12, DWARF_RBP, DWARF_RBX, DWARF_R11, DWARF_R10,
	DWARF_R9,  DWARF_R8,  DWARF_RAX, DWARF_RCX, DWARF_RDX, DWARF_RSI, DWARF_RDI,
};
#define WORD_IP 16u
#define WORD_SP 19u

static uint64_t elapsed_ns(const struct waits_source *s, uint64_t at_ns)
{
	return mono_elapsed_ns(s->settings.start, (struct mono){ at_ns });
}

static struct frame marker(struct str name)
{
	struct frame f = { .kind = FRAME_MARKER, .name = name };

	f.key = frame_key(&f, 0);
	return f;
}

bool waits_know(struct waits_source *s, struct waits_thread *thread)
{
	struct frame f;

	if (!s->settings.engine->thread(s->settings.sampler, thread->pid, thread->tid, &f))
		return false;
	if (f.name.len > sizeof(thread->comm))
		f.name.len = sizeof(thread->comm);
	memcpy(thread->comm, f.name.bytes, f.name.len);
	f.name.bytes = thread->comm;
	thread->frame = f;
	thread->has_frame = true;
	return true;
}

/* As the engine's own paths begin, so that one thread is one; of a thread that it never knew, as /proc has it. */
static struct frame thread_frame(struct waits_source *s, struct waits_thread *thread)
{
	struct frame *f = &thread->frame;

	if (waits_know(s, thread) || thread->has_frame)
		return *f;
	procfs_comm((pid_t)thread->pid, (pid_t)thread->tid, thread->comm);
	*f = (struct frame){ .kind = FRAME_THREAD, .pid = thread->pid, .tid = thread->tid };
	f->name.bytes = thread->comm;
	f->name.len = (uint32_t)strnlen(thread->comm, sizeof(thread->comm));
	f->key = frame_key(f, thread->seen_ns);
	thread->has_frame = true;
	return *f;
}

static struct stack_copy copy_of(const struct waits_held *held)
{
	struct stack_copy copy = { .bytes = held->stack,
				   .len = held->bytes,
				   .asked = held->is_cut ? held->bytes : 0,
				   .has_user = true };

	for (size_t i = 0; i < ARRAY_LEN(reg_order); i++)
		copy.regs[reg_order[i]] = held->regs[i];
	copy.regs[DWARF_RIP] = held->regs[WORD_IP];
	copy.regs[DWARF_RSP] = held->regs[WORD_SP];
	return copy;
}

/* Thread, stack, and why it waited. `held` NULL: nobody looked. */
static size_t path_of(struct waits_source *s, struct waits_thread *thread,
		      const struct waits_held *held, enum state state, enum stack_end *out_end)
{
	size_t depth = 1;

	*out_end = STACK_WHOLE;
	s->path[0] = thread_frame(s, thread);
	if (held != NULL && held->has_stack && !held->is_torn) {
		struct stack_copy copy = copy_of(held);

		depth += spaces_walk(s->spaces, (pid_t)thread->pid, &copy, s->path + 1,
				     SPACE_MAX_FRAMES, out_end);
	} else {
		s->path[depth++] = marker(held == NULL	  ? STR_LITERAL("[not looked at]")
					  : held->is_torn ? STR_LITERAL("[torn]")
							  : STR_LITERAL("[no stack]"));
	}
	if (state == STATE_RUNNABLE)
		s->path[depth++] = marker(STR_LITERAL("[runnable]"));
	else if (held != NULL)
		s->path[depth++] = marker(waits_why_text(held->head.why, held->head.syscall));
	return depth;
}

static void give(struct waits_source *s, struct waits_thread *thread, const struct waits_held *held,
		 const struct tick *tick)
{
	const struct sampler_sink *sink = s->sink;
	enum stack_end end = STACK_WHOLE;
	size_t depth;

	if (tick->weight_ns == 0 || sink == NULL)
		return;
	if (!sink->wants(sink->owner, tick)) {
		sink->take(sink->owner, tick, NULL, 0, end);
		return;
	}
	depth = path_of(s, thread, held, tick->state, &end);
	sink->take(sink->owner, tick, s->path, depth, end);
}

static struct tick tick_of(const struct waits_source *s, const struct waits_thread *thread,
			   uint64_t from_ns, uint64_t to_ns, enum state state)
{
	return (struct tick){ .from_ns = elapsed_ns(s, from_ns),
			      .at_ns = elapsed_ns(s, to_ns),
			      .weight_ns = to_ns > from_ns ? to_ns - from_ns : 0,
			      .state = state,
			      .pid = thread->pid,
			      .tid = thread->tid };
}

/* In slices a long wait is known in part only, as any other. */
static bool is_long(const struct waits_source *s, const struct waits_held *held)
{
	if (s->has_rested)
		return false;
	return held->in_ns - held->from_ns >= WAITS_LONG_NS || held->given_ns != 0;
}

/* When its thread was woken; of a long wait that was given beyond that, no sooner. */
static uint64_t woken_ns(const struct waits_held *held)
{
	uint64_t woken_ns = held->in_ns - held->runnable_ns;

	return woken_ns < held->given_ns ? held->given_ns : woken_ns;
}

/* What was not given yet of a long wait, up to `until_ns`, while it waited. */
static void give_long(struct waits_source *s, struct waits_thread *thread, struct waits_held *held,
		      uint64_t until_ns)
{
	uint64_t from_ns = held->given_ns != 0 ? held->given_ns : held->from_ns;
	struct tick tick = tick_of(s, thread, from_ns, until_ns, STATE_WAITING);

	waits_give(&thread->waits, STATE_WAITING, tick.weight_ns);
	give(s, thread, held, &tick);
	held->given_ns = until_ns;
}

static void give_long_end(struct waits_source *s, struct waits_thread *thread,
			  struct waits_held *held)
{
	struct tick tick = tick_of(s, thread, woken_ns(held), held->in_ns, STATE_RUNNABLE);

	give_long(s, thread, held, woken_ns(held));
	waits_give(&thread->waits, STATE_RUNNABLE, tick.weight_ns);
	give(s, thread, held, &tick);
}

static struct wait wait_of(const struct waits_source *s, const struct waits_held *held)
{
	return (struct wait){ .waiting_ns = held->in_ns - held->from_ns - held->runnable_ns,
			      .runnable_ns = held->runnable_ns,
			      .one_in = held->head.one_in > 0 ? held->head.one_in : 1,
			      .scale_ppm = s->scale_ppm };
}

static void give_short(struct waits_source *s, struct waits_thread *thread, struct waits_held *held)
{
	uint64_t woken_ns = held->in_ns - held->runnable_ns;
	struct tick waiting = tick_of(s, thread, held->from_ns, woken_ns, STATE_WAITING);
	struct tick runnable = tick_of(s, thread, woken_ns, held->in_ns, STATE_RUNNABLE);
	struct wait wait = wait_of(s, held);

	waiting.weight_ns = waits_weigh(&thread->waits, &wait, STATE_WAITING);
	runnable.weight_ns = waits_weigh(&thread->waits, &wait, STATE_RUNNABLE);
	give(s, thread, held, &waiting);
	give(s, thread, held, &runnable);
}

void waits_untell(struct waits_source *s, struct waits_thread *thread)
{
	for (int state = 0; state < STATE_COUNT; state++)
		s->live.exact_ns[state] -= thread->waits.exact_ns[state];
	if (thread->told_ns == 0)
		return;
	s->live.count[thread->told_state]--;
	s->live.since_ns[thread->told_state] -= thread->told_ns;
	thread->told_ns = 0;
}

/* The thread's sums, up to `at_ns`; from then on it is taken to go on as it does. */
static void tell_sums(struct waits_source *s, struct waits_thread *thread,
		      const struct waits_account *account, uint64_t at_ns)
{
	waits_untell(s, thread);
	waits_tell(&thread->waits, account);
	for (int state = 0; state < STATE_COUNT; state++)
		s->live.exact_ns[state] += thread->waits.exact_ns[state];
	/* After a rest running is what the kernel's account says, and all else waiting. */
	thread->told_state =
		thread->line.head.out_ns != 0 || s->has_rested ? STATE_WAITING : STATE_RUNNING;
	thread->told_ns = at_ns;
	s->live.count[thread->told_state]++;
	s->live.since_ns[thread->told_state] += at_ns;
}

/* The exact sums of a thread, as of the look in work; one that has not switched is as it was. Returns that time. */
static uint64_t tell(struct waits_source *s, struct waits_thread *thread)
{
	const struct waits_thread_line *line = &thread->line;
	uint64_t at_ns = thread->is_told ? line->at_ns : s->now_ns, away_ns = line->away_ns;
	struct waits_account account = { .runnable_ns = line->queued_ns };

	account.wall_ns = at_ns > thread->seen_ns ? at_ns - thread->seen_ns : 0;
	if (line->head.out_ns != 0 && at_ns > line->head.out_ns) {
		uint64_t since_ns = line->head.out_ns;

		away_ns += at_ns - since_ns;
		if (thread->open != NULL && thread->open->given_ns > since_ns)
			since_ns = thread->open->given_ns;
		account.open_ns = at_ns > since_ns ? at_ns - since_ns : 0;
	}
	account.running_ns = account.wall_ns > away_ns ? account.wall_ns - away_ns : 0;
	if (s->has_rested) { /* not all that it was away was seen: the kernel's account is exact but for its last tick */
		account.running_ns = line->ran_ns;
		account.open_ns = 0;
	}
	tell_sums(s, thread, &account, at_ns);
	return at_ns;
}

/* A long wait under way counts while it lasts: first when it becomes long, then as often as it has doubled. */
static uint64_t due_ns(const struct waits_source *s, const struct waits_thread *thread)
{
	const struct waits_held *held = thread->open;
	uint64_t before_ns;

	if (s->has_rested || held == NULL || held->head.out_ns != thread->line.head.out_ns ||
	    held->head.why == WAITS_PREEMPTED)
		return UINT64_MAX;
	if (held->given_ns == 0)
		return held->from_ns + WAITS_LONG_NS;
	before_ns = held->given_ns - held->from_ns;
	return held->given_ns + (before_ns < PART_MOST_NS ? before_ns : PART_MOST_NS);
}

static void give_open(struct waits_source *s, struct waits_thread *thread, uint64_t at_ns,
		      bool is_end)
{
	uint64_t due = due_ns(s, thread);

	if (due != UINT64_MAX && at_ns >= thread->open->from_ns + WAITS_LONG_NS &&
	    (is_end || at_ns >= due))
		give_long(s, thread, thread->open, at_ns);
}

void waits_settle(struct waits_source *s, struct waits_thread *thread, bool is_end)
{
	uint64_t at_ns = tell(s, thread);
	struct waits_turn *turn;

	for (struct waits_held *held = thread->ended; held != NULL; held = held->next) {
		struct wait wait = wait_of(s, held);

		if (is_long(s, held))
			give_long_end(s, thread, held);
		else
			waits_count(&thread->waits, &wait);
	}
	while (thread->ended != NULL) {
		struct waits_held *held = thread->ended;

		if (!is_long(s, held))
			give_short(s, thread, held);
		thread->ended = held->next;
		waits_let_go(s, held);
	}
	thread->ended_end = &thread->ended;
	give_open(s, thread, at_ns, is_end);
	thread->is_told = false;
	turn = &s->turns[thread - s->threads];
	turn->due_ns = due_ns(s, thread);
	turn->is_touched = thread->gone_look != 0;
}

void waits_end_open(struct waits_thread *thread, uint64_t at_ns)
{
	struct waits_held *held = thread->open;

	if (held == NULL || thread->line.head.out_ns != held->head.out_ns || at_ns <= held->from_ns)
		return;
	held->in_ns = at_ns;
	*thread->ended_end = held;
	thread->ended_end = &held->next;
	thread->open = NULL;
	thread->line.away_ns += at_ns - thread->line.head.out_ns;
	thread->line.head.out_ns = 0;
}

static void give_rest(struct waits_source *s, struct waits_thread *thread, enum state state,
		      uint64_t at_ns)
{
	struct tick tick = tick_of(s, thread, thread->seen_ns, at_ns, state);

	tick.weight_ns = waits_rest(&thread->waits, state);
	s->gone_rest_ns += tick.weight_ns;
	give(s, thread, NULL, &tick);
}

void waits_finish(struct waits_source *s, struct waits_thread *thread)
{
	uint64_t at_ns = thread->is_told ? thread->line.at_ns : s->now_ns;

	waits_end_open(thread, at_ns);
	waits_settle(s, thread, true);
	give_rest(s, thread, STATE_WAITING, at_ns);
	give_rest(s, thread, STATE_RUNNABLE, at_ns);
	for (int state = 0; state < STATE_COUNT; state++)
		s->gone_ns[state] += thread->waits.exact_ns[state];
	waits_thread_remove(s, thread);
}
