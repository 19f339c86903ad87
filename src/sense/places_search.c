/* places_search.c - one file: what is meant, by which name it goes, where its probe goes. */
#include "sense/places_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/demangle.h"
#include "sense/grow.h"
#include "sense/places_code.h"
#include "sense/places_refused.h"

#define WINDOW_BYTES \
	(1u << 20) /* of code in memory; holds the longest body that is looked through */

static const struct str why_go =
	STR_LITERAL("a Go binary: return probes kill it, for its runtime moves stacks");
static const struct str why_ifunc =
	STR_LITERAL("it only chooses a function (IFUNC), once: watch the one it chooses");
static const struct str why_cold =
	STR_LITERAL("the cold part of a function: it is jumped to, not called");
static const struct str why_outside = STR_LITERAL("its address is not in the code of the file");

/* One file in work. */
struct file_search {
	struct search *s;
	uint32_t file;
	struct place_names names;
	size_t first; /* in s->found: what this file gave begins there */
	int fd;
};

static void file_search_free(struct file_search *f)
{
	place_names_close(&f->names);
	if (f->fd >= 0)
		close(f->fd);
}

struct piece search_keep(struct search *s, const char *bytes, size_t len)
{
	struct piece piece = { s->text.len, (uint32_t)len };

	if (s->text.len + len > SEARCH_MAX_TEXT)
		s->text.has_failed = true;
	else
		text_add(&s->text, bytes, len);
	return piece;
}

static struct piece keep(struct search *s, struct str text)
{
	return search_keep(s, text.bytes, text.len);
}

/* Does it mean the symbol that the forms are of? */
static enum pattern_match means(struct search *s, struct wish *w, const struct place_names_row *row)
{
	if (!w->takes_file || !pattern_takes_version(&w->pattern, row->version, row->is_default))
		return PATTERN_NO;
	return pattern_takes_name(&w->pattern, &s->forms);
}

/* The first wish that a function fulfils; NULL: none. Every one that it fulfils is content. */
static struct wish *wish_for(struct search *s, const struct place_names_row *row, bool only_exact,
			     bool *out_is_literal)
{
	struct wish *first = NULL;

	for (size_t i = 0; i < s->wish_count; i++) {
		struct wish *w = &s->wishes[i];
		enum pattern_match match;

		if (only_exact && w->pattern.kind != PATTERN_EXACT)
			continue;
		match = means(s, w, row);
		if (match == PATTERN_NO)
			continue;
		w->has_found = true;
		w->has_literal = w->has_literal || match == PATTERN_LITERAL;
		if (first == NULL)
			*out_is_literal = match == PATTERN_LITERAL;
		first = first != NULL ? first : w;
	}
	return first;
}

/* Something is called so that is no function: worth a word if no function is. */
static void note_other(struct file_search *f, const struct place_names_row *row)
{
	for (size_t i = 0; i < f->s->wish_count; i++) {
		struct wish *w = &f->s->wishes[i];
		bool is_known = w->seen_in != NO_FILE && w->seen != PLACE_NAMES_UNDEFINED;

		if (w->pattern.kind != PATTERN_EXACT || is_known ||
		    means(f->s, w, row) == PATTERN_NO)
			continue;
		w->seen = row->kind;
		w->seen_in = f->file;
	}
}

static struct str why_not_of(const struct file_search *f, const struct place_names_row *row,
			     bool is_code)
{
	if (f->names.file.head.is_go)
		return why_go;
	if (row->kind == PLACE_NAMES_IFUNC)
		return why_ifunc;
	if (f->s->forms.is_cold)
		return why_cold;
	return is_code ? STR_EMPTY : why_outside;
}

static int take(struct file_search *f, const struct place_names_row *row)
{
	struct search *s = f->s;
	void *found = s->found;
	struct found new = { .address = row->address,
			     .file = f->file,
			     .may_throw = place_names_throws(&f->names),
			     .next_symbol = UINT32_MAX,
			     .rank = UINT8_MAX };
	uint64_t left = 0;
	struct wish *w;
	bool is_code;
	int rc;

	forms_set(&s->forms, row->name);
	if (row->kind != PLACE_NAMES_FUNCTION && row->kind != PLACE_NAMES_IFUNC) {
		note_other(f, row);
		return 0;
	}
	is_code = place_names_offset(&f->names, row->address, &new.start, &left);
	w = wish_for(s, row, s->forms.is_cold || !is_code, &new.is_literal);
	if (w == NULL)
		return 0;
	new.why_not = keep(s, why_not_of(f, row, is_code));
	new.pattern = (uint32_t)(w - s->wishes);
	new.offset = new.start;
	rc = grow(&found, &s->room, s->count + 1, SEARCH_MAX_FOUND, sizeof(new));
	s->found = found;
	if (rc == 0)
		s->found[s->count++] = new;
	else if (rc == -E2BIG)
		s->beyond++;
	return rc == -E2BIG ? 0 : rc;
}

static int by_address(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->pattern < y->pattern ? -1 : x->pattern > y->pattern;
}

