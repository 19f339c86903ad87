/* record_label.c - the facts of a run as they go into its label, and the clocks they are read from. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/record.h"
#include "core/scoped.h"

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) != 0)
		return 0;
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t own_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

struct mono mono_now(void)
{
	return (struct mono){ clock_ns(CLOCK_MONOTONIC) };
}

struct wall wall_now(void)
{
	return (struct wall){ (int64_t)clock_ns(CLOCK_REALTIME) };
}

uint64_t children_cpu_ns(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_CHILDREN, &u) != 0)
		return 0;
	return ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * NS_PER_S +
	       ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * NS_PER_US;
}

uint64_t most_rss_bytes(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) == 0 ? (uint64_t)u.ru_maxrss * 1024 : 0;
}

struct str record_str(const char *text)
{
	size_t len = strlen(text);

	return (struct str){ text, len < STR_MAX_BYTES ? (uint32_t)len : STR_MAX_BYTES };
}

void record_copy_fact(char *out, size_t size, const char *text, struct str *label)
{
	snprintf(out, size, "%s", text != NULL ? text : "");
	*label = record_str(out);
}

/* Reading files into tables happens in drains, partly in children of ours, but is paid once: start-up, not the price of
 * a sample. The job itself is not waited for before the session is closed, so children are ours. */
static void move_table_cost(struct session *s, uint64_t table_ns)
{
	uint64_t children_ns = children_cpu_ns();
	uint64_t by_children_ns = children_ns - s->cpu_other_ns;
	uint64_t new_ns = table_ns - s->table_seen_ns;
	uint64_t own_ns = new_ns > by_children_ns ? new_ns - by_children_ns : 0;

	if (own_ns > s->window.sample_ns)
		own_ns = s->window.sample_ns;
	s->window.sample_ns -= own_ns;
	s->window.start_ns += own_ns + by_children_ns;
	s->table_seen_ns = table_ns;
	s->cpu_other_ns = children_ns;
}

/* Following forks and maps is no part of a sample either: a longer period would not make it cheaper. */
static void move_aside_cost(struct session *s, uint64_t aside_ns)
{
	uint64_t new_ns = aside_ns - s->aside_seen_ns;

	if (new_ns > s->window.sample_ns)
		new_ns = s->window.sample_ns;
	s->window.sample_ns -= new_ns;
	s->window.fixed_ns += new_ns;
	s->aside_seen_ns = aside_ns;
}

void record_label_engine(struct session *s)
{
	struct sampler_facts facts = { .name = "" };
	struct label *l = &s->label;

	s->engine->facts(s->sampler, &facts);
	record_copy_fact(s->engine_name, sizeof(s->engine_name), facts.name, &l->engine);
	record_copy_fact(s->clock_name, sizeof(s->clock_name), facts.clock, &l->clock);
	record_copy_fact(s->children, sizeof(s->children), facts.children, &l->children);
	record_copy_fact(s->kernel_stacks, sizeof(s->kernel_stacks), facts.kernel_stacks,
			 &l->kernel_stacks);
	l->period_ns = facts.period_ns;
	l->is_jittered = facts.is_jittered;
	l->is_derived = facts.is_derived;
	l->clock_ns = facts.clock_ns;
	l->lost = facts.lost_count;
	l->lost_events = facts.lost_events;
	l->throttled = facts.throttled_count;
	l->threads = facts.threads;
	l->processes = facts.processes;
	l->unnamed_frames = facts.unnamed_frames;
	l->kernel_tick_ps = facts.kernel_tick_ps;
	move_table_cost(s, facts.table_ns);
	move_aside_cost(s, facts.aside_ns);
}

/* Parts so far: the closed windows and the open one. */
void record_label_price(struct session *s)
{
	struct ledger_row total = ledger_total(&s->ledger);
	struct label *l = &s->label;

	l->sample_ns = total.sample_ns + s->window.sample_ns;
	l->save_ns = total.save_ns + s->window.save_ns;
	l->start_ns = total.start_ns + s->window.start_ns;
	l->fixed_ns = total.fixed_ns + s->window.fixed_ns;
	l->kernel_ns = l->ticks * l->kernel_tick_ps / PS_PER_NS;
	l->own_cpu_ns = own_cpu_ns() + s->cpu_other_ns;
	l->own_rss_bytes = most_rss_bytes();
}

void record_label_now(struct session *s, bool is_finished)
{
	struct label *l = &s->label;

	record_label_engine(s);
	profile_label(s->profile, l);
	record_label_price(s);
	l->saved_wall_ns = wall_now().ns;
	l->elapsed_ns = mono_elapsed_ns(s->start, mono_now());
	l->is_finished = is_finished;
	if (l->clock_ns < l->weight_ns)
		l->clock_ns = l->weight_ns; /* the counter is read a moment before the last ticks */
}

void record_read_comm(pid_t pid, char *out, size_t size)
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

void record_label_start(struct session *s, pid_t pid)
{
	const struct record_opts *o = s->opts;
	struct label *l = &s->label;
	struct utsname u;

	if (uname(&u) == 0) {
		record_copy_fact(s->host, sizeof(s->host), u.nodename, &l->host);
		snprintf(s->kernel, sizeof(s->kernel), "%s %s", u.sysname, u.release);
		l->kernel = record_str(s->kernel);
	}
	s->command_text = o->command != NULL ? join_command(o->command) : read_command(pid);
	l->command = record_str(s->command_text != NULL ? s->command_text : s->comm);
	l->comm = record_str(s->comm);
	l->instrument = STR_LITERAL("record");
	l->tare_version = STR_LITERAL(TARE_VERSION);
	l->pid = (uint32_t)pid;
	l->is_attached = o->command == NULL;
	l->cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	l->started_wall_ns = wall_now().ns;
	l->ended_by = STR_EMPTY;
	l->exit_status = -1;
	l->base_period_ns = o->every_ns;
	l->keeps_all = o->is_full;
	l->size_limit_bytes = o->max_bytes;
	l->price_limit_ppm = o->price_ppm;
	l->writer_pid = (uint32_t)getpid();
}
