/* places.h - finds the functions that a user names: where they lie in which file, how they begin, what a probe there will
 * cost, and why a name cannot be watched. Reads ELF files only; touches no process but its /proc/PID/maps. Names and files
 * are foreign: bounded and checked. One thread. */
#ifndef TARE_SENSE_PLACES_H
#define TARE_SENSE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "core/frame.h"

#define PLACES_TOO_MANY	   "more than " /* how the why_not of what is beyond `most` begins */
#define PLACES_MOST	   40u		/* functions at most, unless more are allowed */
#define PLACES_MOST_LISTED 1000u	/* of those beyond */

/* The first instruction of a function decides what a probe there costs. */
enum place_first {
	PLACE_NOP5,  /* the kernel turns it into a call */
	PLACE_PUSH,  /* emulated */
	PLACE_OTHER, /* single-stepped */
};
#define PLACE_FIRSTS 3

struct place {
	struct str name;    /* demangled */
	struct str symbol;  /* as in the file */
	struct str module;  /* file name without folders */
	struct str pattern; /* what chose it */
	const char
		*path; /* to open: through /proc/PID/root where a process has it; NUL-terminated */
	uint64_t
		offset; /* in the file: where the probe goes; the function's first instruction, or a few bytes behind it */
	uint64_t start;		/* in the file: its first instruction */
	uint64_t bytes;		/* its length by the symbol table; 0: not known */
	enum place_first first; /* what stands at `offset` */
	bool may_throw; /* an exception may pass through it: a return probe would end the program then */
	struct str why_not; /* empty: it can be watched */
};

struct places_settings {
	pid_t pid;	     /* its mapped files are searched; 0: `program` and what it needs */
	const char *program; /* a path, or a name found in PATH; borrowed; NULL with pid */
	char *const *
		patterns; /* "func", "lib.so:func", globs, "/regex/", C++ with or without arguments; borrowed */
	size_t pattern_count;
	uint32_t
		most; /* functions at most; what is beyond is listed with its why_not, cut at 1,000 */
	bool only_found; /* no row says why a pattern led to nothing: that costs more than finding, and is for the first look */
};

/* Owns everything. In order of pattern; the program before its libraries; module; name. */
struct places {
	struct place *rows;
	size_t count;
	size_t beyond;	 /* matched, and neither in rows */
	struct str *met; /* patterns that led to a function, be it in the row of another pattern */
	size_t met_count;
	struct str
		note; /* how the files were found: "job.sh is a script: ..."; empty: nothing to say */
	uint32_t files; /* that were searched */
	char *text;	/* all strings */
};
#define PLACES_EMPTY ((struct places){ 0 })

/* Finds them. A pattern that matches nothing is a row with a why_not ("not found: no function of php8.2 or its 31
 * libraries is called so", "inlined away", ...). -EINVAL: a pattern cannot be read (says where); -ESRCH, -ENOENT, -EACCES; -ENOMEM. */
int places_find(const struct places_settings *settings, struct places *out, struct err *err);

/* What could be watched, for --list: as places_find(), but no pattern means every function, `most` is not looked at, and a
 * million rows are given at most. */
int places_list(const struct places_settings *settings, struct places *out, struct err *err);

/* Accepts the empty value, and may run twice. */
void places_free(struct places *p);

/* How the function at `code` begins; `length` bytes of it are known. */
enum place_first place_first_of(const uint8_t *code, size_t length);

/* "nop5", "push" or "other". Static. */
const char *place_first_name(enum place_first first);

#endif
