/* plan_paths.c - the candidates for search_path, from what a statement names and who holds it. */
#include "fleet/plan_paths.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/scoped.h"
#include "fleet/text_sql.h"

#define PRESET_PATH "\"$user\", public"

void plan_names_free(struct plan_names *n)
{
	free(n->names);
	free(n->held);
	*n = (struct plan_names){ .names = NULL };
}

static void add_name(void *owner, const char *name, size_t len)
{
	struct plan_names *n = owner;

	if (n->name_count == n->name_room) {
		size_t room = n->name_room == 0 ? 256 : n->name_room * 2;
		char(*names)[64] = reallocarray(n->names, room, sizeof(*names));

		if (names == NULL) {
			n->has_failed = true;
			return;
		}
		n->names = names;
		n->name_room = room;
	}
	memcpy(n->names[n->name_count], name, len);
	n->names[n->name_count++][len] = '\0';
}

void plan_names_gather(struct plan_names *n, const char *sql, size_t len)
{
	size_t left = PLAN_NAMES_ALL - n->name_count;

	sql_names(sql, len, left < PLAN_NAMES_MOST ? left : PLAN_NAMES_MOST, add_name, n);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int by_held(const void *a, const void *b)
{
	const struct plan_held *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : strcmp(x->schema, y->schema);
}

void plan_names_put(struct plan_names *n, struct text *out)
{
	if (n->name_count > 0)
		qsort(n->names, n->name_count, sizeof(*n->names), by_name);
	text_put(out, "{");
	for (size_t i = 0; i < n->name_count; i++) {
		if (i > 0 && strcmp(n->names[i], n->names[i - 1]) == 0)
			continue;
		text_put(out, i > 0 ? ",\"" : "\"");
		for (const char *c = n->names[i]; *c != '\0'; c++) {
			if (*c == '"' || *c == '\\')
				text_put(out, "\\");
			text_add(out, c, 1);
		}
		text_put(out, "\"");
	}
	text_put(out, "}");
}

void plan_names_hold(struct plan_names *n, const struct plan_held *held)
{
	if (n->held_count == n->held_room) {
		size_t room = n->held_room == 0 ? 64 : n->held_room * 2;
		struct plan_held *grown = reallocarray(n->held, room, sizeof(*grown));

		if (grown == NULL) {
			n->has_failed = true;
			return;
		}
		n->held = grown;
		n->held_room = room;
	}
	n->held[n->held_count++] = *held;
}

void plan_names_sort(struct plan_names *n)
{
	if (n->held_count > 0)
		qsort(n->held, n->held_count, sizeof(*n->held), by_held);
}

void plan_paths_free(struct plan_paths *p)
{
	for (size_t i = 0; i < PLAN_PATHS_MOST; i++)
		text_free(&p->paths[i]);
	*p = (struct plan_paths){ .count = 0 };
}

/* One element of a search_path from `*at` on, without blanks around it; `*at` is then behind its comma. */
static struct str next_element(struct str path, size_t *at)
{
	size_t from = *at, to;
	bool is_quoted = false;

	for (to = from; to < path.len && (is_quoted || path.bytes[to] != ','); to++)
		is_quoted ^= path.bytes[to] == '"';
	*at = to + 1;
	while (from < to && path.bytes[from] == ' ')
		from++;
	while (to > from && path.bytes[to - 1] == ' ')
		to--;
	return (struct str){ path.bytes + from, (uint32_t)(to - from) };
}

static bool is_user(struct str element)
{
	return (element.len == 7 && memcmp(element.bytes, "\"$user\"", 7) == 0) ||
	       (element.len == 5 && strncasecmp(element.bytes, "$user", 5) == 0);
}

/* Appends a path with "$user" as whoever ran the statement: for the server it would be who we are. */
static void put_path(struct text *out, struct str path, struct str user)
{
	for (size_t at = 0; at <= path.len;) {
		struct str element = next_element(path, &at);

		if (element.len == 0 || (is_user(element) && user.len == 0))
			continue;
		if (out->len > 0)
			text_put(out, ", ");
		if (is_user(element))
			sql_put_name(out, user.bytes, user.len);
		else
			text_add(out, element.bytes, element.len);
	}
}

/* Whether a path has this schema, by name. */
static bool is_on_path(const struct text *path, const char *schema)
{
	struct str all = { text_chars(path), (uint32_t)path->len };
	SCOPED(text_free) struct text quoted = TEXT_EMPTY;

	sql_put_name(&quoted, schema, strlen(schema));
	for (size_t at = 0; at <= all.len;) {
		struct str element = next_element(all, &at);

		if ((element.len == quoted.len &&
		     memcmp(element.bytes, text_chars(&quoted), element.len) == 0) ||
		    (element.len == strlen(schema) &&
		     strncasecmp(element.bytes, schema, element.len) == 0))
			return true;
	}
	return false;
}

struct making {
	struct plan_paths *paths;
	const struct plan_names *names;
	size_t preset; /* index of the preset path */
};

/* Another candidate: this schema before the preset path. */
static void add_schema(struct making *m, const char *schema)
{
	struct plan_paths *p = m->paths;
	const struct text *preset = &p->paths[m->preset];
	struct text path = TEXT_EMPTY;

	if (p->count == PLAN_PATHS_MOST || is_on_path(preset, schema))
		return;
	sql_put_name(&path, schema, strlen(schema));
	text_put(&path, preset->len > 0 ? ", " : "");
	text_add(&path, preset->bytes, preset->len);
	for (size_t i = m->preset; i < p->count; i++)
		if (strcmp(text_chars(&p->paths[i]), text_chars(&path)) == 0) {
			text_free(&path);
			return;
		}
	p->paths[p->count++] = path;
}

static void add_holders(void *owner, const char *name, size_t len)
{
	struct making *m = owner;
	const struct plan_names *n = m->names;
	size_t low = 0, high = n->held_count;
	char wanted[64];

	memcpy(wanted, name, len);
	wanted[len] = '\0';
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(n->held[middle].name, wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < n->held_count && strcmp(n->held[low].name, wanted) == 0; low++) {
		if (n->held[low].is_usable)
			add_schema(m, n->held[low].schema);
		else
			m->paths->has_hidden = true;
	}
}

bool plan_paths_make(struct plan_paths *p, const struct plan_names *names, struct str sql,
		     struct str given, struct str user)
{
	struct making making = { p, names, given.len > 0 };
	bool has_failed = false;

	plan_paths_free(p);
	p->is_given = given.len > 0;
	if (p->is_given)
		put_path(&p->paths[p->count++], given, user);
	put_path(&p->paths[p->count++], STR_LITERAL(PRESET_PATH), user);
	sql_names(sql.bytes, sql.len, PLAN_NAMES_MOST, add_holders, &making);
	for (size_t i = 0; i < p->count; i++)
		has_failed |= p->paths[i].has_failed;
	return !has_failed;
}
