/* perf_work.c - a walk through memory. */
#include "sense/perf_work.h"

void perf_work_init(struct perf_work *work, uint32_t words)
{
	work->words = words;
	for (uint32_t i = 0; i < words; i++)
		work->table[i] = i * UINT64_C(0x9e3779b97f4a7c15);
	work->at = 1;
}

void perf_work_walk(struct perf_work *work, uint64_t steps)
{
	uint64_t at = work->at | 1, words = work->words;

	for (; steps > 0; steps--) {
		at ^= work->table[at % words];
		at ^= at << 13;
		at ^= at >> 7;
		at ^= at << 17;
	}
	*(volatile uint64_t *)&work->at = at; /* so that it is not optimised away */
}
