/* plan_paths.h - under which search paths a statement is looked at: that of its role's or database's settings, "$user" and public, then other
 * schemas that hold what it names. Pure. */
#ifndef TARE_FLEET_PLAN_PATHS_H
#define TARE_FLEET_PLAN_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

#define PLAN_PATHS_MOST	  6u	 /* tried for one statement */
#define PLAN_SCHEMAS_MOST 8u	 /* looked at for one name */
#define PLAN_NAMES_MOST	  256u	 /* of one statement */
#define PLAN_NAMES_ALL	  20000u /* of all statements of a capture */

/* A name of a statement, and a schema that holds a relation, function or type of that name. */
struct plan_held {
	char name[64], schema[64];
	bool is_usable; /* our role has USAGE on the schema */
};

/* The names of all statements, and who holds them. */
struct plan_names {
	char (*names)[64]; /* owned */
	size_t name_count, name_room;
	struct plan_held *held; /* owned; by name after plan_names_sort() */
	size_t held_count, held_room;
	bool has_failed; /* memory ran out */
};

/* Accepts the empty value, and may run twice. */
void plan_names_free(struct plan_names *n);

/* Notes the names of a statement that stand without a schema. */
void plan_names_gather(struct plan_names *n, const char *sql, size_t len);

/* Appends all of them once, as an array literal: {"a","b"}. */
void plan_names_put(struct plan_names *n, struct text *out);

/* Notes a row of the answer; names are cut at 63 bytes, as the server's are. */
void plan_names_hold(struct plan_names *n, const struct plan_held *held);

/* After the last one. */
void plan_names_sort(struct plan_names *n);

/* The paths of one statement, in the order in which they are tried. */
struct plan_paths {
	struct text paths[PLAN_PATHS_MOST]; /* values of search_path */
	size_t count, at;
	bool is_given; /* the first one is of settings: others are tried only when it does not do */
	bool has_hidden; /* some name is held by a schema that we may not use */
};

/* Accepts the empty value, and may run twice. */
void plan_paths_free(struct plan_paths *p);

/* Makes them for a statement. `given` may be empty; `user` is what "$user" means, empty: not known. Whether memory sufficed. */
bool plan_paths_make(struct plan_paths *p, const struct plan_names *names, struct str sql,
		     struct str given, struct str user);

#endif
