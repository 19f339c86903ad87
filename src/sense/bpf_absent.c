/* bpf_absent.c - engine `bpf` of a build without BPF: says so. */
#include <errno.h>

#include "sense/sampler.h"

static int bpf_open(const struct sampler_settings *settings, struct sampler **out, struct err *err)
{
	(void)settings;
	(void)out;
	err_set(err, -ENOTSUP, "cannot sample in the kernel: this tare was built without BPF");
	err_works(err, "--engine perf samples without it");
	return err_mend(err, "build it on x86-64 with clang, bpftool and libbpf 1.0 or later");
}

static void bpf_close(struct sampler *s)
{
	(void)s; /* nothing was opened */
}

/* Nothing can be opened, so nothing but close() is ever called. */
const struct sampler_ops sampler_bpf = { .name = "bpf", .open = bpf_open, .close = bpf_close };
