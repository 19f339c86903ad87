/* bpf_follow.c - life of the watched tree, told by the kernel for every process of the machine: the rest is passed over. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "sense/bpf.h"
#include "sense/grow.h"

#define ENDS_MOST (4 * PERF_THREADS_MAX)

static struct perf_event_attr side_attr(void)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type =
			PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.task = 1,
		.comm = 1,
		.comm_exec = 1,
		.mmap = 1,
		.mmap2 = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

int bpf_follow_open(struct bpf_sampler *b, struct err *err)
{
	const struct perf_rings *rings = &b->base.rings;
	struct perf_event_attr attr = side_attr();

	b->side_fds = calloc(rings->count, sizeof(*b->side_fds));
	if (b->side_fds == NULL)
		return err_set(err, -ENOMEM, "cannot follow processes: no memory");
	for (uint32_t i = 0; i < rings->count; i++) {
		int fd = perf_open_event(&attr, -1, rings->rings[i].cpu);

		if (fd < 0)
			return perf_explain_event(-errno, 0, err);
		b->side_fds[b->side_count++] = fd;
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings->rings[i].fd) != 0)
			return perf_explain_event(-errno, 0, err);
	}
	return 0;
}

void bpf_follow_close(struct bpf_sampler *b)
{
	while (b->side_count > 0)
		close(b->side_fds[--b->side_count]);
	free(b->side_fds);
	free(b->ends);
	b->side_fds = NULL;
	b->ends = NULL;
	b->end_count = b->end_room = b->end_due = 0;
}

static bool has_process(struct bpf_sampler *b, uint32_t pid)
{
	return perf_threads_has_process(b->base.threads, pid);
}

/* Is the record about a process of the tree? */
static bool is_ours(struct bpf_sampler *b, const struct perf_record *record)
{
	uint64_t ids;

	if (record->header.size < 16u + PERF_TRAILER_BYTES)
		return false;
	ids = perf_rings_word(&b->base.rings, record, 8);
	switch (record->header.type) {
	case PERF_RECORD_FORK: /* pid, ppid */
		return has_process(b, (uint32_t)(ids >> 32));
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM: /* pid, tid */
	case PERF_RECORD_MMAP2:
		return has_process(b, (uint32_t)ids);
	default:
		return false;
	}
}

/* Where records were lost, mappings are read anew. Ends are found by perf_follow_ends(), forks by their samples. */
static void read_anew(struct bpf_sampler *b)
{
	struct sampler *s = &b->base;

	s->lost_events++;
	if (perf_threads_pids(s->threads, &s->pids) != 0)
		return;
	for (size_t i = 0; i < s->pids.count; i++)
		spaces_read(s->spaces, s->pids.items[i]);
}

/* The sink's word on life, with what the kernel must know of it. */
static void tell_life(void *owner, const struct life *event)
{
	struct bpf_sampler *b = owner;

	if (event->kind == LIFE_EXIT)
		bpf_withdraw(b, event->pid);
	else if (event->kind ==
		 LIFE_EXEC) /* by another thread than the first: the storage went with that */
		bpf_enter(b, (pid_t)event->pid, false);
	b->sink->life(b->sink->owner, event);
}

struct sampler_sink bpf_follow_sink(struct bpf_sampler *b)
{
	return (struct sampler_sink){ .owner = b, .life = tell_life };
}

/* An end, for later; without memory it is one at once. */
static void put_off_end(struct bpf_sampler *b, const struct perf_record *record)
{
	struct bpf_end end = { (uint32_t)perf_rings_word(&b->base.rings, record, 16),
			       record->at_ns };
	void *ends = b->ends;

	if (grow(&ends, &b->end_room, b->end_count + 1, ENDS_MOST, sizeof(end)) == 0) {
		b->ends = ends;
		b->ends[b->end_count++] = end;
	} else {
		struct sampler_sink sink = bpf_follow_sink(b);

		perf_follow_exit(&b->base, end.tid, end.at_ns, &sink);
	}
}

void bpf_follow_ends(struct bpf_sampler *b)
{
	struct sampler_sink sink = bpf_follow_sink(b);

	for (size_t i = 0; i < b->end_due; i++)
		perf_follow_exit(&b->base, b->ends[i].tid, b->ends[i].at_ns, &sink);
	b->end_count -= b->end_due;
	if (b->end_due > 0)
		memmove(b->ends, b->ends + b->end_due, b->end_count * sizeof(*b->ends));
	b->end_due = b->end_count;
}

int bpf_follow_until(struct bpf_sampler *b, uint64_t at_ns)
{
	struct sampler_sink sink = bpf_follow_sink(b);
	struct sampler *s = &b->base;
	struct perf_record record;
	int error = 0;

	while (error == 0 && perf_rings_next(&s->rings, &record) && record.at_ns <= at_ns) {
		if (record.header.type == PERF_RECORD_LOST)
			read_anew(b);
		else if (record.header.type == PERF_RECORD_EXIT && is_ours(b, &record))
			put_off_end(b, &record);
		else if (is_ours(b, &record))
			perf_follow(s, &record, &sink);
		error = perf_rings_consume(&s->rings, &record, b->err);
	}
	return error;
}
