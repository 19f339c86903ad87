/* perf_calibrate.c - what one tick costs in the kernel: a child of ours that never waits does the same work with and without an
 * event, and the middle of the differences is taken. The fastest would be that of a quiet moment, which `tare prove` shows to be
 * less than what a job pays. More of its caches may be driven out than the child has, so it is a least cost all the same. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sense/clock.h"
#include "sense/perf.h"
#include "sense/perf_work.h"

#define ROUNDS		7u
#define ROUND_NS	(2 * NS_PER_MS)
#define TICK_NS		(100 * NS_PER_US) /* closer ones find all their caches warm */
#define TOTAL_NS	(300 * NS_PER_MS) /* only a machine that is full takes it all */
#define CALIBRATE_PAGES 128u
#define WORDS		16384u /* 128 KB: a tick drives some of it out */
#define BARE_BYTES	16u    /* a record's head and the thread's numbers */

/* Shared with the child: what is asked, and what it answered. */
struct bench {
	_Atomic uint32_t asked, answered; /* number of the round */
	_Atomic uint64_t took_ns;
	struct perf_work work; /* the child's */
};

struct calibration {
	struct bench *bench;
	pid_t child;
	int fd;
	bool is_bare; /* its ticks write no stack */
	void *map;
	size_t map_bytes;
};

/* How many steps make a round. */
static uint64_t steps_a_round(struct bench *bench)
{
	uint64_t steps = 0, began_ns = clock_read_ns(CLOCK_MONOTONIC);

	while (clock_read_ns(CLOCK_MONOTONIC) - began_ns < ROUND_NS / 4) {
		perf_work_walk(&bench->work, 10000);
		steps += 10000;
	}
	return steps * 4;
}

/* An event on ourselves that only counts. */
static int open_clock(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.exclude_kernel = 1,
					.exclude_hv = 1 };

	return perf_open_event(&attr, 0, -1);
}

/* Our time on a CPU with the interrupts in it (a thread's own clock may leave those out), without what others took. */
static uint64_t on_cpu_ns(int fd)
{
	uint64_t ns = 0;

	return read(fd, &ns, sizeof(ns)) == (ssize_t)sizeof(ns) ? ns : 0;
}

/* The child: never returns. It ends with us, or when it has spun too long. */
static _Noreturn void spin(struct bench *bench, pid_t parent)
{
	uint64_t began_ns = clock_read_ns(CLOCK_MONOTONIC), steps;
	uint32_t round = 0;
	int fd = open_clock();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || fd < 0)
		_exit(0);
	perf_work_init(&bench->work, WORDS);
	steps = steps_a_round(bench);
	while (clock_read_ns(CLOCK_MONOTONIC) - began_ns < 10 * TOTAL_NS) {
		uint64_t at_ns;

		if (atomic_load(&bench->asked) == round) {
			sched_yield();
			continue;
		}
		round++;
		at_ns = on_cpu_ns(fd);
		perf_work_walk(&bench->work, steps);
		atomic_store(&bench->took_ns, on_cpu_ns(fd) - at_ns);
		atomic_store(&bench->answered, round);
	}
	_exit(0);
}

/* Asks for one round. 0: no answer in time. */
static uint64_t run_round(struct bench *bench, uint64_t until_ns)
{
	const struct timespec pause = { .tv_nsec = 100 * 1000 };
	uint32_t round = atomic_load(&bench->asked) + 1;

	atomic_store(&bench->asked, round);
	while (atomic_load(&bench->answered) != round) {
		if (clock_read_ns(CLOCK_MONOTONIC) > until_ns)
			return 0;
		nanosleep(&pause, NULL);
	}
	return atomic_load(&bench->took_ns);
}

/* Samples written so far, by their bytes: all but the copied stack is small. */
static uint64_t samples_written(const struct calibration *c)
{
	const struct perf_event_mmap_page *head = c->map;

	return __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE) /
	       (c->is_bare ? BARE_BYTES : PERF_STACK_BYTES);
}

/* The kernel's own limits: beyond them it would throttle, and a withheld tick costs nothing. */
static uint64_t tick_ns(void)
{
	int64_t rate = 0;

	if (procfs_number("/proc/sys/kernel/perf_event_max_sample_rate", &rate) == 0 && rate > 0 &&
	    2 * NS_PER_S / (uint64_t)rate > TICK_NS)
		return 2 * NS_PER_S / (uint64_t)rate;
	return TICK_NS;
}

