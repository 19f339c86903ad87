/* probes_multi.c - multi links: one descriptor for many places of a file. libbpf 1.1 does not know them, so the kernel is
 * asked directly. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "sense/probes_parts.h"

#define FLAG_RETURN 1u

/* union bpf_attr's link_create with uprobe_multi, as in Linux 6.6 and later. */
struct multi_attr {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, counters, cookies;
	uint32_t count, multi_flags, pid, spare;
};
_Static_assert(sizeof(struct multi_attr) == 64, "the kernel's layout");

static int create(const struct multi_attr *attr)
{
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

int probes_multi_create(const struct probes_multi *multi)
{
	struct multi_attr attr = {
		.program = (uint32_t)multi->program,
		.type = multi->type,
		.path = (uintptr_t)multi->path,
		.offsets = (uintptr_t)multi->offsets,
		.cookies = (uintptr_t)multi->cookies,
		.count = multi->count,
		.multi_flags = multi->is_return ? FLAG_RETURN : 0,
		.pid = (uint32_t)multi->pid,
	};

	return create(&attr);
}

bool probes_multi_is_known(int program, uint32_t type)
{
	uint64_t nowhere = 0;
	struct multi_attr attr = {
		.program = (uint32_t)program,
		.type = type,
		.path = (uintptr_t) "/", /* no file: who knows the type says -EBADF */
		.offsets = (uintptr_t)&nowhere,
		.cookies = (uintptr_t)&nowhere,
		.count = 1,
	};
	int status = create(&attr);

	if (status >= 0)
		close(status);
	return status == -EBADF;
}
