/* probes_absent.c - watch_source_probes of a build without BPF: says so. */
#include <errno.h>

#include "sense/probes.h"

static int probes_open(const struct watch_source_settings *settings, struct watch_source **out,
		       struct err *err)
{
	(void)settings;
	(void)out;
	err_set(err, -ENOTSUP, "cannot use probes: this tare was built without BPF");
	err_works(err, "programs that link libtare can be watched, and `tare record` samples any");
	return err_mend(err, "build it on x86-64 with clang, bpftool and libbpf 1.0 or later");
}

int probes_open_empty(const struct watch_source_settings *settings, struct watch_source **out,
		      struct err *err)
{
	return probes_open(settings, out, err);
}

static void probes_close(struct watch_source *s)
{
	(void)s; /* nothing was opened */
}

/* Nothing can be opened, so nothing but close() is ever called. */
const struct watch_source_ops watch_source_probes = { .name = "probes",
						      .open = probes_open,
						      .close = probes_close };
