/* module.h - the files that are mapped somewhere: each is read once, by build-id (or by device, inode, size and time
 * when it has none), and shared by all processes. Tables that no living process needs go first when memory is
 * short. One thread. */
#ifndef TARE_SENSE_MODULE_H
#define TARE_SENSE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sense/naming.h"
#include "sense/parser.h"
#include "sense/tables.h"

#define MODULES_MAX	  4096u
#define MODULES_MAX_BYTES (40u << 20) /* of tables */

struct module;	/* opaque: one file */
struct modules; /* opaque */

/* Counts one mapping more that points to `m`. Accepts NULL. */
void module_hold(struct module *m);

/* Counts one mapping less. Accepts NULL. */
void module_drop(struct module *m);

/* The tables of the file. Live as long as it is held. */
const struct tables *module_tables(const struct module *m);

/* A number that an engine keeps with the file; 0 at first. */
uint32_t module_mark(const struct module *m);
void module_set_mark(struct module *m, uint32_t mark);

/* The file's name without folders; lives as long as the names. */
struct str module_name(const struct module *m);

/* -ENOMEM. `names` is borrowed and must outlive it. */
int modules_open(struct naming *names, struct modules **out);

/* Accepts NULL. No mapping may hold a module any more. */
void modules_close(struct modules *m);

/* What else there is to know of a look-up. */
struct modules_found {
	bool has_freed;	 /* other modules were freed: what points into them must be forgotten */
	bool is_pending; /* the parser is at it: ask again later */
};

/* The module of the file behind `fd` (borrowed), held once more for the caller. `path` is borrowed. Has it read when it is new.
 * Returns NULL when it is pending, no file for us, one that the parser died of, or there is no room. */
struct module *modules_get(struct modules *m, int fd, struct str path, struct modules_found *out);

/* The vdso, read from our own memory: the same for every process of this kernel. Held once more; may be NULL. */
struct module *modules_vdso(struct modules *m, struct modules_found *out);

/* Our own CPU time that finding lines in debug information took so far; the parser's is not in it. */
uint64_t modules_lines_ns(const struct modules *m);

/* Files that the parser died of, or hung over: they have no rows and no names. */
uint64_t modules_unread(const struct modules *m);

/* Who reads the files; borrowed. */
struct parser *modules_parser(struct modules *m);

/* The frame of the code at `pc`. Sets *out_is_named to false when only its address is known. */
const struct frame *module_frame(struct modules *m, struct module *module, uint32_t pc,
				 bool *out_is_named);

#endif
