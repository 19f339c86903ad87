/* plt.h - names of the entries of the PLT, through which libraries are called: "puts@plt". */
#ifndef TARE_SENSE_PLT_H
#define TARE_SENSE_PLT_H

#include <libelf.h>

#include "sense/tables.h"

/* Adds to the symbols of `t` one for each entry whose slot the relocations name, and "[plt]" for the rest of its
 * section. By what each entry jumps through, not by its number: linkers do not keep the order. -ENOMEM: `t` is as it
 * was. */
int plt_add(struct tables *t, Elf *elf);

#endif
