/* waits_threads.c - threads whose waits are seen, by number; and the waits that are held until they end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sense/waits_parts.h"

#define BUCKETS 4096u

int waits_threads_open(struct waits_source *s)
{
	s->threads = calloc(WAITS_THREADS_MOST, sizeof(*s->threads));
	s->turns = calloc(WAITS_THREADS_MOST, sizeof(*s->turns));
	s->buckets = calloc(BUCKETS, sizeof(*s->buckets));
	return s->threads == NULL || s->turns == NULL || s->buckets == NULL ? -ENOMEM : 0;
}

static void let_go_all(struct waits_source *s, struct waits_thread *thread)
{
	waits_let_go(s, thread->open);
	while (thread->ended != NULL) {
		struct waits_held *next = thread->ended->next;

		waits_let_go(s, thread->ended);
		thread->ended = next;
	}
	thread->open = NULL;
	thread->ended_end = &thread->ended;
}

void waits_threads_close(struct waits_source *s)
{
	for (uint32_t i = 0; s->threads != NULL && i < s->place_count; i++)
		if (s->threads[i].pid != 0)
			let_go_all(s, &s->threads[i]);
	free(s->threads);
	free(s->turns);
	free(s->buckets);
	s->threads = NULL;
	s->turns = NULL;
	s->buckets = NULL;
}

static uint32_t *chain_of(struct waits_source *s, uint32_t tid)
{
	return &s->buckets[tid % BUCKETS];
}

static struct waits_thread *thread_find(struct waits_source *s, uint32_t tid)
{
	for (uint32_t at = *chain_of(s, tid); at != 0; at = s->threads[at - 1].next)
		if (s->threads[at - 1].tid == tid)
			return &s->threads[at - 1];
	return NULL;
}

struct waits_thread *waits_thread_get(struct waits_source *s, const struct waits_head *head)
{
	struct waits_thread *thread = thread_find(s, head->tid);
	uint32_t *bucket = chain_of(s, head->tid), at;

	if (thread != NULL && thread->gone_look != 0) {
		waits_finish(s, thread); /* its number is used again */
		thread = NULL;
	}
	if (thread != NULL)
		s->turns[thread - s->threads].is_touched = true;
	if (thread != NULL || head->pid == 0)
		return thread;
	if (s->free_place != 0) {
		at = s->free_place;
		s->free_place = s->threads[at - 1].next;
	} else if (s->place_count < WAITS_THREADS_MOST) {
		at = ++s->place_count;
	} else {
		return NULL;
	}
	thread = &s->threads[at - 1];
	*thread = (struct waits_thread){ .next = *bucket, .pid = head->pid, .tid = head->tid };
	thread->ended_end = &thread->ended;
	s->turns[at - 1] = (struct waits_turn){ UINT64_MAX, head->pid, true };
	*bucket = at;
	return thread;
}

void waits_thread_remove(struct waits_source *s, struct waits_thread *thread)
{
	uint32_t at = (uint32_t)(thread - s->threads) + 1;
	uint32_t *link = chain_of(s, thread->tid);

	while (*link != at)
		link = &s->threads[*link - 1].next;
	*link = thread->next;
	let_go_all(s, thread);
	waits_untell(s, thread);
	s->turns[at - 1] = (struct waits_turn){ .pid = 0 };
	thread->pid = 0;
	thread->next = s->free_place;
	s->free_place = at;
}

struct waits_held *waits_hold(struct waits_source *s, const struct waits_head *head, uint32_t bytes)
{
	const size_t whole = sizeof(struct waits_held) + bytes;
	struct waits_held *held;

	if (s->held_bytes + whole > WAITS_HELD_MOST)
		return NULL;
	held = calloc(1, whole);
	if (held == NULL)
		return NULL;
	held->head = *head;
	held->from_ns = head->out_ns;
	held->bytes = bytes;
	s->held_bytes += whole;
	return held;
}

void waits_let_go(struct waits_source *s, struct waits_held *held)
{
	if (held == NULL)
		return;
	s->held_bytes -= sizeof(*held) + held->bytes;
	free(held);
}
