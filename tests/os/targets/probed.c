/* probed.c - does what it is told to, in functions that can be watched, and says what it did. "here", then for each byte on
 * stdin one round, then numbers and "done"; ends with stdin.
 *   probed count THREADS N     each thread calls work_nop5, work_push and work_other N times
 *   probed recurse DEPTH N     descend() calls itself DEPTH deep, N times
 *   probed jump N              jumper() leaves by longjmp N times, then steady() of 1 ms 20 times
 *   probed nest N              outer(): 3 x inner() directly, 1 x inner() through a function that is not watched,
 *                              1 x inner() through between(); N times. Prints ns in outer, between, inner, and in
 *                              outer without the inner() that it calls itself
 *   probed pattern N EVERY     pulse() N times, every EVERY-th one takes 100 us
 *   probed ends N              N threads, each ends inside leaver()
 *   probed frames N SLOW       tick() N times with part() of 200 us between, in every SLOW-th frame of 20 ms; another
 *                              thread calls part() all the time
 *   probed fork N              N calls of work_push, then as many in a child
 *   probed exec N              executes itself as "count 1 N" when the byte comes
 *   probed burst N MS          N calls of work_push, and one of long_one() of MS around them
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define WATCHED static __attribute__((noinline, used))
#else
#define WATCHED static __attribute__((noipa, used))
#endif
#define BARE(name, bytes)                                                                \
	__asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" bytes \
		"\n\tret\n.size " #name ", . - " #name "\n");                            \
	void name(void);

BARE(work_nop5, "\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00")
BARE(work_push, "\tpush %rbp\n\tpop %rbp")
BARE(work_other, "\tmov %rsp, %rax")

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void spin_ns(uint64_t ns)
{
	uint64_t until = now_ns() + ns;

	while (now_ns() < until)
		;
}

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) != (ssize_t)strlen(text))
		_exit(3);
}

static unsigned long numbers[4];

/* ---- count ---- */

static void *count_many(void *n)
{
	for (uintptr_t i = 0; i < (uintptr_t)n; i++) {
		work_nop5();
		work_push();
		work_other();
	}
	return NULL;
}

static void count(void)
{
	pthread_t threads[64];

	for (unsigned long i = 0; i < numbers[0]; i++)
		if (pthread_create(&threads[i], NULL, count_many, (void *)numbers[1]) != 0)
			_exit(4);
	for (unsigned long i = 0; i < numbers[0]; i++)
		pthread_join(threads[i], NULL);
}

/* ---- recurse ---- */

static volatile uint64_t sink;

WATCHED uint64_t descend(uint64_t depth)
{
	uint64_t below = depth > 1 ? descend(depth - 1) : 0;

	sink += below;
	return below + sink;
}

static void recurse(void)
{
	for (unsigned long i = 0; i < numbers[1]; i++)
		descend(numbers[0]);
}

/* ---- jump ---- */

static jmp_buf out;

WATCHED void jumper(int depth)
{
	volatile char room[64];

	memset((char *)room, depth, sizeof(room));
	longjmp(out, 1);
}

WATCHED void steady(void)
{
	spin_ns(1000000);
}

static void jump(void)
{
	for (volatile unsigned long i = 0; i < numbers[0]; i++)
		if (setjmp(out) == 0)
			jumper(0);
	for (int i = 0; i < 20; i++)
		steady();
}

/* ---- nest ---- */

static uint64_t in_outer_ns, in_between_ns, in_inner_ns, inner_in_between_ns;

WATCHED void inner(void)
{
	uint64_t from = now_ns();

	spin_ns(500000);
	in_inner_ns += now_ns() - from;
}

WATCHED void unwatched(void)
{
	volatile char room[256];

	memset((char *)room, 1, sizeof(room));
	inner();
	sink += (uint64_t)room[7];
}

WATCHED void between(void)
{
	uint64_t from = now_ns(), before = in_inner_ns;
	volatile char room[128];

	memset((char *)room, 2, sizeof(room));
	inner();
	inner_in_between_ns += in_inner_ns - before;
	sink += (uint64_t)room[7];
	in_between_ns += now_ns() - from;
}

