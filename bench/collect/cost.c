/* cost.c - what a visit costs the server, by the CPU time of its own backend: gated and capturing visits of one real PostgreSQL by
 * turns, the ledger's figure beside it. Prints a table; checks nothing.
 * Usage: bench_cost     (a cmocka program of one test, since the stage wants one) */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "core/units.h"
#include "fleet/visits.h"

enum { CYCLES = 100, EVERY = 4, TABLES = 12 };

static struct stage stage;

/* Visits of one kind. */
struct kind {
	double cpu_ms[CYCLES], ledger_ms[CYCLES], plan_ms[CYCLES];
	uint64_t plans, candidates;
	int count;
};

static int rising(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) -
	       (*(const double *)a < *(const double *)b);
}

static double median(const double *values, int count)
{
	double sorted[CYCLES];

	memcpy(sorted, values, sizeof(*values) * (size_t)count);
	qsort(sorted, (size_t)count, sizeof(*sorted), rising);
	return sorted[count / 2];
}

static double mean(const double *values, int count)
{
	double sum = 0;

	for (int i = 0; i < count; i++)
		sum += values[i];
	return sum / count;
}

/* CPU time of a process, by the scheduler. */
static uint64_t cpu_ns(int pid)
{
	char path[64], line[128], *end = line;
	uint64_t ns = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	file = fopen(path, "r");
	if (file != NULL && fgets(line, sizeof(line), file) != NULL)
		ns = strtoull(line, &end, 10);
	if (file != NULL)
		fclose(file);
	if (end == line)
		fail_msg("cannot read '%s'", path);
	return ns;
}

static void make_tables(void)
{
	char sql[512];

	stage_run(&stage, NULL, "CREATE EXTENSION pg_stat_statements");
	for (int i = 0; i < TABLES; i++) {
		snprintf(sql, sizeof(sql),
			 "CREATE TABLE t%d (id int PRIMARY KEY, a int, b int, c text); CREATE "
			 "INDEX ON t%d (a); CREATE INDEX ON t%d (b);"
			 "INSERT INTO t%d SELECT i, i %% 100, i %% 7, 'x' FROM generate_series(1, "
			 "500) i; ANALYZE t%d",
			 i, i, i, i, i);
		stage_run(&stage, NULL, sql);
	}
}

/* `count` statements, each another one to the server. */
static void run_load(PGconn *conn, int count)
{
	char sql[512];

	for (int i = 0; i < count; i++) {
		snprintf(sql, sizeof(sql),
			 "SELECT x.a, y.b, count(*) AS n%d FROM t%d x JOIN t%d y ON x.a = y.id "
			 "JOIN t%d z ON z.id = y.b WHERE x.id = %d AND z.b < 5 "
			 "GROUP BY 1, 2 ORDER BY 3",
			 i, i % TABLES, (i / TABLES) % TABLES, (i + 1) % TABLES, i);
		PQclear(PQexec(conn, sql));
	}
}

static double ledger_ms(const struct fleet_batch *b, enum reading_id reading)
{
	const struct run_row *run = run_of(b, reading);

	return run != NULL ? (double)run->server_ns / 1e6 : 0;
}

static void visit(struct visits *v, enum cadence_answer capture, struct kind *k)
{
	struct fleet_batch b;
	uint64_t before = cpu_ns(PQbackendPID(v->drive.conn));

	visits_go(v, capture, &b);
	k->cpu_ms[k->count] = (double)(cpu_ns(PQbackendPID(v->drive.conn)) - before) / 1e6;
	k->plan_ms[k->count] = ledger_ms(&b, READING_PLANS);
	k->ledger_ms[k->count] = ledger_ms(&b, READING_STATEMENTS) + k->plan_ms[k->count];
	if (run_of(&b, READING_PLANS) != NULL)
		k->plans += run_of(&b, READING_PLANS)->plans;
	k->count++;
	fleet_batch_free(&b);
}

static void print_kind(const char *name, const struct kind *k)
{
	printf("| %s | %.2f | %.2f to %.2f | %.2f | %.2f | %.1f |\n", name,
	       mean(k->cpu_ms, k->count), median(k->cpu_ms, k->count / 2),
	       median(k->cpu_ms + k->count / 2, k->count - k->count / 2),
	       mean(k->ledger_ms, k->count),
	       mean(k->ledger_ms, k->count) / mean(k->cpu_ms, k->count),
	       (double)k->plans / k->count);
}

static void measure(int statements)
{
	static struct kind gated, capturing;
	PGconn *load = stage_connect(&stage, NULL, NULL);
	struct fleet_batch first;
	struct visits v;
	double plan_part, at_4;

	memset(&gated, 0, sizeof(gated));
	memset(&capturing, 0, sizeof(capturing));
	visits_open(&v, &stage, NULL, NULL);
	v.readings = 1U << READING_STATEMENTS | 1U << READING_PLANS;
	visits_go(&v, CADENCE_GATED, &first);
	fleet_batch_free(&first);
	for (int i = 0; i < CYCLES; i++) {
		run_load(load, statements);
		visit(&v, i % EVERY == EVERY - 1 ? CADENCE_SCHEDULED : CADENCE_GATED,
		      i % EVERY == EVERY - 1 ? &capturing : &gated);
	}
	printf("\n%d statements ran in each of %d cycles; cap %u\n\n", statements, CYCLES,
	       v.limits.candidates);
	printf("| visit | backend's CPU, ms: mean | median, first and second half | ledger, ms: "
	       "mean | ledger / CPU | plans |\n"
	       "| --- | ---: | ---: | ---: | ---: | ---: |\n");
	print_kind("gated", &gated);
	print_kind("capturing", &capturing);
	plan_part = mean(capturing.cpu_ms, capturing.count) - mean(gated.cpu_ms, gated.count);
	at_4 = plan_part / EVERY;
	printf("\ngated / capturing %.1f %% · plan part %.1f ms a capture; one cycle in %d: %.1f "
	       "ms a cycle, saved %.0f %%\n",
	       100 * mean(gated.cpu_ms, gated.count) / mean(capturing.cpu_ms, capturing.count),
	       plan_part, EVERY, at_4, 100 * (1 - at_4 / plan_part));
	visits_close(&v);
	PQfinish(load);
}

static void cost_on_the_server(void **state)
{
	(void)state;
	stage_open(&stage, "pg_stat_statements.max = 5000");
	make_tables();
	measure(20);
	measure(160);
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(cost_on_the_server) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
