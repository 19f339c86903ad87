/* test_exits.c - where functions are left, by their code alone. */
#include "sense/exits.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define BODY_AT	 0x1000u
#define ASIDE_AT 0x5000u

struct sentence {
	const char *says;
	const char *code; /* the body's */
	size_t bytes;
	bool names_all;
	uint64_t exits[3]; /* from the body's begin; all 0: refused */
};
#define CODE(text) (text), sizeof(text) - 1

static const struct sentence sentences[] = {
	{ "a ret is an exit", CODE("\x55\x5d\xc3"), false, { 2 } },
	{ "each ret is one", CODE("\x85\xff\x74\x01\xc3\x90\xc3"), false, { 4, 6 } },
	{ "a ret that a prefix pads is one", CODE("\x90\xf3\xc3"), false, { 1 } },
	{ "a ret that takes arguments off is one", CODE("\x90\xc2\x08\x00"), false, { 1 } },
	{ "bytes of a constant are no ret", CODE("\xb8\xc3\xc3\xc3\xc3\xc3"), false, { 5 } },
	{ "a jump out of a named file's function is its last call",
	  CODE("\x90\xe9\x00\x10\x00\x00"),
	  true,
	  { 1 } },
	{ "where not all functions have names it may be a part put aside",
	  CODE("\x90\xe9\x00\x10\x00\x00\xc3"),
	  false,
	  { 0 } },
	{ "a conditional jump out cannot be told",
	  CODE("\x90\x0f\x84\x00\x10\x00\x00\xc3"),
	  true,
	  { 0 } },
	{ "a jump inside is none", CODE("\x90\xeb\x01\xc3\xc3"), false, { 3, 4 } },
	{ "a call is none", CODE("\xe8\x00\x10\x00\x00\xc3"), false, { 5 } },
	{ "a jump to a function in memory is its last call",
	  CODE("\xff\x60\x18"),
	  false,
	  { 0, 1 } },
	{ "a jump through the linkage table is its last call",
	  CODE("\x90\xff\x25\x00\x10\x00\x00"),
	  false,
	  { 1 } },
	{ "a jump by a table is a switch", CODE("\xff\x24\xc5\x00\x00\x00\x00\xc3"), false, { 7 } },
	{ "a jump that no landing is checked for is a switch",
	  CODE("\x3e\xff\xe0\xc3"),
	  false,
	  { 3 } },
	{ "a jump by register may be either", CODE("\xff\xe0\xc3"), true, { 0 } },
	{ "code that cannot be decoded is refused", CODE("\x06\xc3"), true, { 0 } },
	{ "code that breaks off is refused", CODE("\xc3\xe9\x00"), true, { 0 } },
	{ "a function without an exit is refused", CODE("\x0f\x0b"), true, { 0 } },
	{ "a return from an interrupt is refused", CODE("\x48\xcf"), true, { 0 } },
};

static void check(const struct sentence *s)
{
	struct exits_part body = { .code = (const uint8_t *)s->code,
				   .offset = BODY_AT,
				   .bytes = s->bytes };
	struct exits exits = EXITS_EMPTY;
	uint32_t wanted = 0;
	int status = exits_of_parts(&body, 1, s->names_all, &exits);

	/* An exit at the very begin stands as { 0, 1 }: the 1 is only a mark. */
	if (s->exits[0] == 0 && s->exits[1] == 1)
		wanted = 1;
	else
		while (wanted < 3 && s->exits[wanted] != 0)
			wanted++;
	if (status != (wanted == 0 ? -ENOTSUP : 0) || exits.count != wanted)
		fail_msg("%s: %d, %u exits", s->says, status, exits.count);
	for (uint32_t i = 0; i < wanted; i++)
		if (exits.offsets[i] != BODY_AT + s->exits[i])
			fail_msg("%s: exit %u is at %#lx", s->says, i,
				 (unsigned long)exits.offsets[i]);
	exits_free(&exits);
}

static void each_sentence_about_code_holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		check(&sentences[i]);
}

static void a_part_put_aside_belongs_to_its_function(void **state)
{
	/* The body jumps there on a condition; there it comes back, or returns. */
	static const uint8_t body[] = { 0x0f, 0x85, 0xfa, 0x3f, 0x00, 0x00, 0xc3 };
	static const uint8_t aside[] = { 0x74, 0x01, 0xc3, 0xe9, 0xfe, 0xbf, 0xff, 0xff };
	struct exits_part parts[] = { { body, BODY_AT, sizeof(body) },
				      { aside, ASIDE_AT, sizeof(aside) } };
	struct exits exits = EXITS_EMPTY;

	(void)state;
	assert_int_equal(exits_of_parts(parts, 1, true, &exits), -ENOTSUP);
	assert_int_equal(exits_of_parts(parts, 2, true, &exits), 0);
	assert_int_equal(exits.count, 2);
	assert_int_equal(exits.offsets[0], BODY_AT + 6);
	assert_int_equal(exits.offsets[1], ASIDE_AT + 2);
	exits_free(&exits);
	exits_free(&exits);
}

static void more_exits_than_have_room_are_refused(void **state)
{
	uint8_t code[EXITS_MOST + 1];
	struct exits_part part = { code, BODY_AT, EXITS_MOST };
	struct exits exits = EXITS_EMPTY;

	(void)state;
	memset(code, 0xc3, sizeof(code));
	assert_int_equal(exits_of_parts(&part, 1, true, &exits), 0);
	assert_int_equal(exits.count, EXITS_MOST);
	exits_free(&exits);
	part.bytes++;
	assert_int_equal(exits_of_parts(&part, 1, true, &exits), -ENOTSUP);
	assert_null(exits.offsets);
}

static void a_file_that_cannot_be_read_gives_none(void **state)
{
	struct place missing = { .path = "/nonexistent", .bytes = 1 };
	struct place no_elf = { .path = "/etc/passwd", .bytes = 1 };
	const struct place *places[] = { &missing };
	struct exits exits;

	(void)state;
	assert_int_equal(exits_find(places, 1, &exits), -ENOENT);
	assert_int_equal(exits.count, 0);
	places[0] = &no_elf;
	assert_true(exits_find(places, 1, &exits) < 0);
	assert_int_equal(exits.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sentence_about_code_holds),
		cmocka_unit_test(a_part_put_aside_belongs_to_its_function),
		cmocka_unit_test(more_exits_than_have_room_are_refused),
		cmocka_unit_test(a_file_that_cannot_be_read_gives_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
