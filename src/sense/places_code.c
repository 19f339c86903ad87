/* places_code.c - the first instruction, and whether the probe may move to a cheaper one. */
#include "sense/places_code.h"

#include <stdbool.h>
#include <string.h>

#include "core/scoped.h"

#define PAGE_BYTES 4096u

static const struct {
	uint8_t length, bytes[8];
} nops[] = {
	{ 1, { 0x90 } },
	{ 2, { 0x66, 0x90 } },
	{ 3, { 0x0f, 0x1f, 0x00 } },
	{ 4, { 0x0f, 0x1f, 0x40, 0x00 } },
	{ 6, { 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 } },
	{ 7, { 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00 } },
	{ 8, { 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 } },
};

static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

static bool begins_with(const uint8_t *code, size_t length, const uint8_t *want, size_t want_length)
{
	return length >= want_length && memcmp(code, want, want_length) == 0;
}

static bool is_nop(const uint8_t *code, size_t length)
{
	for (size_t i = 0; i < ARRAY_LEN(nops); i++)
		if (begins_with(code, length, nops[i].bytes, nops[i].length))
			return true;
	return false;
}

static bool is_push(const uint8_t *code, size_t length)
{
	if (length >= 2 && code[0] == 0x41)
		return code[1] >= 0x50 && code[1] <= 0x57;
	return length >= 1 && code[0] >= 0x50 && code[0] <= 0x57;
}

/* Relative jumps and calls. */
static bool is_branch(const uint8_t *code, size_t length)
{
	if (length >= 6 && code[0] == 0x0f)
		return code[1] >= 0x80 && code[1] <= 0x8f;
	if (length >= 5 && (code[0] == 0xe8 || code[0] == 0xe9))
		return true;
	return length >= 2 && (code[0] == 0xeb || (code[0] >= 0x70 && code[0] <= 0x7f));
}

/* What arch/x86/kernel/uprobes.c emulates: pushes of one register without a prefix other than REX.B, its own nops, relative
 * jumps and calls. Not endbr64, ret, mov, sub. */
enum place_first place_first_of(const uint8_t *code, size_t length)
{
	if (begins_with(code, length, nop5, sizeof(nop5)))
		return PLACE_NOP5;
	if (is_push(code, length) || is_nop(code, length) || is_branch(code, length))
		return PLACE_PUSH;
	return PLACE_OTHER;
}

const char *place_first_name(enum place_first first)
{
	static const char *const names[PLACE_FIRSTS] = { "nop5", "push", "other" };

	return (unsigned)first < PLACE_FIRSTS ? names[first] : "other";
}

/* A nop5 that lies in two pages cannot be patched: then it is emulated. */
static enum place_first first_at(const struct places_code *code, uint32_t skip)
{
	enum place_first first = place_first_of(code->bytes + skip, code->known - skip);

	if (first == PLACE_NOP5 && (code->offset + skip) % PAGE_BYTES > PAGE_BYTES - sizeof(nop5))
		return PLACE_PUSH;
	return first;
}

/* How much of the bytes of one instruction is what. */
struct parts {
	uint32_t at;		    /* bytes read so far */
	uint8_t rex, modrm, prefix; /* prefix: 0x66, 0xf2, 0xf3, or 0 */
	bool has_modrm;
};

#define REX_W 8u
#define REX_R 4u
#define REX_B 1u
#define RSP   4u

static void read_prefixes(struct parts *p, const uint8_t *code, size_t length)
{
	while (p->at < length && (code[p->at] == 0x66 || code[p->at] == 0xf2 ||
				  code[p->at] == 0xf3 || code[p->at] == 0x64 /* fs */)) {
		if (code[p->at] != 0x64)
			p->prefix = code[p->at];
		p->at++;
	}
	if (p->at < length && code[p->at] >= 0x40 && code[p->at] <= 0x4f)
		p->rex = code[p->at++];
}

