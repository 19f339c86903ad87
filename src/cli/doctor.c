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

#include "cli/doctor.h"
#include "cli/report_json.h"
#include "core/scoped.h"
#include "core/text.h"
#include "core/units.h"
#include "sense/ptrace_stop.h"

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

static void set_mend(struct check *c, const char *mend)
{
	snprintf(c->mend, sizeof(c->mend), "%s", mend);
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
	bool is_filtered = (code == -EPERM || code == -ENOSYS) && paranoid <= 2;
	struct check c = { code == 0 ? WORKS : FAILS, "", "" };

	if (is_filtered && ptrace_try_call() == 0) {
		c.health = PARTLY;
		snprintf(c.found, sizeof(c.found),
			 "engine ptrace, which stops a running thread for each sample "
			 "(perf_event_open: %s)",
			 strerror(-code));
	} else if (code == 0) {
		snprintf(c.found, sizeof(c.found), "engine perf (perf_event_paranoid is %ld)",
			 paranoid);
	} else {
		snprintf(c.found, sizeof(c.found),
			 "perf_event_open: %s (perf_event_paranoid is %ld)", strerror(-code),
			 paranoid);
	}
	if (code == -ENOSYS || code == -EPERM)
		set_mend(&c, "the container's seccomp profile must permit perf_event_open");
	else if (code < 0)
		set_mend(&c,
			 "sysctl kernel.perf_event_paranoid=2, or: setcap cap_perfmon=ep on the "
			 "tare program");
	return c;
}

static struct check check_kernel(void)
{
	int code = try_event(0, -1, true);
	struct check c = { code == 0 ? WORKS : PARTLY, "", "" };

	if (code == 0)
		snprintf(c.found, sizeof(c.found), "sampled");
	else
		snprintf(c.found, sizeof(c.found),
			 "not allowed: perf_event_paranoid is %ld; user stacks still work",
			 read_number("/proc/sys/kernel/perf_event_paranoid"));
	if (code != 0)
		set_mend(&c, "setcap cap_perfmon=ep on the tare program, or sysctl "
			     "kernel.perf_event_paranoid=1");
	return c;
}

static struct check check_names(void)
{
	char line[256] = "";
	FILE *f = fopen("/proc/kallsyms", "re");
	bool is_good = f != NULL && fgets(line, sizeof(line), f) != NULL &&
		       strncmp(line, "0000000000000000", 16) != 0;
	struct check c = { is_good ? WORKS : PARTLY, "", "" };

	if (f != NULL)
		fclose(f);
	snprintf(c.found, sizeof(c.found),
		 is_good ? "kernel functions have names" : "hidden: kernel time shows as [kernel]");
	if (!is_good)
		set_mend(&c, "sysctl kernel.kptr_restrict=0, or run with cap_syslog");
	return c;
}

static struct check check_others(void)
{
	int code = try_event(1, -1, false);
	struct check c = { code == 0 ? WORKS : PARTLY, "", "" };

	if (code == 0)
		snprintf(c.found, sizeof(c.found), "-p works for every user's processes");
	else
		snprintf(c.found, sizeof(c.found), "-p works for your own processes only (%s)",
			 strerror(-code));
	if (code != 0)
		set_mend(&c, "setcap cap_perfmon,cap_sys_ptrace=ep on the tare program");
	return c;
}

static struct check check_files(void)
{
	struct rlimit limit = { 0, 0 };
	struct check c = { WORKS, "", "" };
	long per_cpu = read_number("/proc/sys/kernel/perf_event_mlock_kb");

	getrlimit(RLIMIT_NOFILE, &limit);
	snprintf(c.found, sizeof(c.found), "%llu descriptors, %ld KB of locked memory a CPU",
		 (unsigned long long)limit.rlim_max, per_cpu);
	if (limit.rlim_max < 4096) {
		c.health = PARTLY;
		set_mend(&c,
			 "raise the hard limit of open files (ulimit -Hn) for processes with over "
			 "500 threads");
	} else if (per_cpu >= 0 && per_cpu < 516) {
		c.health = PARTLY;
		set_mend(&c, "sysctl kernel.perf_event_mlock_kb=516");
	}
	return c;
}

static struct check check_room(void)
{
	struct check c = { WORKS, "", "" };
	struct statvfs fs;
	uint64_t free_bytes;
	char text[32];

	if (statvfs(".", &fs) != 0 || access(".", W_OK) != 0) {
		c.health = PARTLY;
		snprintf(c.found, sizeof(c.found), "this folder cannot be written: %s",
			 strerror(errno));
		set_mend(&c, "give -o DIR with a folder of yours");
		return c;
	}
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	units_format_size(free_bytes, text, sizeof(text));
	snprintf(c.found, sizeof(c.found), "%s free in this folder; a recording takes at most 4 MB",
		 text);
	if (free_bytes < (UINT64_C(8) << 20)) {
		c.health = PARTLY;
		set_mend(&c, "free some room, or give -o DIR on another disk");
	}
	return c;
}

/* ---- the answer ---- */

#define SCHEMA_VERSION 1
#define CHECKS	       9

struct named_check {
	const char *name;
	struct check check;
};

