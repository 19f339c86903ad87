/* doctor.c - `tare doctor`: what works here, what does not, and the least-privilege way to mend it. */
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/app.h"
#include "core/scoped.h"
#include "core/units.h"

/* One line of the answer. */
enum health { WORKS, PARTLY, FAILS };
struct check {
	enum health health;
	char found[256];
	const char *mend; /* NULL: nothing to do */
};

static long read_number(const char *path)
{
	char text[32] = "", *end;
	FILE *f = fopen(path, "re");
	long number;

	if (f == NULL)
		return LONG_MIN;
	if (fgets(text, sizeof(text), f) == NULL)
		text[0] = '\0';
	fclose(f);
	number = strtol(text, &end, 10);
	return end == text ? LONG_MIN : number;
}

static int try_event(pid_t pid, int cpu, bool has_kernel)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = 10000000,
					.disabled = 1,
					.exclude_kernel = !has_kernel };
	long fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

static struct check check_own(void)
{
	long paranoid = read_number("/proc/sys/kernel/perf_event_paranoid");
	int code = try_event(0, -1, false);
	struct check c = { code == 0 ? WORKS : FAILS, "", NULL };

	if (code == 0)
		snprintf(c.found, sizeof(c.found), "engine perf (perf_event_paranoid is %ld)",
			 paranoid);
	else
		snprintf(c.found, sizeof(c.found),
			 "perf_event_open: %s (perf_event_paranoid is %ld)", strerror(-code),
			 paranoid);
	if (code == -ENOSYS || code == -EPERM)
		c.mend = "the container's seccomp profile must permit perf_event_open";
	else if (code < 0)
		c.mend = "sysctl kernel.perf_event_paranoid=2, or: setcap cap_perfmon=ep on the "
			 "tare program";
	return c;
}

static struct check check_kernel(void)
{
	int code = try_event(0, -1, true);
	struct check c = { code == 0 ? WORKS : PARTLY, "", NULL };

	if (code == 0)
		snprintf(c.found, sizeof(c.found), "sampled");
	else
		snprintf(c.found, sizeof(c.found),
			 "not allowed: perf_event_paranoid is %ld; user stacks still work",
			 read_number("/proc/sys/kernel/perf_event_paranoid"));
	if (code != 0)
		c.mend = "setcap cap_perfmon=ep on the tare program, or sysctl "
			 "kernel.perf_event_paranoid=1";
	return c;
}

static struct check check_names(void)
{
	char line[256] = "";
	FILE *f = fopen("/proc/kallsyms", "re");
	bool is_good = f != NULL && fgets(line, sizeof(line), f) != NULL &&
		       strncmp(line, "0000000000000000", 16) != 0;
	struct check c = { is_good ? WORKS : PARTLY, "", NULL };

	if (f != NULL)
		fclose(f);
	snprintf(c.found, sizeof(c.found),
		 is_good ? "kernel functions have names" : "hidden: kernel time shows as [kernel]");
	if (!is_good)
		c.mend = "sysctl kernel.kptr_restrict=0, or run with cap_syslog";
	return c;
}

static struct check check_others(void)
{
	int code = try_event(1, -1, false);
	struct check c = { code == 0 ? WORKS : PARTLY, "", NULL };

	if (code == 0)
		snprintf(c.found, sizeof(c.found), "-p works for every user's processes");
	else
		snprintf(c.found, sizeof(c.found), "-p works for your own processes only (%s)",
			 strerror(-code));
	if (code != 0)
		c.mend = "setcap cap_perfmon,cap_sys_ptrace=ep on the tare program";
	return c;
}

static struct check check_files(void)
{
	struct rlimit limit = { 0, 0 };
	struct check c = { WORKS, "", NULL };
	long per_cpu = read_number("/proc/sys/kernel/perf_event_mlock_kb");

	getrlimit(RLIMIT_NOFILE, &limit);
	snprintf(c.found, sizeof(c.found), "%llu descriptors, %ld KB of locked memory a CPU",
		 (unsigned long long)limit.rlim_max, per_cpu);
	if (limit.rlim_max < 4096) {
		c.health = PARTLY;
		c.mend = "raise the hard limit of open files (ulimit -Hn) for processes with over "
			 "500 threads";
	} else if (per_cpu >= 0 && per_cpu < 516) {
		c.health = PARTLY;
		c.mend = "sysctl kernel.perf_event_mlock_kb=516";
	}
	return c;
}

static struct check check_room(void)
{
	struct check c = { WORKS, "", NULL };
	struct statvfs fs;
	uint64_t free_bytes;
	char text[32];

	if (statvfs(".", &fs) != 0 || access(".", W_OK) != 0) {
		c.health = PARTLY;
		snprintf(c.found, sizeof(c.found), "this folder cannot be written: %s",
			 strerror(errno));
		c.mend = "give -o DIR with a folder of yours";
		return c;
	}
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	units_format_size(free_bytes, text, sizeof(text));
	snprintf(c.found, sizeof(c.found), "%s free in this folder; a recording takes at most 4 MB",
		 text);
	if (free_bytes < (UINT64_C(8) << 20)) {
		c.health = PARTLY;
		c.mend = "free some room, or give -o DIR on another disk";
	}
	return c;
}

static const struct {
	const char *name;
	struct check (*look)(void);
} checks[] = {
	{ "own processes", check_own },	   { "other processes", check_others },
	{ "kernel stacks", check_kernel }, { "kernel names", check_names },
	{ "limits", check_files },	   { "disk", check_room },
};

static const char *mark_of(const struct app *app, enum health h)
{
	static const char *const utf8[] = { "●", "◐", "○" };
	static const char *const ascii[] = { "ok", "..", "NO" };

	return app->has_utf8 ? utf8[h] : ascii[h];
}

static void print_check(const struct app *app, const char *name, const struct check *c)
{
	static const char *const words[] = { "works", "partly", "fails" };

	fprintf(app->out, "%s %-16s %-7s %s\n", mark_of(app, c->health), name, words[c->health],
		c->found);
	if (c->mend != NULL)
		fprintf(app->out, "  %-24s to mend it: %s\n", "", c->mend);
}

static int cmd_doctor(struct app *app, int argc, char **argv, struct err *err)
{
	enum health worst = WORKS;
	struct opt_rest rest;
	struct utsname u;
	char nothing;

	if (opts_parse(NULL, 0, false, argc, argv, &nothing, &rest, err) < 0)
		return EXIT_TROUBLE;
	if (rest.wants_help) {
		command_print_help(app->out, &command_doctor);
		return EXIT_OK;
	}
	if (rest.count > 0) {
		err_set(err, -EINVAL, "cannot use '%s': doctor takes no arguments", rest.argv[0]);
		return EXIT_TROUBLE;
	}
	if (uname(&u) == 0)
		fprintf(app->out, "tare %s on %s %s %s\n\n", TARE_VERSION, u.sysname, u.release,
			u.machine);
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		struct check c = checks[i].look();

		print_check(app, checks[i].name, &c);
		worst = c.health == FAILS ? FAILS : worst;
	}
	fprintf(app->out, "\n%s\n",
		worst == FAILS ? "tare record does not work here yet" : "tare record works here");
	return worst == FAILS ? EXIT_NO : EXIT_OK;
}

const struct command command_doctor = {
	.name = "doctor",
	.run = cmd_doctor,
	.usage = "",
	.help = "say what works here, what does not, and how to mend it",
};
