/* openfile.h - opens files that others chose: never blocking, never a device, never the wrong one. Thread-safe. */
#ifndef TARE_SENSE_OPENFILE_H
#define TARE_SENSE_OPENFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "sense/maps.h"

/* Opens a regular file for reading, O_NONBLOCK, O_NOCTTY and O_CLOEXEC. Returns the descriptor, or a negative errno
 * (-ENOEXEC: not a regular file). */
int openfile_regular(const char *path, struct stat *out);

/* Finds `path` under the root of process `pid` as that process would, never out of it: a descriptor that only says which file it is
 * (O_PATH), or a negative errno. `resolve`: more RESOLVE_* of openat2(). */
int openfile_find(pid_t pid, const char *path, uint64_t resolve);

/* Opens what was found, and is known to be a regular file, for reading. */
int openfile_found(int found);

/* Opens a file that process `pid` writes about itself, `path` (without a leading "/") under its root: regular, with one name, its
 * own or root's, reached over no symbolic link, in a file system that answers by itself. Never waits. -EAGAIN: not now. */
int openfile_of_process(pid_t pid, const char *path, struct stat *out);

/* Is the file behind `fd`, which process `pid` has mapped from that device, one that it may have written about itself? As above, but
 * for the way there. 0, or a negative errno. */
int openfile_check_own(pid_t pid, int fd, dev_t device, struct stat *out);

/* Opens the very file that `mapping` of process `pid` maps, or says -ESTALE, -ENOENT, -EACCES: never a newer file
 * that took over its path. Tried in turn: /proc/PID/map_files (exact, needs rights), /proc/PID/exe, the path under
 * the process's root, never out of it, the path as we see it (the process may be dead). The inode must be the mapping's, and so must
 * the device; overlay and btrfs, which show other devices in stat than in maps, and the exact ways are let off the
 * device. By path, a file born after the mapping was seen is a new one with a used inode: refused. */
int openfile_mapping(pid_t pid, const struct mapping *mapping);

/* May a file of this build be what is mapped? True where the kernel does not say what is. For files found by their path: a file system
 * that shows other devices than it has may show one inode twice. */
bool openfile_may_be_build(pid_t pid, const struct mapping *mapping, const uint8_t *build_id,
			   size_t bytes);

/* The same, for a path that others are to open: it is left in `out_path`. First the one under /proc/PID/root, which stays
 * when the mapping goes; of a deleted file /proc/PID/exe or the one in map_files. */
int openfile_mapped_path(pid_t pid, const struct mapping *mapping, char *out_path, size_t size);

#endif
