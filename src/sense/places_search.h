/* places_search.h - the parts of one search for places: what is asked for, the files, what was found so far. For places*.c
 * only. One thread. */
#ifndef TARE_SENSE_PLACES_SEARCH_H
#define TARE_SENSE_PLACES_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"
#include "sense/places.h"
#include "sense/places_files.h"
#include "sense/places_names.h"
#include "sense/places_pattern.h"

#define SEARCH_MAX_FOUND (1u << 20)
#define SEARCH_MAX_TEXT	 (UINT64_C(512) << 20)
#define NO_FILE		 UINT32_MAX

/* Bytes of search.text. */
struct piece {
	size_t at;
	uint32_t len;
};

/* One function, or one pattern that led to none. */
struct found {
	uint64_t address, bytes, offset, start;
	uint32_t pattern, file; /* NO_FILE: none */
	uint32_t next_symbol;	/* bytes to the next one inside it; UINT32_MAX: none near */
	uint8_t rank;
	bool is_literal, may_throw;
	enum place_first first;
	struct piece name, symbol, why_not;
};

/* One pattern and what became of it. */
struct wish {
	struct pattern pattern;
	bool takes_file; /* that is being searched */
	bool has_found, has_literal;
	enum place_names_kind seen; /* with seen_in: what else is called so */
	uint32_t seen_in;	    /* file; NO_FILE: nothing is */
};

struct search {
	const struct places_settings *settings;
	struct parser *parser; /* who reads the files; owned */
	struct places_files files;
	struct wish *wishes;
	size_t wish_count;
	struct found *found;
	size_t count, room;
	size_t beyond; /* found, and not kept */
	struct text text;
	struct forms forms;
};

/* Finds what the wishes mean in file `at` and appends it, with its names and where its probe goes. A file that cannot be read
 * gets its error. -ENOMEM. */
int search_file(struct search *s, uint32_t at);

/* Does a wish mean file `at`? And which do: sets takes_file of each; false: none does. */
bool search_takes_file(const struct search *s, const struct wish *w, uint32_t at);
bool search_mark_wishes(struct search *s, uint32_t at);

/* Says for what was found in one file, from `first` on and sorted by address, where its probe goes. -ENOMEM. */
int search_place_probes(struct search *s, size_t first, int fd, const struct place_names *names);

/* Appends bytes to the text. */
struct piece search_keep(struct search *s, const char *bytes, size_t len);

/* Says for each wish that led to nothing why, as a row. -ENOMEM. */
int search_explain(struct search *s);

#endif
