/* lines.h - where in the sources functions begin, from the debug information inside a binary. Another door for
 * foreign bytes (libdw's readers of .debug_line and .debug_info): a file descriptor in, plain places out; nothing
 * stays open. Files with very much debug information are left alone. One thread. */
#ifndef TARE_SENSE_LINES_H
#define TARE_SENSE_LINES_H

#include <stdint.h>

#define LINES_MAX_BYTES	     (16u << 20) /* of all debug sections, unpacked: they are read at once */
#define LINES_MAX_UNIT_BYTES (512u << 10) /* of one line program: a byte can become 80 */

/* One address of the source `file` (borrowed during the call) at `line` (> 0). Addresses are the file's own. */
typedef void lines_found(void *owner, uint64_t address, uint32_t line, const char *file);

/* Tells all places of the compilation unit that holds `address`: first those where functions are declared, then its
 * lines, in order. -ENOENT: no unit has it; -EFBIG; -ENOEXEC. */
int lines_read(int fd, uint64_t address, lines_found *found, void *owner);

#endif
