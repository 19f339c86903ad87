/* places.c - one search from patterns to rows. */
#include "sense/places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "sense/places_search.h"

static void search_free(struct search *s)
{
	for (size_t i = 0; i < s->wish_count; i++)
		pattern_free(&s->wishes[i].pattern);
	free(s->wishes);
	free(s->found);
	text_free(&s->text);
	places_files_free(&s->files);
	parser_close(s->parser);
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "cannot look for functions: no memory");
}

static int read_wishes(struct search *s, struct err *err)
{
	static char *const everything[] = { (char *)"*" };
	const struct places_settings *settings = s->settings;
	size_t count = settings->pattern_count > 0 ? settings->pattern_count : 1;
	char *const *patterns = settings->pattern_count > 0 ? settings->patterns : everything;

	s->wishes = calloc(count, sizeof(*s->wishes));
	if (s->wishes == NULL)
		return no_memory(err);
	for (size_t i = 0; i < count; i++) {
		int rc = pattern_parse(patterns[i], &s->wishes[i].pattern, err);

		if (rc < 0)
			return rc;
		s->wishes[i].seen_in = NO_FILE;
		s->wish_count++;
	}
	return 0;
}

/* What a glob took beside the one name that it is letter by letter. */
static void drop_beside_literals(struct search *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct wish *w = &s->wishes[s->found[i].pattern];

		if (!w->has_literal || s->found[i].is_literal || w->pattern.kind != PATTERN_GLOB)
			s->found[kept++] = s->found[i];
	}
	s->count = kept;
}

static struct str piece_str(const struct search *s, struct piece piece)
{
	return (struct str){ text_chars(&s->text) + piece.at, piece.len };
}

static int compare(struct str a, struct str b)
{
	uint32_t len = a.len < b.len ? a.len : b.len;
	int order = len > 0 ? memcmp(a.bytes, b.bytes, len) : 0;

	return order != 0 ? order : a.len < b.len ? -1 : a.len > b.len;
}

static struct str module_of(const struct search *s, const struct found *f)
{
	return f->file == NO_FILE ? STR_EMPTY : places_file_name(&s->files.items[f->file]);
}

#define PROGRAM 0u /* the first file */

