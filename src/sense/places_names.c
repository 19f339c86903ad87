/* places_names.c - what the parser child says of a file's symbols, row by row. */
#include "sense/places_names.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/debugfile.h"
#include "sense/elffile.h"

void place_names_close(struct place_names *n)
{
	parser_names_free(&n->file);
	if (n->debug_fd >= 0)
		close(n->debug_fd);
	*n = PLACE_NAMES_EMPTY;
}

/* The one debug file that the child took stays open: what was inlined is looked up there. */
static void keep_debug_file(struct place_names *n, struct parser_file *from)
{
	uint32_t used = n->file.head.debug_file;

	if (used == 0)
		return;
	n->debug_fd = from->debug_fds[used - 1];
	from->debug_fds[used - 1] = -1;
}

int place_names_open(struct parser *parser, int fd, struct str path, struct place_names *out)
{
	SCOPED(debugfile_close) struct parser_file file = { .fd = fd };
	struct place_names n = PLACE_NAMES_EMPTY;
	struct tables id = { 0 };
	int rc = parser_file_identify(&file);

	if (rc == 0)
		rc = parser_read_id(parser, &file, &id);
	if (rc < 0)
		return rc;
	debugfile_open(&id, path, &file);
	rc = parser_read_names(parser, &file, &n.file);
	if (rc < 0)
		return rc;
	keep_debug_file(&n, &file);
	*out = n;
	return 0;
}

void place_names_rewind(struct place_names *n)
{
	n->at = 0;
}

bool place_names_next(struct place_names *n, struct place_names_row *out)
{
	const struct parser_name *row;

	if (n->at == n->file.count)
		return false;
	row = &n->file.rows[n->at++];
	*out = (struct place_names_row){ .name = { n->file.text + row->name_at, row->name_bytes },
					 .version = { n->file.text + row->version_at,
						      row->version_bytes },
					 .is_default = row->is_default,
					 .kind = (enum place_names_kind)row->kind,
					 .rank = row->rank,
					 .address = row->address,
					 .bytes = row->bytes };
	return true;
}

bool place_names_throws(const struct place_names *n)
{
	const struct parser_names_head *head = &n->file.head;
	uint64_t code_bytes = 0;

	for (size_t i = 0; i < head->segment_count; i++)
		code_bytes += head->segments[i].file_bytes;
	return head->catch_bytes > code_bytes / 4096;
}

bool place_names_offset(const struct place_names *n, uint64_t address, uint64_t *out_offset,
			uint64_t *out_left)
{
	for (size_t i = 0; i < n->file.head.segment_count; i++) {
		const struct segment *s = &n->file.head.segments[i];
		uint64_t inside = address - s->vaddr;

		if (address < s->vaddr || inside >= s->file_bytes ||
		    s->file_offset > ELFFILE_MAX_BYTES || inside > ELFFILE_MAX_BYTES)
			continue;
		*out_offset = s->file_offset + inside;
		*out_left = s->file_bytes - inside;
		return true;
	}
	return false;
}
