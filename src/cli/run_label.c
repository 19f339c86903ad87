/* run_label.c - the facts of any run as they go into its label, and the clocks they are read from. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/run.h"
#include "core/scoped.h"
#include "sense/clock.h"

uint64_t own_cpu_ns(void)
{
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

struct mono mono_now(void)
{
	return (struct mono){ clock_read_ns(CLOCK_MONOTONIC) };
}

struct wall wall_now(void)
{
	return (struct wall){ (int64_t)clock_read_ns(CLOCK_REALTIME) };
}

uint64_t rusage_cpu_ns(const struct rusage *used)
{
	return ((uint64_t)used->ru_utime.tv_sec + (uint64_t)used->ru_stime.tv_sec) * NS_PER_S +
	       ((uint64_t)used->ru_utime.tv_usec + (uint64_t)used->ru_stime.tv_usec) * NS_PER_US;
}

uint64_t children_cpu_ns(void)
{
	struct rusage used;

	return getrusage(RUSAGE_CHILDREN, &used) == 0 ? rusage_cpu_ns(&used) : 0;
}

uint64_t most_rss_bytes(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) == 0 ? (uint64_t)u.ru_maxrss * 1024 : 0;
}

void run_look_at_clocks(struct run *r)
{
	const struct clock_reading now = { mono_now(), wall_now(), clock_read_ns(CLOCK_BOOTTIME) };
	struct label *l = &r->label;

	clock_steps_look(&r->clocks, &now);
	l->clock_steps = r->clocks.steps;
	l->clock_step_ns = r->clocks.largest_ns;
	l->clock_step_at_ns = r->clocks.largest_at_ns;
	l->suspended_ns = r->clocks.suspended_ns;
}

struct str run_str(const char *text)
{
	size_t len = strlen(text);

	return (struct str){ text, len < STR_MAX_BYTES ? (uint32_t)len : STR_MAX_BYTES };
}

void run_copy_fact(char *out, size_t size, const char *text, struct str *label)
{
	snprintf(out, size, "%s", text != NULL ? text : "");
	*label = run_str(out);
}

void run_read_comm(pid_t pid, char *out, size_t size)
{
	char path[64];
	size_t len = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f != NULL) {
		len = fread(out, 1, size - 1, f);
		fclose(f);
	}
	out[len] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

/* The command as a shell would take it; owned by the caller. NULL: out of memory. */
static char *join_command(char **words)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (f == NULL)
		return NULL;
	for (size_t i = 0; words[i] != NULL; i++) {
		bool is_plain = words[i][0] != '\0' &&
				strpbrk(words[i], " \t\n'\"\\$`*?[]{}()<>|&;#~!") == NULL;

		fputs(i > 0 ? " " : "", f);
		fputs(is_plain ? "" : "'", f);
		for (const char *c = words[i]; *c != '\0'; c++)
			*c == '\'' ? (void)fputs("'\\''", f) : (void)fputc(*c, f);
		fputs(is_plain ? "" : "'", f);
	}
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* The command line of a process that ran before us; NULL: none to be had. */
static char *read_command(pid_t pid)
{
	char path[64], bytes[STR_MAX_BYTES];
	char *words[257];
	size_t len, count = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return NULL;
	len = fread(bytes, 1, sizeof(bytes) - 1, f);
	fclose(f);
	bytes[len] = '\0';
	for (size_t i = 0; i < len && count + 1 < ARRAY_LEN(words); i += strlen(bytes + i) + 1)
		words[count++] = bytes + i;
	words[count] = NULL;
	return count > 0 ? join_command(words) : NULL;
}

void run_label_start(struct run *r, pid_t pid)
{
	const struct run_opts *o = r->opts;
	struct label *l = &r->label;
	struct utsname u;

	if (uname(&u) == 0) {
		run_copy_fact(r->host, sizeof(r->host), u.nodename, &l->host);
		snprintf(r->kernel, sizeof(r->kernel), "%s %s", u.sysname, u.release);
		l->kernel = run_str(r->kernel);
	}
	r->command_text = o->command != NULL ? join_command(o->command) : read_command(pid);
	l->command = run_str(r->command_text != NULL ? r->command_text : r->comm);
	l->comm = run_str(r->comm);
	l->instrument = run_str(r->instrument->name);
	l->tare_version = STR_LITERAL(TARE_VERSION);
	l->pid = (uint32_t)pid;
	l->is_attached = o->command == NULL;
	l->cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	l->started_wall_ns = wall_now().ns;
	l->ended_by = STR_EMPTY;
	l->exit_status = -1;
	l->size_limit_bytes = o->max_bytes;
	l->price_limit_ppm = o->price_ppm;
	l->writer_pid = (uint32_t)getpid();
}

/* Parts so far: the closed windows and the open one. */
void run_label_price(struct run *r)
{
	struct ledger_row total = ledger_total(&r->ledger);
	struct label *l = &r->label;

	l->sample_ns = total.sample_ns + r->window.sample_ns;
	l->save_ns = total.save_ns + r->window.save_ns;
	l->start_ns = total.start_ns + r->window.start_ns;
	l->fixed_ns = total.fixed_ns + r->window.fixed_ns;
	l->own_cpu_ns = own_cpu_ns() + r->cpu_other_ns + r->missed_ns;
	l->own_rss_bytes = most_rss_bytes();
}

uint64_t run_share_ppm(uint64_t spent_ns, uint64_t elapsed_ns)
{
	return elapsed_ns == 0 ? 0 : (uint64_t)((unsigned __int128)spent_ns * PPM / elapsed_ns);
}
