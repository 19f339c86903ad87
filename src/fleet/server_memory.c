/* server_memory.c - the small memories of a server: names by oid, payloads by digest, settings by name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/server_parts.h"

#define NS_PER_HOUR   (INT64_C(3600) * 1000000000)
#define PAYLOADS_ROOM 32u
#define NAMES_MOST    20000u /* of databases and roles: a server can have no more of ours */
#define SETTINGS_MOST 5000u

static struct named *named_of(const struct names_memory *n, uint32_t oid, bool is_role)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->rows[i].oid == oid && n->rows[i].is_role == is_role)
			return &n->rows[i];
	return NULL;
}

const char *names_find(const struct names_memory *n, uint32_t oid, bool is_role)
{
	const struct named *row = named_of(n, oid, is_role);

	return row != NULL ? row->name : NULL;
}

int names_put(struct names_memory *n, uint32_t oid, bool is_role, struct str name)
{
	struct named *row = named_of(n, oid, is_role);
	char *copy;

	if (row != NULL && strlen(row->name) == name.len &&
	    (name.len == 0 || memcmp(row->name, name.bytes, name.len) == 0))
		return 0;
	if (row == NULL && n->count == NAMES_MOST)
		return 0;
	if (row == NULL && n->count == n->room) {
		size_t room = n->room > 0 ? n->room * 2 : 4;
		struct named *rows = reallocarray(n->rows, room, sizeof(*rows));

		if (rows == NULL)
			return -ENOMEM;
		n->rows = rows;
		n->room = room;
	}
	copy = calloc(1, (size_t)name.len + 1);
	if (copy == NULL)
		return -ENOMEM;
	if (name.len > 0)
		memcpy(copy, name.bytes, name.len);
	if (row == NULL)
		row = &n->rows[n->count++];
	else
		free(row->name);
	*row = (struct named){ oid, is_role, copy };
	return 0;
}

void names_free(struct names_memory *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->rows[i].name);
	free(n->rows);
	*n = (struct names_memory){ NULL, 0, 0 };
}

static struct payload_known *payload_place(struct payload_known *rows, uint32_t room,
					   const uint64_t halves[2])
{
	uint32_t at = (uint32_t)halves[0] & (room - 1);

	while (rows[at].hour != 0 &&
	       (rows[at].halves[0] != halves[0] || rows[at].halves[1] != halves[1]))
		at = (at + 1) & (room - 1);
	return &rows[at];
}

const struct payload_known *payloads_find(const struct payloads_memory *p, const struct digest *d)
{
	uint64_t halves[2];
	const struct payload_known *row;

	if (p->room == 0)
		return NULL;
	memcpy(halves, d->bytes, sizeof(halves));
	row = payload_place(p->rows, p->room, halves);
	return row->hour != 0 ? row : NULL;
}

static int payloads_grow(struct payloads_memory *p)
{
	uint32_t room = p->room > 0 ? p->room * 2 : PAYLOADS_ROOM;
	struct payload_known *rows = calloc(room, sizeof(*rows));

	if (rows == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->room; i++)
		if (p->rows[i].hour != 0)
			*payload_place(rows, room, p->rows[i].halves) = p->rows[i];
	free(p->rows);
	p->rows = rows;
	p->room = room;
	return 0;
}

int payloads_put(struct payloads_memory *p, const struct digest *d, struct wall at)
{
	struct payload_known *row;
	uint64_t halves[2];

	if ((p->count + 1) * 4 > p->room * 3 && payloads_grow(p) != 0)
		return -ENOMEM;
	memcpy(halves, d->bytes, sizeof(halves));
	row = payload_place(p->rows, p->room, halves);
	p->count += row->hour == 0;
	memcpy(row->halves, halves, sizeof(halves));
	row->hour = at.ns > NS_PER_HOUR ? (uint32_t)(at.ns / NS_PER_HOUR) : 1;
	return 0;
}

void payloads_free(struct payloads_memory *p)
{
	free(p->rows);
	*p = (struct payloads_memory){ NULL, 0, 0 };
}

struct setting_known *settings_find(const struct settings_memory *m, struct str name)
{
	for (size_t i = 0; i < m->count; i++)
		if (name.len > 0 && strlen(m->rows[i].name) == name.len &&
		    memcmp(m->rows[i].name, name.bytes, name.len) == 0)
			return &m->rows[i];
	return NULL;
}

int settings_put(struct settings_memory *m, struct str name, struct str value, uint64_t secret)
{
	struct setting_known *row;
	char *both;

	row = settings_find(m, name);
	if (name.len == 0 || memchr(name.bytes, '\0', name.len) != NULL ||
	    (row == NULL && m->count == SETTINGS_MOST))
		return 0;
	both = calloc(1, (size_t)name.len + value.len + 2);
	if (both == NULL)
		return -ENOMEM;
	memcpy(both, name.bytes, name.len);
	if (value.len > 0)
		memcpy(both + name.len + 1, value.bytes, value.len);
	if (row == NULL && m->count == m->room) {
		size_t room = m->room > 0 ? m->room * 2 : 16;
		struct setting_known *rows = reallocarray(m->rows, room, sizeof(*rows));

		if (rows == NULL) {
			free(both);
			return -ENOMEM;
		}
		m->rows = rows;
		m->room = room;
	}
	if (row == NULL)
		row = &m->rows[m->count++];
	else
		free(row->name);
	*row = (struct setting_known){ both, both + name.len + 1, secret, 0 };
	return 0;
}

void settings_memory_free(struct settings_memory *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->rows[i].name);
	free(m->rows);
	*m = (struct settings_memory){ NULL, 0, 0, 0 };
}
