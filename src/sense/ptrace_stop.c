/* ptrace_stop.c - the thread that traces: seize, interrupt, copy, detach. */
#include "sense/ptrace_stop.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sense/clock.h"
#include "sense/ptrace_regs.h"

#define PATIENCE_NS	 (250 * NS_PER_MS) /* for a thread to stop */
#define STACK_BYTES	 262144u
#define MAX_LEFT	 4u /* threads of ours that are left waiting for a stop that never comes */
#define EVENT_OF(status) ((status) >> 8)

/* Who may use the reader: whoever holds a thread, or the one who asks. LEFT: nobody waits for the answer any more; OVER: nor will it
 * come. */
enum turn { IDLE, TRYING, HOLDING, LEFT, OVER };

/* The thread that traces, and its one order. */
struct tracer {
	pthread_t thread;
	_Atomic uint32_t asked, answered; /* number of the order */
	_Atomic uint32_t turn;		  /* enum turn */
	bool must_end;			  /* the order */
	bool holds;			  /* the answer: something that only its end lets go */
	struct ptrace_wanted wanted;
	struct ptrace_reader *reader;
	struct ptrace_seen seen;
};

struct ptrace_stopper {
	struct ptrace_reader *reader;
	struct tracer *tracer;	       /* NULL: none yet */
	struct tracer *left[MAX_LEFT]; /* NULL: free */
};

static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t left_ns)
{
	struct timespec left = { .tv_sec = (time_t)(left_ns / NS_PER_S),
				 .tv_nsec = (long)(left_ns % NS_PER_S) };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, left_ns == UINT64_MAX ? NULL : &left,
		NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* ---- in the thread that traces ---- */

static bool is_running(int place_fd)
{
	char text[8];

	return pread(place_fd, text, sizeof(text), 0) >= 7 && memcmp(text, "running", 7) == 0;
}

/* Takes the stopped thread's registers and stack, and lets it go with the signal it was about to get. */
static void hold(struct tracer *t, int signal)
{
	struct ptrace_seen *seen = &t->seen;
	const struct ptrace_wanted *w = &t->wanted;
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, w->tid, NULL, &seen->regs) != 0)
		return;
	regs = seen->regs;
	if (signal == 0 && ptrace_regs_undo_eintr(&regs))
		seen->is_mended = ptrace(PTRACE_SETREGS, w->tid, NULL, &regs) == 0;
	seen->stack_bytes =
		ptrace_reader_copy(t->reader, w->mem_fd, seen->regs.rsp, PTRACE_READER_BYTES);
	if (ptrace(PTRACE_DETACH, w->tid, NULL, (void *)(intptr_t)signal) != 0)
		return;
	t->holds = false;
	seen->end = seen->stack_bytes == -ETIMEDOUT ? PTRACE_NO_MEMORY : PTRACE_STOPPED;
}

/* Waits for the stop. Whatever else comes is left to our end: a thread that executes gets another number, one that dies waits for
 * who traces it. */
static void await(struct tracer *t)
{
	siginfo_t got = { .si_pid = 0 };
	uint32_t turn = TRYING;
	int status;

	while (waitid(P_ALL, 0, &got, WEXITED | WSTOPPED | WNOWAIT | __WALL | __WNOTHREAD) != 0)
		if (errno != EINTR)
			return;
	if (got.si_pid != t->wanted.tid || got.si_code != CLD_TRAPPED)
		return;
	status = got.si_status;
	/* Where nobody waits for us any more, the reader may be another's by now. */
	if (!atomic_compare_exchange_strong(&t->turn, &turn, HOLDING))
		return;
	hold(t, EVENT_OF(status) == 0 ? status : 0);
}

static void look(struct tracer *t)
{
	const struct ptrace_wanted *w = &t->wanted;
	uint64_t began_ns;

	t->holds = false;
	t->seen = (struct ptrace_seen){ .end = PTRACE_WAITS };
	if (!is_running(w->place_fd))
		return;
	if (ptrace(PTRACE_SEIZE, w->tid, NULL, NULL) != 0) {
		t->seen.end = errno == ESRCH ? PTRACE_GONE : PTRACE_REFUSED;
		return;
	}
	t->holds = true; /* until it is let go */
	/* A thread that waits may not be woken: some calls would fail with EINTR. */
	if (!is_running(w->place_fd))
		return;
	t->seen.end = PTRACE_GONE;
	began_ns = clock_read_ns(CLOCK_MONOTONIC);
	if (ptrace(PTRACE_INTERRUPT, w->tid, NULL, NULL) != 0)
		return;
	await(t);
	t->seen.stopped_ns = clock_read_ns(CLOCK_MONOTONIC) - began_ns;
}

