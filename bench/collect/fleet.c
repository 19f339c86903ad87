/* fleet.c - the runner over many endpoints of fakepg: who was on time, and what it took. Usage:
 * bench_fleet FAKEPG FOLDER SERVERS ROWS CYCLE_MS CYCLES [WAY=COUNT]... */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/beat.h"
#include "core/units.h"
#include "fleet/loop.h"
#include "fleet/made_body.h"

#define AT_ONCE 20

struct seen {
	uint32_t visits, well, late, skipped, abandoned, errors;
	uint64_t longest_ns;
};

struct bench {
	struct seen *servers;
	unsigned count, bad;
	uint64_t cycle_ns;
	uint64_t batches, bytes;
	bool is_told, is_real; /* failures are printed; PostgreSQL's own bodies */
};

/* Ended after its own cycle, which began at its place in the cycle. */
static bool is_late(const struct bench *b, uint32_t server, const struct run_row *row)
{
	struct beat beat = { .cycle_ns = b->cycle_ns,
			     .offset_ns = beat_offset_ns(server, b->cycle_ns) };

	return row->at_wall_ns + (int64_t)row->wall_ns > beat_at(&beat, (int64_t)row->cycle + 1).ns;
}

static void visited(void *owner, struct fleet_batch *batch)
{
	struct bench *b = owner;
	const struct fleet_block *block = fleet_batch_block(batch, &table_run, BLOCK_PUT);
	struct seen *seen = &b->servers[batch->server];
	const struct run_row *rows = block != NULL ? block->rows : NULL;

	b->batches++;
	b->bytes += batch->bytes;
	for (size_t i = 0; block != NULL && i < block->count; i++) {
		if (rows[i].reading != READING_VISIT)
			continue;
		seen->visits++;
		seen->well += rows[i].outcome == RUN_SUCCESS;
		seen->late += rows[i].outcome == RUN_SUCCESS && is_late(b, batch->server, &rows[i]);
		seen->skipped += rows[i].outcome == RUN_SKIPPED;
		seen->abandoned += rows[i].outcome == RUN_ABANDONED;
		seen->errors += rows[i].outcome == RUN_ERROR || rows[i].outcome == RUN_PERMISSIONS;
		if (rows[i].wall_ns > seen->longest_ns)
			seen->longest_ns = rows[i].wall_ns;
		if (b->is_told && batch->server >= b->bad && rows[i].outcome != RUN_SUCCESS)
			printf("server %u: %u %.*s %.*s\n", batch->server, rows[i].outcome,
			       (int)rows[i].sqlstate.len, rows[i].sqlstate.bytes,
			       (int)rows[i].reason.len, rows[i].reason.bytes);
	}
	fleet_batch_free(batch);
}

static pid_t start_fake(int argc, char **argv)
{
	int ends[2];
	char line[64];
	FILE *from;
	pid_t child;

	if (pipe(ends) != 0 || (child = fork()) < 0)
		return -1;
	if (child == 0) {
		char *words[40] = { argv[1], argv[2], argv[3], argv[4] };

		prctl(PR_SET_PDEATHSIG, SIGTERM);
		for (int i = 7; i < argc && i < 40; i++)
			words[i - 3] = argv[i];
		dup2(ends[1], 1);
		execv(argv[1], words);
		_exit(127);
	}
	close(ends[1]);
	from = fdopen(ends[0], "r");
	while (from != NULL && fgets(line, sizeof(line), from) != NULL)
		if (strcmp(line, "ready\n") == 0)
			return child;
	return -1;
}

static long peak_rss_kb(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return used.ru_maxrss;
}

static uint64_t cpu_ns(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * NS_PER_S +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * NS_PER_US;
}

static void tell(const struct bench *b, const struct runner *r, unsigned cycles, double took_s,
		 double cpu_s)
{
	uint64_t healthy = 0, well = 0, skipped = 0, late = 0, lost = 0, longest_ns = 0, bad = 0;
	uint64_t wanted = (uint64_t)(b->count - b->bad) * cycles;
	struct runner_status s;

	for (unsigned i = 0; i < b->count; i++) {
		const struct seen *seen = &b->servers[i];

		if (i < b->bad) {
			bad += seen->errors + seen->abandoned;
			continue;
		}
		healthy += seen->visits;
		well += seen->well;
		skipped += seen->skipped;
		late += seen->late;
		lost += seen->errors + seen->abandoned;
		if (seen->longest_ns > longest_ns)
			longest_ns = seen->longest_ns;
	}
	runner_status(r, &s);
	printf("healthy: %llu visits due, %llu went well, %llu skipped, %llu failed; late %llu; "
	       "longest %.0f ms\n",
	       (unsigned long long)wanted, (unsigned long long)well, (unsigned long long)skipped,
	       (unsigned long long)lost, (unsigned long long)late, (double)longest_ns / 1e6);
	printf("on time: %.3f %%\n", 100.0 * ((double)well - (double)late) /
					     (double)(healthy > wanted ? healthy : wanted));
	printf("bad: %llu failures, %u in the lane\n", (unsigned long long)bad, s.in_lane);
	printf("p95 between visits %.0f ms, model %.0f ms, mean run %.2f ms, longest turn %.1f "
	       "ms\n",
	       (double)s.p95_ns / 1e6, (double)s.model_ns / 1e6, (double)s.run_ns / 1e6,
	       (double)s.longest_turn_ns / 1e6);
	printf("cpu: %.1f %% of one core over %.1f s; peak RSS %.1f MB\n", 100 * cpu_s / took_s,
	       took_s, (double)peak_rss_kb() / 1024);
	printf("captures: this slot %u, last %u; scheduled now %u, before %u %u %u\n",
	       s.slot_captures, s.last_captures, s.slot_scheduled[0], s.slot_scheduled[1],
	       s.slot_scheduled[2], s.slot_scheduled[3]);
}

