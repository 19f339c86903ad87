/* ptrace_regs.c - registers of a stopped thread, and the text that stands for those of a waiting one. */
#include "sense/ptrace_regs.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/scoped.h"

#define CODE_64		       0x33u /* code segment of 64-bit programs */
#define AGAIN_BUT_FOR_HANDLERS 514   /* the kernel's own ERESTARTNOHAND, which programs never see */

/* Calls that say EINTR before they have done anything, by POSIX or by their manual, and that the kernel does not begin again by
 * itself after a stop (signal(7)). Not among them: close and connect, which go on behind an EINTR. */
static const uint16_t begun_again[] = {
	SYS_epoll_wait,	  SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_rt_sigtimedwait,
	SYS_semop,	  SYS_semtimedop,      SYS_io_getevents, SYS_io_pgetevents,
	SYS_read,	  SYS_readv,	       SYS_recvfrom,	 SYS_recvmsg,
	SYS_recvmmsg,	  SYS_accept,	       SYS_accept4,	 SYS_write,
	SYS_writev,	  SYS_sendto,	       SYS_sendmsg,	 SYS_io_uring_enter,
	SYS_mq_timedsend, SYS_mq_timedreceive,
};

void ptrace_regs_copy(const struct user_regs_struct *regs, struct stack_copy *out)
{
	const uint64_t values[DWARF_REG_COUNT] = {
		[DWARF_RAX] = regs->rax, [DWARF_RDX] = regs->rdx, [DWARF_RCX] = regs->rcx,
		[DWARF_RBX] = regs->rbx, [DWARF_RSI] = regs->rsi, [DWARF_RDI] = regs->rdi,
		[DWARF_RBP] = regs->rbp, [DWARF_RSP] = regs->rsp, [DWARF_R8] = regs->r8,
		[DWARF_R9] = regs->r9,	 [DWARF_R10] = regs->r10, [DWARF_R11] = regs->r11,
		[DWARF_R12] = regs->r12, [DWARF_R13] = regs->r13, [DWARF_R14] = regs->r14,
		[DWARF_R15] = regs->r15, [DWARF_RIP] = regs->rip,
	};

	memcpy(out->regs, values, sizeof(values));
	out->has_user = regs->cs == CODE_64;
}

bool ptrace_regs_in_call(const struct user_regs_struct *regs)
{
	return (int64_t)regs->orig_rax >= 0;
}

bool ptrace_regs_undo_eintr(struct user_regs_struct *regs)
{
	if (regs->cs != CODE_64 || (int64_t)regs->rax != -EINTR)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(begun_again); i++) {
		if (regs->orig_rax != begun_again[i])
			continue;
		regs->rax = (uint64_t)-AGAIN_BUT_FOR_HANDLERS;
		return true;
	}
	return false;
}

bool ptrace_regs_is_cut(const struct user_regs_struct *regs)
{
	bool does_write = regs->orig_rax == SYS_write || regs->orig_rax == SYS_pwrite64 ||
			  regs->orig_rax == SYS_sendto;

	return regs->cs == CODE_64 && does_write && (int64_t)regs->rax >= 0 &&
	       regs->rax < regs->rdx;
}

/* "running", or the number of the call (-1: none), its arguments unless there is none, then sp and pc. */
bool ptrace_place_parse(const char *text, struct ptrace_place *out)
{
	uint64_t words[9];
	size_t count = 0;
	char *end;

	if (strncmp(text, "running", 7) == 0) {
		*out = (struct ptrace_place){ .is_running = true };
		return true;
	}
	while (count < ARRAY_LEN(words)) {
		words[count] = strtoull(text, &end, 0);
		if (end == text)
			break;
		text = end;
		count++;
	}
	if (count != ARRAY_LEN(words) && (count != 3 || words[0] != UINT64_MAX))
		return false;
	*out = (struct ptrace_place){ .sp = words[count - 2], .pc = words[count - 1] };
	return true;
}
