/* demangle.h - names of C++ and Rust as their authors wrote them. Bounded. For the parser child (parser.h) where
 * names are foreign. Thread-safe. */
#ifndef TARE_SENSE_DEMANGLE_H
#define TARE_SENSE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define DEMANGLE_MAX_IN	 4096u /* longer mangled names stay as they are */
#define DEMANGLE_MAX_OUT 4096u /* longer results are cut here */

/* Does it look like a mangled name? */
bool demangle_may(const char *mangled, size_t len);

/* Writes the name that `mangled` (`len` bytes) stands for: C++ (Itanium) and Rust (v0 and legacy). Returns its length, at
 * most DEMANGLE_MAX_OUT, or 0 when it is not a mangled name. `out` holds DEMANGLE_MAX_OUT bytes, not terminated. */
size_t demangle(const char *mangled, size_t len, char *out);

/* The same, also of names over a kilobyte, which the demangler else refuses for the stack they may take: megabytes. For a child. */
size_t demangle_long(const char *mangled, size_t len, char *out);

#endif