/* All that was looked at. */
struct answer {
	struct named_check checks[CHECKS];
	struct doctor_watch watch;
	bool does_record;
};

static void look(const struct app *app, struct answer *out)
{
	struct answer a = { .does_record = true };

	doctor_look_at_watch(app->switched_off, &a.watch);

	const struct named_check checks[CHECKS] = {
		{ "own processes", check_own() },
		{ "other processes", check_others() },
		{ "kernel stacks", check_kernel() },
		{ "kernel names", check_names() },
		{ "probes", doctor_check_probes(&a.watch) },
		{ "probe prices", doctor_check_prices(&a.watch) },
		{ "libtare", doctor_check_libtare(&a.watch) },
		{ "limits", check_files() },
		{ "disk", check_room() },
	};

	memcpy(a.checks, checks, sizeof(checks));
	a.does_record = checks[0].check.health != FAILS;
	*out = a;
}

static const char *const healths[] = { "works", "partly", "fails" };

static const char *mark_of(const struct app *app, enum health h)
{
	static const char *const utf8[] = { "●", "◐", "○" };
	static const char *const ascii[] = { "ok", "..", "NO" };

	return app->has_utf8 ? utf8[h] : ascii[h];
}

static void print_check(const struct app *app, const struct named_check *named)
{
	SCOPED(text_free) struct text found = TEXT_EMPTY;
	const struct check *c = &named->check;

	text_put(&found, c->found);
	if (!app->has_utf8)
		text_make_ascii(&found);
	fprintf(app->out, "%s %-16s %-7s %s\n", mark_of(app, c->health), named->name,
		healths[c->health], found.has_failed ? "" : text_chars(&found));
	if (c->mend[0] != '\0')
		fprintf(app->out, "  %-24s to mend it: %s\n", "", c->mend);
}

static void print_answer(const struct app *app, const struct answer *a)
{
	struct utsname u;

	if (uname(&u) == 0)
		fprintf(app->out, "tare %s on %s %s %s\n\n", TARE_VERSION, u.sysname, u.release,
			u.machine);
	for (size_t i = 0; i < ARRAY_LEN(a->checks); i++)
		print_check(app, &a->checks[i]);
	fprintf(app->out, "\n%s; %s\n",
		a->does_record ? "tare record works here" : "tare record does not work here yet",
		doctor_watch_verdict(&a->watch));
}

static void put_check(struct json *j, const struct named_check *named)
{
	const struct check *c = &named->check;

	json_open_object(j);
	json_put_chars(j, "name", named->name);
	json_put_chars(j, "health", healths[c->health]);
	json_put_chars(j, "found", c->found);
	if (c->mend[0] != '\0')
		json_put_chars(j, "mend", c->mend);
	else
		report_put_null(j, "mend", "nothing to do");
	json_close(j);
}

static int put_answer(const struct app *app, const struct answer *a)
{
	struct utsname u;
	struct json j;

	json_begin(&j, json_to_file, app->out, 2);
	json_open_object(&j);
	json_put_u64(&j, "schema_version", SCHEMA_VERSION);
	json_put_chars(&j, "tare", TARE_VERSION);
	json_put_chars(&j, "kernel", uname(&u) == 0 ? u.release : "");
	json_put_chars(&j, "machine", uname(&u) == 0 ? u.machine : "");
	json_key(&j, "does_record");
	json_bool(&j, a->does_record);
	json_key(&j, "checks");
	json_open_array(&j);
	for (size_t i = 0; i < ARRAY_LEN(a->checks); i++)
		put_check(&j, &a->checks[i]);
	json_close(&j);
	json_key(&j, "watch");
	json_open_object(&j);
	doctor_put_watch(&j, &a->watch);
	json_close(&j);
	json_close(&j);
	return json_end(&j);
}

struct doctor_opts {
	bool is_json;
};

static const struct opt doctor_opt_rows[] = {
	{ "json", 0, OPT_FLAG, offsetof(struct doctor_opts, is_json), NULL, NULL,
	  "answer in JSON" },
};

static int cmd_doctor(struct app *app, int argc, char **argv, struct err *err)
{
	struct doctor_opts o = { .is_json = false };
	struct opt_rest rest;
	struct answer a;

	if (opts_parse(doctor_opt_rows, ARRAY_LEN(doctor_opt_rows), false, argc, argv, &o, &rest,
		       err) < 0)
		return EXIT_TROUBLE;
	if (rest.wants_help) {
		command_print_help(app->out, &command_doctor);
		return EXIT_OK;
	}
	if (rest.count > 0) {
		err_set(err, -EINVAL, "cannot use '%s': doctor takes no arguments", rest.argv[0]);
		return EXIT_TROUBLE;
	}
	look(app, &a);
	if (o.is_json && put_answer(app, &a) < 0)
		return EXIT_TROUBLE;
	if (!o.is_json)
		print_answer(app, &a);
	return a.does_record ? EXIT_OK : EXIT_NO;
}

const struct command command_doctor = {
	.name = "doctor",
	.run = cmd_doctor,
	.usage = "[--json]",
	.help = "say what works here, what does not, and how to mend it",
	.opts = doctor_opt_rows,
	.opt_count = ARRAY_LEN(doctor_opt_rows),
};
