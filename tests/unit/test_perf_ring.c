/* test_perf_ring.c - rings of made-up records, read as the kernel's: order of time, horizon, wrapping, corruption. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "sense/perf_ring.h"

#define RINGS	   3u
#define RING_BYTES 4096u

static struct perf_event_mmap_page heads[RINGS];
static uint8_t bytes[RINGS][RING_BYTES];
static struct perf_ring rings[RINGS];
static uint8_t scratch[65536];
static struct perf_rings all;

static int empty_rings(void **state)
{
	(void)state;
	memset(heads, 0, sizeof(heads));
	memset(bytes, 0xee, sizeof(bytes));
	for (uint32_t i = 0; i < RINGS; i++)
		rings[i] = (struct perf_ring){
			.fd = -1, .map = &heads[i], .bytes = bytes[i], .mask = RING_BYTES - 1
		};
	all = (struct perf_rings){ .rings = rings, .count = RINGS, .scratch = scratch };
	return 0;
}

static void put_word(uint32_t ring, uint64_t word)
{
	memcpy(bytes[ring] + (heads[ring].data_head & (RING_BYTES - 1)), &word, sizeof(word));
	heads[ring].data_head += sizeof(word);
}

/* A record whose words count up from `first`, with its time where the kernel puts it. */
static void put(uint32_t ring, uint32_t type, uint64_t at_ns, uint16_t size, uint64_t first)
{
	struct perf_event_header header = { .type = type, .size = size };
	size_t time_at =
		type == PERF_RECORD_SAMPLE ? PERF_SAMPLE_AT_TIME : size - PERF_TRAILER_BYTES + 8u;
	uint64_t word;

	memcpy(&word, &header, sizeof(word));
	put_word(ring, word);
	for (size_t at = 8; at < size; at += 8)
		put_word(ring, at == time_at ? at_ns : first + at);
}

static void expect(uint32_t ring, uint64_t at_ns)
{
	struct perf_record record;
	struct err err = ERR_EMPTY;

	assert_true(perf_rings_next(&all, &record));
	assert_int_equal(record.ring, ring);
	assert_int_equal(record.at_ns, at_ns);
	assert_int_equal(perf_rings_consume(&all, &record, &err), 0);
}

static void expect_end(void)
{
	struct perf_record record;

	assert_false(perf_rings_next(&all, &record));
}

static void records_of_all_rings_come_in_order_of_time(void **state)
{
	(void)state;
	put(0, PERF_RECORD_SAMPLE, 100, 64, 0);
	put(0, PERF_RECORD_FORK, 400, 72, 0);
	put(1, PERF_RECORD_COMM, 200, 56, 0);
	put(1, PERF_RECORD_SAMPLE, 300, 64, 0);
	put(2, PERF_RECORD_SAMPLE, 250, 64, 0);
	assert_int_equal(perf_rings_look(&all, 1000, NULL), 0);
	expect(0, 100);
	expect(1, 200);
	expect(2, 250);
	expect(1, 300);
	expect(0, 400);
	expect_end();
	for (uint32_t i = 0; i < RINGS; i++)
		assert_int_equal(heads[i].data_tail,
				 heads[i].data_head); /* all room is given back */
}

static void what_is_later_than_the_look_waits_for_the_next_one(void **state)
{
	(void)state;
	put(0, PERF_RECORD_SAMPLE, 100, 64, 0);
	put(0, PERF_RECORD_SAMPLE, 501, 64, 0);
	assert_int_equal(perf_rings_look(&all, 500, NULL), 0);
	put(1, PERF_RECORD_SAMPLE, 400, 64, 0); /* written behind our back */
	expect(0, 100);
	expect_end();
	assert_int_equal(perf_rings_look(&all, 600, NULL), 0);
	expect(1, 400);
	expect(0, 501);
	expect_end();
}

static void a_record_that_wraps_is_had_in_one_piece(void **state)
{
	struct perf_record record;
	uint64_t word;
	const uint8_t *whole;

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		put(0, PERF_RECORD_SAMPLE, 10 + i, 1336, 0);
		assert_int_equal(perf_rings_look(&all, 100, NULL), 0);
		expect(0, 10 + i);
	}
	put(0, PERF_RECORD_SAMPLE, 50, 1024, 1000000); /* 88 bytes are left up to the end */
	assert_int_equal(perf_rings_look(&all, 100, NULL), 0);
	assert_true(perf_rings_next(&all, &record));
	whole = perf_rings_bytes(&all, &record);
	for (size_t at = 32; at < 1024; at += 8) {
		memcpy(&word, whole + at, sizeof(word));
		assert_int_equal(word, 1000000 + at);
		assert_int_equal(perf_rings_word(&all, &record, at), word);
	}
	assert_int_equal(perf_rings_consume(&all, &record, NULL), 0);
}

static void a_corrupt_record_ends_the_reading(void **state)
{
	static const struct {
		const char *name;
		uint16_t size;
	} cases[] = {
		{ "no size", 0 },
		{ "smaller than its own trailer", 32 },
		{ "not a multiple of 8", 63 },
		{ "larger than what was written", 4000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct perf_event_header header = { .type = PERF_RECORD_SAMPLE,
						    .size = cases[i].size };
		struct err err = ERR_EMPTY;

		print_message("%s\n", cases[i].name);
		empty_rings(NULL);
		put(0, PERF_RECORD_SAMPLE, 100, 64, 0);
		memcpy(bytes[0], &header, sizeof(header));
		assert_int_equal(perf_rings_look(&all, 1000, &err), -EIO);
		assert_non_null(strstr(err.msg, "cannot read the ring"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(records_of_all_rings_come_in_order_of_time, empty_rings),
		cmocka_unit_test_setup(what_is_later_than_the_look_waits_for_the_next_one,
				       empty_rings),
		cmocka_unit_test_setup(a_record_that_wraps_is_had_in_one_piece, empty_rings),
		cmocka_unit_test_setup(a_corrupt_record_ends_the_reading, empty_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
