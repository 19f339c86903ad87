/* procfs.c - facts from /proc, read with fixed buffers: a stat line holds a comm of at most 64 bytes. */
#include "sense/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "core/units.h"

#define PATH_ROOM	    64
#define FIRST_PID_NAMESPACE 0xeffffffcu /* its inode in every kernel */

/* Reads the head of a small file, NUL-terminated. Returns its length or -errno. */
static ssize_t read_head(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	do
		len = read(fd, out, size - 1);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		len = -errno;
	else
		out[len] = '\0';
	close(fd);
	return len;
}

void procfs_list_free(struct procfs_list *list)
{
	free(list->items);
	*list = (struct procfs_list){ 0 };
}

int procfs_list_add(struct procfs_list *list, int item)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity == 0 ? 64 : list->capacity * 2;
		int *items = realloc(list->items, capacity * sizeof(*items));

		if (items == NULL)
			return -ENOMEM;
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = item;
	return 0;
}

/* The text behind the comm of a stat line: state first. The comm may hold blanks and brackets. */
static const char *stat_tail(pid_t pid, pid_t tid, char *line, size_t size, int *out_error)
{
	char path[PATH_ROOM];
	ssize_t len;
	char *tail;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	len = read_head(path, line, size);
	*out_error = len < 0 ? (int)len : -EINVAL;
	tail = len < 0 ? NULL : strrchr(line, ')');
	return tail != NULL && tail[1] == ' ' ? tail + 2 : NULL;
}

int procfs_start_ticks(pid_t pid, pid_t tid, uint64_t *out_ticks)
{
	char line[1024];
	int error;
	const char *at = stat_tail(pid, tid, line, sizeof(line), &error);

	if (at == NULL)
		return error;
	for (int field = 3; field < 22; field++) {
		at = strchr(at, ' ');
		if (at == NULL)
			return -EINVAL;
		at++;
	}
	*out_ticks = strtoull(at, NULL, 10);
	return 0;
}

bool procfs_is_running(pid_t pid)
{
	char line[1024];
	int error;
	struct procfs_list tids = { 0 };
	bool is_running = false;

	/* The first thread may be a zombie while others run. */
	if (procfs_threads(pid, &tids) != 0)
		return false;
	for (size_t i = 0; i < tids.count && !is_running; i++) {
		const char *at = stat_tail(pid, tids.items[i], line, sizeof(line), &error);

		is_running = at != NULL && *at != 'Z' && *at != 'X';
	}
	procfs_list_free(&tids);
	return is_running;
}

int procfs_turns(pid_t pid, pid_t tid, struct procfs_turns *out)
{
	char path[PATH_ROOM], line[128], *at = line;
	uint64_t words[3];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	len = read_head(path, line, sizeof(line));
	if (len < 0)
		return (int)len;
	for (int i = 0; i < 3; i++) {
		const char *from = at;

		words[i] = strtoull(from, &at, 10);
		if (at == from)
			return -EINVAL;
	}
	*out = (struct procfs_turns){ words[0], words[1], words[2] };
	return 0;
}

