/* openfile.h - opens files that others chose: never blocking, never a device, never the wrong one. Thread-safe. */
#ifndef TARE_SENSE_OPENFILE_H
#define TARE_SENSE_OPENFILE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "sense/maps.h"

/* Opens a regular file for reading, O_NONBLOCK, O_NOCTTY and O_CLOEXEC. Returns the descriptor, or a negative errno
 * (-ENOEXEC: not a regular file). */
int openfile_regular(const char *path, struct stat *out);

/* Opens the very file that `mapping` of process `pid` maps, or says -ESTALE, -ENOENT, -EACCES: never a newer file
 * that took over its path. Tried in turn: /proc/PID/map_files (exact, needs rights), /proc/PID/exe, the path under
 * /proc/PID/root, the path as we see it (the process may be dead). The inode must be the mapping's, and so must
 * the device; overlay and btrfs, which show other devices in stat than in maps, and the exact ways are let off the
 * device. By path, a file born after the mapping was seen is a new one with a used inode: refused. */
int openfile_mapping(pid_t pid, const struct mapping *mapping);

/* The same, for a path that others are to open: it is left in `out_path`. First the one under /proc/PID/root, which stays
 * when the mapping goes; of a deleted file /proc/PID/exe or the one in map_files. */
int openfile_mapped_path(pid_t pid, const struct mapping *mapping, char *out_path, size_t size);

#endif
