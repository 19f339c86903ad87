/* fleet_pen.h - writes rows by hand into a fleet's store. Any failure ends the program: a maker of test data has no use for
 * half of it. */
#ifndef TARE_TESTS_FLEET_PEN_H
#define TARE_TESTS_FLEET_PEN_H

#include "store/fleet_store.h"

struct fleet_pen {
	const struct fleet_store_ops *store;
	void *db;
};

/* Opens or makes the store at `url`. */
void fleet_pen_open(struct fleet_pen *pen, const char *url);
void fleet_pen_close(struct fleet_pen *pen);

/* Gives each server its number and seat. */
void fleet_pen_enrol(struct fleet_pen *pen, struct server_row *servers, size_t count);

/* Writes a batch and frees it. */
void fleet_pen_put(struct fleet_pen *pen, struct fleet_batch *b);

/* Adds a row of `t` to a batch. */
void fleet_pen_add(struct fleet_batch *b, const struct table *t, const void *row);

/* Adds a payload whose digest begins with `id`: nobody looks whether it fits. Returns the digest. */
struct digest fleet_pen_payload(struct fleet_batch *b, uint32_t id, uint32_t kind,
				struct str content, int64_t seen_wall_ns);

/* A borrowed string of chars. */
struct str fleet_pen_str(const char *chars);

#endif
