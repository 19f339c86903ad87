/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* record_walk.bpf.h - walks the running thread's stack in user mode by rows. As sense/walk.c does over a copy, but for rsp and rbp
 * alone; where more is needed, or nothing is known of the code, the walk is left and user space goes on. */
#ifndef TARE_BPF_RECORD_WALK_BPF_H
#define TARE_BPF_RECORD_WALK_BPF_H

#include "bpf/record_maps.bpf.h"

/* The frame that x86-64 makes for a signal (struct rt_sigframe), seen from the stack pointer of its trampoline. */
#define SIGNAL_BP 120 /* then rbx, rdx, rax, rcx, rsp, rip */
#define SIGNAL_SP 5   /* words behind rbp */
#define SIGNAL_IP 6

#define LINK_BYTES_MOST (1u << 20) /* a frame by its pointer is not larger */

#define STEP_GOES_ON 0
#define STEP_ENDS    1

#ifdef __bpf__
/* The compiler drops bounds that it can prove itself; the verifier needs them. */
#define HIDE(value)    asm volatile("" : "+r"(value))
#define WITHIN_512(at) asm volatile("%0 &= 511" : "+r"(at))
#else
#define HIDE(value)    ((void)(value))
#define WITHIN_512(at) ((void)(at))
#endif

struct walk {
	uint64_t pc, sp, bp;
	const struct record_space *space; /* NULL: none is known */
	uint64_t *frames;
	uint32_t count;
	uint32_t stack; /* enum record_stack */
	uint32_t is_exact, has_bp;
	uint32_t has_link; /* a frame pointer has led on */
	uint32_t spare;
};

/* Index of the last of the chunk's rows at or before `pc`; RECORD_CHUNK_ROWS: none is. Without a branch in the search, whose
 * every way the verifier would go; steps from both ends, so that no index leaves an array that is no power of two. */
static __always_inline uint32_t find_row(const struct record_chunk *chunk, uint32_t pc)
{
	uint64_t at = 0, step = RECORD_CHUNK_ROWS - 256;

	for (int i = 0; i < 9; i++) {
		uint64_t next = at + step, ahead;

		WITHIN_512(next);
		ahead = (uint64_t)pc - chunk->pc[next];
		HIDE(ahead); /* or it is made a branch again */
		at += step * (ahead >> 63 ^ 1);
		step = 128u >> i;
	}
	if (at >= RECORD_CHUNK_ROWS || chunk->pc[at] > pc)
		return RECORD_CHUNK_ROWS;
	return (uint32_t)at;
}

/* The same of the space's mappings, which may end before `pc`. */
static __always_inline uint32_t find_area(const struct record_space *space, uint64_t pc)
{
	uint64_t at = 0, step = RECORD_AREAS - 256;

	if (space == NULL || pc >= RECORD_NOWHERE)
		return RECORD_AREAS;
	for (int i = 0; i < 9; i++) {
		uint64_t next = at + step, ahead;

		WITHIN_512(next);
		ahead = pc - space->start[next];
		HIDE(ahead);
		at += step * (ahead >> 63 ^ 1);
		step = 128u >> i;
	}
	if (at >= RECORD_AREAS || space->start[at] > pc || pc >= space->end[at])
		return RECORD_AREAS;
	return (uint32_t)at;
}

/* The rule at `pc`. Not static: the verifier then goes through it once, not once for each way that leads here. */
__noinline uint32_t find_rule(const struct record_space *space, uint64_t pc)
{
	uint32_t at = find_area(space, pc), number, place;

	if (space == NULL || at >= RECORD_AREAS)
		return RECORD_UNKNOWN;
	number = space->root[at];
	place = (uint32_t)(pc - space->start[at]) + space->place[at];
	for (uint32_t level = 0; level < RECORD_LEVELS; level++) {
		const struct record_chunk *chunk = bpf_map_lookup_elem(&chunks, &number);

		/* 0: the file has no rows. Another number was given by user space, which has thrown its rows away since. */
		if (chunk == NULL && number != 0)
			return RECORD_UNKNOWN;
		if (chunk == NULL)
			break;
		at = find_row(chunk, place);
		if (at >= RECORD_CHUNK_ROWS)
			break;
		number = chunk->rule[at];
		if (chunk->level == 0)
			return number;
	}
	return record_rule(RECORD_GAP, 0, 0, 0);
}

/* A word of the thread's memory. */
static __always_inline bool read_word(uint64_t address, uint64_t *out)
{
	return bpf_probe_read_user(out, sizeof(*out), (void *)address) == 0;
}

/* The walk is over. */
static __always_inline long end_walk(struct walk *w, enum record_stack stack)
{
	w->stack = stack;
	return STEP_ENDS;
}