/* ModRM with what belongs to it: an index byte, a distance. */
static bool read_modrm(struct parts *p, const uint8_t *code, size_t length)
{
	uint8_t mode, rm;

	if (p->at >= length)
		return false;
	p->has_modrm = true;
	p->modrm = code[p->at++];
	mode = p->modrm >> 6;
	rm = p->modrm & 7;
	if (mode == 3)
		return true;
	if (rm == 4) {
		if (p->at >= length)
			return false;
		rm = code[p->at++] & 7;
	}
	if (mode == 1)
		p->at += 1;
	else if (mode == 2 || rm == 5)
		p->at += 4;
	return true;
}

static bool is_register(const struct parts *p)
{
	return p->modrm >> 6 == 3;
}

/* Is the operand that ModRM's rm names a register other than rsp? Then it may be written. */
static bool may_write_rm(const struct parts *p)
{
	return is_register(p) && ((p->modrm & 7) != RSP || (p->rex & REX_B) != 0);
}

static bool may_write_reg(const struct parts *p)
{
	return (p->modrm >> 3 & 7) != RSP || (p->rex & REX_R) != 0;
}

/* What one-byte opcodes do with their operands. */
enum effect {
	EFFECT_NONE,  /* compares */
	EFFECT_REG,   /* writes the register of ModRM's reg */
	EFFECT_RM,    /* writes the operand of ModRM's rm */
	EFFECT_GROUP, /* ModRM's reg says what: /7 compares, the others write rm */
	EFFECT_TEST,  /* /0 compares, and has an immediate operand; the others are not for us */
};

static const struct {
	uint8_t opcode, effect, immediate_bytes;
	bool is_extended; /* behind 0f */
} harmless[] = {
	{ 0x8b, EFFECT_REG, 0, false },	  { 0x89, EFFECT_RM, 0, false },
	{ 0x8d, EFFECT_REG, 0, false },	  { 0x63, EFFECT_REG, 0, false },
	{ 0x84, EFFECT_NONE, 0, false },  { 0x85, EFFECT_NONE, 0, false },
	{ 0x38, EFFECT_NONE, 0, false },  { 0x39, EFFECT_NONE, 0, false },
	{ 0x3a, EFFECT_NONE, 0, false },  { 0x3b, EFFECT_NONE, 0, false },
	{ 0x01, EFFECT_RM, 0, false },	  { 0x03, EFFECT_REG, 0, false },
	{ 0x09, EFFECT_RM, 0, false },	  { 0x0b, EFFECT_REG, 0, false },
	{ 0x21, EFFECT_RM, 0, false },	  { 0x23, EFFECT_REG, 0, false },
	{ 0x29, EFFECT_RM, 0, false },	  { 0x2b, EFFECT_REG, 0, false },
	{ 0x31, EFFECT_RM, 0, false },	  { 0x33, EFFECT_REG, 0, false },
	{ 0x80, EFFECT_GROUP, 1, false }, { 0x81, EFFECT_GROUP, 4, false },
	{ 0x83, EFFECT_GROUP, 1, false }, { 0xc1, EFFECT_RM, 1, false },
	{ 0xd1, EFFECT_RM, 0, false },	  { 0xc7, EFFECT_RM, 4, false },
	{ 0xf6, EFFECT_TEST, 1, false },  { 0xf7, EFFECT_TEST, 4, false },
	{ 0x6b, EFFECT_REG, 1, false },	  { 0x69, EFFECT_REG, 4, false },
	{ 0xb6, EFFECT_REG, 0, true },	  { 0xb7, EFFECT_REG, 0, true },
	{ 0xbe, EFFECT_REG, 0, true },	  { 0xbf, EFFECT_REG, 0, true },
	{ 0xaf, EFFECT_REG, 0, true },	  { 0x10, EFFECT_NONE, 0, true },
	{ 0x28, EFFECT_NONE, 0, true },	  { 0x57, EFFECT_NONE, 0, true },
	{ 0x6e, EFFECT_NONE, 0, true },	  { 0x6f, EFFECT_NONE, 0, true },
	{ 0xef, EFFECT_NONE, 0, true },
};

