/* kallsyms.h - names of the kernel's functions, from /proc/kallsyms. One thread. */
#ifndef TARE_SENSE_KALLSYMS_H
#define TARE_SENSE_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/frame.h"

struct kallsyms; /* opaque; about 3 MB, built in about 50 ms */

/* Reads all names of code. -ENOMEM; -EACCES when they are hidden or unreadable: kallsyms_reason() says why. `path` is
 * "/proc/kallsyms" but in tests. */
int kallsyms_open(const char *path, struct kallsyms **out);

/* Accepts NULL. */
void kallsyms_close(struct kallsyms *k);

/* The function that holds `address`, and its module ("kernel" for the kernel proper, else "[name]"). False: none.
 * Strings live until kallsyms_close(). */
bool kallsyms_find(const struct kallsyms *k, uint64_t address, struct str *out_name,
		   struct str *out_module);

/* Why kallsyms_open() would fail, without reading it all: "" when it would not. Static. */
const char *kallsyms_reason(const char *path);

#endif
