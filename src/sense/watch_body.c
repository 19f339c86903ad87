/* watch_body.c - the program of bodies: functions that are called to see what watching a call costs. A program of its own,
 * carried inside tare and run from memory, so that tare itself is never a host of libtare and never meets a probe. It
 * does what it is asked and ends with who asks. */
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <tare.h>
#include <time.h>
#include <unistd.h>

#include "sense/watch_body.h"

#define BODY static __attribute__((noinline, aligned(64))) void

static volatile uint32_t sink;

BODY plain(void)
{
	sink = 1;
}

BODY counted(void)
{
	TARE_WATCH("counted");
	sink = 1;
}

BODY timed(void)
{
	TARE_WATCH("timed");
	sink = 1;
}

BODY task(void)
{
	(void)tare_task_begin("task");
	tare_task_end();
}

BODY frame(void)
{
	tare_frame();
}

BODY fails(void)
{
	raise(SIGKILL);
}

BODY hangs(void)
{
	for (;;)
		sink = 1;
}

/* Functions as short as can be that begin as the probes tell them apart: a no-operation of five bytes, a push, another. */
#ifdef __x86_64__
#define PROBED(name, code)                                                             \
	__asm__(".text\n.balign 64\n.globl " #name "\n.hidden " #name "\n.type " #name \
		",@function\n" #name ":\n" code "\tret\n.size " #name ",.-" #name      \
		"\n.balign 64\n");                                                     \
	void name(void) __attribute__((visibility("hidden")));
#define FOUR(name, code)       \
	PROBED(name##_0, code) \
	PROBED(name##_1, code) \
	PROBED(name##_2, code) \
	PROBED(name##_3, code)
#define ALL(name) name##_0, name##_1, name##_2, name##_3

FOUR(body_nop5, "\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n")
FOUR(body_push, "\tpush %rbp\n\tmov %rsp, %rbp\n\tpop %rbp\n")
FOUR(body_other, "\tmov %edi, %eax\n")
#else
#define FOUR(name)                                                        \
	__attribute__((noinline, aligned(64))) static void name##_0(void) \
	{                                                                 \
		sink = 0;                                                 \
	}                                                                 \
	__attribute__((noinline, aligned(64))) static void name##_1(void) \
	{                                                                 \
		sink = 1;                                                 \
	}                                                                 \
	__attribute__((noinline, aligned(64))) static void name##_2(void) \
	{                                                                 \
		sink = 2;                                                 \
	}                                                                 \
	__attribute__((noinline, aligned(64))) static void name##_3(void) \
	{                                                                 \
		sink = 3;                                                 \
	}
#define ALL(name) name##_0, name##_1, name##_2, name##_3
#define NONE	  NULL, NULL, NULL, NULL

FOUR(body_other)
#endif

static void (*const bodies[])(void) = {
	[WATCH_BODY_PLAIN] = plain,
	[WATCH_BODY_COUNTED] = counted,
	[WATCH_BODY_TIMED] = timed,
	[WATCH_BODY_TASK] = task,
	[WATCH_BODY_FRAME] = frame,
	[WATCH_BODY_FAILS] = fails,
	[WATCH_BODY_HANGS] = hangs,
#ifdef __x86_64__
	[WATCH_BODY_PROBED] = ALL(body_nop5),
	ALL(body_push),
	ALL(body_other),
#else
	[WATCH_BODY_PROBED] = NONE,
	NONE,
	ALL(body_other),
#endif
};

/* An address of this program and where it lies in the program's file. */
struct place {
	uintptr_t address;
	uint64_t offset;
};

/* The program itself comes first. */
static int find_offset(struct dl_phdr_info *program, size_t size, void *owner)
{
	struct place *place = owner;

	(void)size;
	for (int i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &program->dlpi_phdr[i];
		uintptr_t start = program->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_LOAD && place->address >= start &&
		    place->address - start < part->p_filesz)
			place->offset = part->p_offset + (place->address - start);
	}
	return 1;
}

/* CPU time: a neighbour that has the CPU for a while is not in it. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline, aligned(64))) uint64_t run(void (*body)(void), uint32_t warm,
							   uint32_t calls)
{
	uint64_t from_ns;

	for (uint32_t i = 0; i < warm; i++)
		body();
	from_ns = cpu_ns();
	for (uint32_t i = 0; i < calls; i++)
		body();
	return cpu_ns() - from_ns;
}

/* Names that a task is looked for among. */
static void make_names(uint32_t count)
{
	for (uint32_t i = 0; i < count && i < WATCH_BODY_NAMES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "name %u", i);
		(void)tare_task_begin(name);
		tare_task_end();
	}
}

static bool limit_cpu(void)
{
	struct itimerval limit = { .it_value = { .tv_usec = WATCH_BODY_CPU_US } };

	return setitimer(ITIMER_PROF, &limit, NULL) == 0;
}

static struct watch_body_told answer(const struct watch_body_ask *ask)
{
	struct watch_body_told told = { .pid = (uint64_t)getpid(), .number = ask->number };
	struct place place = { 0, 0 };

	if (ask->body == WATCH_BODY_NAMES_OF) {
		make_names(ask->calls);
	} else if (ask->body == WATCH_BODY_ANEW) {
		limit_cpu();
	} else if (ask->body < sizeof(bodies) / sizeof(bodies[0]) && bodies[ask->body] != NULL) {
		place.address = (uintptr_t)bodies[ask->body];
		dl_iterate_phdr(find_offset, &place);
		told.offset = place.offset;
		told.ns = run(bodies[ask->body], ask->warm, ask->calls);
	}
	told.cpu_ns = cpu_ns();
	return told;
}

int main(void)
{
	struct watch_body_ask ask;

	if (signal(SIGPROF, SIG_DFL) == SIG_ERR || !limit_cpu() ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		return 1;
	while (recv(WATCH_BODY_SOCKET, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask)) {
		struct watch_body_told told = answer(&ask);

		if (send(WATCH_BODY_SOCKET, &told, sizeof(told), MSG_NOSIGNAL) !=
		    (ssize_t)sizeof(told))
			return 1;
	}
	return 0;
}
