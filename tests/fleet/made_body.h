/* made_body.h - a small body and sampler for tests and the load bench: one question as wide as the statements reading's, one look. */
#ifndef TARE_TESTS_FLEET_MADE_BODY_H
#define TARE_TESTS_FLEET_MADE_BODY_H

#include "fleet/visit_ops.h"

/* A server's memory: what committed visits left. */
struct made_server {
	uint32_t id;
	uint32_t commits, captures, opened, new_connections;
	uint64_t sum; /* of all cells that are numbers, of committed visits */
	uint32_t looks;
	const char *capture_sql; /* asked when it captures, in place of a plan's; NULL: nothing */
	const char *body_sql;	 /* asked first; NULL: the usual */
};

extern const struct visit_ops made_ops;

/* As the runner takes it. NULL: out of memory. */
struct server *made_server(uint32_t id);

/* And back. */
struct made_server *made_of(struct server *server);

#endif
