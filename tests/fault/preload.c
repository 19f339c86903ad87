/* preload.c - the failing disk and the failing memory, put into the built program by LD_PRELOAD. By the environment:
 *   FAULT_PROGRAM  only in the process of this name
 *   FAULT_FOLDER   the disk: files below it            FAULT_OPS   bits of enum disk_op
 *   FAULT_AT       the n-th operation or allocation    FAULT_ERRNO a number; 0: memory
 *   FAULT_STICKY   1: and all after it                 FAULT_TOLD  a file that is made when it was met */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault/disk.h"
#include "fault/memory.h"

static const char *told;

static uint64_t number(const char *name)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 10) : 0;
}

static bool was_met(void)
{
	return memory_fired() > 0 || disk_fired() > 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *program = getenv("FAULT_PROGRAM");
	struct disk_fault fault = { .at = number("FAULT_AT"),
				    .kinds = (unsigned)number("FAULT_OPS"),
				    .error = (int)number("FAULT_ERRNO"),
				    .is_sticky = number("FAULT_STICKY") == 1 };

	if (program == NULL || strcmp(program, program_invocation_short_name) != 0)
		return;
	told = getenv("FAULT_TOLD");
	if (fault.error == 0) {
		memory_set(fault.at, fault.is_sticky);
	} else {
		disk_watch(getenv("FAULT_FOLDER"));
		disk_set(&fault);
	}
}

__attribute__((destructor)) static void end(void)
{
	if (told == NULL || !was_met())
		return;
	syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, told, O_WRONLY | O_CREAT, 0600));
}
