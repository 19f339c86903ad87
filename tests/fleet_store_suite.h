/* fleet_store_suite.h - what every engine of a fleet's store must do, as tests: each engine's own test runs it. */
#ifndef TARE_TESTS_FLEET_STORE_SUITE_H
#define TARE_TESTS_FLEET_STORE_SUITE_H

#include <stdbool.h>

#include "store/fleet_store.h"

struct fleet_suite {
	const struct fleet_store_ops *ops;
	/* The URL of a store that is not there yet, another at each call; good until the next one. */
	const char *(*fresh)(void);
	bool has_one_writer; /* a second FLEET_WRITE is refused with -EBUSY */
};

/* Runs all of it; the number of tests that failed. */
int fleet_store_suite(const struct fleet_suite *suite);

#endif
