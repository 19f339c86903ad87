/* lib_stage.h - what the tests of libtare share: the recorder's side of this very process. Include after cmocka.h. */
#ifndef TARE_TESTS_LIB_STAGE_H
#define TARE_TESTS_LIB_STAGE_H

#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sense/mapping.h"
#include "tare.h"

static struct mapping_reader
	*stage_reader; /* the one that is attached, also when its test has failed */

/* Lets go of this process. */
static inline void stage_close(void)
{
	mapping_reader_close(stage_reader);
	stage_reader = NULL;
}

/* Attaches to this process with one call in `interval` timed. */
static inline struct mapping_reader *stage_attach(uint32_t interval, uint64_t slow_ns)
{
	struct err err = ERR_EMPTY;

	stage_close();
	if (mapping_reader_open(getpid(), &stage_reader, &err) != 0)
		fail_msg("%s", err.msg);
	mapping_reader_start(stage_reader, interval, 0, slow_ns);
	return stage_reader;
}

/* This process's mapping as anyone of the same user may write it. */
static inline struct mapping_shared *stage_map(void)
{
	int fd = mapping_find(getpid(), NULL);
	void *memory;

	assert_true(fd >= 0);
	memory = mmap(NULL, sizeof(struct mapping_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      0);
	assert_true(memory != MAP_FAILED);
	close(fd);
	return memory;
}

/* The id of a name; MAPPING_NAMES: there is none. */
static inline uint32_t stage_id(const struct mapping_reader *reader, const char *name)
{
	for (uint32_t id = 0; id < mapping_reader_names(reader); id++) {
		char text[MAPPING_NAME_BYTES];
		enum mapping_kind kind;

		if (mapping_reader_name(reader, id, &kind, text) && strcmp(text, name) == 0)
			return id;
	}
	return MAPPING_NAMES;
}

/* The last ended window's row of a name; all zero if there is no such name. */
static inline struct mapping_row stage_row(const struct mapping_reader *reader, const char *name)
{
	const struct mapping_row *row = mapping_reader_row(reader, stage_id(reader, name));

	return row != NULL ? *row : (struct mapping_row){ .calls = 0 };
}

static inline uint64_t stage_now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

/* Works for so long by the clock. */
static inline void stage_spin(uint64_t ns)
{
	uint64_t until = stage_now_ns() + ns;

	while (stage_now_ns() < until)
		;
}

#endif
