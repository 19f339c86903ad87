/* waits_absent.c - waits_source of a build without BPF: says so. */
#include <errno.h>

#include "sense/waits_source.h"

int waits_source_open(const struct waits_source_settings *settings, struct waits_source **out,
		      struct err *err)
{
	(void)settings;
	(void)out;
	err_set(err, -ENOTSUP, "cannot see waits: this tare was built without BPF");
	err_works(err, "`--clock cpu` records what runs");
	return err_mend(err, "build it on x86-64 with clang, bpftool and libbpf 1.0 or later");
}

/* Nothing can be opened, so nothing but close() is ever called. */
struct mono waits_source_wakes_at(const struct waits_source *s)
{
	(void)s;
	return (struct mono){ 0 };
}

void waits_source_take(struct waits_source *s, const struct sampler_sink *sink)
{
	(void)s;
	(void)sink;
}

void waits_source_forget(struct waits_source *s, uint32_t pid, const struct sampler_sink *sink)
{
	(void)s;
	(void)pid;
	(void)sink;
}

void waits_source_end(struct waits_source *s, const struct sampler_sink *sink)
{
	(void)s;
	(void)sink;
}

void waits_source_peek(struct waits_source *s, const struct sampler_sink *sink)
{
	(void)s;
	(void)sink;
}

void waits_source_rest(struct waits_source *s, const struct sampler_sink *sink)
{
	(void)s;
	(void)sink;
}

int waits_source_resume(struct waits_source *s, uint64_t scale_ppm)
{
	(void)s;
	(void)scale_ppm;
	return -ENOTSUP;
}

void waits_source_set_rate(struct waits_source *s, uint32_t looks_a_second)
{
	(void)s;
	(void)looks_a_second;
}

void waits_source_facts(struct waits_source *s, struct waits_facts *out)
{
	(void)s;
	*out = (struct waits_facts){ 0 };
}

void waits_source_close(struct waits_source *s)
{
	(void)s;
}
