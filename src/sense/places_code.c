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

/* Where the relative jump that may begin at `at` leads, counted from the function's first byte. False: no byte of a jump. */
static bool jump_target(const uint8_t *bytes, size_t length, size_t at, int64_t *out)
{
	uint8_t opcode = bytes[at];
	size_t operand = at + 1;
	int32_t distance;

	if (opcode == 0xeb || (opcode >= 0x70 && opcode <= 0x7f) ||
	    (opcode >= 0xe0 && opcode <= 0xe3)) {
		*out = (int64_t)operand + 1 + (int8_t)(operand < length ? bytes[operand] : 0);
		return operand < length;
	}
	if (opcode == 0x0f && operand < length && bytes[operand] >= 0x80 && bytes[operand] <= 0x8f)
		operand++;
	else if (opcode != 0xe8 && opcode != 0xe9)
		return false;
	if (operand + sizeof(distance) > length)
		return false;
	memcpy(&distance, bytes + operand, sizeof(distance));
	*out = (int64_t)operand + (int64_t)sizeof(distance) + distance;
	return true;
}

/* Can a jump of the function lead behind its first byte, up to `skip`? */
static bool is_jumped_into(const struct places_code *code, uint32_t skip)
{
	size_t length = (size_t)code->length;
	int64_t target;

	for (size_t at = 0; at < length; at++)
		if (jump_target(code->bytes, length, at, &target) && target > 0 && target <= skip)
			return true;
	return false;
}

/* A nop5 that lies in two pages cannot be patched: then it is emulated. */
static enum place_first first_at(const struct places_code *code, uint32_t skip)
{
	enum place_first first = place_first_of(code->bytes + skip, code->known - skip);

	if (first == PLACE_NOP5 && (code->offset + skip) % PAGE_BYTES > PAGE_BYTES - sizeof(nop5))
		return PLACE_PUSH;
	return first;
}

/* Bytes of the instruction at `code` if it may be jumped over; 0: not that we know. */
static uint32_t plain_length(const uint8_t *code, size_t length)
{
	return begins_with(code, length, endbr64, sizeof(endbr64)) ? sizeof(endbr64) : 0;
}

/* Only where the compiler enters a function: no loop of a program saves a register again, or passes the tracer's nop
 * again. Tables of jumps, which we do not read, thus cannot lead there. */
static bool may_land(const struct places_code *code, uint32_t skip)
{
	const uint8_t *bytes = code->bytes + skip;
	size_t length = code->known - skip;

	return skip < code->next_symbol &&
	       (is_push(bytes, length) || begins_with(bytes, length, nop5, sizeof(nop5)));
}

struct places_probe places_code_probe(const struct places_code *code)
{
	struct places_probe start = { 0, code->known > 0 ? first_at(code, 0) : PLACE_OTHER }, moved;
	uint32_t step;

	moved = start;
	if (start.first != PLACE_OTHER || code->length == 0 || code->length > code->known ||
	    code->length > PLACES_CODE_MAX_BODY)
		return start;
	while (moved.first == PLACE_OTHER) {
		step = plain_length(code->bytes + moved.skip, (size_t)code->length - moved.skip);
		moved.skip += step;
		if (step == 0 || moved.skip > PLACES_CODE_MAX_SKIP || moved.skip >= code->length)
			return start;
		moved.first = first_at(code, moved.skip);
	}
	if (!may_land(code, moved.skip) || is_jumped_into(code, moved.skip))
		return start;
	return moved;
}
