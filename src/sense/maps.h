/* maps.h - the executable mappings of one address space, sorted. Forked processes share one list until one of them
 * changes it. Bounded: beyond MAPS_MAX nothing is added. One thread. */
#ifndef TARE_SENSE_MAPS_H
#define TARE_SENSE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sense/module.h"
#include "sense/space.h"

#define MAPS_MAX 65536u

enum mapping_kind { MAPPING_FILE, MAPPING_VDSO, MAPPING_NAMELESS };

struct mapping {
	uint64_t start, end, file_offset, inode;
	uint32_t dev_major, dev_minor;
	enum mapping_kind kind;
	bool was_deleted;      /* its path led nowhere when we first saw it */
	bool is_settled;       /* `module` is what it will be */
	uint64_t ask_again_ns; /* while it is not, not before this (CLOCK_MONOTONIC) */
	int64_t seen_s;	       /* CLOCK_REALTIME when we first saw it */
	struct str file;       /* kept by names, without " (deleted)" */
	struct module *module; /* counted; NULL: not opened yet, or not readable */
};

struct maps {
	uint32_t owners;     /* processes that share it */
	uint32_t generation; /* another one after each change, unique among all */
	struct mapping *items;
	size_t count, room;
};

/* An empty list with one owner; NULL: no memory. */
struct maps *maps_open(void);

/* One owner less; the last one frees it. Accepts NULL. */
void maps_release(struct maps *m);

/* A list of one's own with the same mappings; NULL: no memory. */
struct maps *maps_copy(const struct maps *m);

/* Puts `mapping` (its module is counted already) over whatever was there. -ENOMEM, -E2BIG. */
int maps_insert(struct maps *m, const struct mapping *mapping);

/* The mapping that holds `address`, or NULL. */
struct mapping *maps_find(const struct maps *m, uint64_t address);

/* One line of /proc/PID/maps without its newline. Its path, unescaped, goes to `path` (PATH_MAX + 16 bytes at least).
 * False: malformed. `out->pid` is 0; out->file points into `path`. */
bool maps_parse_line(const char *line, size_t len, char *path, size_t path_size,
		     struct mapping_event *out, bool *out_is_code);

/* What `event` maps, with names not kept yet: out->file is borrowed from it. */
void maps_describe(const struct mapping_event *event, struct mapping *out);

#endif
