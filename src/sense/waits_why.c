/* waits_why.c - why a thread waits, in words: by how it sleeps, and the system call that it sleeps in. */
#include <stddef.h>
#include <sys/syscall.h>

#include "bpf/waits.h"
#include "core/scoped.h"
#include "sense/waits_source.h"

struct call {
	long number;
	struct str text;
};

static const struct call calls[] = {
	{ SYS_nanosleep, STR_LITERAL("[waits for a timer]") },
	{ SYS_clock_nanosleep, STR_LITERAL("[waits for a timer]") },
	{ SYS_pause, STR_LITERAL("[waits for a signal]") },
	{ SYS_rt_sigsuspend, STR_LITERAL("[waits for a signal]") },
	{ SYS_rt_sigtimedwait, STR_LITERAL("[waits for a signal]") },
	{ SYS_poll, STR_LITERAL("[waits for an event]") },
	{ SYS_ppoll, STR_LITERAL("[waits for an event]") },
	{ SYS_select, STR_LITERAL("[waits for an event]") },
	{ SYS_pselect6, STR_LITERAL("[waits for an event]") },
	{ SYS_epoll_wait, STR_LITERAL("[waits for an event]") },
	{ SYS_epoll_pwait, STR_LITERAL("[waits for an event]") },
	{ SYS_futex, STR_LITERAL("[waits for a lock]") },
	{ SYS_wait4, STR_LITERAL("[waits for a child]") },
	{ SYS_waitid, STR_LITERAL("[waits for a child]") },
	{ SYS_vfork, STR_LITERAL("[waits for a child]") },
	{ SYS_clone,
	  STR_LITERAL("[waits for a child]") }, /* as vfork() and posix_spawn() make it */
	{ SYS_clone3, STR_LITERAL("[waits for a child]") },
	{ SYS_recvfrom, STR_LITERAL("[waits for a socket]") },
	{ SYS_recvmsg, STR_LITERAL("[waits for a socket]") },
	{ SYS_sendto, STR_LITERAL("[waits for a socket]") },
	{ SYS_sendmsg, STR_LITERAL("[waits for a socket]") },
	{ SYS_accept, STR_LITERAL("[waits for a connection]") },
	{ SYS_accept4, STR_LITERAL("[waits for a connection]") },
	{ SYS_connect, STR_LITERAL("[waits for a connection]") },
	{ SYS_fsync, STR_LITERAL("[waits for a disk]") },
	{ SYS_fdatasync, STR_LITERAL("[waits for a disk]") },
	{ SYS_openat, STR_LITERAL("[waits for a disk]") },
	{ SYS_flock, STR_LITERAL("[waits for a file lock]") },
};

/* Pipes and terminals sleep in these calls; who is blocked in one waits for the disk under its file. */
static const struct call transfers[] = {
	{ SYS_read, STR_LITERAL("[waits for input]") },
	{ SYS_readv, STR_LITERAL("[waits for input]") },
	{ SYS_pread64, STR_LITERAL("[waits for input]") },
	{ SYS_write, STR_LITERAL("[waits for output]") },
	{ SYS_writev, STR_LITERAL("[waits for output]") },
	{ SYS_pwrite64, STR_LITERAL("[waits for output]") },
};

/* Empty: it is none of these. */
static struct str text_of(const struct call *rows, size_t count, uint32_t syscall)
{
	for (size_t i = 0; i < count && syscall != WAITS_NO_SYSCALL; i++)
		if (rows[i].number == (long)syscall)
			return rows[i].text;
	return STR_EMPTY;
}

struct str waits_why_text(uint32_t why, uint32_t syscall)
{
	struct str text;

	if (why == WAITS_PREEMPTED || why == WAITS_BORN)
		return STR_LITERAL("[runnable]");
	if (why == WAITS_STOPPED)
		return STR_LITERAL("[waits to be continued]");
	text = text_of(calls, ARRAY_LEN(calls), syscall);
	if (text.len == 0 && why != WAITS_BLOCKED)
		text = text_of(transfers, ARRAY_LEN(transfers), syscall);
	if (text.len > 0)
		return text;
	if (why == WAITS_BLOCKED)
		return syscall == WAITS_NO_SYSCALL ? STR_LITERAL("[waits for memory]")
						   : STR_LITERAL("[waits for a disk]");
	return STR_LITERAL("[waits]");
}
