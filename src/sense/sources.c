/* sources.c - places in the sources, remembered by symbol. */
#include "sense/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/units.h"
#include "sense/lines.h"

void sources_open(struct sources *s, int fd)
{
	s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static void stop(struct sources *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void sources_free(struct sources *s)
{
	stop(s);
	free(s->places);
	*s = SOURCES_EMPTY;
}

struct filling {
	struct sources *sources;
	const struct tables *tables;
	struct naming *names;
};

static const struct symbol *find_symbol(const struct tables *t, uint64_t address)
{
	const struct symbol *symbol;

	if (address < t->base || address - t->base > UINT32_MAX)
		return NULL;
	symbol = tables_symbol(t, (uint32_t)(address - t->base));
	return symbol != NULL && t->base + symbol->start == address ? symbol : NULL;
}

static bool wants_place(void *owner, uint64_t address)
{
	struct filling *f = owner;
	const struct symbol *symbol = find_symbol(f->tables, address);
	struct source_place *place;

	if (symbol == NULL)
		return false;
	place = &f->sources->places[symbol - f->tables->symbols];
	if (place->line != 0)
		return false;
	place->line = 1; /* said once: the child forgets it */
	return true;
}

/* Of the places of an address the first is where its function is declared. */
static void take_place(void *owner, uint64_t address, uint32_t line, const char *file,
		       uint32_t file_len)
{
	struct filling *f = owner;
	const struct symbol *symbol = find_symbol(f->tables, address);
	struct source_place *place;

	if (symbol == NULL)
		return;
	place = &f->sources->places[symbol - f->tables->symbols];
	if (place->line == 0)
		*place = (struct source_place){ naming_keep(f->names, file, file_len), line };
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

struct source_place sources_find(struct sources *s, const struct tables *t,
				 const struct symbol *symbol, struct naming *names)
{
	struct filling filling = { s, t, names };
	size_t at = (size_t)(symbol - t->symbols);
	uint64_t before_ns;

	if (s->places == NULL && s->fd >= 0)
		s->places = calloc(t->symbol_count, sizeof(*s->places));
	if (s->places == NULL)
		return (struct source_place){ STR_EMPTY, 0 };
	if (s->places[at].line == 0 && s->fd >= 0 && !symbol->is_plt) {
		struct lines_request request = { s->fd, t->base + symbol->start, wants_place,
						 take_place, &filling };

		before_ns = thread_cpu_ns();
		if (lines_read(&request, &s->spent_ns) == -EFBIG)
			stop(s);
		s->spent_ns += thread_cpu_ns() - before_ns;
		if (s->spent_ns > SOURCES_MAX_NS)
			stop(s);
	}
	return s->places[at];
}