/* The same event as on a target, with a ring that the kernel overwrites: nobody need drain it, and nothing is lost. */
static int open_event(struct calibration *c, const struct perf_means *means)
{
	struct perf_event_attr attr = perf_sampling_attr(means, tick_ns());

	attr.inherit = 0;
	attr.task = attr.comm = attr.comm_exec = attr.mmap = attr.mmap2 = 0;
	attr.context_switch = 0;
	if (c->is_bare) {
		attr.sample_type = PERF_SAMPLE_TID;
		attr.read_format = attr.sample_regs_user = attr.sample_stack_user = 0;
	}
	c->fd = perf_open_event(&attr, c->child, -1);
	if (c->fd < 0)
		return -errno;
	for (uint32_t pages = CALIBRATE_PAGES; pages >= PERF_RING_PAGES_MIN; pages /= 2) {
		c->map_bytes = (pages + 1) * (size_t)sysconf(_SC_PAGESIZE);
		c->map = mmap(NULL, c->map_bytes, PROT_READ, MAP_SHARED, c->fd, 0);
		if (c->map != MAP_FAILED)
			return 0;
	}
	c->map = NULL;
	return -ENOMEM;
}

static void calibration_end(struct calibration *c)
{
	if (c->map != NULL)
		munmap(c->map, c->map_bytes);
	if (c->fd >= 0)
		close(c->fd);
	if (c->child > 0) {
		kill(c->child, SIGKILL);
		while (waitpid(c->child, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	munmap(c->bench, sizeof(*c->bench));
}

static int calibration_begin(struct calibration *c, const struct perf_means *means)
{
	pid_t parent = getpid();

	c->fd = -1;
	c->bench = mmap(NULL, sizeof(*c->bench), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (c->bench == MAP_FAILED)
		return -ENOMEM;
	/* Without an exit signal: our caller's SIGCHLD and wait() are for its own children. */
	c->child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	if (c->child == 0)
		spin(c->bench, parent);
	return c->child < 0 ? -errno : open_event(c, means);
}

/* One round, with or without ticks. Returns what it took, 0: unmeasured (no answer in time, or no ticks came). */
static uint64_t take_round(struct calibration *c, bool is_ticked, uint64_t until_ns)
{
	uint64_t before = samples_written(c), took_ns;

	if (is_ticked)
		ioctl(c->fd, PERF_EVENT_IOC_ENABLE, 0);
	took_ns = run_round(c->bench, until_ns);
	ioctl(c->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (is_ticked && samples_written(c) - before < took_ns / tick_ns() / 2)
		return 0;
	return took_ns;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The middle of what rounds with the event took more than those before them, a tick. 0: unmeasured. */
static uint64_t measure_ps(struct calibration *c)
{
	uint64_t end_ns = clock_read_ns(CLOCK_MONOTONIC) + TOTAL_NS, tick_ps[ROUNDS];
	uint32_t rounds = 0;

	for (uint32_t i = 0; i < ROUNDS && clock_read_ns(CLOCK_MONOTONIC) < end_ns; i++) {
		uint64_t first_ns = take_round(c, i % 2 == 1, end_ns);
		uint64_t second_ns = take_round(c, i % 2 == 0, end_ns);
		uint64_t plain_ns = i % 2 == 0 ? first_ns : second_ns;
		uint64_t ticked_ns = i % 2 == 0 ? second_ns : first_ns;

		if (plain_ns == 0 || ticked_ns < tick_ns())
			continue;
		tick_ps[rounds++] = ticked_ns > plain_ns ? (ticked_ns - plain_ns) * PS_PER_NS /
								   (ticked_ns / tick_ns())
							 : 0;
	}
	if (rounds == 0)
		return 0;
	qsort(tick_ps, rounds, sizeof(tick_ps[0]), by_size);
	return tick_ps[rounds / 2];
}

uint64_t perf_jiffy_ns(void)
{
	struct timespec step;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &step) != 0)
		return 0;
	return (uint64_t)step.tv_sec * NS_PER_S + (uint64_t)step.tv_nsec;
}

int perf_calibrate_tick(const struct perf_means *means, bool is_bare, uint64_t *out_ps,
			struct err *err)
{
	struct calibration c = { .is_bare = is_bare };
	int error = calibration_begin(&c, means);

	if (error == 0)
		*out_ps = measure_ps(&c);
	if (c.bench != MAP_FAILED)
		calibration_end(&c);
	return error == 0 ? 0
			  : err_set(err, error, "cannot measure what a tick costs: %s",
				    strerror(-error));
}

int perf_calibrate(struct sampler *s, struct err *err)
{
	int error = perf_calibrate_tick(&s->means, false, &s->costs.tick_ps, err);

	s->costs.jiffy_ns = perf_jiffy_ns();
	if (error == 0)
		perf_calibrate_switch(&s->means, &s->costs);
	return error;
}
