/* visit_ops.h - what the runner wants of a kind of server: bodies, samplers, memory. visit.h has PostgreSQL's; tests and the load bench bring
 * their own. */
#ifndef TARE_FLEET_VISIT_OPS_H
#define TARE_FLEET_VISIT_OPS_H

#include "fleet/runner.h"
#include "fleet/visit.h"

/* As the functions pg_* of visit.h and server.h. All are required. */
struct visit_ops {
	int (*body_open)(struct server *server, const struct visit_settings *settings,
			 bool is_new_connection, struct fleet_batch *batch, struct script *out,
			 struct err *err);
	int (*body_commit)(struct script *body, struct err *err);
	bool (*body_has_captured)(const struct script *body);
	void (*body_close)(struct script *body);
	int (*sampler_open)(struct server *server, const struct visit_settings *settings,
			    struct script *out, struct err *err);
	void (*sampler_again)(struct script *sampler);
	int (*sampler_end)(struct script *sampler, struct fleet_batch *batch, struct err *err);
	void (*sampler_close)(struct script *sampler);
	void (*server_close)(struct server *server);
	uint64_t (*server_bytes)(const struct server *server);
};

/* PostgreSQL's. */
extern const struct visit_ops visit_postgres;

/* runner_open() with another kind of server; `ops` is borrowed for the runner's life. */
int runner_open_with(const struct collect_settings *settings, const struct runner_owner *owner,
		     const struct visit_ops *ops, struct runner **out, struct err *err);

#endif
