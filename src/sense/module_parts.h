/* module_parts.h - the inside of modules, for module*.c only. */
#ifndef TARE_SENSE_MODULE_PARTS_H
#define TARE_SENSE_MODULE_PARTS_H

#include "sense/debuginfod.h"
#include "sense/inlines.h"
#include "sense/module.h"
#include "sense/sources.h"

#define MODULES_MAX_AWAITED 64u /* each holds a descriptor or two */

struct module {
	struct tables tables;
	struct str name;
	uint64_t file_bytes;
	size_t bytes;
	uint32_t holders, mark;
	struct sources sources;
	struct inlines inlines;
	bool has_lines_open;
	const struct frame **frame_of; /* by symbol, then by function, then the nameless rest */
};

/* A frame that was named by its address, and may get a name. */
struct rename {
	const struct frame *from;
	uint32_t pc;
};

/* A module whose debug file is asked for. */
struct awaited {
	struct module *module;
	int fd;			/* the binary; owned */
	int debug_fd;		/* its debug file, once it has come; owned; -1: not yet */
	bool is_read;		/* its names are in the module's tables */
	struct rename *renames; /* owned; those that are not told yet */
	size_t rename_count;
};

/* A file that we have seen: several may hold the same build. */
struct seen_file {
	struct parser_file_id id;
	struct module *module; /* NULL: it is left alone */
};

struct modules {
	struct naming *names;
	struct module **items;
	size_t count, room;
	struct seen_file *files;
	size_t file_count, file_room;
	size_t bytes, with_lines;
	uint64_t lines_ns, unread;
	struct parser *parser; /* of whole files */
	struct parser *namer;  /* of single names and addresses, which do not wait for those */
	struct parser_file_id identified; /* the file whose build-id and debuglink ... */
	struct tables identity;		  /* ... these are, while its tables are being read */
	struct module *vdso;
	bool is_vdso_read;
	int vdso_fd;		    /* -1: not open */
	uint64_t inlines_ns;	    /* CPU time that what is inlined took in all */
	struct debuginfod *servers; /* owned; NULL: none is asked */
	struct awaited awaited[MODULES_MAX_AWAITED];
	size_t awaited_count;
};

/* Names the function at `pc`. */
const struct frame *module_name_function(struct modules *m, struct module *module, uint32_t pc,
					 struct module_frames *out);

/* Opens what has the lines: the file itself, or the debug file that its symbols came from. */
void module_open_lines(struct modules *m, struct module *module, const struct parser_file *file);

/* Asks servers for what was stripped off the file behind `fd` (borrowed), if they are to be asked. */
void module_await_debug(struct modules *m, struct module *module, int fd);

/* Forgets that: the module goes. */
void module_forget_awaited(struct modules *m, const struct module *module);

#endif
