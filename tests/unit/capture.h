/* capture.h - takes a sample of the calling thread's own stack, as an engine would. */
#ifndef TARE_TESTS_CAPTURE_H
#define TARE_TESTS_CAPTURE_H

#include <fcntl.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "sense/space.h"

struct capture {
	struct stack_copy copy;
	uint8_t bytes[SPACE_STACK_BYTES];
};

/* Registers of `context`, in our order. */
static inline void capture_registers(const ucontext_t *context, uint64_t regs[DWARF_REG_COUNT])
{
	static const int places[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				      REG_RBP, REG_RSP, REG_R8,	 REG_R9,  REG_R10, REG_R11,
				      REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (size_t i = 0; i < DWARF_REG_COUNT; i++)
		regs[i] = (uint64_t)context->uc_mcontext.gregs[places[i]];
}

/* Copies the stack above rsp; shorter where the stack ends. Must be called from the frame that took the registers,
 * or below it. */
static inline void capture_stack(struct capture *out)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ssize_t count = pread(fd, out->bytes, sizeof(out->bytes), (off_t)out->copy.regs[DWARF_RSP]);

	close(fd);
	out->copy.bytes = out->bytes;
	out->copy.len = count > 0 ? (size_t)count : 0;
	out->copy.has_user = true;
}

#endif
