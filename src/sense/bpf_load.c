/* bpf_load.c - the programs of bpf/record.bpf.c: loaded, attached, asked what they cost, and the kernel's refusals explained. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/record.h"
#include "bpf/record.skel.h"
#include "core/scoped.h"
#include "sense/bpf.h"
#include "sense/clock.h"

#define RING_BYTES_A_CPU \
	(1024u << 10) /* 0.3 s of copied stacks at 100 Hz, while a file is waited for */
#define RING_BYTES_MAX	(16u << 20)
#define RAN_BEFORE_MOST PERF_THREADS_MAX

/* A power of two of at least a page. */
static uint32_t ring_bytes(uint32_t cpus)
{
	uint32_t bytes = RING_BYTES_A_CPU;

	while (bytes < RING_BYTES_MAX && bytes < cpus * RING_BYTES_A_CPU)
		bytes *= 2;
	return bytes;
}

static void settle(struct bpf_sampler *b)
{
	struct record_bpf *p = b->programs;
	uint32_t bytes = ring_bytes(b->base.rings.count);
	uint64_t device, inode;

	p->rodata->begun_ns = clock_read_ns(CLOCK_MONOTONIC) - (uint64_t)b->base.ahead_ns;
	p->rodata->jiffy_ns = perf_jiffy_ns();
	p->rodata->ring_bytes = bytes;
	p->rodata->is_timed = b->stats_fd < 0;
	p->rodata->is_checked = b->other != NULL;
	p->rodata->has_kernel = b->base.means.has_kernel;
	if (procfs_pid_namespace(&device, &inode)) {
		p->rodata->pid_ns_dev = device;
		p->rodata->pid_ns_ino = inode;
	}
	bpf_map__set_max_entries(p->maps.ring, bytes);
	bpf_map__set_max_entries(p->maps.ran_before, RAN_BEFORE_MOST);
	bpf_map__set_max_entries(p->maps.drafts, (uint32_t)libbpf_num_possible_cpus());
}

static int explain(int code, struct err *err)
{
	if (code == -ENOMEM)
		return err_set(err, code,
			       "cannot sample in the kernel: no memory for its programs");
	if (code == -EPERM || code == -EACCES) {
		err_set(err, code,
			"cannot sample in the kernel: it allows user %u no BPF programs (%s)",
			(unsigned int)geteuid(), strerror(-code));
		err_works(err, "--engine perf samples your own processes");
		return err_mend(err, "give the program two rights: setcap cap_bpf,cap_perfmon+ep "
				     "$(command -v tare)");
	}
	err_set(err, -ENOTSUP, "cannot sample in the kernel: it refuses our BPF programs (%s)",
		strerror(-code));
	err_works(err, "--engine perf samples without them");
	return err_mend(err,
			"Linux 5.17 or later with CONFIG_BPF_SYSCALL and CONFIG_DEBUG_INFO_BTF "
			"is needed");
}

static int explain_off(struct err *err)
{
	err_set(err, -ENOTSUP, "cannot sample in the kernel: BPF is switched off (TARE_NO=bpf)");
	err_works(err, "--engine perf samples without it");
	return err_mend(err, "take bpf out of TARE_NO");
}

int bpf_load(struct bpf_sampler *b, struct err *err)
{
	int error;

	if (perf_is_switched_off(b->base.settings.switched_off, "bpf"))
		return explain_off(err);
	libbpf_set_print(NULL); /* it would talk to stderr */
	b->stats_fd = perf_is_switched_off(b->base.settings.switched_off, "bpf_stats")
			      ? -1
			      : bpf_enable_stats(BPF_STATS_RUN_TIME);
	b->programs = record_bpf__open();
	if (b->programs == NULL)
		return explain(-errno, err);
	settle(b);
	error = record_bpf__load(b->programs);
	if (error == 0) {
		bpf_program__set_autoattach(b->programs->progs.record_tick, false);
		error = record_bpf__attach(b->programs);
	}
	if (error < 0)
		return explain(error, err);
	b->rows = (struct bpf_rows){ .chunks = bpf_map__fd(b->programs->maps.chunks), .first = 1 };
	b->ring = ring_buffer__new(bpf_map__fd(b->programs->maps.ring), bpf_take, b, NULL);
	return b->ring != NULL ? 0 : explain(-errno, err);
}

