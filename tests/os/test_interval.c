/* test_interval.c - a live program of known shares: how often the printed 95 % interval holds, and how wide it is.
 * usage: test_interval TARE SPINNER [RUNS]. 10 runs by default, of which 7 must hold; of 100, 90. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/analysis.h"
#include "core/text.h"
#include "store/store.h"

#define FUNCTIONS 3
#define MAX_RUNS  1000
#define SKIPPED	  77

static const char *const names[FUNCTIONS] = { "alpha", "beta", "gamma_" };

struct run {
	double truth[FUNCTIONS], value[FUNCTIONS], error[FUNCTIONS], theory[FUNCTIONS];
};

/* Runs the spinner under tare; what it really spent, as shares. */
static bool record(const char *tare, const char *spinner, unsigned seed, const char *file,
		   double truth[FUNCTIONS])
{
	unsigned long long ns[FUNCTIONS];
	double sum = 0;
	char command[4096];
	FILE *f;
	int got;

	snprintf(command, sizeof(command),
		 "'%s' record -q -f --every 1ms --price 100%% -o '%s' -- '%s' 2 %u", tare, file,
		 spinner, seed);
	f = popen(command, "r");
	if (f == NULL)
		return false;
	got = fscanf(f, "alpha %llu beta %llu gamma_ %llu", &ns[0], &ns[1], &ns[2]);
	if (pclose(f) != 0 || got != FUNCTIONS)
		return false;
	for (int i = 0; i < FUNCTIONS; i++)
		sum += (double)ns[i];
	for (int i = 0; i < FUNCTIONS; i++)
		truth[i] = (double)ns[i] / sum;
	return true;
}

static double as_printed(double percent, int digits)
{
	double scale = pow(10, digits);

	return round(percent * scale) / scale;
}

static void read_function(const struct analysis *a, int which, struct run *run)
{
	struct str name = { names[which], (uint32_t)strlen(names[which]) };

	for (uint32_t i = 0; i < a->function_count; i++) {
		const struct share *s = &a->functions[i].with_callees.share;

		if (str_compare(a->functions[i].name, name) != 0)
			continue;
		int digits = text_digits(100 * s->error);

		run->value[which] = as_printed(100 * s->value, digits) / 100;
		run->error[which] = text_round_error(100 * s->error, digits) / 100;
	}
	run->theory[which] =
		1.96 * sqrt(run->truth[which] * (1 - run->truth[which]) / (double)a->kept);
}

static bool read_run(const char *file, struct run *run)
{
	struct recording r = RECORDING_EMPTY;
	struct analysis a = ANALYSIS_EMPTY;
	struct err err = ERR_EMPTY;
	bool is_good = store_sqlite.load(file, &r, &err) == 0 && analysis_open(&r, &a, &err) == 0;

	if (!is_good)
		printf("%s\n", err.msg);
	for (int i = 0; is_good && i < FUNCTIONS; i++)
		read_function(&a, i, run);
	analysis_free(&a);
	recording_free(&r);
	return is_good;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* With callees: what the kernel does on top of a function, its interrupts, is in the truth too. One function over all runs: does its interval hold often enough, and is it narrow enough? */
static bool judge(const struct run *runs, int count, int which)
{
	static double ratios[MAX_RUNS];
	int held = 0, wanted = count >= 100 ? count * 9 / 10 : count * 7 / 10;
	double median;

	for (int i = 0; i < count; i++) {
		held += fabs(runs[i].value[which] - runs[i].truth[which]) <= runs[i].error[which];
		ratios[i] = runs[i].error[which] / runs[i].theory[which];
	}
	qsort(ratios, (size_t)count, sizeof(*ratios), by_value);
	median = ratios[count / 2];
	printf("%s: the interval holds in %d of %d runs (%d wanted), median width %.2f of theory "
	       "(1.5 at most)\n",
	       names[which], held, count, wanted, median);
	return held >= wanted && median <= 1.5;
}

int main(int argc, char **argv)
{
	static struct run runs[MAX_RUNS];
	int count = argc > 3 ? atoi(argv[3]) : 10;
	char folder[] = "/tmp/interval.XXXXXX", file[64], probe[4096];
	bool is_good = true;

	if (argc < 3 || count < 1 || count > MAX_RUNS)
		return 2;
	snprintf(probe, sizeof(probe), "'%s' doctor >/dev/null", argv[1]);
	if (system(probe) != 0) {
		printf("skipped: tare record does not work here\n");
		return SKIPPED;
	}
	if (mkdtemp(folder) == NULL)
		return 2;
	snprintf(file, sizeof(file), "%s/x.tare", folder);
	for (int i = 0; is_good && i < count; i++)
		is_good = record(argv[1], argv[2], (unsigned)i + 1, file, runs[i].truth) &&
			  read_run(file, &runs[i]);
	unlink(file);
	rmdir(folder);
	for (int i = 0, all = is_good; all && i < FUNCTIONS; i++)
		is_good = judge(runs, count, i) && is_good;
	return is_good ? 0 : 1;
}