int procfs_cpu_ns(pid_t pid, uint64_t *out_ns)
{
	clockid_t clock;
	struct timespec used;
	int code = clock_getcpuclockid(pid, &clock);

	if (code != 0)
		return -code;
	if (clock_gettime(clock, &used) < 0)
		return errno == EINVAL ? -ESRCH : -errno;
	*out_ns = (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
	return 0;
}

/* Field `number` of a process's stat line as the kernel counts them, from 4 on. */
static int stat_number(pid_t pid, int number, uint64_t *out)
{
	char line[1024];
	int error;
	const char *at = stat_tail(pid, pid, line, sizeof(line), &error);

	for (int field = 3; at != NULL && field < number; field++) {
		at = strchr(at, ' ');
		at = at != NULL ? at + 1 : NULL;
	}
	if (at == NULL)
		return error;
	*out = strtoull(at, NULL, 10);
	return 0;
}

int procfs_children_cpu_ns(pid_t pid, uint64_t *out_ns)
{
	long per_s = sysconf(_SC_CLK_TCK);
	uint64_t user, system;
	int code = stat_number(pid, 16, &user);

	if (code == 0)
		code = stat_number(pid, 17, &system);
	if (code == 0)
		*out_ns = (user + system) * (NS_PER_S / (uint64_t)(per_s > 0 ? per_s : 100));
	return code;
}

int procfs_rss_bytes(pid_t pid, uint64_t *out_bytes)
{
	uint64_t pages;
	int code = stat_number(pid, 24, &pages);

	if (code == 0)
		*out_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return code;
}

int procfs_comm(pid_t pid, pid_t tid, char out_comm[PROCFS_COMM_BYTES])
{
	char path[PATH_ROOM], text[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	len = read_head(path, text, sizeof(text));
	if (len < 0)
		return (int)len;
	if (len > 0 && text[len - 1] == '\n')
		len--;
	if (len >= (ssize_t)PROCFS_COMM_BYTES)
		len = PROCFS_COMM_BYTES - 1;
	memset(out_comm, 0, PROCFS_COMM_BYTES);
	memcpy(out_comm, text, (size_t)len);
	return 0;
}

int procfs_threads(pid_t pid, struct procfs_list *list)
{
	char path[PATH_ROOM];
	struct dirent *entry;
	int error = 0;
	DIR *folder;

	list->count = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	if (folder == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	while (error == 0 && (entry = readdir(folder)) != NULL) {
		int tid = (int)strtol(entry->d_name, NULL, 10);

		if (tid > 0)
			error = procfs_list_add(list, tid);
	}
	closedir(folder);
	return error == 0 && list->count == 0 ? -ESRCH : error;
}

/* Puts the numbers behind the state into `words`, the first of which is field 4. Returns how many there were. */
static size_t stat_numbers(const char *at, uint64_t *words, size_t max)
{
	size_t count = 0;

	for (at = strchr(at, ' '); at != NULL && count < max; at = strchr(at + 1, ' '))
		words[count++] = strtoull(at + 1, NULL, 10);
	return count;
}

int procfs_process(pid_t pid, struct procfs_process *out)
{
	enum { PARENT = 4, THREADS = 20, BEGAN = 22, CODE = 26, STACK = 28, FIRST = 4 };
	uint64_t words[STACK - FIRST + 1];
	char line[1024];
	int error;
	const char *at = stat_tail(pid, pid, line, sizeof(line), &error);

	if (at == NULL)
		return error;
	if (stat_numbers(at, words, STACK - FIRST + 1) != STACK - FIRST + 1)
		return -EINVAL;
	*out = (struct procfs_process){ .state = *at,
					.parent = (pid_t)words[PARENT - FIRST],
					.threads = (uint32_t)words[THREADS - FIRST],
					.began_ticks = words[BEGAN - FIRST],
					.code = words[CODE - FIRST],
					.stack = words[STACK - FIRST] };
	return 0;
}

/* Numbers divided by blanks. */
static int add_numbers(const char *at, struct procfs_list *list)
{
	char *end;
	int error = 0;

	for (long number = strtol(at, &end, 10); end != at && error == 0;
	     at = end, number = strtol(at, &end, 10))
		if (number > 0 && number <= INT_MAX)
			error = procfs_list_add(list, (int)number);
	return error;
}

int procfs_children(pid_t pid, const struct procfs_list *tids, struct procfs_list *list)
{
	char path[PATH_ROOM], text[4096];
	int error = 0;

	for (size_t i = 0; i < tids->count && error == 0; i++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, tids->items[i]);
		len = read_head(path, text, sizeof(text));
		if (len == (ssize_t)sizeof(text) - 1)
			error = -E2BIG; /* the last number may be cut: it would be another process's */
		else if (len > 0)
			error = add_numbers(text, list);
		else if (len < 0 && len != -ESRCH)
			error = (int)len;
		else if (len == -ESRCH && tids->items[i] == (int)pid)
			error = -ENOENT;
	}
	return error;
}

static bool list_has(const struct procfs_list *list, int item)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i] == item)
			return true;
	return false;
}

int procfs_children_of(const struct procfs_list *parents, struct procfs_list *list)
{
	DIR *folder = opendir("/proc");
	struct procfs_process process;
	struct dirent *entry;
	int error = 0;

	if (folder == NULL)
		return -errno;
	while (error == 0 && (entry = readdir(folder)) != NULL) {
		int pid = (int)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && procfs_process(pid, &process) == 0 &&
		    list_has(parents, process.parent))
			error = procfs_list_add(list, pid);
	}
	closedir(folder);
	return error;
}

/* A number behind `key` ("\nTgid:") in the status of a thread. */
static int status_number(const char *text, const char *key, int base, uint64_t *out)
{
	const char *at = strstr(text, key); /* the name before it has its line ends escaped */

	if (at == NULL)
		return -EINVAL;
	*out = strtoull(at + strlen(key), NULL, base);
	return 0;
}

static ssize_t read_status(pid_t pid, pid_t tid, char *text, size_t size)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	return read_head(path, text, size);
}

int procfs_tracer(pid_t pid, pid_t tid, pid_t *out_tracer)
{
	char text[4096];
	ssize_t len = read_status(pid, tid, text, sizeof(text));
	uint64_t tracer;

	if (len < 0)
		return (int)len;
	if (status_number(text, "\nTracerPid:", 10, &tracer) != 0)
		return -EINVAL;
	*out_tracer = (pid_t)tracer;
	return 0;
}

int procfs_process_of(pid_t tid, pid_t *out_pid)
{
	char path[PATH_ROOM], text[1024];
	uint64_t pid;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	len = read_head(path, text, sizeof(text));
	if (len < 0)
		return (int)len;
	if (status_number(text, "\nTgid:", 10, &pid) != 0)
		return -EINVAL;
	*out_pid = (pid_t)pid;
	return *out_pid > 0 ? 0 : -EINVAL;
}

