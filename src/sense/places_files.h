/* places_files.h - the files in which functions are looked for: those that a process has mapped, or a program and the
 * libraries that it needs. No file is executed but the system's dynamic loader, which only lists. One thread. */
#ifndef TARE_SENSE_PLACES_FILES_H
#define TARE_SENSE_PLACES_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "core/frame.h"

#define PLACES_MAX_FILES 4096u

struct places_file {
	char *path; /* to open now and to put probes on: through /proc where a process has it; owned */
	char *seen;	/* what its process calls it; owned */
	char *alias;	/* what the user called it, or NULL; owned */
	uint64_t inode; /* so that no other file is read when the path changes hands */
	int error;	/* why it could not be opened: negative errno; 0: it was */
};

struct places_files {
	struct places_file *items; /* the program first */
	size_t count, room;
	char *note; /* what is to be said about how they were found, or NULL; owned */
};
#define PLACES_FILES_EMPTY ((struct places_files){ 0 })

/* The files behind the executable mappings of a process. -ESRCH, -EACCES, -ENOMEM. */
int places_files_of_pid(pid_t pid, struct places_files *out, struct err *err);

/* The program (a path, or a name in PATH) and what it needs; of a script its interpreter. -ENOENT, -EACCES, -ENOEXEC (no
 * program for this machine), -ENOMEM. */
int places_files_of_program(const char *program, struct places_files *out, struct err *err);

/* Appends a copy of `file`. -ENOMEM, -E2BIG. */
int places_files_add(struct places_files *files, const struct places_file *file);

/* Adds the file at `path`, as the process `pid` sees it (0: as we do), unless it is there already. `out_seen`: what it is
 * called in the list, borrowed; untouched when there is no such file. -ENOMEM, -E2BIG. */
int places_files_add_path(struct places_files *files, pid_t pid, struct str path,
			  const char **out_seen);

/* Opens it for reading: a descriptor, or a negative errno (-ESTALE: the path leads to another file now). */
int places_file_open(const struct places_file *file);

/* Frees; accepts the empty value, and may run twice. */
void places_files_free(struct places_files *files);

/* The file's name without folders. Borrowed. */
struct str places_file_name(const struct places_file *file);

#endif
