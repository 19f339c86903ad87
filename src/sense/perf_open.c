/* perf_open.c - opening, counting and closing the events of engine `perf`. */
#include "sense/perf_open.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sense/space.h"

#define REG_BIT(r) (UINT64_C(1) << PERF_REG_X86_##r)
#define REGS_USER                                                                            \
	(REG_BIT(AX) | REG_BIT(BX) | REG_BIT(CX) | REG_BIT(DX) | REG_BIT(SI) | REG_BIT(DI) | \
	 REG_BIT(BP) | REG_BIT(SP) | REG_BIT(IP) | (UINT64_C(0xff) << PERF_REG_X86_R8))

int perf_open_event(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

bool perf_is_switched_off(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (list != NULL && *list != '\0') {
		size_t item = strcspn(list, ",");

		if (item == len && memcmp(list, word, len) == 0)
			return true;
		list += item + (list[item] == ',');
	}
	return false;
}

struct perf_event_attr perf_sampling_attr(const struct perf_means *means, uint64_t period_ns)
{
	/* CPU_CLOCK, not TASK_CLOCK: over eight threads its sum was 0.06 % from their CPU clocks, the other's
	 * 0.3 %, and a thread's value stays its own either way. */
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.sample_type = PERF_RING_SAMPLE_TYPE | (means->has_read ? PERF_SAMPLE_READ : 0) |
			       (means->has_kernel ? PERF_SAMPLE_CALLCHAIN : 0),
		.read_format = means->has_lost ? PERF_FORMAT_LOST : 0,
		.sample_regs_user = REGS_USER,
		.sample_stack_user = PERF_STACK_BYTES,
		.exclude_callchain_user = 1,
		.exclude_kernel = !means->has_kernel,
		.exclude_hv = 1,
		.disabled = 1,
		.inherit = 1,
		.task = 1,
		.comm = 1,
		.comm_exec = 1,
		.mmap = 1,
		.mmap2 = 1,
		.sample_id_all = 1,
		.context_switch = !means->has_read,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

/* Can our own thread have such an event? 0 or -errno. */
static int try_means(const struct perf_means *means)
{
	struct perf_event_attr attr = perf_sampling_attr(means, NS_PER_MS);
	int fd = perf_open_event(&attr, 0, -1);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int perf_try_own(void)
{
	const struct perf_means least = { .has_read = false };

	return try_means(&least);
}

int perf_means_find(struct perf_means *out, const char *switched_off, struct err *err)
{
	bool may_read = !perf_is_switched_off(switched_off, "read_inherit");
	struct perf_means means = {
		.has_read = may_read,
		.has_lost = true,
		.has_kernel = !perf_is_switched_off(switched_off, "kernel"),
	};
	int code = try_means(&means);

	if (means.has_kernel && (code == -EACCES || code == -EPERM)) {
		means.has_kernel = false;
		code = try_means(&means);
	}
	if (code == -EINVAL) {
		means.has_lost = false; /* kernels before 6.0 */
		code = try_means(&means);
	}
	if (code == -EINVAL && may_read) {
		means.has_read = false; /* kernels before 6.12 */
		code = try_means(&means);
	}
	if (code != 0)
		return perf_explain_event(code, 0, err);
	*out = means;
	return 0;
}

static int reserve(struct perf_events *events, size_t more)
{
	size_t capacity = events->capacity == 0 ? 16 : events->capacity;
	struct perf_event *items;

	while (capacity < events->count + more)
		capacity *= 2;
	if (capacity == events->capacity)
		return 0;
	items = realloc(events->items, capacity * sizeof(*items));
	if (items == NULL)
		return -ENOMEM;
	events->items = items;
	events->capacity = capacity;
	return 0;
}

int perf_events_add(struct perf_events *events, const struct perf_means *means,
		    const struct perf_rings *rings, pid_t tid)
{
	struct perf_event_attr attr = perf_sampling_attr(means, events->period_ns);
	size_t before = events->count;
	int error = reserve(events, rings->count);

	attr.enable_on_exec = events->starts_at_exec;
	for (uint32_t i = 0; i < rings->count && error == 0; i++) {
		struct perf_event event = { .tid = tid };

		event.fd = perf_open_event(&attr, tid, rings->rings[i].cpu);
		if (event.fd < 0) {
			error = -errno;
			break;
		}
		if (ioctl(event.fd, PERF_EVENT_IOC_SET_OUTPUT, rings->rings[i].fd) != 0 ||
		    ioctl(event.fd, PERF_EVENT_IOC_ID, &event.id) != 0)
			error = -errno;
		events->items[events->count++] = event;
	}
	while (error != 0 && events->count > before)
		close(events->items[--events->count].fd);
	return error;
}

void perf_events_enable(struct perf_events *events)
{
	for (size_t i = 0; i < events->count; i++)
		if (events->items[i].fd >= 0)
			ioctl(events->items[i].fd, PERF_EVENT_IOC_ENABLE, 0);
}

void perf_events_disable(struct perf_events *events)
{
	for (size_t i = 0; i < events->count; i++)
		if (events->items[i].fd >= 0)
			ioctl(events->items[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

static void count_one(const struct perf_event *event, uint64_t *clock_ns, uint64_t *lost)
{
	uint64_t values[2] = { 0, 0 }; /* the second only with PERF_FORMAT_LOST */

	if (event->fd < 0 || read(event->fd, values, sizeof(values)) < (ssize_t)sizeof(values[0]))
		return;
	*clock_ns += values[0];
	*lost += values[1];
}

void perf_events_count(const struct perf_events *events, uint64_t *out_clock_ns, uint64_t *out_lost)
{
	uint64_t clock_ns = 0, lost = 0;

	for (size_t i = 0; i < events->count; i++)
		count_one(&events->items[i], &clock_ns, &lost);
	*out_clock_ns = clock_ns;
	*out_lost = lost;
}

/* Ids only ever grow, and events are added in order: the list is sorted. */
static struct perf_event *find(struct perf_events *events, uint64_t id)
{
	size_t low = 0, high = events->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (events->items[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < events->count && events->items[low].id == id ? &events->items[low] : NULL;
}

void perf_events_drop(struct perf_events *events, uint64_t id)
{
	const struct perf_event *found = find(events, id);

	if (found == NULL)
		return;
	for (size_t i = 0; i < events->count; i++) {
		struct perf_event *event = &events->items[i];

		if (event->tid != found->tid || event->fd < 0)
			continue;
		ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
		close(event->fd);
		event->fd = -1;
	}
}

void perf_events_close(struct perf_events *events)
{
	for (size_t i = 0; i < events->count; i++)
		if (events->items[i].fd >= 0)
			close(events->items[i].fd);
	free(events->items);
	*events = (struct perf_events){ 0 };
}

void perf_raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

bool perf_has_room_for_files(size_t more, size_t open_files)
{
	struct rlimit files;

	return getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY ||
	       more + open_files < files.rlim_cur;
}

static bool is_prime(uint64_t n)
{
	if (n % 2 == 0)
		return n == 2;
	for (uint64_t d = 3; d * d <= n; d += 2)
		if (n % d == 0)
			return false;
	return n > 1;
}

/* How far below what is asked for: 1 - (2 - golden ratio) / 10, in millionths. */
#define OFF_BEAT_PPM 61803u

uint64_t perf_prime_period(uint64_t period_ns)
{
	/* Over 1000 s nothing is gained, and the trial division stays short. */
	if (period_ns > 1000 * NS_PER_S)
		period_ns = 1000 * NS_PER_S;
	period_ns -= period_ns * OFF_BEAT_PPM / PPM;
	while (period_ns > PERF_PERIOD_MIN_NS && !is_prime(period_ns))
		period_ns--;
	return period_ns < PERF_PERIOD_MIN_NS ? PERF_PERIOD_MIN_NS : period_ns;
}

uint64_t perf_period_in_reach(uint64_t period_ns)
{
	int64_t rate = 0;
	uint64_t least_ns = 0, prime_ns = perf_prime_period(period_ns);

	if (procfs_number("/proc/sys/kernel/perf_event_max_sample_rate", &rate) == 0 && rate > 0)
		least_ns = NS_PER_S / (uint64_t)rate;
	while (prime_ns < least_ns || !is_prime(prime_ns))
		prime_ns = prime_ns < least_ns ? least_ns : prime_ns + 1;
	return prime_ns;
}