int procfs_owner(pid_t pid, uid_t *out_uid)
{
	char path[PATH_ROOM];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) != 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*out_uid = st.st_uid;
	return 0;
}

int procfs_user(pid_t pid, uid_t *out_uid)
{
	char text[4096];
	ssize_t len = read_status(pid, pid, text, sizeof(text));
	uint64_t user;

	if (len < 0)
		return (int)len;
	if (status_number(text, "\nUid:", 10, &user) != 0)
		return -EINVAL;
	*out_uid = (uid_t)user;
	return 0;
}

/* PROCMAP_QUERY of <linux/fs.h>, which Debian 12 does not have yet. */
struct map_query {
	uint64_t size, flags, address;
	uint64_t start, end, vma_flags, page_bytes, offset, inode;
	uint32_t dev_major, dev_minor, name_bytes, build_id_bytes;
	uint64_t name, build_id;
};
_Static_assert(sizeof(struct map_query) == 104, "as the kernel has it");
#define MAP_QUERY _IOWR('f', 17, struct map_query)

int procfs_build_id(pid_t pid, uint64_t address, uint8_t *out, size_t size)
{
	struct map_query query = { .size = sizeof(query),
				   .address = address,
				   .build_id_bytes = (uint32_t)size,
				   .build_id = (uint64_t)(uintptr_t)out };
	char path[PATH_ROOM];
	int fd, rc;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	rc = ioctl(fd, MAP_QUERY, &query) < 0 ? -errno : (int)query.build_id_bytes;
	close(fd);
	return rc == 0 ? -ENOENT : rc;
}

/* The last number of a line; -EINVAL: there is none. */
static int last_number(const char *text, const char *key, uint64_t *out)
{
	const char *at = strstr(text, key);
	char *end = NULL;
	int rc = -EINVAL;

	for (at = at != NULL ? at + strlen(key) : ""; *at == '\t' || *at == ' '; at = end) {
		uint64_t number = strtoull(at, &end, 10);

		if (end == at)
			break;
		*out = number;
		rc = 0;
	}
	return rc;
}

int procfs_self(pid_t pid, struct procfs_self *out)
{
	char text[4096];
	ssize_t len = read_status(pid, pid, text, sizeof(text));
	const char *users = len < 0 ? NULL : strstr(text, "\nUid:");
	unsigned user;
	uint64_t inner;

	if (len < 0)
		return (int)len;
	/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote this number */
	if (users == NULL || sscanf(users, "%*s %*u %u", &user) != 1 ||
	    last_number(text, "\nNSpid:", &inner) != 0)
		return -EINVAL;
	*out = (struct procfs_self){ (pid_t)inner, (uid_t)user };
	return 0;
}

bool procfs_has_more_rights(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (stat(path, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) != 0)
		return true;
	return getxattr(path, "security.capability", NULL, 0) > 0;
}

int procfs_number(const char *path, int64_t *out_number)
{
	char text[64], *end;
	ssize_t len = read_head(path, text, sizeof(text));
	long long number;

	if (len < 0)
		return (int)len;
	errno = 0;
	number = strtoll(text, &end, 10);
	if (end == text || errno != 0)
		return -EINVAL;
	*out_number = number;
	return 0;
}

int64_t procfs_clock_ahead_ns(void)
{
	FILE *f = fopen("/proc/self/timens_offsets", "re");
	int64_t ahead_ns = 0;
	char line[128], *at;

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "monotonic ", 10) != 0)
			continue;
		ahead_ns = strtoll(line + 10, &at, 10) * (int64_t)NS_PER_S;
		ahead_ns += strtoll(at, NULL, 10);
	}
	fclose(f);
	return ahead_ns;
}

int procfs_online_cpus(struct procfs_list *list)
{
	char text[4096] = "";
	ssize_t len = read_head("/sys/devices/system/cpu/online", text, sizeof(text));
	char *at = text;

	list->count = 0;
	if (len < 0) /* no sysfs, as in some chroots: the configured CPUs are the best guess */
		snprintf(text, sizeof(text), "0-%ld", sysconf(_SC_NPROCESSORS_ONLN) - 1);
	while (*at >= '0' && *at <= '9') {
		long first = strtol(at, &at, 10);
		long last = *at == '-' ? strtol(at + 1, &at, 10) : first;

		for (long cpu = first; cpu <= last && cpu < 8192; cpu++)
			if (procfs_list_add(list, (int)cpu) != 0)
				return -ENOMEM;
		if (*at == ',')
			at++;
	}
	return list->count == 0 ? -EINVAL : 0;
}

bool procfs_pid_namespace(uint64_t *out_device, uint64_t *out_inode)
{
	struct stat ns;

	if (stat("/proc/self/ns/pid", &ns) != 0 || ns.st_ino == FIRST_PID_NAMESPACE)
		return false;
	*out_device = ns.st_dev;
	*out_inode = ns.st_ino;
	return true;
}
