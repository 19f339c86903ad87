/* elffile.h - the one door through which foreign ELF files come: a file descriptor in, compact tables out. The file
 * is read, never mapped (one that shrinks under us is a short read, not a signal), and nothing points into it
 * afterwards. A child process without rights can stand behind these functions. One thread. */
#ifndef TARE_SENSE_ELFFILE_H
#define TARE_SENSE_ELFFILE_H

#include "sense/tables.h"

#define ELFFILE_MAX_BYTES (UINT64_C(4) << 30)

/* Checks the header of the file, before any library believes what it says. Errors as below. */
int elffile_check(int fd);

/* Reads segments, build-id, rows, functions and symbols. `fd` is a regular file, borrowed; its offset is not used.
 * What is malformed is left out: a file with a bad .eh_frame still has its symbols. -ENOEXEC: not an executable or
 * shared library for x86-64; -EFBIG; -ENOMEM. `out` is untouched on failure; free it with tables_free(). */
int elffile_read(int fd, struct tables *out);

/* Reads only build_id (0 bytes: none) and debuglink into `out`, which is all zero. Errors as above. */
int elffile_read_id(int fd, struct tables *out);

/* Adds the symbols of a debug file to `t`, in place of those it has, when it has any. The file must have the
 * build-id of `t`, unless t has none. -ENOEXEC, -ESTALE (another build), -ENOENT (no .symtab), -EFBIG, -ENOMEM. */
int elffile_add_symbols(int fd, struct tables *t);

/* Adds the names of the PLT entries through which the binary behind `fd` calls libraries: last, because the debug file
 * that brings symbols has none of them. -ENOEXEC, -EFBIG, -ENOMEM. */
int elffile_add_plt(int fd, struct tables *t);

#endif
