/* runner_postgres.c - the runner over PostgreSQL's bodies. */
#include "fleet/server.h"
#include "fleet/visit_ops.h"

const struct visit_ops visit_postgres = {
	.body_open = pg_body_open,
	.body_commit = pg_body_commit,
	.body_has_captured = pg_body_has_captured,
	.body_close = pg_body_close,
	.sampler_open = pg_sampler_open,
	.sampler_again = pg_sampler_again,
	.sampler_end = pg_sampler_end,
	.sampler_close = pg_sampler_close,
	.server_close = server_close,
	.server_bytes = server_bytes,
};

int runner_open(const struct collect_settings *settings, const struct runner_owner *owner,
		struct runner **out, struct err *err)
{
	return runner_open_with(settings, owner, &visit_postgres, out, err);
}
