/* record_engine.c - which engine samples: the one that was named, else the best one that is permitted here. */
#include <errno.h>
#include <string.h>

#include "cli/record.h"
#include "core/scoped.h"
#include "sense/perf_open.h"

/* The first one is taken when none is named. */
static const struct sampler_ops *const engines[] = { &sampler_perf, &sampler_bpf, &sampler_ptrace };

static const struct sampler_ops *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(engines); i++)
		if (strcmp(engines[i]->name, name) == 0)
			return engines[i];
	return NULL;
}

int record_engine_check(const char *name, struct err *err)
{
	if (name == NULL || find(name) != NULL)
		return 0;
	err_set(err, -EINVAL, "cannot sample with engine '%.40s': there is none of this name",
		name);
	return err_mend(err,
			"--engine takes perf, bpf or ptrace; leave it out for the best one here");
}

/* A filter of system calls in our way, where the kernel's own rules would permit it. */
static bool is_perf_filtered(int code)
{
	int64_t paranoid = -1;

	if (code != -EPERM && code != -ENOSYS)
		return false;
	procfs_number("/proc/sys/kernel/perf_event_paranoid", &paranoid);
	return paranoid <= 2 && perf_try_own() == code;
}

/* Engine ptrace instead. When that is refused too, perf's own refusal is told: its mend is the better one. */
static int fall_back(struct session *s, const struct sampler_settings *settings, struct err *err)
{
	struct err refused = ERR_EMPTY;
	int code = sampler_ptrace.open(settings, &s->sampler, &refused);

	if (code < 0)
		return err->code;
	s->engine = &sampler_ptrace;
	fprintf(s->run.app->talk,
		"tare record: engine ptrace, since a filter forbids perf events here (%s): it "
		"stops a "
		"running thread for some µs a sample\n",
		err->code == -ENOSYS ? "ENOSYS" : "EPERM");
	*err = ERR_EMPTY;
	return 0;
}

int record_engine_open(struct session *s, const struct sampler_settings *settings, struct err *err)
{
	const char *name = s->opts->engine;
	int code;

	s->engine = name != NULL ? find(name) : engines[0];
	code = s->engine->open(settings, &s->sampler, err);
	if (code < 0 && name == NULL && is_perf_filtered(code))
		return fall_back(s, settings, err);
	return code;
}
