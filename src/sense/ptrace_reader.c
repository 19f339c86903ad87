/* ptrace_reader.c - a child that copies memory on request: two counters and a buffer that both see, and a futex. */
#include "sense/ptrace_reader.h"
#include "sense/clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEFT_MAX \
	4u /* children that no signal reaches yet: some waits of the kernel's for a page heed none */
#define REAP_TRIES 20 /* of a millisecond */

/* Seen by both. */
struct desk {
	_Atomic uint32_t asked, answered; /* number of the question */
	int mem_fd;
	uint64_t address;
	size_t len;
	ssize_t result;
	_Alignas(64) uint8_t bytes[PTRACE_READER_BYTES];
};

struct ptrace_reader {
	struct desk *desk;
	pid_t child;	      /* 0: none */
	pid_t left[LEFT_MAX]; /* killed, and not gone yet; 0: none */
	bool is_stuck;
	uint64_t ended_ns, killed;
};

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
				  .tv_nsec = (long)(ns % NS_PER_S) };
}

/* Waits while `*word` is `value`, for at most `left_ns`; UINT64_MAX: for ever. */
static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t left_ns)
{
	struct timespec left = timespec_of(left_ns);

	syscall(SYS_futex, word, FUTEX_WAIT, value, left_ns == UINT64_MAX ? NULL : &left, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* The child: never returns. Its memory is a copy of ours, its descriptors are ours. */
static _Noreturn void serve(struct desk *desk, uint32_t seen, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	for (;;) {
		uint32_t asked = atomic_load(&desk->asked);

		if (asked == seen) {
			futex_wait(&desk->asked, seen, UINT64_MAX);
			continue;
		}
		seen = asked;
		desk->result = pread(desk->mem_fd, desk->bytes, desk->len, (off_t)desk->address);
		if (desk->result < 0)
			desk->result = -errno;
		atomic_store(&desk->answered, seen);
		futex_wake(&desk->answered);
	}
}

int ptrace_reader_open(struct ptrace_reader **out, struct err *err)
{
	struct ptrace_reader *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return err_set(err, -ENOMEM, "cannot read stacks: no memory");
	r->desk = mmap(NULL, sizeof(*r->desk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (r->desk == MAP_FAILED) {
		free(r);
		return err_set(err, -ENOMEM, "cannot read stacks: no memory");
	}
	*out = r;
	return 0;
}

static uint64_t rusage_ns(const struct rusage *used)
{
	return ((uint64_t)used->ru_utime.tv_sec + (uint64_t)used->ru_stime.tv_sec) * NS_PER_S +
	       ((uint64_t)used->ru_utime.tv_usec + (uint64_t)used->ru_stime.tv_usec) * NS_PER_US;
}

/* False: it has not ended yet. */
static bool reap(struct ptrace_reader *r, pid_t pid)
{
	struct rusage used = { 0 };
	pid_t got = wait4(pid, NULL, __WALL | WNOHANG, &used);

	if (got == pid)
		r->ended_ns += rusage_ns(&used);
	return got != 0;
}

/* A place for one that is left behind; NULL: all are taken. */
static pid_t *find_place(struct ptrace_reader *r)
{
	pid_t *place = NULL;

	for (size_t i = 0; i < LEFT_MAX; i++) {
		if (r->left[i] > 0 && reap(r, r->left[i]))
			r->left[i] = 0;
		if (r->left[i] == 0)
			place = &r->left[i];
	}
	return place;
}

/* Who does not go at once is left behind: it goes when its page comes. */
static void end_child(struct ptrace_reader *r)
{
	const struct timespec pause = timespec_of(NS_PER_MS);
	bool has_ended = false;
	pid_t *place;

	if (r->child <= 0)
		return;
	kill(r->child, SIGKILL);
	for (int i = 0; i < REAP_TRIES && !has_ended; i++) {
		has_ended = reap(r, r->child);
		if (!has_ended)
			nanosleep(&pause, NULL);
	}
	place = find_place(r);
	if (!has_ended && place != NULL)
		*place = r->child;
	r->child = 0;
}

void ptrace_reader_close(struct ptrace_reader *r)
{
	if (r == NULL)
		return;
	end_child(r);
	munmap(r->desk, sizeof(*r->desk));
	free(r);
}

int ptrace_reader_start(struct ptrace_reader *r)
{
	pid_t parent = getpid(), pid;
	uint32_t seen;

	if (r->child > 0 && !r->is_stuck)
		return 0;
	r->killed += r->is_stuck;
	end_child(r);
	r->is_stuck = false;
	if (find_place(r) == NULL)
		return -EBUSY;
	seen = atomic_load(&r->desk->asked);
	/* Descriptors are opened for it later, so they are shared. Without an exit signal: our caller's wait() is for others. */
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, 0);
	if (pid == 0)
		serve(r->desk, seen, parent);
	if (pid < 0)
		return -errno;
	r->child = pid;
	return 0;
}

ssize_t ptrace_reader_copy(struct ptrace_reader *r, int mem_fd, uint64_t address, size_t len)
{
	uint64_t until_ns = clock_read_ns(CLOCK_MONOTONIC) + PTRACE_READER_NS, now_ns;
	struct desk *desk = r->desk;
	uint32_t number, answered;

	if (r->child <= 0 || r->is_stuck)
		return -ETIMEDOUT;
	desk->mem_fd = mem_fd;
	desk->address = address;
	desk->len = len < PTRACE_READER_BYTES ? len : PTRACE_READER_BYTES;
	number = atomic_load(&desk->asked) + 1;
	atomic_store(&desk->asked, number);
	futex_wake(&desk->asked);
	while ((answered = atomic_load(&desk->answered)) != number) {
		now_ns = clock_read_ns(CLOCK_MONOTONIC);
		if (now_ns >= until_ns) {
			r->is_stuck = true;
			return -ETIMEDOUT;
		}
		futex_wait(&desk->answered, answered, until_ns - now_ns);
	}
	return desk->result;
}

const uint8_t *ptrace_reader_bytes(const struct ptrace_reader *r)
{
	return r->desk->bytes;
}

uint64_t ptrace_reader_live_ns(const struct ptrace_reader *r)
{
	clockid_t clock;

	return r->child > 0 && clock_getcpuclockid(r->child, &clock) == 0 ? clock_read_ns(clock)
									  : 0;
}

uint64_t ptrace_reader_spent_ns(const struct ptrace_reader *r)
{
	return r->ended_ns + ptrace_reader_live_ns(r);
}

uint64_t ptrace_reader_killed(const struct ptrace_reader *r)
{
	return r->killed + r->is_stuck;
}
