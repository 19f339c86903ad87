/* symbols.h - one sorted table of names a file. Pure but for what libelf reads. */
#ifndef TARE_SENSE_SYMBOLS_H
#define TARE_SENSE_SYMBOLS_H

#include <libelf.h>

#include "sense/tables.h"

/* Fills symbols and names of `t` (base, segments and functions are there) from .symtab, or else from .dynsym unless
 * `only_symtab`. Functions, indirect functions and sized labels of executable sections; one name an address,
 * chosen by rule: global before weak before local, function before label, fewest leading underscores, shortest,
 * first in the alphabet. -ENOENT: none; -ENOMEM. `t` is untouched on failure. */
int symbols_read(struct tables *t, Elf *elf, bool only_symtab);

#endif