static int start_one(struct bpf_sampler *b, int cpu, uint64_t period_ns)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = period_ns,
					.exclude_idle = 1 };
	int fd = perf_open_event(&attr, -1, cpu);
	struct bpf_link *link;

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno;
	link = bpf_program__attach_perf_event(b->programs->progs.record_tick, fd);
	if (link == NULL) {
		int error = -errno;

		close(fd);
		return error;
	}
	b->tick_fds[b->tick_count] = fd;
	b->ticks[b->tick_count++] = link;
	return 0;
}

int bpf_start(struct bpf_sampler *b, uint64_t period_ns, struct err *err)
{
	const struct perf_rings *rings = &b->base.rings;

	b->ticks = calloc(rings->count, sizeof(struct bpf_link *));
	b->tick_fds = calloc(rings->count, sizeof(*b->tick_fds));
	if (b->ticks == NULL || b->tick_fds == NULL)
		return explain(-ENOMEM, err);
	b->period_ns = period_ns;
	b->due_since_ns = clock_read_ns(CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < rings->count; i++) {
		int error = start_one(b, rings->rings[i].cpu, period_ns);

		if (error < 0)
			return explain(error, err);
	}
	return 0;
}

void bpf_unload(struct bpf_sampler *b)
{
	while (b->tick_count > 0)
		bpf_link__destroy(b->ticks[--b->tick_count]);
	free(b->ticks);
	free(b->tick_fds);
	ring_buffer__free(b->ring);
	record_bpf__destroy(b->programs);
	if (b->stats_fd >= 0)
		close(b->stats_fd);
	b->ticks = NULL;
	b->tick_fds = NULL;
	b->ring = NULL;
	b->programs = NULL;
	b->stats_fd = -1;
}

struct record_counts bpf_counts(const struct bpf_sampler *b)
{
	if (b->programs == NULL)
		return (struct record_counts){ 0 };
	return b->programs->bss->counts;
}

static uint64_t run_time_ns(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t bytes = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes) == 0
		       ? info.run_time_ns
		       : 0;
}

uint64_t bpf_took_ns(const struct bpf_sampler *b)
{
	const struct bpf_program *programs[4];
	uint64_t took_ns = bpf_counts(b).took_ns;

	if (b->programs == NULL || b->stats_fd < 0)
		return took_ns;
	programs[0] = b->programs->progs.record_tick;
	programs[1] = b->programs->progs.record_fork;
	programs[2] = b->programs->progs.record_exec;
	programs[3] = b->programs->progs.record_exit;
	for (size_t i = 0; i < ARRAY_LEN(programs); i++)
		took_ns += run_time_ns(programs[i]);
	return took_ns;
}

int bpf_enter(struct bpf_sampler *b, pid_t pid, bool is_waiting)
{
	struct record_member member = { .life = RECORD_LIVES_OF_USER | ++b->last_life,
					.is_waiting = is_waiting };
	int members = bpf_map__fd(b->programs->maps.members);
	int process = (int)syscall(SYS_pidfd_open, pid, 0), error = 0;

	if (process < 0)
		return -errno;
	if (bpf_map_update_elem(members, &process, &member, BPF_NOEXIST) != 0 && errno != EEXIST)
		error = -errno;
	close(process);
	return error;
}

void bpf_ran_before(struct bpf_sampler *b, pid_t tid, uint64_t ran_ns)
{
	uint32_t key = (uint32_t)tid;

	bpf_map_update_elem(bpf_map__fd(b->programs->maps.ran_before), &key, &ran_ns, BPF_ANY);
}