WATCHED void outer(void)
{
	uint64_t from = now_ns();

	inner();
	inner();
	inner();
	between();
	unwatched();
	spin_ns(1000000);
	in_outer_ns += now_ns() - from;
}

static void nest(void)
{
	char line[128];

	in_outer_ns = in_between_ns = in_inner_ns = inner_in_between_ns = 0;
	for (unsigned long i = 0; i < numbers[0]; i++)
		outer();
	snprintf(line, sizeof(line), "%llu %llu %llu %llu\n", (unsigned long long)in_outer_ns,
		 (unsigned long long)in_between_ns, (unsigned long long)in_inner_ns,
		 (unsigned long long)(in_outer_ns - in_inner_ns + inner_in_between_ns));
	say(line);
}

/* ---- pattern ---- */

WATCHED void pulse(int is_dear)
{
	if (is_dear)
		spin_ns(100000);
}

static void pattern(void)
{
	for (unsigned long i = 0; i < numbers[0]; i++)
		pulse(i % numbers[1] == 0);
}

/* ---- ends ---- */

WATCHED void *leaver(void *none)
{
	if (none == NULL)
		pthread_exit(NULL);
	return none;
}

static void ends(void)
{
	for (unsigned long i = 0; i < numbers[0];) {
		pthread_t threads[50];

		for (int k = 0; k < 50; k++)
			if (pthread_create(&threads[k], NULL, leaver, NULL) != 0)
				_exit(4);
		for (int k = 0; k < 50; k++, i++)
			pthread_join(threads[k], NULL);
	}
}

/* ---- frames ---- */

static atomic_bool is_over;

WATCHED void tick(void)
{
	sink++;
}

WATCHED void part(uint64_t ns)
{
	spin_ns(ns);
}

static void *disturb(void *none)
{
	while (!atomic_load(&is_over)) {
		part(1000);
		usleep(500);
	}
	return none;
}

static void frames(void)
{
	pthread_t other;

	atomic_store(&is_over, 0);
	if (pthread_create(&other, NULL, disturb, NULL) != 0)
		_exit(4);
	for (unsigned long i = 0; i < numbers[0]; i++) {
		tick();
		part(200000);
		if (i % numbers[1] == numbers[1] - 1)
			part(20000000);
	}
	atomic_store(&is_over, 1);
	pthread_join(other, NULL);
}

/* ---- fork, exec, burst ---- */

static void call_push(void)
{
	for (unsigned long i = 0; i < numbers[0]; i++)
		work_push();
}

static void fork_too(void)
{
	pid_t child;

	call_push();
	child = fork();
	if (child == 0) {
		call_push();
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static char own_path[4096];

static void exec_self(void)
{
	char n[32];
	const char *arguments[] = { own_path, "count", "1", n, NULL };

	call_push();
	snprintf(n, sizeof(n), "%lu", numbers[0]);
	execv(own_path, (char **)arguments);
	_exit(5);
}

WATCHED void long_one(void)
{
	call_push();
	spin_ns(numbers[1] * 1000000);
}

static const struct {
	const char *name;
	void (*round)(void);
} rounds[] = { { "count", count },   { "recurse", recurse }, { "jump", jump },
	       { "nest", nest },     { "pattern", pattern }, { "ends", ends },
	       { "frames", frames }, { "fork", fork_too },   { "exec", exec_self },
	       { "burst", long_one } };

int main(int argc, char **argv)
{
	void (*round)(void) = NULL;
	char byte;

	for (size_t i = 0; argc > 1 && i < sizeof(rounds) / sizeof(rounds[0]); i++)
		if (strcmp(argv[1], rounds[i].name) == 0)
			round = rounds[i].round;
	if (round == NULL || readlink("/proc/self/exe", own_path, sizeof(own_path) - 1) < 0)
		return 2;
	for (int i = 2; i < argc && i < 6; i++)
		numbers[i - 2] = strtoul(argv[i], NULL, 10);
	say("here\n");
	while (read(STDIN_FILENO, &byte, 1) == 1) {
		round();
		say("done\n");
	}
	return 0;
}
