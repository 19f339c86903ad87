/* sources.c - places in the sources, remembered by symbol. */
#include "sense/sources.h"
#include "sense/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/units.h"

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

void sources_forget(struct sources *s)
{
	free(s->places);
	s->places = NULL;
}

void sources_free(struct sources *s)
{
	stop(s);
	sources_forget(s);
	*s = SOURCES_EMPTY;
}

struct filling {
	struct sources *sources;
	const struct sources_of *of;
};

static const struct symbol *find_symbol(const struct tables *t, uint64_t address)
{
	const struct symbol *symbol;

	if (address < t->base || address - t->base > UINT32_MAX)
		return NULL;
	symbol = tables_symbol(t, (uint32_t)(address - t->base));
	return symbol != NULL && t->base + symbol->start == address ? symbol : NULL;
}

/* The addresses whose places are not known yet, rising; owned by the caller. NULL: no memory. */
static uint64_t *list_wanted(const struct sources *s, const struct tables *t, size_t *out_count)
{
	uint64_t *wanted = calloc(t->symbol_count, sizeof(*wanted));
	size_t count = 0;

	for (size_t i = 0; wanted != NULL && i < t->symbol_count; i++) {
		uint64_t address = t->base + t->symbols[i].start;

		if (s->places[i].line == 0 && !t->symbols[i].is_plt &&
		    (count == 0 || wanted[count - 1] != address))
			wanted[count++] = address;
	}
	*out_count = count;
	return wanted;
}

/* Of the places of an address the first is where its function is declared. */
static void take_place(void *owner, uint64_t address, uint32_t line, const char *file,
		       uint32_t file_len)
{
	struct filling *f = owner;
	const struct symbol *symbol = find_symbol(f->of->tables, address);
	struct source_place *place;

	if (symbol == NULL)
		return;
	place = &f->sources->places[symbol - f->of->tables->symbols];
	if (place->line == 0)
		*place = (struct source_place){ naming_keep(f->of->names, file, file_len), line };
}

static uint64_t parser_ns(const struct sources_of *of)
{
	struct parser_facts facts;

	parser_facts(of->parser, &facts);
	return facts.spent_ns;
}

/* Reads the compilation unit of `symbol`. */
static void read_unit(struct sources *s, const struct sources_of *of, const struct symbol *symbol)
{
	struct filling filling = { s, of };
	struct parser_file file = { .fd = s->fd };
	struct parser_lines lines = { .address = of->tables->base + symbol->start,
				      .take = take_place,
				      .owner = &filling };
	uint64_t *wanted = list_wanted(s, of->tables, &lines.wanted_count);
	int rc = wanted != NULL ? parser_file_identify(&file) : -ENOMEM;

	lines.wanted = wanted;
	if (rc == 0)
		rc = parser_read_lines(of->parser, &file, &lines);
	free(wanted);
	if (rc == -EFBIG || rc == -EIO)
		stop(s);
}

struct source_place sources_find(struct sources *s, const struct sources_of *of,
				 const struct symbol *symbol)
{
	size_t at = (size_t)(symbol - of->tables->symbols);
	uint64_t own_ns, others_ns;

	if (s->places == NULL && s->fd >= 0)
		s->places = calloc(of->tables->symbol_count, sizeof(*s->places));
	if (s->places == NULL)
		return (struct source_place){ STR_EMPTY, 0 };
	if (s->places[at].line == 0 && s->fd >= 0 && !symbol->is_plt) {
		own_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
		others_ns = parser_ns(of);
		read_unit(s, of, symbol);
		own_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - own_ns;
		s->own_ns += own_ns;
		s->spent_ns += own_ns + (parser_ns(of) - others_ns);
		if (s->spent_ns > SOURCES_MAX_NS)
			stop(s);
	}
	return s->places[at];
}
