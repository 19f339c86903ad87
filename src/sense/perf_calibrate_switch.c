/* perf_calibrate_switch.c - what a switch of a watched thread costs: two children of ours on one CPU hand a byte to and fro, and the
 * CPU time of the first says what a turn takes, without events, with one on it, and with one on both. With events that are
 * due soon the kernel sets the CPU's timer anew at each switch, for which a virtual machine is left; what that drives out of a
 * job's caches is in it, so both have some work between. With events that are due in a second it only moves them. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/clock.h"
#include "sense/perf.h"
#include "sense/perf_work.h"

#define ROUNDS	15u
#define LEAST	9u /* rounds: fewer say nothing */
#define SOON_NS (400 * NS_PER_US)
/* Of it, on average: turns take some 35 µs each, and one comes before those that are timed. */
#define SOON_LEFT (300 * NS_PER_US)
#define FAR_NS	  NS_PER_S
#define WORDS	  65536u /* 512 KB of work */
#define STEPS	  4000u
#define TURNS	  4u /* few enough for no event to come due */
#define WARM	  1u /* turns before those */
#define TOTAL_NS  (300 * NS_PER_MS)

/* How the two are watched in a round. */
enum watched_as { IDLE_UNWATCHED, IDLE_FAR, UNWATCHED, FIRST_SOON, BOTH_SOON, WAYS };

static const struct {
	uint64_t period_ns;
	uint32_t events;
	bool works;
} ways[WAYS] = {
	[IDLE_UNWATCHED] = { FAR_NS, 0, false }, [IDLE_FAR] = { FAR_NS, 2, false },
	[UNWATCHED] = { FAR_NS, 0, true },	 [FIRST_SOON] = { SOON_NS, 1, true },
	[BOTH_SOON] = { SOON_NS, 2, true },
};

/* Pipes of the first child: asked by us, to the second, from it, its answer. */
enum { ASK, THERE, BACK, ANSWER, PIPES };

struct couple {
	pid_t pids[2];		 /* 0: none */
	struct perf_work *works; /* one each, shared with us so that it has memory of its own */
	int pipes[PIPES][2];
};

/* In a child: ends with us. */
static void settle(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
}

/* Turns of the first child, so many, with work between them or without. */
static void take_turns(const struct couple *c, char works, uint32_t turns)
{
	for (; turns > 0; turns--) {
		perf_work_walk(&c->works[0], works != 0 ? STEPS : 0);
		if (write(c->pipes[THERE][1], &works, 1) != 1 ||
		    read(c->pipes[BACK][0], &works, 1) != 1)
			_exit(0);
	}
}

static _Noreturn void be_first(const struct couple *c, pid_t parent)
{
	char works;

	settle(parent);
	while (read(c->pipes[ASK][0], &works, 1) == 1) {
		uint64_t took_ns;

		take_turns(c, works, WARM); /* what others left in the caches is not counted */
		took_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
		take_turns(c, works, TURNS);
		took_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - took_ns;
		if (write(c->pipes[ANSWER][1], &took_ns, sizeof(took_ns)) != sizeof(took_ns))
			break;
	}
	_exit(0);
}

static _Noreturn void be_second(const struct couple *c, pid_t parent)
{
	char byte;

	settle(parent);
	while (read(c->pipes[THERE][0], &byte, 1) == 1 && write(c->pipes[BACK][1], &byte, 1) == 1)
		perf_work_walk(&c->works[1], byte != 0 ? STEPS : 0);
	_exit(0);
}

/* A child without an exit signal: our caller's SIGCHLD and wait() are for its own children. */
static pid_t bear(const struct couple *c, void (*be)(const struct couple *, pid_t), int cpu)
{
	pid_t parent = getpid(), pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	cpu_set_t one;

	if (pid == 0)
		be(c, parent);
	if (pid < 0)
		return -errno;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	sched_setaffinity(pid, sizeof(one), &one); /* else what it measures is more, never less */
	return pid;
}

