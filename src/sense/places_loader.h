/* places_loader.h - which libraries a program needs: the system's dynamic loader is asked, as ldd does, in a child that has
 * its time. The program is never executed. One thread. */
#ifndef TARE_SENSE_PLACES_LOADER_H
#define TARE_SENSE_PLACES_LOADER_H

#include <stdbool.h>

#define LOADER_TIMEOUT_MS 5000
#define LOADER_MAX_BYTES  (1u << 20) /* of its answer */

/* May this loader be run? Its file's name is one of the known ones, root owns it, and nobody else may write it: a program
 * may name any file as its loader. */
bool loader_is_trusted(const char *loader);

/* Asks `loader` what `program` (an absolute path) needs, and gives each library's name as the program has it and its path.
 * What `take` returns other than 0 ends it and is returned. -EIO: no answer, or too long a one; -ENOENT: it needs something
 * that is missing (what there is was given); -ENOMEM. */
int loader_list(const char *loader, const char *program,
		int (*take)(void *owner, const char *name, const char *path), void *owner);

#endif