static void *trace(void *arg)
{
	struct tracer *t = arg;
	uint32_t seen = 0;
	bool holds;

	for (;;) {
		uint32_t asked = atomic_load(&t->asked);

		if (asked == seen) {
			futex_wait(&t->asked, seen, UINT64_MAX);
			continue;
		}
		seen = asked;
		if (t->must_end)
			return NULL;
		look(t);
		if (atomic_exchange(&t->turn, IDLE) == LEFT) {
			atomic_store(&t->turn, OVER);
			return NULL;
		}
		holds = t->holds;
		atomic_store(&t->answered, seen);
		futex_wake(&t->answered);
		if (holds)
			return NULL;
	}
}

/* ---- in the thread that asks ---- */

/* A thread that gets no signals: they are for those who wait for them. */
static int start_thread(struct tracer *t)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int error = pthread_attr_init(&attr);

	if (error != 0)
		return -error;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&t->thread, &attr, trace, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -error;
}

/* Its thread has ended, or is about to. */
static void tracer_free(struct tracer *t)
{
	pthread_join(t->thread, NULL);
	free(t);
}

/* A place for one more that is left; those that came to an end make room. NULL: all are taken. */
static struct tracer **find_place(struct ptrace_stopper *s)
{
	struct tracer **place = NULL;

	for (size_t i = 0; i < MAX_LEFT; i++) {
		if (s->left[i] != NULL && atomic_load(&s->left[i]->turn) == OVER) {
			tracer_free(s->left[i]);
			s->left[i] = NULL;
		}
		if (s->left[i] == NULL)
			place = &s->left[i];
	}
	return place;
}

static int start_tracer(struct ptrace_stopper *s)
{
	struct tracer *t;
	int error;

	if (s->tracer != NULL)
		return 0;
	if (find_place(s) == NULL)
		return -EBUSY;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return -ENOMEM;
	t->reader = s->reader;
	error = start_thread(t);
	if (error != 0) {
		free(t);
		return error;
	}
	s->tracer = t;
	return 0;
}

static void order(struct tracer *t)
{
	atomic_store(&t->turn, TRYING);
	atomic_fetch_add(&t->asked, 1);
	futex_wake(&t->asked);
}

static bool has_answer(struct tracer *t, uint64_t until_ns)
{
	uint32_t answered;

	while ((answered = atomic_load(&t->answered)) != atomic_load(&t->asked)) {
		uint64_t at_ns = clock_read_ns(CLOCK_MONOTONIC);

		if (at_ns >= until_ns)
			return false;
		futex_wait(&t->answered, answered,
			   until_ns == UINT64_MAX ? UINT64_MAX : until_ns - at_ns);
	}
	return true;
}

/* False: it is past waiting, and its answer comes. */
static bool leave(struct ptrace_stopper *s)
{
	uint32_t turn = TRYING;

	if (!atomic_compare_exchange_strong(&s->tracer->turn, &turn, LEFT))
		return false;
	*find_place(s) = s->tracer; /* there was one when it was started */
	s->tracer = NULL;
	return true;
}

int ptrace_stopper_open(struct ptrace_reader *reader, struct ptrace_stopper **out, struct err *err)
{
	struct ptrace_stopper *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return err_set(err, -ENOMEM, "cannot stop threads: no memory");
	s->reader = reader;
	*out = s;
	return 0;
}

void ptrace_stopper_close(struct ptrace_stopper *s)
{
	if (s == NULL)
		return;
	if (s->tracer != NULL) {
		s->tracer->must_end = true;
		order(s->tracer);
		tracer_free(s->tracer);
	}
	find_place(s); /* one that is still left stays, to let go what it holds */
	free(s);
}

void ptrace_stopper_look(struct ptrace_stopper *s, const struct ptrace_wanted *wanted,
			 struct ptrace_seen *out)
{
	struct tracer *t;

	*out = (struct ptrace_seen){ .end = PTRACE_STUCK };
	if (ptrace_reader_start(s->reader) != 0 || start_tracer(s) != 0)
		return;
	t = s->tracer;
	t->wanted = *wanted;
	order(t);
	if (!has_answer(t, clock_read_ns(CLOCK_MONOTONIC) + PATIENCE_NS) && leave(s))
		return;
	has_answer(t, UINT64_MAX);
	*out = t->seen;
	if (t->holds) {
		tracer_free(t);
		s->tracer = NULL;
	}
}

int ptrace_try_call(void)
{
	/* Nobody has this number. A child of ours could not stand for others: it may be guarded as we are. */
	if (ptrace(PTRACE_SEIZE, 0, NULL, NULL) == 0 || errno == ESRCH)
		return 0;
	return -errno;
}
