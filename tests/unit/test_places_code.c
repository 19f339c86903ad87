/* test_places_code.c - how functions begin, and where their probes may go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "core/scoped.h"
#include "sense/places_code.h"
#include "sense/places_jumps.h"

#define NEAR UINT32_MAX

static void the_first_instruction_says_what_a_probe_costs(void **state)
{
	static const struct {
		const char *name;
		uint8_t bytes[8];
		size_t length;
		enum place_first want;
	} cases[] = {
		{ "nop5 becomes a call", { 0x0f, 0x1f, 0x44, 0, 0 }, 5, PLACE_NOP5 },
		{ "half a nop5", { 0x0f, 0x1f, 0x44, 0 }, 4, PLACE_OTHER },
		{ "push rbp", { 0x55 }, 1, PLACE_PUSH },
		{ "push r15", { 0x41, 0x57 }, 2, PLACE_PUSH },
		{ "push with another prefix is single-stepped", { 0x48, 0x55 }, 2, PLACE_OTHER },
		{ "pop", { 0x5d }, 1, PLACE_OTHER },
		{ "pop r15", { 0x41, 0x5f }, 2, PLACE_OTHER },
		{ "push of a constant", { 0x6a, 1 }, 2, PLACE_OTHER },
		{ "nop", { 0x90 }, 1, PLACE_PUSH },
		{ "nop of two bytes", { 0x66, 0x90 }, 2, PLACE_PUSH },
		{ "nop of four bytes", { 0x0f, 0x1f, 0x40, 0 }, 4, PLACE_PUSH },
		{ "jmp near", { 0xe9, 1, 2, 3, 4 }, 5, PLACE_PUSH },
		{ "jmp short", { 0xeb, 1 }, 2, PLACE_PUSH },
		{ "call", { 0xe8, 1, 2, 3, 4 }, 5, PLACE_PUSH },
		{ "jne short", { 0x75, 1 }, 2, PLACE_PUSH },
		{ "je near", { 0x0f, 0x84, 1, 2, 3, 4 }, 6, PLACE_PUSH },
		{ "jmp by a register", { 0xff, 0xe0 }, 2, PLACE_OTHER },
		{ "ret", { 0xc3 }, 1, PLACE_OTHER },
		{ "endbr64", { 0xf3, 0x0f, 0x1e, 0xfa }, 4, PLACE_OTHER },
		{ "mov", { 0x48, 0x89, 0xe5 }, 3, PLACE_OTHER },
		{ "sub rsp", { 0x48, 0x83, 0xec, 0x18 }, 4, PLACE_OTHER },
		{ "nothing is known", { 0 }, 0, PLACE_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s\n", cases[i].name);
		assert_int_equal(place_first_of(cases[i].bytes, cases[i].length), cases[i].want);
	}
	assert_string_equal(place_first_name(PLACE_NOP5), "nop5");
	assert_string_equal(place_first_name(PLACE_PUSH), "push");
	assert_string_equal(place_first_name(PLACE_OTHER), "other");
}

static const struct {
	const char *name;
	uint8_t bytes[32];
	size_t length;
	uint32_t next_symbol, want_skip;
	enum place_first want;
} moves[] = {
	{ "endbr64, push", { 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0xc3 }, 6, NEAR, 4, PLACE_PUSH },
	{ "endbr64, nop5",
	  { 0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0, 0, 0xc3 },
	  10,
	  NEAR,
	  4,
	  PLACE_NOP5 },
	{ "endbr64, sub rsp: stays",
	  { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8, 0x55 },
	  9,
	  NEAR,
	  0,
	  PLACE_OTHER },
	{ "push at once", { 0x55, 0x55 }, 2, NEAR, 0, PLACE_PUSH },
	{ "another symbol begins at the push",
	  { 0xf3, 0x0f, 0x1e, 0xfa, 0x55 },
	  5,
	  4,
	  0,
	  PLACE_OTHER },
	{ "another symbol begins in front of it",
	  { 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf0, 0x55 },
	  7,
	  3,
	  0,
	  PLACE_OTHER },
	{ "another symbol begins behind the push",
	  { 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x90 },
	  6,
	  5,
	  4,
	  PLACE_PUSH },
	{ "test, je", { 0x48, 0x85, 0xff, 0x74, 2, 0xc3, 0xc3 }, 7, NEAR, 3, PLACE_PUSH },
	{ "mov from memory, test, jne",
	  { 0x48, 0x8b, 0x47, 0x10, 0x48, 0x85, 0xc0, 0x75, 1, 0xc3 },
	  10,
	  NEAR,
	  7,
	  PLACE_PUSH },
	{ "a table of jumps may lead to the je",
	  { 0x48, 0x85, 0xff, 0x74, 2, 0xff, 0xe0 },
	  7,
	  NEAR,
	  0,
	  PLACE_OTHER },
	{ "but not to a push", { 0x48, 0x85, 0xff, 0x55, 0xff, 0xe0 }, 6, NEAR, 3, PLACE_PUSH },
	{ "mov to memory: stays", { 0x48, 0x89, 0x07, 0x55 }, 4, NEAR, 0, PLACE_OTHER },
	{ "mov to rsp: stays", { 0x48, 0x89, 0xfc, 0x55 }, 4, NEAR, 0, PLACE_OTHER },
	{ "mov to r12", { 0x49, 0x89, 0xfc, 0x55 }, 4, NEAR, 3, PLACE_PUSH },
	{ "load into rsp: stays", { 0x48, 0x8b, 0x27, 0x55 }, 4, NEAR, 0, PLACE_OTHER },
	{ "and rsp: stays", { 0x48, 0x83, 0xe4, 0xf0, 0x55 }, 5, NEAR, 0, PLACE_OTHER },
	{ "lea r10, [rsp + 8]", { 0x4c, 0x8d, 0x54, 0x24, 8, 0x55 }, 6, NEAR, 5, PLACE_PUSH },
	{ "cmp of memory with a constant",
	  { 0x81, 0x7f, 4, 1, 2, 3, 4, 0x74, 0, 0xc3 },
	  10,
	  NEAR,
	  7,
	  PLACE_PUSH },
	{ "cmpw has two bytes of it",
	  { 0x66, 0x81, 0x7f, 4, 1, 2, 0x74, 0, 0xc3 },
	  9,
	  NEAR,
	  6,
	  PLACE_PUSH },
	{ "add to memory: stays", { 0x83, 0x07, 1, 0x55 }, 4, NEAR, 0, PLACE_OTHER },
	{ "mov of 4 bytes", { 0xb8, 1, 2, 3, 4, 0x55 }, 6, NEAR, 5, PLACE_PUSH },
	{ "mov of 8 bytes",
	  { 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0x55 },
	  11,
	  NEAR,
	  10,
	  PLACE_PUSH },
	{ "mov of 4 bytes to esp: stays", { 0xbc, 1, 2, 3, 4, 0x55 }, 6, NEAR, 0, PLACE_OTHER },
	{ "rip-relative load", { 0x48, 0x8b, 0x05, 1, 2, 3, 4, 0x55 }, 8, NEAR, 7, PLACE_PUSH },
	{ "load with an index and a base that is a distance",
	  { 0x48, 0x8b, 0x04, 0xc5, 1, 2, 3, 4, 0x55 },
	  9,
	  NEAR,
	  8,
	  PLACE_PUSH },
	{ "movzx, pxor",
	  { 0x0f, 0xb6, 0x07, 0x66, 0x0f, 0xef, 0xc0, 0x55 },
	  8,
	  NEAR,
	  7,
	  PLACE_PUSH },
	{ "div: not known", { 0xf7, 0xf1, 0x55 }, 3, NEAR, 0, PLACE_OTHER },
	{ "testl with a constant",
	  { 0xf7, 0xc7, 1, 2, 3, 4, 0x74, 0, 0xc3 },
	  9,
	  NEAR,
	  6,
	  PLACE_PUSH },
	{ "it ends before the push", { 0xf3, 0x0f, 0x1e, 0xfa, 0x55 }, 4, NEAR, 0, PLACE_OTHER },
	{ "it ends inside an instruction", { 0x81, 0x7f, 4, 1 }, 4, NEAR, 0, PLACE_OTHER },
	{ "too far",
	  { 0xb8, 1, 2,	   3, 4, 0xb8, 1, 2,	3, 4, 0xb8, 1, 2,
	    3,	  4, 0xb8, 1, 2, 3,    4, 0xb8, 1, 2, 3,    4, 0x55 },
	  26,
	  NEAR,
	  0,
	  PLACE_OTHER },
};

static void a_probe_moves_behind_what_is_harmless_to_what_is_cheap(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
		struct places_code code = { .bytes = moves[i].bytes,
					    .known = moves[i].length,
					    .length = moves[i].length,
					    .next_symbol = moves[i].next_symbol };
		struct places_probe probe = places_code_probe(&code);

		print_message("%s\n", moves[i].name);
		assert_int_equal(probe.skip, moves[i].want_skip);
		assert_int_equal(probe.first, moves[i].want);
	}
}

static void without_its_length_a_function_may_jump_anywhere(void **state)
{
	static const uint8_t tests_first[] = { 0x48, 0x85, 0xff, 0x74, 2, 0xc3 };
	static const uint8_t saves_first[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0xc3 };
	struct places_code code = { .bytes = tests_first, .known = 6, .next_symbol = NEAR };

	(void)state;
	assert_int_equal(places_code_probe(&code).skip, 0); /* length 0 */
	code.length = 100;				    /* only 6 of them are known */
	assert_int_equal(places_code_probe(&code).skip, 0);
	code.length = 6;
	assert_int_equal(places_code_probe(&code).skip, 3);
	code = (struct places_code){ .bytes = saves_first, .known = 6, .next_symbol = NEAR };
	code.length = 100;
	assert_int_equal(places_code_probe(&code).skip, 4);
}

