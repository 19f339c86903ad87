/* fuzz_perfmap.c - any bytes as a perf map, in two parts as one that grows; every name is looked for. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "fuzz/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct jitfile f = { .device = 0 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size / 2) != (ssize_t)(size / 2))
		abort();
	(void)jitfile_read(&f, fd);
	if (write(fd, bytes + size / 2, size - size / 2) != (ssize_t)(size - size / 2))
		abort();
	jit_read_and_find(&f, fd);
	jitfile_free(&f);
	close(fd);
	return 0;
}
