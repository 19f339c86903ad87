/* waits_load.c - loads the programs that see switches, attaches them, and asks them for a look. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/waits.h"
#include "bpf/waits.skel.h"
#include "core/scoped.h"
#include "sense/perf_open.h"
#include "sense/waits_parts.h"

#define LINES_AT_ONCE 64u

static int explain(int status, struct err *err)
{
	if (status == -ENOMEM)
		return err_set(err, status, "cannot see waits: out of memory");
	if (status == -EPERM || status == -EACCES) {
		err_set(err, -EPERM,
			"cannot see waits: the kernel allows user %u no BPF programs (%s)",
			(unsigned int)geteuid(), strerror(-status));
		err_works(err, "`--clock cpu` records what runs, without that right");
		return err_mend(err, "give the program two rights: setcap cap_bpf,cap_perfmon+ep "
				     "$(command -v tare)");
	}
	err_set(err, -ENOTSUP, "cannot see waits: the kernel refuses our BPF programs (%s)",
		strerror(-status));
	err_works(err, "`--clock cpu` records what runs");
	return err_mend(err,
			"Linux 5.18 or later with CONFIG_BPF_SYSCALL and CONFIG_DEBUG_INFO_BTF is "
			"needed");
}

static int explain_off(struct err *err)
{
	err_set(err, -ENOTSUP, "cannot see waits: BPF is switched off (TARE_NO=bpf)");
	err_works(err, "`--clock cpu` records what runs");
	return err_mend(err, "take bpf out of TARE_NO");
}

static int explain_absent(pid_t pid, struct err *err)
{
	err_set(err, -ESRCH, "cannot see waits: process %d has another number in the kernel",
		(int)pid);
	err_works(err, "`--clock cpu` records what runs");
	return err_mend(err, "run tare outside the container, in the first pid namespace");
}

static int attach_all(struct waits_source *s)
{
	struct bpf_program *programs[] = { s->bpf->progs.waits_exit, s->bpf->progs.waits_exec,
					   s->bpf->progs.waits_fork, s->bpf->progs.waits_switch };

	_Static_assert(ARRAY_LEN(programs) == ARRAY_LEN(s->links), "one link each");
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		s->links[i] = bpf_program__attach(programs[i]);
		if (s->links[i] == NULL)
			return -errno;
	}
	s->look = bpf_program__attach_iter(s->bpf->progs.waits_look, NULL);
	return s->look == NULL ? -errno : 0;
}

void waits_detach(struct waits_source *s)
{
	struct bpf_link **link = &s->links[ARRAY_LEN(s->links) - 1];

	bpf_link__destroy(*link);
	*link = NULL;
	s->control->slice++;
}

int waits_attach(struct waits_source *s)
{
	struct bpf_link **link = &s->links[ARRAY_LEN(s->links) - 1];

	*link = bpf_program__attach(s->bpf->progs.waits_switch);
	return *link == NULL ? -errno : 0;
}

/* The threads that are there; those they make from now on are followed in the kernel. */
static int adopt(struct waits_source *s, struct err *err)
{
	int status;

	s->control->root = (uint32_t)s->settings.pid;
	s->control->adopts = 1;
	status = waits_look(s, true, waits_take_line);
	s->control->adopts = 0;
	if (status < 0)
		return explain(status, err);
	return s->control->adopted > 0 ? 0 : explain_absent(s->settings.pid, err);
}

int waits_load(struct waits_source *s, struct err *err)
{
	int status;

	if (perf_is_switched_off(s->settings.switched_off, "bpf"))
		return explain_off(err);
	libbpf_set_print(NULL); /* it would talk to stderr */
	s->bpf = waits_bpf__open();
	if (s->bpf == NULL)
		return explain(-errno, err);
	s->bpf->rodata->starts_at_exec = s->settings.starts_at_exec;
	s->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	status = waits_bpf__load(s->bpf);
	if (status < 0)
		return explain(status, err);
	s->control = &s->bpf->bss->control;
	s->control->root = (uint32_t)s->settings.pid;
	s->ring = ring_buffer__new(bpf_map__fd(s->bpf->maps.ring), waits_take_record, s, NULL);
	if (s->ring == NULL)
		return explain(-errno, err);
	status = attach_all(s);
	if (status < 0)
		return explain(status, err);
	return adopt(s, err);
}

void waits_unload(struct waits_source *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->links); i++)
		bpf_link__destroy(s->links[i]);
	bpf_link__destroy(s->look);
	ring_buffer__free(s->ring);
	if (s->stats_fd >= 0)
		close(s->stats_fd);
	waits_bpf__destroy(s->bpf);
}

int waits_look(struct waits_source *s, bool is_all,
	       void (*each)(struct waits_source *s, const struct waits_thread_line *line))
{
	struct waits_thread_line lines[LINES_AT_ONCE];
	size_t have = 0;
	ssize_t got;
	int fd;

	s->control->look_all = is_all;
	fd = bpf_iter_create(bpf_link__fd(s->look));
	if (fd < 0)
		return -errno;
	for (;;) {
		got = read(fd, (char *)lines + have, sizeof(lines) - have);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			break;
		have += (size_t)got;
		for (size_t i = 0; i < have / sizeof(*lines); i++)
			each(s, &lines[i]);
		/* A line may come in two parts. */
		memmove(lines, (char *)lines + have / sizeof(*lines) * sizeof(*lines),
			have % sizeof(*lines));
		have %= sizeof(*lines);
	}
	close(fd);
	return got < 0 ? -EIO : 0;
}

bool waits_kernel_ns(const struct waits_source *s, uint64_t *out_ns)
{
	const struct bpf_program *programs[] = { s->bpf->progs.waits_exit, s->bpf->progs.waits_exec,
						 s->bpf->progs.waits_fork,
						 s->bpf->progs.waits_switch };
	uint64_t sum_ns = 0;

	*out_ns = s->control->walk_ns;
	if (s->stats_fd < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		struct bpf_prog_info info = { .type = 0 };
		uint32_t bytes = sizeof(info);

		if (bpf_obj_get_info_by_fd(bpf_program__fd(programs[i]), &info, &bytes) < 0)
			return false;
		sum_ns += info.run_time_ns;
	}
	*out_ns = sum_ns;
	return true;
}
