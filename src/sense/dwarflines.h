/* dwarflines.h - reads lines out of a binary's debug information, by libdw. Its readers can be led astray by a hostile
 * file (a string table without an end is read beyond it): call this only in a child (parser.h). One thread. */
#ifndef TARE_SENSE_DWARFLINES_H
#define TARE_SENSE_DWARFLINES_H

#include <libelf.h>
#include <stdint.h>

#define DWARFLINES_MAX_BYTES \
	(16u << 20) /* of all debug sections, unpacked: they are read at once */
#define DWARFLINES_MAX_UNIT_BYTES (512u << 10) /* of one line program: a byte can become 80 */

/* Are all debug sections together, as they will lie in memory, no more than `most_bytes`? 0, -EFBIG, -ENOEXEC. */
int dwarflines_check_sizes(Elf *elf, uint64_t most_bytes);

/* One address of the source `file` (borrowed during the call) at `line` (> 0). Addresses are the file's own. */
typedef void dwarflines_found(void *owner, uint64_t address, uint32_t line, const char *file);

/* Tells all places of the compilation unit that holds `address`: first those where functions are declared, then its
 * lines, in order. -ENOENT: no unit has it; -EFBIG; -ENOEXEC. */
int dwarflines_read(int fd, uint64_t address, dwarflines_found *found, void *owner);

#endif