static void a_nop5_in_two_pages_is_emulated(void **state)
{
	static const uint8_t bytes[] = { 0x0f, 0x1f, 0x44, 0, 0, 0xc3 };
	static const uint8_t behind[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0, 0 };
	struct places_code code = { .bytes = bytes, .known = 6, .length = 6, .next_symbol = NEAR };

	(void)state;
	code.offset = 4096 - 5;
	assert_int_equal(places_code_probe(&code).first, PLACE_NOP5);
	code.offset = 4096 - 4;
	assert_int_equal(places_code_probe(&code).first, PLACE_PUSH);
	code.offset = 8191;
	assert_int_equal(places_code_probe(&code).first, PLACE_PUSH);
	code = (struct places_code){
		.bytes = behind, .known = 9, .length = 9, .next_symbol = NEAR
	};
	code.offset = 4096 - 8;
	assert_int_equal(places_code_probe(&code).first, PLACE_PUSH);
}

static void no_jump_into_a_range_is_overlooked(void **state)
{
	static const struct {
		const char *name;
		uint8_t bytes[8];
		size_t length;
		uint64_t address;
		bool want;
	} cases[] = {
		{ "jmp short back to the end", { 0xeb, 0xfe - 2 }, 2, 1006, true },
		{ "one byte behind it", { 0xeb, 0xfe - 1 }, 2, 1006, false },
		{ "to the start: that is a call", { 0xeb, 0xfe - 6 }, 2, 1006, false },
		{ "one byte behind the start", { 0xeb, 0xfe - 5 }, 2, 1006, true },
		{ "jne", { 0x75, 0xfe - 4 }, 2, 1006, true },
		{ "loop", { 0xe2, 0xfe - 4 }, 2, 1006, true },
		{ "jmp near", { 0xe9, 0xfd, 0xff, 0xff, 0xff }, 5, 1000, true },
		{ "call", { 0xe8, 0xfd, 0xff, 0xff, 0xff }, 5, 1000, true },
		{ "je near", { 0x0f, 0x84, 0xfc, 0xff, 0xff, 0xff }, 6, 1000, true },
		{ "no jump", { 0x0f, 0x1f, 0xfc, 0xff, 0xff, 0xff }, 6, 1000, false },
		{ "inside another instruction", { 0x48, 0xb8, 0xeb, 0xfe - 4 }, 4, 1004, true },
		{ "forward", { 0xe9, 0xfd, 0, 0, 0 }, 5, 744, true },
		{ "cut off", { 0xe9, 0xfd, 0xff, 0xff }, 4, 1000, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct places_range ranges[] = { { 500, 504, false },
						 { 1000, 1004, false },
						 { 2000, 2004, false } };

		print_message("%s\n", cases[i].name);
		places_jumps_veto(cases[i].bytes, cases[i].length, cases[i].address, ranges, 3);
		assert_int_equal(ranges[1].is_entered, cases[i].want);
		assert_false(ranges[0].is_entered);
		assert_false(ranges[2].is_entered);
	}
	places_jumps_veto(cases[0].bytes, 2, 1006, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_instruction_says_what_a_probe_costs),
		cmocka_unit_test(a_probe_moves_behind_what_is_harmless_to_what_is_cheap),
		cmocka_unit_test(without_its_length_a_function_may_jump_anywhere),
		cmocka_unit_test(a_nop5_in_two_pages_is_emulated),
		cmocka_unit_test(no_jump_into_a_range_is_overlooked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
