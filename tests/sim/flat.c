/* flat.c - readings of our own size from /proc, compared with the first ones. */
#include "sim/flat.h"

#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "core/units.h"

#define HOUR_NS	   (3600 * NS_PER_S)
#define SLACK_HEAP (64u << 10)	/* what one save needs may differ from the next one's */
#define SLACK_RSS  (512u << 10) /* pages that an allocator keeps or gives back */

static uint64_t count_names(const char *folder)
{
	DIR *d = opendir(folder);
	uint64_t count = 0;

	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
		count += e->d_name[0] != '.';
	if (d != NULL)
		closedir(d);
	return count;
}

static struct flat_reading read_now(void)
{
	struct flat_reading r = { .descriptors = count_names("/proc/self/fd"),
				  .threads = count_names("/proc/self/task"),
				  .heap_bytes = mallinfo2().uordblks + mallinfo2().hblkhd };
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f != NULL && fscanf(f, "%*u %lu", &pages) == 1)
		r.rss_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	if (f != NULL)
		fclose(f);
	return r;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void flat_look(struct flat *f, uint64_t at_ns)
{
	struct flat_reading now;

	if (f->next_ns == 0)
		f->next_ns = HOUR_NS;
	if (at_ns < f->next_ns)
		return;
	f->next_ns = at_ns - at_ns % HOUR_NS + HOUR_NS;
	now = read_now();
	if (f->looks++ == 0)
		f->first = f->most = now;
	f->most.rss_bytes = larger(f->most.rss_bytes, now.rss_bytes);
	f->most.heap_bytes = larger(f->most.heap_bytes, now.heap_bytes);
	f->most.descriptors = larger(f->most.descriptors, now.descriptors);
	f->most.threads = larger(f->most.threads, now.threads);
}

bool flat_is(const struct flat *f, const char *name)
{
	const struct flat_reading *a = &f->first, *b = &f->most;
	bool is_flat = b->rss_bytes <= a->rss_bytes + SLACK_RSS &&
		       b->heap_bytes <= a->heap_bytes + SLACK_HEAP &&
		       b->descriptors == a->descriptors && b->threads == a->threads;

	printf("%s: %" PRIu64
	       " hours %s: memory %.2f MB after the first, %.2f at most; heap %.2f and "
	       "%.2f; descriptors %" PRIu64 " and %" PRIu64 "; threads %" PRIu64 " and %" PRIu64
	       "\n",
	       name, f->looks, is_flat ? "flat" : "NOT FLAT", (double)a->rss_bytes / 1e6,
	       (double)b->rss_bytes / 1e6, (double)a->heap_bytes / 1e6, (double)b->heap_bytes / 1e6,
	       a->descriptors, b->descriptors, a->threads, b->threads);
	return is_flat;
}
