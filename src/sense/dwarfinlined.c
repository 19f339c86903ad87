/* dwarfinlined.c - down from a function to the innermost piece of code at an address. */
#include "sense/dwarfinlined.h"

#include <dwarf.h>
#include <stdbool.h>

#define MAX_DIES  1000000u
#define MAX_DEPTH 512u /* of blocks and inlined functions in one another */

static bool may_hold_code(int tag)
{
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

static void tell(Dwarf_Die *inlined, dwarfinlined_found *found, void *owner)
{
	struct dwarfinlined function = { .name = dwarffile_name(inlined) };
	int line;

	if (function.name == NULL || function.name[0] == '\0')
		return;
	if (dwarf_decl_line(inlined, &line) == 0 && line > 0) {
		function.line = (uint32_t)line;
		function.file = dwarffile_source(inlined);
	}
	found(owner, &function);
}

/* The child of `die` whose code is at `address`. False: none. */
static bool go_down(Dwarf_Die *die, uint64_t address, size_t *dies)
{
	Dwarf_Die child;
	int end = dwarf_child(die, &child);

	for (; end == 0 && *dies < MAX_DIES; ++*dies) {
		if (may_hold_code(dwarf_tag(&child)) && dwarf_haspc(&child, address) == 1) {
			*die = child;
			return true;
		}
		end = dwarf_siblingof(&child, &child);
	}
	return false;
}

int dwarfinlined_read(struct dwarffile *d, uint64_t address, dwarfinlined_found *found, void *owner)
{
	Dwarf_Die die;
	size_t dies = 0, told = 0;
	int rc = dwarffile_function(d, address, &die);

	if (rc < 0)
		return rc;
	for (size_t depth = 0; depth < MAX_DEPTH && go_down(&die, address, &dies); depth++)
		if (dwarf_tag(&die) == DW_TAG_inlined_subroutine && told++ < DWARFINLINED_MAX)
			tell(&die, found, owner);
	return 0;
}