static bool may_pass(const struct parts *p, enum effect effect)
{
	uint8_t number = p->modrm >> 3 & 7;

	switch (effect) {
	case EFFECT_NONE:
		return true;
	case EFFECT_REG:
		return may_write_reg(p);
	case EFFECT_RM:
		return may_write_rm(p);
	case EFFECT_GROUP:
		return number == 7 || may_write_rm(p);
	case EFFECT_TEST:
		return number == 0;
	}
	return false;
}

/* mov of a constant into a register. */
static uint32_t constant_length(const struct parts *p, const uint8_t *code, size_t length)
{
	uint8_t opcode = code[p->at];
	uint32_t total = p->at + 1 + ((p->rex & REX_W) != 0 ? 8 : p->prefix == 0x66 ? 2 : 4);
	bool is_rsp = (opcode & 7) == RSP && (p->rex & REX_B) == 0;

	if (opcode < 0xb8 || opcode > 0xbf || is_rsp || total > length)
		return 0;
	return total;
}

/* Bytes of the instruction at `code` if it may be jumped over: endbr64, and what only computes in registers or compares. 0:
 * it may not, or we do not know it. */
static uint32_t plain_length(const uint8_t *code, size_t length)
{
	struct parts p = { 0 };
	bool is_extended;
	uint8_t opcode;

	if (begins_with(code, length, endbr64, sizeof(endbr64)))
		return sizeof(endbr64);
	read_prefixes(&p, code, length);
	if (p.at + 2 > length)
		return 0;
	if (code[p.at] >= 0xb8 && code[p.at] <= 0xbf)
		return constant_length(&p, code, length);
	is_extended = code[p.at] == 0x0f;
	p.at += is_extended;
	opcode = code[p.at++];
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++) {
		uint32_t immediate = harmless[i].immediate_bytes;

		if (harmless[i].opcode != opcode || harmless[i].is_extended != is_extended)
			continue;
		if (!read_modrm(&p, code, length) || !may_pass(&p, harmless[i].effect))
			return 0;
		p.at += immediate == 4 && p.prefix == 0x66 ? 2 : immediate;
		return p.at <= length ? p.at : 0;
	}
	return 0;
}

/* Can the function jump to where a register or a table says? Every byte is taken for the begin of a jump. */
static bool may_jump_anywhere(const struct places_code *code)
{
	for (size_t at = 0; at + 1 < code->length; at++)
		if (code->bytes[at] == 0xff && (code->bytes[at + 1] >> 3 & 7) == 4)
			return true;
	return false;
}

/* A loop does not save a register again, nor does it pass the tracer's nop again: no table of jumps leads to those. Before
 * any other instruction a loop may begin, and then the function must not jump by a table. */
static bool may_land(const struct places_code *code, uint32_t skip)
{
	const uint8_t *bytes = code->bytes + skip;
	size_t length = code->known - skip;

	if (skip >= code->next_symbol)
		return false;
	return is_push(bytes, length) || begins_with(bytes, length, nop5, sizeof(nop5)) ||
	       (code->length > 0 && code->length <= code->known && !may_jump_anywhere(code));
}

struct places_probe places_code_probe(const struct places_code *code)
{
	struct places_probe start = { 0, code->known > 0 ? first_at(code, 0) : PLACE_OTHER }, moved;
	size_t most = code->length < code->known ? (size_t)code->length : code->known;
	uint32_t step;

	moved = start;
	while (moved.first == PLACE_OTHER) {
		step = moved.skip < most ? plain_length(code->bytes + moved.skip, most - moved.skip)
					 : 0;
		moved.skip += step;
		if (step == 0 || moved.skip > PLACES_CODE_MAX_SKIP || moved.skip >= most)
			return start;
		moved.first = first_at(code, moved.skip);
	}
	return moved.skip == 0 || may_land(code, moved.skip) ? moved : start;
}