/* One row an address: the first wish's. */
static void merge(struct file_search *f)
{
	struct search *s = f->s;
	size_t kept = f->first;

	if (s->count == f->first)
		return;
	qsort(s->found + f->first, s->count - f->first, sizeof(*s->found), by_address);
	for (size_t i = f->first + 1; i < s->count; i++) {
		struct found *last = &s->found[kept];

		if (last->address != s->found[i].address)
			s->found[++kept] = s->found[i];
		else if (last->pattern == s->found[i].pattern)
			last->is_literal = last->is_literal || s->found[i].is_literal;
	}
	s->count = kept + 1;
}

/* The last one found in this file that does not begin behind `address`, or NULL. */
static struct found *found_before(const struct file_search *f, uint64_t address)
{
	size_t low = f->first, high = f->s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->s->found[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > f->first ? &f->s->found[low - 1] : NULL;
}

/* Is `row` a plainer name than the one that `found` has? */
static bool is_plainer(const struct search *s, const struct place_names_row *row,
		       const struct found *found)
{
	const char *name = text_chars(&s->text) + found->symbol.at;

	if (found->symbol.len == 0 || row->rank != found->rank)
		return found->symbol.len == 0 || row->rank < found->rank;
	if (row->name.len != found->symbol.len)
		return row->name.len < found->symbol.len;
	return memcmp(row->name.bytes, name, row->name.len) < 0;
}

/* By any of its names it may be one that a return probe would break. */
static void refuse(struct file_search *f, struct found *found, const struct place_names_row *row)
{
	bool is_entry = f->names.file.head.entry != 0 && found->address == f->names.file.head.entry;
	struct str why = is_entry ? refused_why_entry() : refused_why(row->name);

	if (found->why_not.len == 0 && why.len > 0)
		found->why_not = keep(f->s, why);
}

/* A second look at a symbol: is it another name of what was found, or does it lie just behind its begin? */
static void look_again(struct file_search *f, const struct place_names_row *row)
{
	struct found *found;

	if (row->kind == PLACE_NAMES_UNDEFINED || row->kind == PLACE_NAMES_DATA)
		return;
	found = found_before(f, row->address);
	if (found == NULL)
		return;
	if (found->address < row->address) {
		uint64_t distance = row->address - found->address;

		if (distance <= PLACES_CODE_MAX_SKIP && distance < found->next_symbol)
			found->next_symbol = (uint32_t)distance;
		return;
	}
	refuse(f, found, row);
	if (row->kind == PLACE_NAMES_LABEL)
		return;
	if (row->bytes > found->bytes)
		found->bytes = row->bytes;
	if (is_plainer(f->s, row, found)) {
		found->symbol = keep(f->s, row->name);
		found->rank = row->rank;
	}
}

static void name_it(struct search *s, struct found *found)
{
	char name[DEMANGLE_MAX_OUT];
	size_t len = demangle(text_chars(&s->text) + found->symbol.at, found->symbol.len, name);

	found->name = len > 0 ? search_keep(s, name, len) : found->symbol;
}

static int search_names(struct file_search *f)
{
	struct search *s = f->s;
	struct place_names_row row;
	int rc = 0;

	while (rc == 0 && place_names_next(&f->names, &row))
		rc = take(f, &row);
	merge(f);
	if (rc < 0 || s->count == f->first)
		return rc;
	place_names_rewind(&f->names);
	while (place_names_next(&f->names, &row))
		look_again(f, &row);
	for (size_t i = f->first; i < s->count; i++)
		name_it(s, &s->found[i]);
	rc = search_place_probes(s, f->first, f->fd, &f->names);
	return s->text.has_failed ? -ENOMEM : rc;
}

bool search_takes_file(const struct search *s, const struct wish *w, uint32_t at)
{
	const struct places_file *file = &s->files.items[at];
	struct str seen = { file->seen, (uint32_t)strlen(file->seen) };
	struct str alias = { file->alias, file->alias != NULL ? (uint32_t)strlen(file->alias) : 0 };

	return pattern_takes_file(&w->pattern, seen, alias);
}

bool search_mark_wishes(struct search *s, uint32_t at)
{
	bool is_wanted = false;

	for (size_t i = 0; i < s->wish_count; i++) {
		s->wishes[i].takes_file = search_takes_file(s, &s->wishes[i], at);
		is_wanted = is_wanted || s->wishes[i].takes_file;
	}
	return is_wanted;
}

int search_file(struct search *s, uint32_t at)
{
	struct places_file *file = &s->files.items[at];
	struct str seen = { file->seen, (uint32_t)strlen(file->seen) };
	SCOPED(file_search_free)
	struct file_search f = {
		.s = s, .file = at, .names = PLACE_NAMES_EMPTY, .first = s->count, .fd = -1
	};
	int rc;

	if (!search_mark_wishes(s, at) || file->error != 0)
		return 0;
	f.fd = places_file_open(file);
	rc = f.fd < 0 ? f.fd : place_names_open(s->parser, f.fd, seen, &f.names);
	if (rc == 0)
		return search_names(&f);
	file->error = rc;
	return rc == -ENOMEM ? rc : 0;
}
