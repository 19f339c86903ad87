/* make_recording.c - writes a recording made by hand, so that what `tare report` says of it is known to the letter.
 * Usage: make_recording KIND FILE */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/make_watch.h"
#include "cli/save_recording.h"
#include "core/scoped.h"
#include "core/units.h"
#include "unit/build_recording.h"
#include "unit/watch_kinds.h"

/* A night of parsing: a place that stands out, three threads, every marker, 1 % lost. */
static void make_parser(struct build *b)
{
	struct label *l = &b->r.label;

	build_context(b,
		      "job/41/41 > main > Parser::parse(char const*, unsigned long)"
		      "@src/parser.cpp:310+job",
		      44 * NS_PER_S, 4400);
	build_context(b,
		      "job/41/41 > main > Parser::parse(char const*, unsigned long)"
		      "@src/parser.cpp:318+job > memcpy+libc.so.6",
		      8 * NS_PER_S, 800);
	build_context(b, "worker/41/42 > start_thread > compress > deflate+libz.so.1.2.13",
		      15 * NS_PER_S, 1500);
	build_context(b, "worker/41/43 > start_thread > compress > deflate+libz.so.1.2.13",
		      14 * NS_PER_S, 1400);
	build_context(b, "worker/41/43 > start_thread > compress > crc32+libz.so.1.2.13",
		      2 * NS_PER_S, 200);
	build_context(
		b, "job/41/41 > main > std::map<std::string, long>::find(std::string const&)+job",
		4 * NS_PER_S, 400);
	build_context(b, "job/41/41 > main > [libold.so.2+0x1a2b0]+libold.so.2", 6 * NS_PER_S, 600);
	build_context(b, "job/41/41 > main > [kernel]", 3 * NS_PER_S, 300);
	build_context(b, "job/41/41 > [broken] > hook+libold.so.2", 2 * NS_PER_S, 200);
	build_context(b, "job/41/41 > main > descend > [cut 12]", NS_PER_S, 100);
	build_context(b, "job/41/41 > [no stack]", NS_PER_S / 2, 50);
	for (char c = 'a'; c <= 'f'; c++) {
		char path[] = "job/41/41 > main > small_x+job";

		path[sizeof(path) - 6] = c;
		build_context(b, path, NS_PER_S / 12, 8);
	}
	l->slot_count = BATCH_COUNT;
	build_slot(b, 1, 100 * NS_PER_S / 31, 318, 0);
	build_slot(b, NO_ID, 0, 0, 100);
	for (int i = 2; i < BATCH_COUNT; i++)
		build_slot(b, i < 20 ? 1 : 3, 100 * NS_PER_S / 31, i < 20 ? 323 : 322, 0);
	for (int i = 0; i < 64; i++)
		build_window(b, NS_PER_MS + (uint64_t)(i % 3) * 200 * NS_PER_US, NS_PER_MS / 2);
	l->kernel_stacks = (struct str)STR_LITERAL("not allowed: perf_event_paranoid is 2");
	l->children = (struct str)STR_LITERAL("under a period unseen");
	l->clock_ns += NS_PER_S / 2;
	l->threads = 15;
	l->lost = 100;
	l->lost_events = 1;
	l->slot_ns = 164 * NS_PER_S;
	l->own_cpu_ns = 6 * NS_PER_S;
	l->sample_ns = 4 * NS_PER_S;
	l->kernel_ns = NS_PER_S;
	l->save_ns = NS_PER_S / 2;
	l->start_ns = NS_PER_S;
	l->fixed_ns = NS_PER_S / 2;
	l->broken_stacks = 200;
	l->whole_stacks -= 200;
}

/* Names that would take over a terminal, a browser or a reader of JSON. */
static void make_hostile(struct build *b)
{
	static char long_name[STR_MAX_BYTES];

	memset(long_name, 'x', sizeof(long_name));
	memcpy(long_name, "ns::\x1b[31m", 9);
	build_hostile(b, "job/41/41", (struct str)STR_LITERAL("\x1b[2J\x1b]0;owned\x07"),
		      30 * NS_PER_S, 3000);
	build_hostile(b, "job/41/41", (struct str)STR_LITERAL("</script><b>\"&'\\"), 20 * NS_PER_S,
		      2000);
	build_hostile(b, "job/41/41", (struct str)STR_LITERAL("\xe2\x80\xaegpj.exe\xe2\x80\x8b"),
		      18 * NS_PER_S, 1800);
	build_hostile(b, "job/41/41", (struct str){ long_name, sizeof(long_name) }, 16 * NS_PER_S,
		      1600);
	build_hostile(b, "job/41/41", (struct str)STR_LITERAL("class@anonymous\0/x.php:3$0"),
		      10 * NS_PER_S, 1000);
	build_hostile(b, "job/41/41", (struct str)STR_LITERAL("\xff\xfe\xc0\xaf"), 6 * NS_PER_S,
		      600);
	b->r.label.command = (struct str)STR_LITERAL("./job '\x1b[1m'\n");
	b->r.label.host = (struct str)STR_LITERAL("host\x1b[5m");
	b->r.label.kernel_stacks = (struct str)STR_LITERAL("not allowed: \x1b[7m");
}

