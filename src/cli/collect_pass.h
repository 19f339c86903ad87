/* collect_pass.h - every server of a fleet once, with what came of it in hand: for --once and --check. */
#ifndef TARE_CLI_COLLECT_PASS_H
#define TARE_CLI_COLLECT_PASS_H

#include "cli/collect.h"

/* The batches of a pass, in the order in which they came. */
struct collect_pass {
	struct collect_fleet fleet;  /* first: on_visited() finds the pass by it */
	struct fleet_batch *batches; /* owned */
	size_t count;
	size_t begun;	 /* batches of the turns before this one */
	size_t visited;	 /* servers, in this turn */
	bool has_failed; /* no memory for a batch */
};

/* Opens the fleet of `settings`, which are taken over. */
int collect_pass_open(struct collect_pass *p, struct app *app, struct collect_settings *settings,
		      const char *store_url, struct err *err);

/* Visits every server once and waits for it. */
int collect_pass_run(struct collect_pass *p, struct err *err);

/* Accepts the empty value. */
void collect_pass_close(struct collect_pass *p);

/* The last run row of a server and reading, but for a visit that was passed over while another one was made; NULL: there is none. */
const struct run_row *collect_pass_run_row(const struct collect_pass *p, uint32_t server,
					   uint32_t reading);

/* Was the last visit of a server one that brought something? */
bool collect_pass_is_well(const struct collect_pass *p, uint32_t server);

#endif
