/* debugfile.h - separate debug files: by build-id under /usr/lib/debug, or by .gnu_debuglink beside the binary. */
#ifndef TARE_SENSE_DEBUGFILE_H
#define TARE_SENSE_DEBUGFILE_H

#include "core/frame.h"
#include "sense/tables.h"

/* Adds the symbols of the debug file that belongs to `t`, whose binary has the path `path` (as we see it; borrowed),
 * when there is one on this machine. A file by build-id must have that id; a file by link its checksum.
 * Returns 0, -ENOENT: none, -ENOMEM. */
int debugfile_add(struct tables *t, struct str path);

/* Opens that file instead: of `t` only build_id and debuglink are read. The caller closes it. A negative errno: none. */
int debugfile_open(const struct tables *t, struct str path);

#endif
