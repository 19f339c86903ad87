/* walker.c - stands still (int3) in a place with a known stack. Usage: walker chain|signal|qsort|realign|thread|plt|
 * deep|wide|steps */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa))
#endif

static volatile long sink; /* what is done is used */

static inline void stop(void)
{
	__asm__ volatile("int3" ::: "memory");
}

static KEPT void nothing(void)
{
	__asm__ volatile("");
}

/* Not a leaf: leaves have no frame pointer, whatever one asks. */
static KEPT long inner(long n)
{
	nothing();
	stop();
	sink += n;
	return sink + n;
}

/* Registers that are kept over the call make rows interesting. */
static KEPT long middle(long n, long a, long b, long c)
{
	long sum = inner(n + a) + a * b;

	for (long i = 0; i < n; i++)
		sum += sink * c + a + b;
	return sum + inner(1) + a * c;
}

static KEPT long outer(long n)
{
	return middle(n, n + 1, n * 2, sink) + n;
}

static KEPT __attribute__((noreturn)) void never_back(void)
{
	for (;;) {
		stop();
		sink++; /* so that the next instruction is not of what was inlined */
	}
}

/* Ends with a call: its return address is another function's first byte. */
static KEPT long ends_with_a_call(long n)
{
	sink += n;
	never_back();
}

static void on_signal(int number)
{
	sink += number;
	stop();
	sink++;
}

static int compare(const void *a, const void *b)
{
	nothing();
	stop();
	sink++;
	return *(const int *)a - *(const int *)b;
}

/* A realigned stack with a variable part: the frame's address is kept in memory. */
static KEPT long realigned(size_t n)
{
	_Alignas(64) volatile char aligned[128];
	char *variable = __builtin_alloca(n);

	memset(variable, (int)n, n);
	aligned[0] = variable[n / 2];
	sink += (uintptr_t)aligned % 64;
	return inner(aligned[0]) + variable[1];
}

static void *in_thread(void *argument)
{
	sink += outer((long)(intptr_t)argument);
	return NULL;
}

static KEPT long deep(long n)
{
	volatile long here = n;

	if (n == 0)
		stop();
	else
		here += deep(n - 1);
	return here + sink;
}

static KEPT long wide(void)
{
	volatile char room[65536];

	room[1] = (char)sink;
	__asm__ volatile("" : : "r"(room) : "memory"); /* all of it is used */
	stop();
	return room[1] + room[65535];
}

/* Plenty of library code, to be walked at every instruction. */
static KEPT long steps(void)
{
	char text[64];
	int numbers[] = { 5, 3, 9, 1, 7 };
	void *memory;

	stop();
	memory = malloc(3000);
	snprintf(text, sizeof(text), "%d %s %.3f", numbers[2], "text", (double)numbers[1] / 7);
	sink += strtol(text, NULL, 10) + (long)strlen(text);
	free(memory);
	raise(SIGUSR2);
	/* It keeps its return address in a register. NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork) */
	if (vfork() == 0)
		_exit(0);
	sink += realigned(40);
	return sink;
}

static void count(int number)
{
	sink += number;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "chain";
	int numbers[] = { 3, 1, 2 };
	pthread_t thread;

	if (strcmp(mode, "chain") == 0) {
		sink += outer(3);
	} else if (strcmp(mode, "signal") == 0) {
		signal(SIGUSR1, on_signal);
		raise(SIGUSR1);
	} else if (strcmp(mode, "qsort") == 0) {
		qsort(numbers, 3, sizeof(int), compare);
	} else if (strcmp(mode, "realign") == 0) {
		sink += realigned(100);
	} else if (strcmp(mode, "thread") == 0) {
		pthread_create(&thread, NULL, in_thread, (void *)(intptr_t)3);
		pthread_join(thread, NULL);
	} else if (strcmp(mode, "last") == 0) {
		sink += ends_with_a_call(3);
	} else if (strcmp(mode, "deep") == 0) {
		sink += deep(20000);
	} else if (strcmp(mode, "wide") == 0) {
		sink += wide();
	} else if (strcmp(mode, "steps") == 0) {
		signal(SIGUSR2, count);
		sink += steps();
	}
	stop();
	return (int)(sink & 1);
}