/* The frame's address by a rule; 0: it cannot be had. */
static __always_inline uint64_t frame_address(const struct walk *w, uint32_t rule, uint64_t pc)
{
	int64_t offset = record_rule_offset(rule);
	uint64_t address = 0;

	switch (record_rule_kind(rule)) {
	case RECORD_SP:
		return w->sp + offset;
	case RECORD_BP:
		return w->bp + offset;
	case RECORD_PLT:
		return w->sp + 8 + ((pc & 15) >= record_rule_saved(rule) ? 8 : 0);
	case RECORD_DEREF:
		return read_word(w->bp + offset, &address) ? address : 0;
	default:
		return 0;
	}
}

/* rbp of the caller. A place below the stack pointer was popped: the register has its value back already. */
static __always_inline void restore_bp(struct walk *w, uint32_t rule, uint64_t cfa)
{
	uint32_t saved = record_rule_saved(rule);
	uint64_t from = record_rule_from_rbp(rule) ? w->bp + 8 : cfa;
	uint64_t place = from - 8ull * saved;

	if (saved == 0 || record_rule_kind(rule) == RECORD_PLT)
		return;
	if (saved == RECORD_SAVED_UNKNOWN)
		w->has_bp = 0;
	else if (place >= w->sp && !read_word(place, &w->bp))
		w->has_bp = 0;
}

/* From a signal's frame to what it interrupted. */
static __always_inline long leave_signal(struct walk *w)
{
	uint64_t words[7];

	if (bpf_probe_read_user(words, sizeof(words), (void *)(w->sp + SIGNAL_BP)) != 0)
		return end_walk(w, RECORD_BROKEN);
	w->bp = words[0];
	w->sp = words[SIGNAL_SP];
	w->pc = words[SIGNAL_IP];
	w->has_bp = w->is_exact = 1;
	return STEP_GOES_ON;
}

/* One step by the frame pointer, for code that nothing describes. */
static __always_inline long follow_link(struct walk *w)
{
	uint64_t words[2]; /* rbp of the caller, return address */

	if (w->bp % 8 != 0 || w->bp < w->sp || w->bp - w->sp > LINK_BYTES_MOST ||
	    bpf_probe_read_user(words, sizeof(words), (void *)w->bp) != 0)
		return end_walk(w, RECORD_BROKEN);
	w->sp = w->bp + sizeof(words);
	w->bp = words[0];
	w->pc = words[1];
	w->is_exact = 0;
	w->has_link = 1;
	return STEP_GOES_ON;
}

/* Does the rule need what is not known here? A frame pointer of 0 is the root only if others led there: else who began the
 * thread must be asked. */
static __always_inline bool is_beyond(const struct walk *w, uint32_t rule)
{
	enum record_kind kind = record_rule_kind(rule);

	if (kind == RECORD_OTHER || (kind == RECORD_GAP && w->bp == 0 && !w->has_link))
		return true;
	return !w->has_bp && (kind == RECORD_BP || kind == RECORD_DEREF || kind == RECORD_GAP ||
			      record_rule_from_rbp(rule));
}

/* From one frame to its caller. */
static long walk_step(uint32_t index __attribute__((unused)), struct walk *w)
{
	uint64_t pc = w->is_exact ? w->pc : w->pc - 1, cfa, caller;
	uint32_t rule = find_rule(w->space, pc), count = w->count;

	if (is_beyond(w, rule))
		return end_walk(w, RECORD_LEFT);
	HIDE(count);
	if (count >= RECORD_MAX_USER)
		return end_walk(w, RECORD_DEEP);
	w->frames[count] = pc;
	w->count = count + 1;
	if (record_rule_kind(rule) == RECORD_END)
		return end_walk(w, RECORD_WHOLE);
	if (record_rule_kind(rule) == RECORD_SIGNAL)
		return leave_signal(w);
	if (record_rule_kind(rule) == RECORD_GAP)
		return w->bp == 0 ? end_walk(w, RECORD_WHOLE) : follow_link(w);
	cfa = frame_address(w, rule, pc);
	if (cfa <= w->sp || !read_word(cfa - 8, &caller))
		return end_walk(w, RECORD_BROKEN);
	restore_bp(w, rule, cfa);
	w->sp = cfa;
	w->pc = caller;
	w->is_exact = 0;
	/* Coroutines and old threads begin with a return address of 0. */
	return caller == 0 ? end_walk(w, RECORD_WHOLE) : STEP_GOES_ON;
}

/* Walks from where `w` stands. */
static __always_inline void walk(struct walk *w)
{
	w->count = 0;
	w->stack = RECORD_DEEP;
	bpf_loop(RECORD_MAX_USER + 1, walk_step, w, 0);
}

#endif
