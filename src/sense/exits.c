/* exits.c - a linear sweep over each function with Zydis. */
#include "sense/exits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "core/scoped.h"
#include "sense/places_names.h"

#define MAX_PARTS      8u
#define MAX_PART_BYTES (UINT64_C(1) << 20)
#define BY_SIB	       4u /* modrm.rm: a SIB byte follows */
#define BY_RIP	       5u /* modrm.rm with mod 0: relative to the next instruction */
#define NO_INDEX       4u

/* What an instruction does to the flow. */
enum flow {
	FLOW_ON,	/* to the next one, or somewhere inside the function */
	FLOW_OUT,	/* it leaves the function */
	FLOW_NOT_KNOWN, /* it may leave it, or not */
};

void exits_free(struct exits *e)
{
	free(e->offsets);
	*e = EXITS_EMPTY;
}

static bool is_inside(const struct exits_part *parts, size_t count, uint64_t offset)
{
	for (size_t i = 0; i < count; i++)
		if (offset >= parts[i].offset && offset - parts[i].offset < parts[i].bytes)
			return true;
	return false;
}

/* A jump by memory or register. Switches jump by a table, or are marked so that no landing is checked; a pointer in memory
 * without an index is a function's. */
static enum flow flow_by_pointer(const ZydisDecodedInstruction *instruction)
{
	uint8_t mod = instruction->raw.modrm.mod, rm = instruction->raw.modrm.rm;

	if ((instruction->attributes & ZYDIS_ATTRIB_HAS_NOTRACK) != 0)
		return FLOW_ON;
	if (mod == 3)
		return FLOW_NOT_KNOWN;
	if (rm == BY_SIB && instruction->raw.sib.index != NO_INDEX)
		return FLOW_ON;
	if (mod == 0 && rm != BY_RIP && rm == BY_SIB && instruction->raw.sib.base == BY_RIP)
		return FLOW_NOT_KNOWN; /* an absolute address */
	return FLOW_OUT;
}

static bool is_branch(const ZydisDecodedInstruction *instruction)
{
	return instruction->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       instruction->meta.category == ZYDIS_CATEGORY_COND_BR;
}

static enum flow flow_of(const ZydisDecodedInstruction *instruction, uint64_t next,
			 const struct exits_part *parts, size_t count, bool names_all)
{
	bool is_always = instruction->meta.category == ZYDIS_CATEGORY_UNCOND_BR;

	if (instruction->meta.category == ZYDIS_CATEGORY_RET)
		return instruction->mnemonic == ZYDIS_MNEMONIC_RET ? FLOW_OUT : FLOW_NOT_KNOWN;
	if (!is_branch(instruction))
		return FLOW_ON;
	if (!instruction->raw.imm[0].is_relative)
		return flow_by_pointer(instruction);
	if (is_inside(parts, count, next + (uint64_t)instruction->raw.imm[0].value.s))
		return FLOW_ON;
	return is_always && names_all ? FLOW_OUT : FLOW_NOT_KNOWN;
}

static int add(struct exits *e, uint64_t offset)
{
	if (e->count == EXITS_MOST)
		return -ENOTSUP;
	e->offsets[e->count++] = offset;
	return 0;
}

static int sweep(const ZydisDecoder *decoder, const struct exits_part *parts, size_t count,
		 size_t at, bool names_all, struct exits *out)
{
	const struct exits_part *part = &parts[at];
	uint64_t done = 0;

	while (done < part->bytes) {
		ZydisDecodedInstruction instruction;
		enum flow flow;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, part->code + done,
								part->bytes - done, &instruction)))
			return -ENOTSUP;
		flow = flow_of(&instruction, part->offset + done + instruction.length, parts, count,
			       names_all);
		if (flow == FLOW_NOT_KNOWN ||
		    (flow == FLOW_OUT && add(out, part->offset + done) < 0))
			return -ENOTSUP;
		done += instruction.length;
	}
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

int exits_of_parts(const struct exits_part *parts, size_t count, bool names_all, struct exits *out)
{
	SCOPED(exits_free) struct exits found = EXITS_EMPTY;
	ZydisDecoder decoder;

	found.offsets = calloc(EXITS_MOST, sizeof(*found.offsets));
	if (found.offsets == NULL)
		return -ENOMEM;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t i = 0; i < count; i++) {
		int status = sweep(&decoder, parts, count, i, names_all, &found);

		if (status < 0)
			return status;
	}
	if (found.count == 0)
		return -ENOTSUP;
	qsort(found.offsets, found.count, sizeof(*found.offsets), by_offset);
	*out = found;
	found = EXITS_EMPTY;
	return 0;
}

