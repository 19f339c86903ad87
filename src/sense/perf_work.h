/* perf_work.h - what a calibrating child of ours does between two looks: as a job has, it has something in its first caches that
 * a look drives out, and that it misses. One thread a struct. */
#ifndef TARE_SENSE_PERF_WORK_H
#define TARE_SENSE_PERF_WORK_H

#include <stdint.h>

#define PERF_WORK_MOST 65536u /* 512 KB */

struct perf_work {
	uint64_t at; /* where the walk is */
	uint32_t words;
	uint64_t table[PERF_WORK_MOST];
};

/* A walk over `words` words, at most PERF_WORK_MOST. Gives them memory of their own: untouched pages would all be one. */
void perf_work_init(struct perf_work *work, uint32_t words);

/* Walks so many steps through the table, to places that only the last step knows. */
void perf_work_walk(struct perf_work *work, uint64_t steps);

#endif
