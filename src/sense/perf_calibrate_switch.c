/* perf_calibrate_switch.c - what a switch of a watched thread costs: two children of ours on one CPU hand a token to and fro, and their CPU
 * time says what a turn takes, without events, with one on the first, and with one on both. With events that are due soon the
 * kernel sets the CPU's timer anew at each switch, for which a virtual machine is left; what that drives out of a job's caches
 * is in it, so both have some work between. With events that are due in a second it only moves them. */
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

#define RING	2u
#define ROUNDS	11u
#define LEAST	7u /* rounds: fewer say nothing */
#define SOON_NS (400 * NS_PER_US)
/* Of it, on average: turns take some 35 µs each, and one comes before those that are timed. */
#define SOON_LEFT (300 * NS_PER_US)
#define FAR_NS	  NS_PER_S
#define WORDS	  PERF_WORK_MOST /* 512 KB each */
#define STEPS	  4000u
#define WARM	  1u /* turns that are not timed */
#define TURNS	  4u /* few enough for no event to come due */
#define TOTAL_NS  (300 * NS_PER_MS)

/* How the ring is watched in a round. */
enum watched_as { IDLE_UNWATCHED, IDLE_FAR, UNWATCHED, HALF_SOON, ALL_SOON, WAYS };

static const struct {
	uint64_t period_ns;
	uint32_t every; /* so manieth child has an event; 0: none */
	bool works;
} ways[WAYS] = {
	[IDLE_UNWATCHED] = { FAR_NS, 0, false }, [IDLE_FAR] = { FAR_NS, 1, false },
	[UNWATCHED] = { FAR_NS, 0, true },	 [HALF_SOON] = { SOON_NS, 2, true },
	[ALL_SOON] = { SOON_NS, 1, true },
};

struct token {
	uint32_t turn;
	uint32_t steps; /* of work in each turn */
};

/* Shared by all, so that each has memory of its own. */
struct desk {
	struct perf_work work;
	uint64_t began_ns, took_ns; /* of its TURNS */
};

struct ring {
	pid_t pids[RING]; /* 0: none */
	struct desk *desks;
	int pipes[RING + 1][2]; /* into each child; the last is the answer to us */
};

/* One turn of one child: takes the token, works, hands it on. */
static bool take_turn(const struct ring *r, uint32_t i)
{
	struct desk *desk = &r->desks[i];
	struct token token;
	int to;

	if (read(r->pipes[i][0], &token, sizeof(token)) != sizeof(token))
		return false;
	if (token.turn == WARM)
		desk->began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	if (token.turn == WARM + TURNS)
		desk->took_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - desk->began_ns;
	else
		perf_work_walk(&desk->work, token.steps);
	to = i + 1 < RING ? (int)i + 1 : token.turn == WARM + TURNS ? (int)RING : 0;
	token.turn += i + 1 == RING;
	return write(r->pipes[to][1], &token, sizeof(token)) == sizeof(token);
}

static _Noreturn void be_one(const struct ring *r, uint32_t i, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	while (take_turn(r, i))
		;
	_exit(0);
}

/* A child without an exit signal: our caller's SIGCHLD and wait() are for its own children. */
static pid_t bear(const struct ring *r, uint32_t i, int cpu)
{
	pid_t parent = getpid(), pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	cpu_set_t one;

	if (pid == 0)
		be_one(r, i, parent);
	if (pid < 0)
		return -errno;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	sched_setaffinity(pid, sizeof(one), &one); /* else what it measures is more, never less */
	return pid;
}

static void ring_end(struct ring *r)
{
	for (uint32_t i = 0; i < RING; i++)
		if (r->pids[i] > 0)
			kill(r->pids[i], SIGKILL);
	for (uint32_t i = 0; i < RING; i++)
		while (r->pids[i] > 0 && waitpid(r->pids[i], NULL, __WALL) < 0 && errno == EINTR)
			;
	for (uint32_t i = 0; i <= RING; i++)
		for (int end = 0; end < 2; end++)
			if (r->pipes[i][end] >= 0)
				close(r->pipes[i][end]);
	if (r->desks != MAP_FAILED)
		munmap(r->desks, RING * sizeof(*r->desks));
}

