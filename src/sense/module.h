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

struct debuginfod; /* debuginfod.h */

/* From now on what has no symbols is asked for at servers; takes `servers` over. */
void modules_ask_servers(struct modules *m, struct debuginfod *servers);

/* A frame that was given out got its name: `from` is now called `to`. Both live as long as the names. */
typedef void modules_renamed(void *owner, const struct frame *from, const struct frame *to);

/* Takes the debug files that have come, and tells the frames that they name. True: tables were exchanged, so what points into them
 * must be forgotten. Never waits; call it now and then. */
bool modules_take_debug(struct modules *m, modules_renamed *renamed, void *owner);

/* Modules whose debug files are still to come, or to be read. */
size_t modules_awaited(const struct modules *m);

/* Our own CPU time that finding lines in debug information took so far; the parser's is not in it. */
uint64_t modules_lines_ns(const struct modules *m);

/* Files that the parser died of, or hung over: they have no rows and no names. */
uint64_t modules_unread(const struct modules *m);

/* Who reads single names and addresses; borrowed. */
struct parser *modules_namer(struct modules *m);

/* Kills a child that hangs over what nobody asks for again. Call it once a second or so. */
void modules_mind(struct modules *m);

/* CPU time of the children that run and read for us: in no getrusage() yet. */
uint64_t modules_reading_ns(const struct modules *m);

/* What stands at one address, outermost first: its function, and what the compiler put into it there. Frames live as long as the
 * module is held. */
struct module_frames {
	const struct frame *function;
	const struct frame *const *inlined;
	size_t inlined_count;
	bool is_named;	 /* false: only the address is known */
	bool is_pending; /* the parser is at it: ask again later, and do not remember this */
};
void module_frames(struct modules *m, struct module *module, uint32_t pc,
		   struct module_frames *out);

#endif
