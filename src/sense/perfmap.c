/* perfmap.c - lines of "START SIZE name", as they are appended. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sense/jitfile.h"

#define BLOCK_BYTES 65536u /* a longer line says nothing */

/* A hexadecimal number, with or without 0x, and the blanks behind it. False: none, or too large. */
static bool take_number(const char **at, const char *end, uint64_t *out)
{
	const char *start;

	if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X'))
		*at += 2;
	start = *at;
	for (*out = 0; *at < end && **at != ' ' && **at != '\t'; ++*at) {
		char c = **at;
		unsigned digit = c >= '0' && c <= '9'	? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
				 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
							: 16;

		if (digit > 15 || *out >> 60 != 0)
			return false;
		*out = *out << 4 | digit;
	}
	if (*at == start || *at == end)
		return false;
	while (*at < end && (**at == ' ' || **at == '\t'))
		++*at;
	return true;
}

/* One line without its newline, which begins at `offset` of the file. */
static int take_line(struct jitfile *f, const char *line, size_t len, uint64_t offset)
{
	const char *at = line, *end = line + len;
	struct jit_code code = { .start = 0 };

	if (len > 0 && end[-1] == '\r')
		end--;
	if (!take_number(&at, end, &code.start) || !take_number(&at, end, &code.bytes) ||
	    at == end) {
		f->index.rejected++;
		return 0;
	}
	code.name_at = offset + (uint64_t)(at - line);
	code.name_bytes = (uint32_t)(end - at);
	return jitindex_add(&f->index, &code);
}

/* The whole lines of a block that begins at f->read_bytes. Returns how many bytes they are, or a negative errno. */
static ssize_t take_lines(struct jitfile *f, const char *block, size_t len)
{
	const char *newline;
	size_t at = 0;

	while ((newline = memchr(block + at, '\n', len - at)) != NULL) {
		size_t line_len = (size_t)(newline - block) - at;
		int rc = 0;

		if (!f->is_skipping)
			rc = take_line(f, block + at, line_len, f->read_bytes + at);
		f->is_skipping = false;
		if (rc < 0)
			return rc;
		at += line_len + 1;
	}
	if (at == 0 && len == BLOCK_BYTES) { /* its line has no end in reach */
		f->index.rejected += !f->is_skipping;
		f->is_skipping = true;
		at = len;
	}
	return (ssize_t)at;
}

int perfmap_read(struct jitfile *f, int fd, uint64_t file_bytes)
{
	char block[BLOCK_BYTES];

	while (f->read_bytes < file_bytes) {
		uint64_t left = file_bytes - f->read_bytes;
		ssize_t count = pread(fd, block, left < sizeof(block) ? left : sizeof(block),
				      (off_t)f->read_bytes);
		ssize_t used;

		if (count <= 0)
			return count < 0 ? -EIO : 0;
		used = take_lines(f, block, (size_t)count);
		if (used < 0)
			return (int)used;
		if (used == 0) /* a line that is being written */
			return 0;
		f->read_bytes += (uint64_t)used;
	}
	return 0;
}
