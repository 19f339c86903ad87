/* places_forms.h - a symbol's name in the forms that users write: mangled, as its author wrote it, without arguments, without
 * template arguments, without the suffixes of compilers. Made when first asked for. Bounded; any bytes. One thread. */
#ifndef TARE_SENSE_PLACES_FORMS_H
#define TARE_SENSE_PLACES_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/frame.h"
#include "sense/demangle.h"

struct forms {
	struct str symbol; /* without version; borrowed */
	uint32_t base_len; /* of it without ".constprop.0" and others that leave a function whole */
	bool is_cold;	   /* ".cold": jumped to from the middle of a function */
	bool is_thunk;	   /* of C++: named after a function that it is not */
	bool is_mangled;
	bool is_filled; /* the rest is made */
	struct str
		full; /* as the demangler writes it, suffix too; the symbol itself when it is not mangled */
	struct str signature; /* the same without suffixes and blanks, long types shortened */
	struct str plain;     /* and without arguments and return type */
	struct str bare;      /* and without <...> */
	char full_text[DEMANGLE_MAX_OUT], signature_text[DEMANGLE_MAX_OUT];
	char plain_text[DEMANGLE_MAX_OUT], bare_text[DEMANGLE_MAX_OUT];
};

/* Turns to another symbol. */
void forms_set(struct forms *f, struct str symbol);

/* Makes full, signature, plain and bare, if they are not made. */
void forms_fill(struct forms *f);

/* Copies `name` without blanks; `out` holds name.len bytes. Returns the length. */
uint32_t forms_squeeze(struct str name, char *out);

/* Copies a name without its template arguments; `out` holds name.len bytes. Returns the length. */
uint32_t forms_strip_templates(struct str name, char *out);

/* Where `word` begins as a word of its own in `name`; name.len: nowhere. */
uint32_t forms_find_word(struct str name, struct str word);

#endif
