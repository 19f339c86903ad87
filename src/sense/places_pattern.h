/* places_pattern.h - what a user calls functions by, and whether a symbol is meant: "func", "lib.so:func", globs, "/regex/",
 * C++ with or without arguments, versions. Names are any bytes; every match is bounded. One thread. */
#ifndef TARE_SENSE_PLACES_PATTERN_H
#define TARE_SENSE_PLACES_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/frame.h"
#include "sense/places_forms.h"
#include "sense/places_regex.h"

#define PATTERN_MAX_BYTES REGEX_MAX_BYTES

enum pattern_kind { PATTERN_EXACT, PATTERN_GLOB, PATTERN_REGEX };

struct pattern {
	struct str whole; /* as the user wrote it; borrowed */
	struct str
		module; /* a glob over file names, or over paths when it has a slash; empty: any file; borrowed */
	struct str name;    /* without module and version; borrowed */
	struct str version; /* behind "@" or "@@"; empty: any; borrowed */
	bool is_default;    /* "@@" */
	enum pattern_kind kind;
	bool has_arguments;		  /* "f(int)": that overload */
	bool has_template;		  /* "f<int>": that instance */
	char squeezed[PATTERN_MAX_BYTES]; /* the name without blanks; no terminator */
	uint32_t squeezed_len;
	struct str
		needle; /* no mangled name without these bytes is meant; empty: any may be; borrowed */
	struct regex regex; /* PATTERN_REGEX */
};

/* How a name is meant. */
enum pattern_match {
	PATTERN_NO,
	PATTERN_YES,
	PATTERN_LITERAL, /* it is the pattern, letter by letter: then a glob takes nothing else */
};

/* Reads a pattern; `text` must outlive it. -EINVAL with where and why; -ENOMEM. Free it with pattern_free(). */
int pattern_parse(const char *text, struct pattern *out, struct err *err);

/* Accepts the all-zero value, and may run twice. */
void pattern_free(struct pattern *p);

/* Is the file meant? `path` is what its process calls it; `alias`: another name of it, or empty. A name without version
 * suffix means every version: "libc.so" and "libc" are libc.so.6, "php" is php8.2. */
bool pattern_takes_file(const struct pattern *p, struct str path, struct str alias);

/* Is the symbol meant? Its file and version are not looked at. */
enum pattern_match pattern_takes_name(struct pattern *p, struct forms *name);

/* Is the version meant? Empty: the symbol has none. "GLIBC" means every GLIBC_2.x. */
bool pattern_takes_version(const struct pattern *p, struct str version, bool is_default);

#endif
