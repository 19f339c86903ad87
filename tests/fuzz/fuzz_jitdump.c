/* fuzz_jitdump.c - any bytes behind the first four of a jitdump; every piece of code is looked for, before it came and after. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "fuzz/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct jitfile f = { .device = 0 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, "DTiJ", 4) != 4 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	jit_read_and_find(&f, fd);
	jitfile_free(&f);
	close(fd);
	return 0;
}