static int ring_begin(struct ring *r)
{
	int cpu = sched_getcpu();

	for (uint32_t i = 0; i <= RING; i++)
		r->pipes[i][0] = r->pipes[i][1] = -1;
	r->desks = mmap(NULL, RING * sizeof(*r->desks), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->desks == MAP_FAILED)
		return -ENOMEM;
	for (uint32_t i = 0; i <= RING; i++)
		if (pipe(r->pipes[i]) != 0)
			return -errno;
	for (uint32_t i = 0; i < RING; i++) {
		perf_work_init(&r->desks[i].work, WORDS);
		r->pids[i] = bear(r, i, cpu < 0 ? 0 : cpu);
		if (r->pids[i] < 0)
			return r->pids[i];
	}
	return 0;
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

static bool has_answer(const struct ring *r, uint64_t end_ns)
{
	struct pollfd answer = { .fd = r->pipes[RING][0], .events = POLLIN };
	uint64_t now_ns = clock_read_ns(CLOCK_MONOTONIC);
	struct token token;

	return now_ns < end_ns && poll(&answer, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1) == 1 &&
	       read(answer.fd, &token, sizeof(token)) == sizeof(token);
}

/* What a turn took children 0, 2, ... and 1, 3, ...: the mean of each. False: no answer in time. */
static bool turn_ps(const struct ring *r, const struct perf_means *means, enum watched_as way,
		    uint64_t end_ns, uint64_t ps[2])
{
	const struct token token = { .steps = ways[way].works ? STEPS : 0 };
	int events[RING];
	bool is_open = true;

	for (uint32_t i = 0; i < RING; i++) {
		bool has_event = ways[way].every > 0 && i % ways[way].every == 0;

		events[i] = has_event ? open_event(means, ways[way].period_ns, r->pids[i]) : -1;
		is_open = is_open && (events[i] >= 0 || !has_event);
	}
	is_open = is_open && write(r->pipes[0][1], &token, sizeof(token)) == sizeof(token) &&
		  has_answer(r, end_ns);
	ps[0] = ps[1] = 0;
	for (uint32_t i = 0; i < RING; i++) {
		if (events[i] >= 0)
			close(events[i]);
		ps[i % 2] += r->desks[i].took_ns * PS_PER_NS / TURNS / (RING / 2);
	}
	return is_open;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t middle(uint64_t a, uint64_t b)
{
	return (a + b) / 2;
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
static bool take_rounds(const struct ring *r, const struct perf_means *means, int from, int to,
			uint64_t even_ps[WAYS], uint64_t odd_ps[WAYS])
{
	uint64_t took_ps[2][WAYS][ROUNDS];
	uint64_t end_ns = clock_read_ns(CLOCK_MONOTONIC) + TOTAL_NS / 2;
	uint32_t rounds = 0;
	bool is_answered = true;

	while (is_answered && rounds < ROUNDS) {
		for (int way = from; way < to && is_answered; way++) {
			uint64_t ps[2];

			is_answered = turn_ps(r, means, (enum watched_as)way, end_ns, ps);
			took_ps[0][way][rounds] = ps[0];
			took_ps[1][way][rounds] = ps[1];
		}
		rounds += is_answered;
	}
	for (int way = from; way < to && rounds >= LEAST; way++)
		for (int half = 0; half < 2; half++) {
			uint64_t *ps = took_ps[half][way];

			qsort(ps, rounds, sizeof(*ps), by_size);
			(half == 0 ? even_ps : odd_ps)[way] = ps[rounds / 2];
		}
	return rounds >= LEAST;
}

/* With a ring of its own: of one that was not answered in time a token may be under way still. */
static bool measure(const struct perf_means *means, int from, int to, uint64_t even_ps[WAYS],
		    uint64_t odd_ps[WAYS])
{
	SCOPED(ring_end) struct ring r = { .desks = MAP_FAILED };

	return ring_begin(&r) == 0 && take_rounds(&r, means, from, to, even_ps, odd_ps);
}

void perf_calibrate_switch(const struct perf_means *means, struct charge_costs *out)
{
	uint64_t even[WAYS], odd[WAYS], in_ps, out_ps;

	/* Apart: rounds without work let the others find their caches cold. */
	if (!measure(means, IDLE_UNWATCHED, UNWATCHED, even, odd) ||
	    !measure(means, UNWATCHED, WAYS, even, odd))
		return;
	out->still_ps = middle(less(even[IDLE_FAR], even[IDLE_UNWATCHED]),
			       less(odd[IDLE_FAR], odd[IDLE_UNWATCHED]));
	/* With events on the even ones, these pay for timers that are set for them, the odd ones for those that are taken away. */
	in_ps = middle(less(even[HALF_SOON], even[UNWATCHED]), less(odd[ALL_SOON], odd[HALF_SOON]));
	out_ps =
		middle(less(odd[HALF_SOON], odd[UNWATCHED]), less(even[ALL_SOON], even[HALF_SOON]));
	out->in_ps = whole_ps(less(in_ps, out->still_ps / 2), out->jiffy_ns);
	out->out_ps = whole_ps(less(out_ps, out->still_ps / 2), out->jiffy_ns);
}
