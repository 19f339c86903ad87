/* test_lib_hostile.c - whatever is written into the mapping, libtare does its host no harm, nor the process its recorder. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/gap.h"
#include "lib_stage.h"

#define THREADS 3

static uint32_t is_over;

/* NOLINTNEXTLINE(misc-no-recursion) */
static __attribute__((noinline)) uint32_t nest(uint32_t left)
{
	TARE_WATCH("nest");
	return left == 0 ? 0 : nest(left - 1) + 1;
}

static void *host(void *unused)
{
	while (MAPPING_READ(is_over) == 0) {
		tare_frame();
		tare_task_begin("task");
		nest(80);
		{
			TARE_WATCH("flat");
		}
		tare_task_end();
	}
	return unused;
}

/* What a hostile writer would aim at: the words that are read, with numbers at the edges. */
static uint64_t a_number(uint64_t *random)
{
	static const uint64_t edges[] = { 0,   1,   UINT64_MAX, INT64_MAX,  255,
					  256, 257, 1024,	0x100000000 };
	uint32_t draw = gap_random(random);

	if (draw % 2 == 0)
		return edges[draw / 2 % (sizeof(edges) / sizeof(edges[0]))];
	return (uint64_t)gap_random(random) << 32 | gap_random(random);
}

/* A word of the part that is in use. */
static uint64_t *a_word(struct mapping_shared *shared, uint64_t *random)
{
	size_t head = offsetof(struct mapping_shared, histograms);
	size_t slots = sizeof(struct mapping_slot) * (THREADS + 1);
	size_t at;

	switch (gap_random(random) % 4) {
	case 0: /* what the recorder orders */
		at = sizeof(shared->orders) / 8;
		return (uint64_t *)&shared->orders + gap_random(random) % at;
	case 1:
		return (uint64_t *)shared + gap_random(random) % (head / 8);
	default:
		return (uint64_t *)shared->slots + gap_random(random) % (slots / 8);
	}
}

static void no_bytes_in_the_mapping_harm_the_host_or_the_recorder(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 1);
	struct mapping_shared *shared = stage_map();
	uint64_t random = 20261129, until_ns = stage_now_ns() + 700000000;
	static uint32_t steps[BUCKET_COUNT];
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, host, NULL), 0);
	while (stage_now_ns() < until_ns) {
		struct mapping_slow slow;
		uint32_t tid, id = gap_random(&random) % (MAPPING_NAMES + 2);
		const struct mapping_row *row;

		for (int i = 0; i < 200; i++)
			MAPPING_WRITE(*a_word(shared, &random), a_number(&random));
		mapping_reader_turn(reader);
		row = mapping_reader_row(reader, id);
		if (row != NULL)
			assert_true(row->firsts <= row->calls && row->others <= row->calls);
		for (int i = 0; i < 20 && mapping_reader_take_slow(reader, &slow, &tid); i++) {
			uint64_t sum_ns = slow.others_ns;

			assert_true(slow.part_count <= MAPPING_PARTS);
			for (uint32_t k = 0; k < slow.part_count; k++)
				sum_ns += slow.parts[k].own_ns;
			assert_true(sum_ns <= slow.ns);
		}
		(void)mapping_reader_histogram(reader, id, steps);
		assert_true(mapping_reader_names(reader) <= MAPPING_NAMES);
	}
	MAPPING_WRITE(is_over, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	munmap(shared, sizeof(*shared));
	stage_close();
}

static void the_mapping_cannot_be_made_smaller(void **state)
{
	int fd = mapping_find(getpid(), NULL);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(errno, EPERM);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mapping_cannot_be_made_smaller),
		cmocka_unit_test(no_bytes_in_the_mapping_harm_the_host_or_the_recorder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