static void make_coarse(struct build *b)
{
	b->r.label.batches = 8;
	build_context(b, "job/41/41 > main > gzencode", 190 * NS_PER_MS, 19);
	build_context(b, "job/41/41 > main", 190 * NS_PER_MS, 19);
	b->r.label.elapsed_ns = NS_PER_S;
}

static void make_unfinished(struct build *b)
{
	make_coarse(b);
	build_context(b, "job/41/41 > main > gzencode", 2 * NS_PER_S, 200);
	b->r.label.is_finished = false;
	b->r.label.ended_by = STR_EMPTY;
	b->r.label.exit_status = -1;
}

/* A command that died at once; and nothing that could be measured was. */
static void make_empty(struct build *b)
{
	b->r.label.elapsed_ns = 4 * NS_PER_MS;
	b->r.label.batches = 1;
	b->r.label.kernel_tick_ps = 0;
	b->r.label.own_rss_bytes = 0;
	b->r.label.exit_status = 127;
}

/* Nothing to say about. */
static void make_quiet(struct build *b)
{
	build_context(b, "job/41/41 > main > f", 60 * NS_PER_S, 6000);
	build_context(b, "job/41/41 > main > g", 40 * NS_PER_S, 4000);
	b->r.label.own_cpu_ns = 9 * NS_PER_S;
	b->r.label.sample_ns = 9 * NS_PER_S;
}

/* A night of named parts: one that waits, one that works, one under a period, one that was cut off, and a hostile name. */
static void make_tasks(struct build *b)
{
	struct task_row *task;

	build_context(b, "job/41/41 > main > import > parse", 60 * NS_PER_S, 6000);
	build_context(b, "job/41/41 > main > export > pack", 40 * NS_PER_S, 4000);
	b->r.label.task_source = (struct str)STR_LITERAL("marks");
	b->r.label.tasks_dropped = 1198;
	b->r.label.marks_refused = 2;
	b->r.label.mark_floods = 1;
	b->r.label.task_room_bytes = 400000;
	task = build_task(b, "import", 10 * NS_PER_S, 1800 * NS_PER_S);
	build_task_context(b, task, "job/41/41 > main > import > parse", 55 * NS_PER_S, 5500);
	build_task_context(b, task, "job/41/41 > main > import", 5 * NS_PER_S, 500);
	task->cpu_ns = COUNTER(61 * NS_PER_S);
	task->rss_bytes = COUNTER(UINT64_C(80) << 20);
	task = build_task(b, "export of the whole world to the customers of the north",
			  1900 * NS_PER_S, 60 * NS_PER_S);
	build_task_context(b, task, "job/41/41 > main > export > pack", 40 * NS_PER_S, 4000);
	build_task(b, "blink", 1970 * NS_PER_S, NS_PER_MS)->cpu_ns = COUNTER(NS_PER_MS / 2);
	task = build_task(b, "\033[31m<b>\"", 1980 * NS_PER_S, 100 * NS_PER_S);
	build_task_context(b, task, "job/41/41 > main", NS_PER_S / 10, 10);
	task->state = TASK_CUT;
	build_task(b, "still here", 2100 * NS_PER_S, 1500 * NS_PER_S)->state = TASK_RUNNING;
	build_task_name(b, "import", 1200, 1800 * NS_PER_S);
	build_task_name(b, "export of the whole world to the customers of the north", 1,
			60 * NS_PER_S);
	b->r.label.tasks += b->r.label.tasks_dropped;
}

static const struct {
	const char *kind;
	void (*make)(struct build *b);
} kinds[] = {
	{ "tasks", make_tasks },   { "parser", make_parser },	      { "hostile", make_hostile },
	{ "coarse", make_coarse }, { "unfinished", make_unfinished }, { "empty", make_empty },
	{ "quiet", make_quiet },
};

static const struct {
	const char *kind;
	void (*make)(struct build_watch *b);
} watch_kinds[] = {
	{ "colony", make_colony },
	{ "probes", make_probes },
	{ "world", watch_kind_world },
	{ "watch_nothing", watch_kind_nothing },
	{ "watch_unfinished", make_watch_unfinished },
	{ "watch_empty", make_watch_empty },
	{ "watch_refused", make_watch_refused },
	{ "watch_hostile", make_watch_hostile },
};

static int save_or_say(const struct recording *r, const char *path)
{
	struct err err = ERR_EMPTY;

	if (save_recording(r, path, 4 << 20, &err) == 0)
		return 0;
	fprintf(stderr, "make_recording: %s\n", err.msg);
	return 2;
}

static int make(void (*fill)(struct build *b), const char *path)
{
	SCOPED(build_free) struct build b;

	build_begin(&b);
	fill(&b);
	return save_or_say(&b.r, path);
}

static int make_of_watch(void (*fill)(struct build_watch *b), const char *path)
{
	SCOPED(build_watch_free) struct build_watch b;

	build_watch_begin(&b);
	fill(&b);
	build_watch_sort(&b);
	return save_or_say(&b.r, path);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < ARRAY_LEN(kinds); i++)
		if (strcmp(argv[1], kinds[i].kind) == 0)
			return make(kinds[i].make, argv[2]);
	for (size_t i = 0; argc == 3 && i < ARRAY_LEN(watch_kinds); i++)
		if (strcmp(argv[1], watch_kinds[i].kind) == 0)
			return make_of_watch(watch_kinds[i].make, argv[2]);
	fprintf(stderr, "usage: make_recording KIND FILE\n");
	return 2;
}
