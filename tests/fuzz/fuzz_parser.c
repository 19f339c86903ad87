/* fuzz_parser.c - any bytes as the answer of a parser child that a file has taken over: as tables, with a step from each row, as
 * lines and as names. The first byte says as what. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "sense/parser_link.h"
#include "sense/places_names.h"
#include "sense/walk.h"

static size_t letters;

static void take_line(void *owner, uint64_t address, uint32_t line, const char *file,
		      uint32_t file_len)
{
	(void)owner;
	letters += address + line;
	for (uint32_t i = 0; i < file_len; i++)
		letters += (unsigned char)file[i];
}

static void use_tables(struct parser *p, const struct parser_file *file)
{
	struct copied memory = { 4096, (const uint8_t *)"12345678", 8, false };
	struct tables t = { 0 };

	if (parser_read_tables(p, file, &t) != 0)
		return;
	for (size_t i = 0; i < t.row_count; i++) {
		struct registers regs = { .known = (1u << DWARF_REG_COUNT) - 1 };

		(void)walk_row(&t, &t.rows[i], &regs, &memory);
	}
	for (size_t i = 0; i < t.symbol_count; i++)
		for (uint32_t k = 0; k < t.symbols[i].name_len; k++)
			letters += (unsigned char)t.names[t.symbols[i].name + k];
	(void)tables_function(&t, 4096);
	tables_free(&t);
}

static void use_names(struct parser *p, const struct parser_file *file)
{
	struct place_names n = PLACE_NAMES_EMPTY;
	struct place_names_row row;
	uint64_t offset, left;

	if (parser_read_names(p, file, &n.file) != 0)
		return;
	while (place_names_next(&n, &row)) {
		for (uint32_t i = 0; i < row.name.len; i++)
			letters += (unsigned char)row.name.bytes[i];
		for (uint32_t i = 0; i < row.version.len; i++)
			letters += (unsigned char)row.version.bytes[i];
		(void)place_names_offset(&n, row.address, &offset, &left);
	}
	(void)place_names_throws(&n);
	place_names_close(&n);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const enum parser_kind kinds[] = { PARSER_TABLES, PARSER_LINES, PARSER_NAMES };
	struct parser_file file = { .fd = -1 };
	struct parser_lines lines = { .take = take_line };
	struct parser *p;
	int ends[2];

	if (size < 1 || size > 65536)
		return 0;
	if (parser_open(true, &p) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ||
	    write(ends[1], bytes + 1, size - 1) != (ssize_t)(size - 1))
		abort();
	close(ends[1]);
	p->link.socket = ends[0];
	p->link.is_busy = true;
	p->link.asked = (struct parser_ask){ .question = { .kind = kinds[bytes[0] % 3] },
					     .most_bytes = PARSER_MAX_LINES_BYTES };
	p->link.deaths = 8; /* nothing is started in its place */
	parser_mind(p);
	if (bytes[0] % 3 == 0)
		use_tables(p, &file);
	else if (bytes[0] % 3 == 1)
		(void)parser_read_lines(p, &file, &lines);
	else
		use_names(p, &file);
	close(ends[0]);
	parser_close(p);
	return letters == SIZE_MAX;
}
