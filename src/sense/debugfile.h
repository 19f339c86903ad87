/* debugfile.h - separate debug files: by build-id under /usr/lib/debug, or by .gnu_debuglink beside the binary. The recorder
 * opens what may be one; the parser child looks whether it is. */
#ifndef TARE_SENSE_DEBUGFILE_H
#define TARE_SENSE_DEBUGFILE_H

#include <stdbool.h>

#include "core/frame.h"
#include "sense/parser.h"
#include "sense/tables.h"

/* Opens what may be the debug file of `file`, whose path is `path` (as we see it; borrowed): of `id` only build_id and debuglink
 * are read. Nothing is looked into. Close them by debugfile_close(). */
void debugfile_open(const struct tables *id, struct str path, struct parser_file *file);

/* Closes the debug files; may run twice. */
void debugfile_close(struct parser_file *file);

/* For the child. Is the file behind `fd` that of `binary`? It must have its build-id, unless the binary has none; `is_linked`: and
 * the checksum that its .gnu_debuglink says. -ESTALE: no; -ENOEXEC, -EFBIG, -EIO, -ENOMEM. */
int debugfile_check(int fd, bool is_linked, const struct tables *binary);

/* For the child. Adds its symbols to `t`, whose debug file it must be. As above; -ENOENT: it has none. */
int debugfile_use(int fd, bool is_linked, struct tables *t);

#endif
