/* settings.h - /etc/tare/tare.conf: an INI file with [collect] and [server "name"], checked as a whole: a bad file is refused whole, with line, key, and the
 * nearest name. Secrets are never in it (secret.h). One thread. */
#ifndef TARE_FLEET_SETTINGS_H
#define TARE_FLEET_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "fleet/server.h"

struct collect_settings {
	char *store; /* owned: URL or path */
	char *spool; /* owned: folder; what waits for the store */
	uint64_t spool_bytes;
	char *control;	   /* owned: path of the unix socket that status asks */
	char *metrics;	   /* owned: "127.0.0.1:9187"; empty: none */
	char *collector;   /* owned: our name */
	uint64_t cycle_ns; /* 60 s */
	int64_t one_in;	   /* N as set: 4; 0 or negative is 1 */
	bool plans;	   /* the capture half is switched on */
	uint32_t at_once;  /* C: 20 */
	uint64_t connect_ns, tls_ns, query_ns,
		drain_ns;   /* deadlines of the steps: 5 s, 5 s, 30 s, 10 s */
	uint64_t budget_ns; /* wall budget of a visit: 120 s */
	uint64_t backoff_ns,
		backoff_most_ns; /* first and longest pause of a failing server: 10 s, 10 min */
	uint32_t readings;	 /* bits */
	struct visit_limits visit;
	uint64_t keep_raw_ns, keep_hourly_ns, keep_daily_ns, keep_runs_ns, keep_payload_bytes;
	struct server_settings *servers; /* owned */
	size_t server_count;
};

/* One server. Keys that are not given are those of [collect]. */
struct server_settings {
	char *name;			     /* owned */
	char *kind;			     /* owned: "postgresql" */
	char *host, *port, *database, *user; /* owned; host may be a folder of a unix socket */
	char *password; /* owned: "env:NAME", "file:/path", "cred:NAME", or a literal (warned of); empty: none */
	char *sslmode, *sslrootcert, *sslcert,
		*sslkey; /* owned; verify-full away from loopback unless said otherwise */
	char *search_path;
	uint32_t readings;
	bool plans;
	unsigned line; /* in the file, for messages */
};

/* A setting, as a row: the parser, the example file, the manual and the tests read this table. */
struct setting_def {
	const char *section; /* "collect" or "server" */
	const char *key;
	const char *preset; /* as a user would type it */
	const char *bounds; /* in words: "1s to 1h" */
	const char *help;
};

extern const struct setting_def setting_defs[];
extern const size_t setting_def_count;

/* Reads and checks a file. Nothing is taken over on failure: -EINVAL names file, line, key and the nearest key, or the bounds; -ENOENT, -EACCES. `warn` is called for what
 * is allowed and unwise (a literal password, world-readable file), may be NULL. */
int settings_load(const char *path, struct collect_settings *out,
		  void (*warn)(void *owner, const char *text), void *owner, struct err *err);

/* The settings of `--once URL`: presets and one server. The URL's password is taken out of it. -EINVAL. */
int settings_from_url(const char *url, struct collect_settings *out, struct err *err);

/* Accepts the empty value, and may run twice. */
void settings_free(struct collect_settings *s);

/* A secret by its reference: read when it is needed, wiped by secret_free(). -EINVAL, -ENOENT, -EACCES name setting and target, never a value. */
int secret_read(const char *reference, const char *setting, const char *target, char **out,
		struct err *err);
void secret_free(char **secret);

#endif