static int put_server(struct runner *r, const struct bench *b, unsigned i,
		      const struct server_settings *settings, struct err *err)
{
	struct cadence_mark mark = { 0 };
	struct server *memory = b->is_real ? NULL : made_server(i);

	if (b->is_real && server_open(i, &memory) != 0)
		return -ENOMEM;
	return runner_put_server(r, i, i, settings, memory, &mark, err);
}

static int run(struct bench *b, const char *folder, unsigned cycles)
{
	struct collect_settings settings = { .cycle_ns = b->cycle_ns,
					     .one_in = 4,
					     .at_once = AT_ONCE,
					     .connect_ns = 5 * NS_PER_S,
					     .tls_ns = 5 * NS_PER_S,
					     .query_ns = 30 * NS_PER_S,
					     .drain_ns = 10 * NS_PER_S,
					     .budget_ns = 120 * NS_PER_S,
					     .backoff_ns = 10 * NS_PER_S,
					     .backoff_most_ns = 600 * NS_PER_S,
					     .visit = VISIT_LIMITS_DEFAULT };
	struct runner_owner owner = { .owner = b, .visited = visited };
	struct runner *r = NULL;
	struct err err = ERR_EMPTY;
	uint64_t began_ns, end_ns, cpu_began_ns;
	int code = runner_open_with(&settings, &owner, b->is_real ? &visit_postgres : &made_ops, &r,
				    &err);

	for (unsigned i = 0; i < b->count && code == 0; i++) {
		char name[16], port[8];
		struct server_settings server = { .name = name,
						  .host = (char *)(uintptr_t)folder,
						  .port = port,
						  .user = (char *)(uintptr_t) "tare",
						  .readings = 0xff,
						  .plans = getenv("NO_PLANS") == NULL };

		snprintf(name, sizeof(name), "s%u", i);
		snprintf(port, sizeof(port), "%u", 10000 + i);
		code = put_server(r, b, i, &server, &err);
	}
	began_ns = loop_now().ns;
	cpu_began_ns = cpu_ns();
	end_ns = began_ns + cycles * b->cycle_ns;
	while (code == 0 && loop_now().ns < end_ns)
		code = runner_turn(r, 100 * NS_PER_MS, &err);
	if (code != 0)
		fprintf(stderr, "bench_fleet: %s\n", err.msg);
	else
		tell(b, r, cycles, (double)(loop_now().ns - began_ns) / 1e9,
		     (double)(cpu_ns() - cpu_began_ns) / 1e9);
	runner_close(r);
	return code;
}

/* A number among our words, or the end of the bench. */
static uint64_t count_of(const char *word)
{
	uint64_t count;

	if (units_parse_count(word, &count) == 0 && count <= UINT32_MAX)
		return count;
	fprintf(stderr, "bench_fleet: not a number: '%s'\n", word);
	exit(2);
}

int main(int argc, char **argv)
{
	struct bench b = { .is_told = getenv("TOLD") != NULL, .is_real = getenv("MADE") == NULL };
	struct rlimit files = { 65536, 65536 };
	unsigned cycles;
	int code;
	pid_t fake;

	if (argc < 7) {
		fprintf(stderr, "usage: bench_fleet FAKEPG FOLDER SERVERS ROWS CYCLE_MS CYCLES "
				"[WAY=COUNT]...\n");
		return 2;
	}
	b.count = (unsigned)count_of(argv[3]);
	b.cycle_ns = count_of(argv[5]) * NS_PER_MS;
	cycles = (unsigned)count_of(argv[6]);
	for (int i = 7; i < argc; i++)
		if (strchr(argv[i], '=') != NULL)
			b.bad += (unsigned)count_of(strchr(argv[i], '=') + 1);
	b.servers = calloc(b.count, sizeof(*b.servers));
	setrlimit(RLIMIT_NOFILE, &files);
	fake = start_fake(argc, argv);
	if (b.servers == NULL || fake < 0) {
		fprintf(stderr, "bench_fleet: cannot start '%s'\n", argv[1]);
		return 2;
	}
	code = run(&b, argv[2], cycles);
	kill(fake, SIGTERM);
	waitpid(fake, NULL, 0);
	free(b.servers);
	return code == 0 ? 0 : 2;
}
