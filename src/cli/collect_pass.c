/* collect_pass.c - one visit to every server. */
#include "cli/collect_pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/collect_store_parts.h"
#include "core/scoped.h"

#define TURN_NS	      (100 * NS_PER_MS)
#define END_WAIT_NS   (60 * NS_PER_S)
#define STORE_WAIT_NS (5 * NS_PER_S)
#define SPARE_NS      (10 * NS_PER_S)

static int copy_batch(const struct fleet_batch *from, struct fleet_batch *to)
{
	int rc = 0;

	to->server = from->server;
	to->cycle = from->cycle;
	for (size_t i = 0; i < from->block_count; i++) {
		const struct fleet_block *block = &from->blocks[i];

		for (size_t row = 0; row < block->count && rc == 0; row++)
			rc = fleet_batch_add(to, block->table, block->verb,
					     (const char *)block->rows +
						     row * block->table->row_bytes);
	}
	return rc;
}

/* Was the server visited in this turn, and not only passed over? One whose place in the cycle comes meanwhile is visited twice. */
static bool has_visited(const struct collect_pass *p, uint32_t server)
{
	for (size_t i = p->begun; i < p->count; i++) {
		const struct fleet_block *block =
			fleet_batch_block(&p->batches[i], &table_run, BLOCK_PUT);
		const struct run_row *rows = block != NULL ? block->rows : NULL;

		for (size_t row = 0; block != NULL && row < block->count; row++)
			if (rows[row].server == server && rows[row].reading == READING_VISIT &&
			    rows[row].outcome != RUN_SKIPPED)
				return true;
	}
	return false;
}

static void on_visited(struct collect_fleet *f, const struct fleet_batch *batch)
{
	struct collect_pass *p = (struct collect_pass *)(void *)f;
	bool was_visited = has_visited(p, batch->server);
	struct fleet_batch *batches = reallocarray(p->batches, p->count + 1, sizeof(*batches));

	if (batches == NULL) {
		p->has_failed = true;
		return;
	}
	p->batches = batches;
	batches[p->count] = FLEET_BATCH_EMPTY;
	if (copy_batch(batch, &batches[p->count++]) < 0)
		p->has_failed = true;
	p->visited += !was_visited && has_visited(p, batch->server);
}

int collect_pass_open(struct collect_pass *p, struct app *app, struct collect_settings *settings,
		      const char *store_url, struct err *err)
{
	*p = (struct collect_pass){
		.fleet = { .app = app, .settings = *settings, .visited = on_visited }
	};
	*settings = (struct collect_settings){ .store = NULL };
	if (p->fleet.settings.server_count == 0) {
		err_set(err, -EINVAL, "cannot collect: no server is named");
		return err_mend(err, "add [server \"NAME\"] to the settings, or name a URL");
	}
	return collect_fleet_open(&p->fleet, store_url, STORE_WAIT_NS, err);
}

int collect_pass_run(struct collect_pass *p, struct err *err)
{
	const struct collect_settings *s = &p->fleet.settings;
	uint64_t rounds = (p->fleet.member_count + s->at_once - 1) / s->at_once;
	uint64_t most_ns = rounds * (s->budget_ns + s->connect_ns + s->tls_ns) + SPARE_NS;
	struct mono began = store_now();
	int rc = 0;

	p->visited = 0;
	p->begun = p->count;
	runner_start_now(p->fleet.runner);
	while (rc == 0 && p->visited < p->fleet.member_count &&
	       mono_elapsed_ns(began, store_now()) < most_ns) {
		rc = runner_turn(p->fleet.runner, TURN_NS, err);
		if (p->fleet.store != NULL)
			collect_store_turn(p->fleet.store, collect_say, p->fleet.app);
	}
	if (rc == 0 && p->has_failed)
		rc = err_set(err, -ENOMEM, "cannot keep what came: no memory");
	return rc;
}

const struct run_row *collect_pass_run_row(const struct collect_pass *p, uint32_t server,
					   uint32_t reading)
{
	const struct run_row *skipped = NULL;

	for (size_t i = p->count; i-- > 0;) {
		const struct fleet_block *block =
			fleet_batch_block(&p->batches[i], &table_run, BLOCK_PUT);
		const struct run_row *rows = block != NULL ? block->rows : NULL;

		for (size_t row = block != NULL ? block->count : 0; row-- > 0;) {
			if (rows[row].server != server || rows[row].reading != reading)
				continue;
			if (rows[row].outcome != RUN_SKIPPED)
				return &rows[row];
			if (skipped == NULL)
				skipped = &rows[row];
		}
	}
	return skipped;
}

bool collect_pass_is_well(const struct collect_pass *p, uint32_t server)
{
	const struct run_row *visit = collect_pass_run_row(p, server, READING_VISIT);

	if (visit == NULL || visit->outcome != RUN_PERMISSIONS)
		return visit != NULL && visit->outcome == RUN_SUCCESS;
	for (uint32_t reading = 0; reading < READING_COUNT; reading++) {
		const struct run_row *run = collect_pass_run_row(p, server, reading);

		if (run != NULL && run->outcome == RUN_SUCCESS)
			return true;
	}
	return false;
}

void collect_pass_close(struct collect_pass *p)
{
	struct app *app = p->fleet.app;

	if (p->fleet.store != NULL)
		collect_store_turn(p->fleet.store, collect_say, app);
	collect_fleet_close(&p->fleet, END_WAIT_NS);
	for (size_t i = 0; i < p->count; i++)
		fleet_batch_free(&p->batches[i]);
	free(p->batches);
	*p = (struct collect_pass){ .batches = NULL };
}
