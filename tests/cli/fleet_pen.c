/* fleet_pen.c - rows by hand for a fleet's store. */
#include "cli/fleet_pen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

__attribute__((noreturn)) static void die(const char *what, int rc, const struct err *err)
{
	fprintf(stderr, "fleet_pen: %s: %s (%d)\n", what, err->msg, rc);
	exit(2);
}

void fleet_pen_open(struct fleet_pen *pen, const char *url)
{
	struct err err = ERR_EMPTY;
	int rc = fleet_store_find(url, &pen->store, &err);

	if (rc == 0)
		rc = pen->store->open(url, FLEET_WRITE, &pen->db, &err);
	if (rc != 0)
		die("cannot open", rc, &err);
}

void fleet_pen_close(struct fleet_pen *pen)
{
	pen->store->close(pen->db);
	pen->db = NULL;
}

void fleet_pen_enrol(struct fleet_pen *pen, struct server_row *servers, size_t count)
{
	struct err err = ERR_EMPTY;
	int rc = pen->store->enrol(pen->db, servers, count, &err);

	if (rc != 0)
		die("cannot enrol", rc, &err);
}

void fleet_pen_put(struct fleet_pen *pen, struct fleet_batch *b)
{
	const struct fleet_batch *batch = b;
	struct err err = ERR_EMPTY;
	bool was_there = false;
	int rc = pen->store->put(pen->db, &batch, 1, &was_there, &err);

	if (rc != 0)
		die("cannot put", rc, &err);
	fleet_batch_free(b);
}

void fleet_pen_add(struct fleet_batch *b, const struct table *t, const void *row)
{
	int rc = fleet_batch_add(b, t, BLOCK_PUT, row);

	if (rc != 0)
		die("cannot add a row", rc, &ERR_EMPTY);
}

struct digest fleet_pen_payload(struct fleet_batch *b, uint32_t id, uint32_t kind,
				struct str content, int64_t seen_wall_ns)
{
	size_t room = ZSTD_compressBound(content.len);
	void *packed = malloc(room);
	struct payload_row row = { .server = b->server,
				   .kind = kind,
				   .size_bytes = content.len,
				   .seen_wall_ns = seen_wall_ns };

	if (packed == NULL)
		die("cannot pack", -ENOMEM, &ERR_EMPTY);
	for (size_t i = 0; i < sizeof(id); i++)
		row.digest.bytes[i] = (uint8_t)(id >> (8 * i));
	row.content = (struct blob){ packed, (uint32_t)ZSTD_compress(packed, room, content.bytes,
								     content.len, 3) };
	fleet_pen_add(b, &table_payload, &row);
	free(packed);
	return row.digest;
}

struct str fleet_pen_str(const char *chars)
{
	return (struct str){ chars, (uint32_t)strlen(chars) };
}
