/* calls.c - calls a function of about 2 ns that begins in each of the three ways that decide what a probe costs, and tells
 * what a call took: the loop's own time, so that starting and ending a recorder is not in it.
 * Usage: calls FILE N [wait]   writes "nop5 PS push PS other PS scope PS": picoseconds a call, with whatever watches now.
 * With `wait`, libtare's recorder is waited for, five seconds at most: it attaches while the program runs.
 * Built three times: bench_calls, whose hot_scope() is plain; bench_calls_inside, where it is a TARE_WATCH of libtare;
 * bench_calls_pg, where it is compiled with -pg, as uftrace wants it. */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef BENCH_INSIDE
#include "tare.h"
#else
#define TARE_WATCH(name)
#define tare_is_watched() 1
#endif

uint64_t hot_nop5(uint64_t x);
uint64_t hot_push(uint64_t x);
uint64_t hot_other(uint64_t x);
uint64_t hot_scope(uint64_t x);

/* Machine code, so that no compiler's flags change how they begin. */
__asm__(".text\n"
	".macro hot name\n"
	".globl \\name\n"
	".type \\name, @function\n"
	".balign 16\n"
	"\\name:\n"
	".endm\n"
	"hot hot_nop5\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	lea 1(%rdi,%rdi,2), %rax\n"
	"	ret\n"
	".size hot_nop5, . - hot_nop5\n"
	"hot hot_push\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	lea 1(%rdi,%rdi,2), %rax\n"
	"	pop %rbp\n"
	"	ret\n"
	".size hot_push, . - hot_push\n"
	"hot hot_other\n"
	"	lea 1(%rdi,%rdi,2), %rax\n"
	"	ret\n"
	".size hot_other, . - hot_other\n");

__attribute__((noinline, used)) uint64_t hot_scope(uint64_t x)
{
	TARE_WATCH("bench_scope");
	return x * 3 + 1;
}

static uint64_t now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static volatile uint64_t sink;

/* Picoseconds a call, on average: whoever empties buffers now and then pays for it here too. */
static uint64_t run(uint64_t (*call)(uint64_t), uint64_t count)
{
	uint64_t from_ns = now_ns(), x = sink;

	for (uint64_t i = 0; i < count; i++)
		x = call(x);
	sink = x;
	return (now_ns() - from_ns) * 1000 / count;
}

static void wait_for_recorder(void)
{
	const uint64_t patience_ns = now_ns() + UINT64_C(5000000000);
	uint64_t until_ns;

	sink = hot_scope(sink); /* the first use is what a recorder finds */
	while (now_ns() < patience_ns && !tare_is_watched())
		;
	until_ns = now_ns() + UINT64_C(1000000000); /* until it has its interval */
	while (now_ns() < until_ns)
		sink = hot_scope(sink);
}

int main(int argc, char **argv)
{
	uint64_t (*const calls[])(uint64_t) = { hot_nop5, hot_push, hot_other, hot_scope };
	const char *const names[] = { "nop5", "push", "other", "scope" };
	uint64_t count;
	FILE *file;

	if (argc < 3)
		return 2;
	errno = 0;
	count = strtoull(argv[2], NULL, 10);
	if (errno != 0 || count == 0)
		return 2;
	if (argc > 3)
		wait_for_recorder();
	file = fopen(argv[1], "w");
	if (file == NULL)
		return 2;
	for (int i = 0; i < 4; i++)
		fprintf(file, "%s %" PRIu64 "%s", names[i], run(calls[i], count),
			i < 3 ? " " : "\n");
	return fclose(file) == 0 ? 0 : 2;
}
