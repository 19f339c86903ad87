/* runner_desk.h - a runner over made bodies, and everything it said, for tests. */
#ifndef TARE_TESTS_FLEET_RUNNER_DESK_H
#define TARE_TESTS_FLEET_RUNNER_DESK_H

#include <stdbool.h>
#include <sys/types.h>

#include "fleet/made_body.h"

#define DESK_SERVERS 64
#define DESK_VISITS  128

/* A visit's row. */
struct desk_visit {
	uint32_t outcome, capture;
	uint64_t cycle, wall_ns;
	char sqlstate[6], reason[160];
	bool is_alone; /* its batch held nothing but this row */
};

struct desk {
	struct runner *runner;
	struct collect_settings settings;
	struct made_server *made[DESK_SERVERS]; /* borrowed from the runner */
	struct desk_visit visits[DESK_SERVERS][DESK_VISITS];
	unsigned counts[DESK_SERVERS];
	unsigned marks[DESK_SERVERS]; /* rows of marks */
	char said[64][256];
	unsigned said_count;
	uint32_t most_visiting;
	bool has_no_places; /* what take_place() answers */
	unsigned places_asked;
};

/* Presets for tests: cycle 500 ms, short deadlines. */
struct collect_settings desk_settings(void);

/* Opens the runner with desk->settings. */
void desk_open(struct desk *d);

/* Adds server `id` with seat `id`, at a folder of sockets and a port. */
void desk_add(struct desk *d, uint32_t id, const char *host, const char *port);

/* Turns the loop for so long. */
void desk_turn(struct desk *d, uint64_t ns);

/* Turns until server `id` has `count` rows of visits, or 20 s are over (fails). */
void desk_turn_until(struct desk *d, uint32_t id, unsigned count);

void desk_close(struct desk *d);

/* How many of a server's visits came to `outcome`; of these, whose reason has `part` ("": all). */
unsigned desk_count(const struct desk *d, uint32_t id, uint32_t outcome, const char *part);

/* Starts fakepg with sockets in a new folder (out_folder, 64 bytes): words are `COUNT ROWS [WAY=COUNT]...`, NULL at the end. Ports are
 * from 10000 on. TARE_FAKEPG says where the program is. */
pid_t desk_start_fake(char *out_folder, const char *const *words);
void desk_stop_fake(pid_t fake, const char *folder);

#endif