static void couple_end(struct couple *c)
{
	for (int i = 0; i < 2; i++) {
		if (c->pids[i] <= 0)
			continue;
		kill(c->pids[i], SIGKILL);
		while (waitpid(c->pids[i], NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	for (int i = 0; i < PIPES; i++)
		for (int end = 0; end < 2; end++)
			if (c->pipes[i][end] >= 0)
				close(c->pipes[i][end]);
	if (c->works != MAP_FAILED)
		munmap(c->works, 2 * sizeof(*c->works));
}

static int couple_begin(struct couple *c)
{
	int cpu = sched_getcpu();

	for (int i = 0; i < PIPES; i++)
		c->pipes[i][0] = c->pipes[i][1] = -1;
	c->works = mmap(NULL, 2 * sizeof(*c->works), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->works == MAP_FAILED)
		return -ENOMEM;
	perf_work_init(&c->works[0], WORDS);
	perf_work_init(&c->works[1], WORDS);
	for (int i = 0; i < PIPES; i++)
		if (pipe(c->pipes[i]) != 0)
			return -errno;
	c->pids[0] = bear(c, be_first, cpu < 0 ? 0 : cpu);
	c->pids[1] = c->pids[0] > 0 ? bear(c, be_second, cpu < 0 ? 0 : cpu) : 0;
	return c->pids[1] > 0 ? 0 : -EAGAIN;
}

/* An event as on a target, but without a ring: nothing is kept. -1: there is none. */
static int open_event(const struct perf_means *means, uint64_t period_ns, pid_t pid)
{
	struct perf_event_attr attr = perf_sampling_attr(means, period_ns);

	attr.inherit = 0;
	attr.task = attr.comm = attr.comm_exec = attr.mmap = attr.mmap2 = 0;
	attr.context_switch = 0;
	attr.disabled = 0;
	return perf_open_event(&attr, pid, -1);
}

static bool has_answer(const struct couple *c, uint64_t end_ns)
{
	struct pollfd answer = { .fd = c->pipes[ANSWER][0], .events = POLLIN };
	uint64_t now_ns = clock_read_ns(CLOCK_MONOTONIC);

	return now_ns < end_ns && poll(&answer, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1) == 1;
}

/* What a turn took the first child. 0: no answer in time. */
static uint64_t turn_ps(const struct couple *c, const struct perf_means *means, enum watched_as way,
			uint64_t end_ns)
{
	const char works = ways[way].works;
	int events[2] = { -1, -1 };
	bool is_open = true;
	uint64_t took_ns = 0;

	for (uint32_t i = 0; i < ways[way].events; i++) {
		events[i] = open_event(means, ways[way].period_ns, c->pids[i]);
		is_open = is_open && events[i] >= 0;
	}
	if (!is_open || write(c->pipes[ASK][1], &works, 1) != 1 || !has_answer(c, end_ns) ||
	    read(c->pipes[ANSWER][0], &took_ns, sizeof(took_ns)) != sizeof(took_ns))
		took_ns = 0;
	for (int i = 0; i < 2; i++)
		if (events[i] >= 0)
			close(events[i]);
	return took_ns * PS_PER_NS / TURNS;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

/* What is above the plain turn when the timer is the next one, had it been so all the time. */
static uint64_t whole_ps(uint64_t part_ps, uint64_t jiffy_ns)
{
	uint64_t next_ppm = charge_next_ppm(2 * SOON_LEFT, jiffy_ns, 0);

	return next_ppm == 0 ? 0 : part_ps * PPM / next_ppm;
}

/* Rounds of the ways [from, to), which take turns: the middle of each. False: too few were answered in time. */
static bool take_rounds(const struct couple *c, const struct perf_means *means, int from, int to,
			uint64_t middle_ps[WAYS])
{
	uint64_t took_ps[WAYS][ROUNDS], end_ns = clock_read_ns(CLOCK_MONOTONIC) + TOTAL_NS / 2;
	uint32_t rounds = 0;
	bool is_answered = true;

	while (is_answered && rounds < ROUNDS) {
		for (int way = from; way < to && is_answered; way++) {
			took_ps[way][rounds] = turn_ps(c, means, (enum watched_as)way, end_ns);
			is_answered = took_ps[way][rounds] > 0;
		}
		rounds += is_answered;
	}
	for (int way = from; way < to && rounds >= LEAST; way++) {
		qsort(took_ps[way], rounds, sizeof(took_ps[way][0]), by_size);
		middle_ps[way] = took_ps[way][rounds / 2];
	}
	return rounds >= LEAST;
}

void perf_calibrate_switch(const struct perf_means *means, struct charge_costs *out)
{
	SCOPED(couple_end) struct couple c = { .works = MAP_FAILED };
	uint64_t middle_ps[WAYS], in_ps, out_ps;

	/* Apart: rounds without work let the others find their caches cold. */
	if (couple_begin(&c) != 0 ||
	    !take_rounds(&c, means, IDLE_UNWATCHED, UNWATCHED, middle_ps) ||
	    !take_rounds(&c, means, UNWATCHED, WAYS, middle_ps))
		return;
	out->still_ps = less(middle_ps[IDLE_FAR], middle_ps[IDLE_UNWATCHED]);
	in_ps = less(middle_ps[FIRST_SOON], middle_ps[UNWATCHED]);
	out_ps = less(middle_ps[BOTH_SOON], middle_ps[FIRST_SOON]);
	out->in_ps = whole_ps(less(in_ps, out->still_ps / 2), out->jiffy_ns);
	out->out_ps = whole_ps(less(out_ps, out->still_ps / 2), out->jiffy_ns);
}
