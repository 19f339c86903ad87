/* paths.h - full call paths as a trie in a fixed arena, names included: nothing is allocated after init.
 * A node is one frame under its parent; a path is named by its last node. Nodes are reference-counted by
 * those who point at them (contexts, slots, the open group) and freed at no reference and no child; a
 * frame is freed with its last node, a name with its last frame. Ids of freed rows are used again.
 * A frame is known by its 64-bit key and the lengths of its name and module; a path is found by one hash
 * chained over those. Single-threaded. */
#ifndef TARE_CORE_PATHS_H
#define TARE_CORE_PATHS_H

#include "core/dirty.h"
#include "core/frame.h"
#include "core/recording.h"

#define PATHS_NONE UINT32_MAX

struct paths_limits {
	uint32_t nodes;	     /* most nodes */
	uint32_t frames;     /* most distinct frames */
	uint32_t name_bytes; /* most bytes of names, modules and files together */
};

struct paths; /* opaque; owned by whoever opened it */

/* Takes all memory at once. -ENOMEM, -EINVAL for a limit of 0. */
int paths_open(const struct paths_limits *limits, struct paths **out);

/* Accepts NULL. */
void paths_close(struct paths *p);

/* The node of exactly this path (thread first), or PATHS_NONE. Never changes anything. */
uint32_t paths_find(const struct paths *p, const struct frame *path, size_t depth);

/* Finds or stores the path and takes one reference to its last node. -ENOSPC: a node, frame or name
 * had no room, and nothing changed. `depth` > 0. Strings are copied, and cut at STR_MAX_BYTES; they must not be
 * those of paths_frame(). */
int paths_add(struct paths *p, const struct frame *path, size_t depth, uint32_t *out_node);

/* Would this path alone take more than half of the arena? Then nothing should yield to it. */
bool paths_is_too_big(const struct paths *p, const struct frame *path, size_t depth);

/* A frame got its name: what was stored as `from` is shown as `to` from now on, on every path. The same path by its new name is stored
 * beside it. Strings of `to` must not be those of paths_frame(). False: there is no such frame, or no room for its name. */
bool paths_rename(struct paths *p, const struct frame *from, const struct frame *to);

/* How many frames of this path, from the root, are stored already: 0 .. depth. */
size_t paths_stored_depth(const struct paths *p, const struct frame *path, size_t depth);

/* One more, and one less, reference to a node. The last one frees it, and its parents that nobody else needs. */
void paths_ref(struct paths *p, uint32_t node);
void paths_unref(struct paths *p, uint32_t node);

/* The parent of a node, PATHS_NONE at a root; the id of its frame; its depth (a root has 1); who points at it. */
uint32_t paths_parent(const struct paths *p, uint32_t node);
uint32_t paths_frame_id(const struct paths *p, uint32_t node);
uint32_t paths_depth(const struct paths *p, uint32_t node);
uint32_t paths_references(const struct paths *p, uint32_t node);

/* A frame by id; its strings are borrowed until the next call that changes the paths. */
struct frame paths_frame(const struct paths *p, uint32_t frame_id);

/* Live counts, for tests, the label and the size budget. */
struct paths_used {
	uint32_t nodes, frames, name_bytes;
};
struct paths_used paths_used(const struct paths *p);

/* Appends to `out` the rows of nodes and frames that changed since paths_saved(), freed ones as deleted ids. Marks
 * stay until the save is known to be good. Strings are borrowed as in paths_frame(). -ENOMEM: `out` is as it was. */
int paths_changes(const struct paths *p, struct changes *out);

/* What paths_changes() gave is saved: forgets the marks. */
void paths_saved(struct paths *p);

#endif