static int in_order(const void *a, const void *b, void *search)
{
	const struct search *s = search;
	const struct found *x = a, *y = b;
	int order = compare(module_of(s, x), module_of(s, y));

	if (x->pattern != y->pattern)
		return x->pattern < y->pattern ? -1 : 1;
	if ((x->file == PROGRAM) != (y->file == PROGRAM))
		return x->file == PROGRAM ? -1 : 1;
	if (order == 0)
		order = compare(piece_str(s, x->name), piece_str(s, y->name));
	if (order != 0)
		return order;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void limit_kind(struct search *s, bool is_exact, uint32_t *left, struct piece why_not)
{
	for (size_t i = 0; i < s->count; i++) {
		struct found *f = &s->found[i];
		bool was_exact = s->wishes[f->pattern].pattern.kind == PATTERN_EXACT;

		if (f->why_not.len > 0 || was_exact != is_exact)
			continue;
		if (*left > 0)
			--*left;
		else
			f->why_not = why_not;
	}
}

/* No more than `most` are watched, those with a name of their own before those that a glob takes; of the rest 1,000 are
 * listed. */
static void limit(struct search *s)
{
	uint32_t most = s->settings->most, left = most;
	struct piece why_not = { s->text.len, 0 };
	size_t listed = 0, kept = 0;

	text_printf(&s->text, PLACES_TOO_MANY "%u function%s meant: --functions allows more", most,
		    most == 1 ? " is" : "s are");
	why_not.len = (uint32_t)(s->text.len - why_not.at);
	limit_kind(s, true, &left, why_not);
	limit_kind(s, false, &left, why_not);
	for (size_t i = 0; i < s->count; i++) {
		bool is_beyond =
			s->found[i].why_not.len > 0 && s->found[i].why_not.at == why_not.at;

		if (is_beyond && listed++ >= PLACES_MOST_LISTED)
			s->beyond++;
		else
			s->found[kept++] = s->found[i];
	}
	s->count = kept;
}

static size_t strings_bytes(const struct search *s)
{
	size_t bytes = s->text.len;

	for (size_t i = 0; i < s->files.count; i++)
		bytes += strlen(s->files.items[i].path) + strlen(s->files.items[i].seen) + 2;
	for (size_t i = 0; i < s->wish_count; i++)
		bytes += s->wishes[i].pattern.whole.len;
	return bytes + (s->files.note != NULL ? strlen(s->files.note) : 0) + 1;
}

static char *put(char **at, const char *bytes, size_t len)
{
	char *start = *at;

	if (len > 0)
		memcpy(start, bytes, len);
	*at += len;
	return start;
}

/* Where the strings that rows share lie in places.text. */
struct shared {
	const char **paths;
	struct str *modules, *patterns;
};

static void shared_free(struct shared *shared)
{
	free(shared->paths);
	free(shared->modules);
	free(shared->patterns);
}

static int share(const struct search *s, struct shared *out, char **at)
{
	out->paths = calloc(s->files.count + 1, sizeof(*out->paths));
	out->modules = calloc(s->files.count + 1, sizeof(*out->modules));
	out->patterns = calloc(s->wish_count + 1, sizeof(*out->patterns));
	if (out->paths == NULL || out->modules == NULL || out->patterns == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->files.count; i++) {
		const struct places_file *file = &s->files.items[i];
		struct str name = places_file_name(file);

		out->paths[i] = put(at, file->path, strlen(file->path) + 1);
		out->modules[i] = (struct str){ put(at, name.bytes, name.len), name.len };
	}
	for (size_t i = 0; i < s->wish_count; i++) {
		struct str whole = s->wishes[i].pattern.whole;

		out->patterns[i] = (struct str){ put(at, whole.bytes, whole.len), whole.len };
	}
	return 0;
}

static struct str within(const char *text, struct piece piece)
{
	return (struct str){ text + piece.at, piece.len };
}

static void fill_row(const struct found *f, const struct shared *shared, const char *text,
		     struct place *out)
{
	bool has_file = f->file != NO_FILE;

	*out = (struct place){ .name = within(text, f->name),
			       .symbol = within(text, f->symbol),
			       .module = has_file ? shared->modules[f->file] : STR_EMPTY,
			       .pattern = shared->patterns[f->pattern],
			       .path = has_file ? shared->paths[f->file] : "",
			       .offset = f->offset,
			       .start = f->start,
			       .bytes = f->bytes,
			       .first = f->first,
			       .may_throw = f->may_throw,
			       .why_not = within(text, f->why_not) };
}

static int publish(const struct search *s, struct places *out)
{
	SCOPED(places_free) struct places p = { .beyond = s->beyond };
	SCOPED(shared_free) struct shared shared = { NULL, NULL, NULL };
	char *at;

	p.text = malloc(strings_bytes(s));
	p.rows = calloc(s->count > 0 ? s->count : 1, sizeof(*p.rows));
	p.met = calloc(s->wish_count + 1, sizeof(*p.met));
	if (p.text == NULL || p.rows == NULL || p.met == NULL)
		return -ENOMEM;
	at = p.text;
	(void)put(&at, text_chars(&s->text), s->text.len);
	if (share(s, &shared, &at) < 0)
		return -ENOMEM;
	if (s->files.note != NULL)
		p.note = (struct str){ put(&at, s->files.note, strlen(s->files.note)),
				       (uint32_t)strlen(s->files.note) };
	p.files = (uint32_t)s->files.count;
	for (size_t i = 0; i < s->count; i++)
		fill_row(&s->found[i], &shared, p.text, &p.rows[p.count++]);
	for (size_t i = 0; i < s->wish_count; i++)
		if (s->wishes[i].has_found)
			p.met[p.met_count++] = shared.patterns[i];
	*out = p;
	/* NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): scoped cleanup reads it */
	p = PLACES_EMPTY;
	return 0;
}

/* A file that a pattern names by its path is looked into, mapped or not: it may be loaded later. */
static int add_named_files(struct search *s)
{
	int rc = 0;

	for (size_t i = 0; i < s->wish_count && rc == 0; i++) {
		struct str *module = &s->wishes[i].pattern.module;
		const char *seen = NULL;

		if (module->len > 0 && memchr(module->bytes, '/', module->len) != NULL)
			rc = places_files_add_path(&s->files, s->settings->pid, *module, &seen);
		if (seen != NULL)
			*module = (struct str){ seen, (uint32_t)strlen(seen) };
	}
	return rc == -E2BIG ? 0 : rc;
}

static int look(struct search *s, struct err *err)
{
	const struct places_settings *settings = s->settings;
	int rc = read_wishes(s, err);

	if (rc == 0)
		rc = settings->pid > 0 ? places_files_of_pid(settings->pid, &s->files, err)
				       : places_files_of_program(settings->program, &s->files, err);
	if (rc < 0)
		return rc;
	rc = add_named_files(s);
	for (uint32_t i = 0; i < s->files.count && rc == 0; i++)
		rc = search_file(s, i);
	drop_beside_literals(s);
	if (rc == 0 && !settings->only_found)
		rc = search_explain(s);
	if (rc < 0 || s->text.has_failed)
		return no_memory(err);
	if (s->count > 0)
		qsort_r(s->found, s->count, sizeof(*s->found), in_order, s);
	return 0;
}

static int run(const struct places_settings *settings, bool is_limited, struct places *out,
	       struct err *err)
{
	struct search *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return no_memory(err);
	s->settings = settings;
	rc = parser_open(true, &s->parser) < 0 ? no_memory(err) : look(s, err);
	if (rc == 0 && is_limited)
		limit(s);
	if (rc == 0 && (s->text.has_failed || publish(s, out) < 0))
		rc = no_memory(err);
	search_free(s);
	free(s);
	return rc;
}

int places_find(const struct places_settings *settings, struct places *out, struct err *err)
{
	return run(settings, true, out, err);
}

int places_list(const struct places_settings *settings, struct places *out, struct err *err)
{
	return run(settings, false, out, err);
}

void places_free(struct places *p)
{
	free(p->rows);
	free(p->met);
	free(p->text);
	*p = PLACES_EMPTY;
}
