/* pg_found.c - plans and reasons: identical ones are stored once, failures are kept and asked again daily. */
#include "fleet/pg_found.h"

#include <errno.h>
#include <string.h>

#define NS_PER_HOUR (INT64_C(3600) * 1000000000)
#define NS_PER_DAY  (24 * NS_PER_HOUR)

/* What passes by itself is tried again at the next capture, all else a day later. */
static int64_t again_at(const struct pg_body *b, enum plan_reason reason)
{
	if (reason == PLAN_LOCK || reason == PLAN_TIMEOUT)
		return b->settings.at.ns;
	return b->settings.at.ns + NS_PER_DAY;
}

static int put_no_plan(struct pg_body *b, const struct plan_found *found,
		       struct statement_known *known)
{
	struct no_plan_row row = { .server = b->server->id,
				   .key = found->key,
				   .reason = found->reason,
				   .at_wall_ns = b->settings.at.ns,
				   .again_wall_ns = again_at(b, found->reason) };

	row.tries = known->no_plan.reason == (uint32_t)found->reason ? known->no_plan.tries + 1 : 1;
	row.sqlstate = (struct str){ found->sqlstate, (uint32_t)strnlen(found->sqlstate, 5) };
	known->no_plan = (struct no_plan_known){ .reason = found->reason,
						 .again_wall_ns = row.again_wall_ns,
						 .tries = (uint32_t)row.tries };
	memcpy(known->no_plan.sqlstate, found->sqlstate, sizeof(known->no_plan.sqlstate));
	return fleet_batch_add(b->batch, &table_no_plan, BLOCK_PUT, &row);
}

static int drop_no_plan(struct pg_body *b, const struct plan_found *found,
			struct statement_known *known)
{
	struct no_plan_row row = { .server = b->server->id, .key = found->key };

	if (known->no_plan.reason == PLAN_OK)
		return 0;
	known->no_plan = (struct no_plan_known){ .reason = PLAN_OK };
	return fleet_batch_add(b->batch, &table_no_plan, BLOCK_DROP, &row);
}

static int put_plan(struct pg_body *b, const struct plan_found *found,
		    struct statement_known *known)
{
	struct run_row *run = pg_body_run(b, READING_PLANS);
	struct plan_row row = found->plan;
	struct plan_known made = { .plan = row.plan, .first_wall_ns = b->settings.at.ns };
	struct plan_known *plan;
	int code = pg_put_payload(b, PAYLOAD_PLAN, found->redacted, &made.plan);

	if (code != 0)
		return code;
	run->plans++;
	plan = statement_plan(known, &made.plan);
	if (plan == NULL) {
		if (statement_add_plan(known, &made) != 0)
			return -ENOMEM;
		plan = &known->plans[0];
		run->new_plans++;
	}
	if (b->settings.at.ns - plan->seen_wall_ns < NS_PER_HOUR)
		return 0;
	plan->seen_wall_ns = b->settings.at.ns;
	row.server = b->server->id;
	row.key = found->key;
	row.plan = plan->plan;
	row.first_wall_ns = plan->first_wall_ns;
	row.seen_wall_ns = plan->seen_wall_ns;
	return fleet_batch_add(b->batch, &table_plan, BLOCK_PUT, &row);
}

int pg_found_keep(struct pg_body *b, const struct plan_found *found)
{
	uint8_t packed[STATEMENT_KEY_MOST];
	size_t len = statement_key_pack(&found->key, packed);
	struct remembered *row = remembered_find(&b->fresh[COUNTED_STATEMENTS], packed, len);
	int code;

	if (row == NULL)
		row = remembered_find(&b->server->counted[COUNTED_STATEMENTS].rows, packed, len);
	if (row == NULL)
		return 0; /* not one that was asked for */
	row = statement_touch(b, row);
	if (row == NULL)
		return -ENOMEM;
	/* Over the cap only its size is known; what there is of it is a plan all the same. */
	if (found->reason == PLAN_OK || (found->reason == PLAN_LARGE && found->redacted.len > 0)) {
		code = put_plan(b, found, row->statement);
		if (code != 0 || found->reason == PLAN_OK)
			return code != 0 ? code : drop_no_plan(b, found, row->statement);
	}
	return put_no_plan(b, found, row->statement);
}
