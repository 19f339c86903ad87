/* waits_why.c - why a thread waits, in words: by how it sleeps, and the system call that it sleeps in. */
#include <stddef.h>
#include <sys/syscall.h>

#include "bpf/waits.h"
#include "core/scoped.h"
#include "sense/waits_source.h"

static const struct {
	long number;
	struct str text;
} calls[] = {
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
	{ SYS_read, STR_LITERAL("[waits for input]") },
	{ SYS_readv, STR_LITERAL("[waits for input]") },
	{ SYS_pread64, STR_LITERAL("[waits for input]") },
	{ SYS_write, STR_LITERAL("[waits for output]") },
	{ SYS_writev, STR_LITERAL("[waits for output]") },
	{ SYS_pwrite64, STR_LITERAL("[waits for output]") },
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

struct str waits_why_text(uint32_t why, uint32_t syscall)
{
	if (why == WAITS_PREEMPTED || why == WAITS_BORN)
		return STR_LITERAL("[runnable]");
	if (why == WAITS_STOPPED)
		return STR_LITERAL("[waits to be continued]");
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (syscall != WAITS_NO_SYSCALL && calls[i].number == (long)syscall)
			return calls[i].text;
	if (why == WAITS_BLOCKED)
		return syscall == WAITS_NO_SYSCALL ? STR_LITERAL("[waits for memory]")
						   : STR_LITERAL("[waits for a disk]");
	return STR_LITERAL("[waits]");
}
