/* place.c - names and threads get their places in the mapping. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/inside.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE	   4096u
#define WAIT_TRIES 200
#define TOGETHER   16u /* entries that get their memory at once */

enum { NAME_FREE, NAME_WRITING, NAME_READY };

/* The names are kept here too: what the mapping says is never read back. */
static struct {
	uint32_t state, kind;
	char text[MAPPING_NAME_BYTES];
} names[MAPPING_NAMES];

static pthread_key_t thread_end;
static bool has_thread_end;
static uint32_t
	slots_made; /* have their memory; a promise of ours, so it is not read from the mapping */
static uint64_t
	looked_window; /* the window in which slots were last looked through for dead threads */

bool tare_in_populate(void *start, size_t bytes)
{
	uintptr_t from = (uintptr_t)start & ~(uintptr_t)(PAGE - 1);
	uintptr_t to = ((uintptr_t)start + bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

	/* Kernels before 5.14 do not know the advice: the pages then come when they are touched. */
	return madvise((void *)from, to - from, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
}

/* Copies at most MAPPING_NAME_BYTES - 1 bytes; returns how many. */
static uint32_t copy_name(char *out, const char *text)
{
	uint32_t bytes = (uint32_t)strnlen(text, MAPPING_NAME_BYTES - 1);

	memcpy(out, text, bytes);
	memset(out + bytes, 0, MAPPING_NAME_BYTES - bytes);
	return bytes;
}

static void publish_name(uint32_t id)
{
	struct mapping_name *name = &tare_in_shared->names[id];

	name->kind = names[id].kind;
	name->bytes = copy_name(name->text, names[id].text);
}

/* Two threads at once: the larger count stays. */
static void raise_to(uint32_t *word, uint32_t count)
{
	uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (seen < count && !__atomic_compare_exchange_n(word, &seen, count, false,
							    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* Names are taken in order, so the first that is not ready ends them. */
static void publish_count(void)
{
	uint32_t count = 0;

	while (count < MAPPING_NAMES &&
	       __atomic_load_n(&names[count].state, __ATOMIC_ACQUIRE) == NAME_READY)
		count++;
	raise_to(&tare_in_shared->host.name_count, count);
}

void tare_in_publish_names(void)
{
	slots_made = 0;
	for (uint32_t id = 0; id < MAPPING_NAMES; id++) {
		if (names[id].state == NAME_WRITING)
			names[id].state = NAME_FREE; /* its writer was a thread of the parent's */
		if (names[id].state == NAME_READY &&
		    tare_in_populate(tare_in_shared->histograms[id],
				     sizeof(tare_in_shared->histograms[id])))
			publish_name(id);
	}
	publish_count();
}

static bool is_same(uint32_t id, enum mapping_kind kind, const char *text)
{
	return names[id].kind == (uint32_t)kind &&
	       strncmp(names[id].text, text, MAPPING_NAME_BYTES - 1) == 0;
}

/* Takes the free place `id`; false: another thread was first, or there is no memory. */
static bool take_name(uint32_t id, enum mapping_kind kind, const char *text)
{
	uint32_t free_state = NAME_FREE;

	if (!__atomic_compare_exchange_n(&names[id].state, &free_state, NAME_WRITING, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		return false;
	if (!tare_in_populate(tare_in_shared->histograms[id],
			      sizeof(tare_in_shared->histograms[id]))) {
		__atomic_store_n(&names[id].state, NAME_FREE, __ATOMIC_RELEASE);
		return false;
	}
	names[id].kind = kind;
	copy_name(names[id].text, text);
	publish_name(id);
	__atomic_store_n(&names[id].state, NAME_READY, __ATOMIC_RELEASE);
	publish_count();
	return true;
}

/* The name's state once its writer is done. Not for ever: the writer may be what a signal interrupted. */
static uint32_t settled_state(uint32_t id)
{
	uint32_t state = __atomic_load_n(&names[id].state, __ATOMIC_ACQUIRE);

	for (int tries = 0; tries < WAIT_TRIES && state == NAME_WRITING; tries++) {
		sched_yield();
		state = __atomic_load_n(&names[id].state, __ATOMIC_ACQUIRE);
	}
	return state;
}

uint32_t tare_in_name(enum mapping_kind kind, const char *text, uint32_t *id_place)
{
	uint32_t known = id_place != NULL ? MAPPING_READ(*id_place) : 0;

	if (known != 0)
		return known - 1 < MAPPING_NAMES ? known - 1 : TARE_IN_NO_NAME;
	for (uint32_t id = 0; id < MAPPING_NAMES; id++) {
		uint32_t state = settled_state(id);

		if (state == NAME_FREE && !take_name(id, kind, text))
			state = settled_state(id);
		if (state == NAME_WRITING)
			return TARE_IN_NO_NAME; /* it may be this one: the next call will know */
		if (state == NAME_FREE &&
		    __atomic_load_n(&names[id].state, __ATOMIC_ACQUIRE) != NAME_READY)
			return TARE_IN_NO_NAME; /* no memory */
		if (!is_same(id, kind, text))
			continue;
		if (id_place != NULL)
			MAPPING_WRITE(*id_place, id + 1);
		return id;
	}
	if (id_place != NULL)
		MAPPING_WRITE(*id_place, TARE_IN_NO_NAME);
	__atomic_fetch_add(&tare_in_shared->host.lost_names, 1, __ATOMIC_RELAXED);
	return TARE_IN_NO_NAME;
}

/* A slot whose thread is no more though it never said so. Only looked for when no slot is free. */
static bool is_left_behind(uint32_t tid)
{
	return tid != 0 && syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH;
}

static bool claim(struct mapping_slot *slot, uint32_t from, uint32_t tid)
{
	return __atomic_compare_exchange_n(&slot->tid, &from, tid, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* Those with memory first, so that few are ever touched. */
static struct mapping_slot *find_free(uint32_t tid)
{
	for (uint32_t i = 0; i < MAPPING_SLOTS; i++) {
		struct mapping_slot *slot = &tare_in_shared->slots[i];

		if (i >= MAPPING_READ(slots_made)) {
			if (!tare_in_populate(slot, offsetof(struct mapping_slot, entries)))
				return NULL;
			raise_to(&slots_made, i + 1);
			raise_to(&tare_in_shared->host.slot_count, i + 1);
		}
		if (MAPPING_READ(slot->tid) == 0 && claim(slot, 0, tid))
			return slot;
	}
	return NULL;
}

/* One thread a window looks: with thousands of threads it is too dear for each. */
static struct mapping_slot *find_left_behind(uint32_t tid, uint64_t window)
{
	if (__atomic_exchange_n(&looked_window, window, __ATOMIC_RELAXED) == window)
		return NULL;
	for (uint32_t i = 0; i < MAPPING_SLOTS; i++) {
		struct mapping_slot *slot = &tare_in_shared->slots[i];
		uint32_t was = MAPPING_READ(slot->tid);

		if (is_left_behind(was) && claim(slot, was, tid))
			return slot;
	}
	return NULL;
}

/* A fresh start for what is the thread's; what was counted stays. Its first call of each name is a first one, also where
 * the slot's last thread had called it in this window. */
static void settle(struct mapping_slot *slot, uint32_t tid)
{
	uint32_t count = MAPPING_READ(tare_in_shared->host.name_count);

	for (uint32_t id = 0; id < count && id < MAPPING_NAMES; id++)
		if (MAPPING_READ(slot->paces[id].window) != 0)
			MAPPING_WRITE(slot->paces[id].window, 0);
	MAPPING_WRITE(slot->task, 0);
	MAPPING_WRITE(slot->frame_start_ns, 0);
	MAPPING_WRITE(slot->frame_epoch, 0);
	MAPPING_WRITE(slot->random, MAPPING_READ(slot->random) +
					    ((uint64_t)tid << 32 | (uint32_t)(uintptr_t)slot) +
					    tare_in_now_ns(0));
}

static int take_slot(struct tare_in_self *self)
{
	uint64_t window = tare_in_window();
	uint32_t tid;

	if (self->tried_window == window)
		return -ENOMEM;
	/* Also without a slot: what is lost is told at the end. Without the key's help a slot is left behind. */
	(void)pthread_setspecific(thread_end, self);
	tid = (uint32_t)syscall(SYS_gettid);
	self->slot = find_free(tid);
	if (self->slot == NULL)
		self->slot = find_left_behind(tid, window);
	if (self->slot == NULL) {
		self->tried_window = window;
		__atomic_fetch_add(&tare_in_shared->host.lost_places, 1, __ATOMIC_RELAXED);
		return -ENOMEM;
	}
	settle(self->slot, tid);
	return 0;
}

int tare_in_take_place(uint32_t count)
{
	uint32_t wanted = (count + TOGETHER - 1) / TOGETHER * TOGETHER;
	struct tare_in_self *self = &tare_in_self;

	if (self->slot == NULL && take_slot(self) != 0)
		return -ENOMEM;
	if (wanted <= self->ready)
		return 0;
	if (!tare_in_populate(&self->slot->entries[self->ready],
			      (wanted - self->ready) * sizeof(struct mapping_entry)))
		return -ENOMEM;
	self->ready = wanted;
	tare_places.paces = (struct tare_pace *)self->slot->paces;
	if (self->depth == 0)
		tare_places.ready = wanted;
	return 0;
}

/* A thread ends: what it left open was never timed, and its slot is the next one's. */
static void leave(void *unused)
{
	struct mapping_slot *slot = tare_in_self.slot;

	(void)unused;
	if (tare_in_shared == NULL || !tare_in_is_own())
		return;
	tare_in_tell_lost();
	if (slot == NULL)
		return;
	tare_in_abandon(0);
	tare_in_forget_self();
	__atomic_store_n(&slot->tid, 0, __ATOMIC_RELEASE);
}

bool tare_in_watch_thread_ends(void)
{
	has_thread_end = pthread_key_create(&thread_end, leave) == 0;
	return has_thread_end;
}

void tare_in_forget_thread_ends(void)
{
	if (has_thread_end)
		pthread_key_delete(thread_end);
	has_thread_end = false;
}

void tare_in_tell_lost(void)
{
	if (tare_in_self.lost_calls == 0)
		return;
	__atomic_fetch_add(&tare_in_shared->host.lost_calls, tare_in_self.lost_calls,
			   __ATOMIC_RELAXED);
	tare_in_self.lost_calls = 0;
}

void tare_in_lose_call(void)
{
	uint64_t window = tare_in_window();

	/* Rarely told, so that a thousand threads without a place do not fight for one word. */
	if (++tare_in_self.lost_calls >= 256 || window != tare_in_self.lost_window)
		tare_in_tell_lost();
	tare_in_self.lost_window = window;
}
