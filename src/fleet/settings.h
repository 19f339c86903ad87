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
	char *store;	      /* owned: URL or path; never with a password */
	char *store_password; /* owned: a reference as in secret_read(); empty: none */
	char *spool;	      /* owned: folder; what waits for the store */
	uint64_t spool_bytes;
	char *control; /* owned: path of the unix socket that status asks */
	char *metrics; /* owned: an address of loopback with its port, "127.0.0.1:9187"; empty: none */
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
	uint32_t readings;
	bool plans;
	unsigned line; /* in the file, for messages */
};

/* How a setting's value is written, and what holds it. */
enum setting_type {
	SETTING_TEXT,	 /* char *, owned */
	SETTING_PATH,	 /* the same: an absolute path, or empty */
	SETTING_ADDRESS, /* the same: an address of loopback with its port, or empty */
	SETTING_PORT,	 /* the same: 1 to 65535 */
	SETTING_WORD,	 /* the same: one of `words` */
	SETTING_SECRET, /* the same: env:NAME, file:/path, cred:NAME, or a literal that is warned of */
	SETTING_DURATION, /* uint64_t, ns */
	SETTING_SIZE,	  /* uint64_t, bytes */
	SETTING_COUNT,	  /* uint64_t */
	SETTING_U32,	  /* uint32_t */
	SETTING_WHOLE,	  /* int64_t, with a sign */
	SETTING_SWITCH,	  /* bool: yes or no */
	SETTING_READINGS, /* uint32_t, bits by enum reading_id: words, or "all" */
};

/* Where a setting may stand. */
enum setting_place {
	IN_COLLECT, /* in [collect]; held by struct collect_settings */
	IN_SERVER,  /* in [server "name"]; held by struct server_settings */
	IN_BOTH, /* in [server "name"], and in [collect] for servers without their own; held by struct server_settings */
};

/* A setting, as a row: the parser, the example file, the manual and the tests read this table. */
struct setting_def {
	enum setting_place place;
	const char *key;
	enum setting_type type;
	size_t offset;	      /* in the struct that holds it */
	const char *preset;   /* as a user would type it */
	uint64_t least, most; /* of a number, both allowed; 0, 0: any */
	const char *
		words; /* of SETTING_WORD: parted by blanks; an empty value too when it begins with one */
	const char *bounds; /* in words: "1s to 1h" */
	const char *help;   /* one line, no full stop */
};

extern const struct setting_def setting_defs[];
extern const size_t setting_def_count;

/* Sets a value as it is typed; what was there is freed. `held` is the struct that holds it. 0, or -EINVAL, -ERANGE, -ENOMEM without words, and
 * nothing is changed. */
int setting_set(const struct setting_def *def, const char *value, void *held);

/* Reads and checks a file. Nothing is taken over on failure: -EINVAL names file, line, key and the nearest key, or the bounds; -ENOENT, -EACCES. `warn` is called for what
 * is allowed and unwise (a literal password, world-readable file), may be NULL. */
int settings_load(const char *path, struct collect_settings *out,
		  void (*warn)(void *owner, const char *text), void *owner, struct err *err);

/* The same for bytes; `path` is for messages only. */
int settings_parse(const char *bytes, size_t len, const char *path, struct collect_settings *out,
		   void (*warn)(void *owner, const char *text), void *owner, struct err *err);

/* Adds a server with the presets and `name`. -ENOMEM. */
int settings_add_server(struct collect_settings *s, const char *name, struct server_settings **out);

/* The presets, and no server. Freed by settings_free(). -ENOMEM. */
int settings_presets(struct collect_settings *out);

/* The settings of `--once URL`: presets and one server. The URL's password becomes a literal of the
 * server. -EINVAL, with a message that never holds a part of a URL that could be a secret; -ENOMEM. */
int settings_from_url(const char *url, struct collect_settings *out, struct err *err);

/* Where a URL has a password, in bytes that can be overwritten: userinfo first, else the parameter. false: it has none. */
bool settings_url_password(const char *url, size_t *out_at, size_t *out_len);

/* Overwrites all that may be a password in a URL with '*', rather too much than too little. Returns whether there was something. */
bool settings_url_hide(char *url);

/* Accepts the empty value, and may run twice. Passwords are wiped. */
void settings_free(struct collect_settings *s);

/* "host:port/database", for people and the store: never a secret. Cut to `size`. */
void settings_address(const struct server_settings *s, char *out, size_t size);

/* Whether a server is on this machine: a unix socket, or an address of loopback. */
bool settings_is_local(const struct server_settings *s);

/* Whether a password is no reference, but stands in the file itself. */
bool secret_is_literal(const char *reference);

/* A secret by its reference: read when it is needed, wiped by secret_free(). `setting` and `target` are for messages: "password",
 * "server 'a'". A literal comes back as a copy. -EINVAL, -ENOENT, -EACCES name setting and target, never a value; -ENOMEM. */
int secret_read(const char *reference, const char *setting, const char *target, char **out,
		struct err *err);
void secret_free(char **secret);

#endif
