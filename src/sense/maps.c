/* maps.c - one address space as a sorted array of what can be executed. */
#include "sense/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sense/grow.h"

static const char deleted[] = " (deleted)";

struct maps *maps_open(void)
{
	struct maps *m = calloc(1, sizeof(*m));

	if (m != NULL)
		m->owners = 1;
	return m;
}

void maps_release(struct maps *m)
{
	if (m == NULL || --m->owners > 0)
		return;
	for (size_t i = 0; i < m->count; i++)
		module_drop(m->items[i].module);
	free(m->items);
	free(m);
}

struct maps *maps_copy(const struct maps *m)
{
	struct maps *copy = maps_open();

	if (copy == NULL || m->count == 0)
		return copy;
	copy->items = calloc(m->count, sizeof(*m->items));
	if (copy->items == NULL) {
		free(copy);
		return NULL;
	}
	memcpy(copy->items, m->items, m->count * sizeof(*m->items));
	copy->count = copy->room = m->count;
	for (size_t i = 0; i < copy->count; i++)
		module_hold(copy->items[i].module);
	return copy;
}

/* The first mapping that ends above `address`. */
static size_t first_above(const struct maps *m, uint64_t address)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct mapping *maps_find(const struct maps *m, uint64_t address)
{
	size_t at = first_above(m, address);

	return at < m->count && m->items[at].start <= address ? &m->items[at] : NULL;
}

static void remove_at(struct maps *m, size_t at, size_t count)
{
	for (size_t i = at; i < at + count; i++)
		module_drop(m->items[i].module);
	memmove(&m->items[at], &m->items[at + count], (m->count - at - count) * sizeof(*m->items));
	m->count -= count;
}

static void insert_at(struct maps *m, size_t at, const struct mapping *mapping)
{
	memmove(&m->items[at + 1], &m->items[at], (m->count - at) * sizeof(*m->items));
	m->items[at] = *mapping;
	m->count++;
}

/* Cuts [start, end) out of what is there. Room for one more is needed: a hole splits a mapping. */
static void clear(struct maps *m, uint64_t start, uint64_t end)
{
	size_t at = first_above(m, start), gone;

	if (at < m->count && m->items[at].start < start) {
		struct mapping right = m->items[at];

		m->items[at].end = start;
		if (right.end > end) {
			right.file_offset += end - right.start;
			right.start = end;
			module_hold(right.module);
			insert_at(m, at + 1, &right);
		}
		at++;
	}
	for (gone = 0; at + gone < m->count && m->items[at + gone].end <= end; gone++)
		;
	remove_at(m, at, gone);
	if (at < m->count && m->items[at].start < end) {
		m->items[at].file_offset += end - m->items[at].start;
		m->items[at].start = end;
	}
}

int maps_insert(struct maps *m, const struct mapping *mapping)
{
	void *items = m->items;
	int rc = grow(&items, &m->room, m->count + 2, MAPS_MAX, sizeof(*m->items));

	if (rc < 0)
		return rc;
	m->items = items;
	clear(m, mapping->start, mapping->end);
	insert_at(m, first_above(m, mapping->start), mapping);
	return 0;
}

void maps_describe(const struct mapping_event *event, struct mapping *out)
{
	struct str file = event->file;
	size_t suffix = sizeof(deleted) - 1;

	*out = (struct mapping){ .start = event->start,
				 .end = event->start + event->len,
				 .file_offset = event->file_offset,
				 .inode = event->inode,
				 .dev_major = event->dev_major,
				 .dev_minor = event->dev_minor,
				 .kind = MAPPING_NAMELESS,
				 .file = STR_EMPTY };
	if (file.len > suffix && memcmp(file.bytes + file.len - suffix, deleted, suffix) == 0) {
		out->was_deleted = true;
		file.len -= (uint32_t)suffix;
	}
	if (file.len == 6 && memcmp(file.bytes, "[vdso]", 6) == 0) {
		out->kind = MAPPING_VDSO;
		out->file = file;
	} else if (file.len > 1 && file.bytes[0] == '/' && file.bytes[1] != '/' &&
		   event->inode != 0) {
		out->kind = MAPPING_FILE;
		out->file = file;
	}
}

/* A number up to `stop`, which is skipped. False: none, or too large. */
static bool read_number(const char **at, const char *end, unsigned base, char stop, uint64_t *out)
{
	uint64_t value = 0;
	const char *start = *at;

	for (; *at < end && **at != stop; ++*at) {
		char c = **at;
		unsigned digit = c >= '0' && c <= '9'	? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
							: 16;

		if (digit >= base || value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (*at == start || *at == end)
		return false;
	++*at;
	*out = value;
	return true;
}

/* The kernel writes a newline in a path as \012. */
static size_t unescape(const char *at, const char *end, char *out, size_t size)
{
	size_t len = 0;

	while (at < end && len < size) {
		if (end - at >= 4 && memcmp(at, "\\012", 4) == 0) {
			out[len++] = '\n';
			at += 4;
		} else {
			out[len++] = *at++;
		}
	}
	return len;
}

bool maps_parse_line(const char *line, size_t len, char *path, size_t path_size,
		     struct mapping_event *out, bool *out_is_code)
{
	const char *at = line, *end = line + len;
	uint64_t start, stop, offset, major, minor, inode = 0;
	bool is_code;

	if (!read_number(&at, end, 16, '-', &start) || !read_number(&at, end, 16, ' ', &stop) ||
	    stop <= start || end - at < 5 || at[4] != ' ')
		return false;
	is_code = at[2] == 'x';
	at += 5;
	if (!read_number(&at, end, 16, ' ', &offset) || !read_number(&at, end, 16, ':', &major) ||
	    !read_number(&at, end, 16, ' ', &minor) || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	while (at < end && *at >= '0' && *at <= '9') {
		if (inode > (UINT64_MAX - 9) / 10)
			return false;
		inode = inode * 10 + (uint64_t)(*at++ - '0');
	}
	while (at < end && *at == ' ')
		at++;
	*out = (struct mapping_event){ .start = start,
				       .len = stop - start,
				       .file_offset = offset,
				       .inode = inode,
				       .dev_major = (uint32_t)major,
				       .dev_minor = (uint32_t)minor };
	out->file = (struct str){ path, (uint32_t)unescape(at, end, path, path_size) };
	*out_is_code = is_code;
	return true;
}