/* ---- files ---- */

/* One function's parts and their code. */
struct body {
	struct exits_part parts[MAX_PARTS];
	uint8_t *code[MAX_PARTS]; /* owned */
	size_t count;
	bool is_refused; /* too many parts, or too large a one */
};

static void bodies_free(struct body **bodies, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < (*bodies)[i].count; k++)
			free((*bodies)[i].code[k]);
	free(*bodies);
	*bodies = NULL;
}

static int read_part(int fd, uint64_t offset, uint64_t bytes, struct body *body)
{
	uint8_t *code;

	for (size_t i = 0; i < body->count; i++)
		if (body->parts[i].offset == offset)
			return 0; /* the same by another name */
	if (bytes == 0 || bytes > MAX_PART_BYTES || body->count == MAX_PARTS) {
		body->is_refused = true;
		return 0;
	}
	code = malloc(bytes);
	if (code == NULL)
		return -ENOMEM;
	if (pread(fd, code, bytes, (off_t)offset) != (ssize_t)bytes)
		body->is_refused = true;
	body->code[body->count] = code;
	body->parts[body->count++] =
		(struct exits_part){ .code = code, .offset = offset, .bytes = bytes };
	return 0;
}

/* Is `name` what the compiler put aside of `symbol`: "symbol.cold", "symbol.cold.3"? */
static bool is_aside_of(struct str name, struct str symbol)
{
	static const char cold[] = ".cold";
	uint32_t len = symbol.len + (uint32_t)sizeof(cold) - 1;

	return name.len >= len && symbol.len > 0 &&
	       memcmp(name.bytes, symbol.bytes, symbol.len) == 0 &&
	       memcmp(name.bytes + symbol.len, cold, sizeof(cold) - 1) == 0 &&
	       (name.len == len || name.bytes[len] == '.');
}

static bool has_cold(struct str name)
{
	return name.len > 5 && memmem(name.bytes, name.len, ".cold", 5) != NULL;
}

static int take_aside(int fd, struct place_names *names, const struct place *const *places,
		      size_t count, struct body *bodies)
{
	struct place_names_row row;
	uint64_t offset, left;

	while (place_names_next(names, &row)) {
		if (!has_cold(row.name) || !place_names_offset(names, row.address, &offset, &left))
			continue;
		for (size_t i = 0; i < count; i++) {
			int status = is_aside_of(row.name, places[i]->symbol)
					     ? read_part(fd, offset, row.bytes, &bodies[i])
					     : 0;

			if (status < 0)
				return status;
		}
	}
	return 0;
}

/* The names of the file, by a parser that is started for it. */
static int open_names(int fd, const char *path, struct place_names *out)
{
	struct parser *parser;
	int status = parser_open(true, &parser);

	if (status < 0)
		return status;
	status = place_names_open(parser, fd, (struct str){ path, (uint32_t)strlen(path) }, out);
	parser_close(parser);
	return status;
}

static int find_in(int fd, const struct place *const *places, size_t count, struct body *bodies,
		   struct exits *out)
{
	SCOPED(place_names_close) struct place_names names = PLACE_NAMES_EMPTY;
	int status = open_names(fd, places[0]->path, &names);

	for (size_t i = 0; i < count && status == 0; i++)
		status = read_part(fd, places[i]->start, places[i]->bytes, &bodies[i]);
	if (status == 0)
		status = take_aside(fd, &names, places, count, bodies);
	for (size_t i = 0; i < count && status == 0; i++) {
		if (bodies[i].is_refused)
			continue;
		status = exits_of_parts(bodies[i].parts, bodies[i].count,
					names.file.head.has_symtab, &out[i]);
		status = status == -ENOTSUP ? 0 : status;
	}
	return status;
}

int exits_find(const struct place *const *places, size_t count, struct exits *out)
{
	struct body *bodies;
	int fd, status;

	if (count == 0)
		return 0;
	bodies = calloc(count, sizeof(*bodies));
	if (bodies == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		out[i] = EXITS_EMPTY;
	fd = open(places[0]->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	status = fd >= 0 ? find_in(fd, places, count, bodies, out) : -errno;
	if (fd >= 0)
		close(fd);
	bodies_free(&bodies, count);
	return status;
}
