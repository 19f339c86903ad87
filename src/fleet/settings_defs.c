/* settings_defs.c - every setting of the collector, as a row. */
#include <stddef.h>

#include "core/scoped.h"
#include "core/units.h"
#include "fleet/settings.h"

#define OF(member)	  offsetof(struct collect_settings, member)
#define OF_SERVER(member) offsetof(struct server_settings, member)
#define MS		  NS_PER_MS
#define S		  NS_PER_S
#define MIN		  (60 * NS_PER_S)
#define HOUR		  (3600 * NS_PER_S)
#define DAY		  (86400 * NS_PER_S)
#define KB		  (UINT64_C(1) << 10)
#define MB		  (UINT64_C(1) << 20)
#define TB		  (UINT64_C(1) << 40)

const struct setting_def setting_defs[] = {
	{ IN_COLLECT, "store", SETTING_TEXT, OF(store), "/var/lib/tare/fleet.tare", 0, 0, NULL,
	  "a path, sqlite://PATH or postgresql://USER@HOST/DATABASE",
	  "where what is collected is kept" },
	{ IN_COLLECT, "store_password", SETTING_SECRET, OF(store_password), "", 0, 0, NULL,
	  "env:NAME, file:/path or cred:NAME", "the password of a postgresql:// store" },
	{ IN_COLLECT, "spool", SETTING_PATH, OF(spool), "/var/lib/tare/spool", 0, 0, NULL,
	  "an absolute path", "a folder for what waits while the store is away" },
	{ IN_COLLECT, "spool_size", SETTING_SIZE, OF(spool_bytes), "256MB", MB, TB, NULL,
	  "1MB to 1048576MB", "most that may wait there; what does not fit is counted as lost" },
	{ IN_COLLECT, "control", SETTING_PATH, OF(control), "", 0, 0, NULL,
	  "an absolute path; empty: control.sock in $RUNTIME_DIRECTORY, or in /run/tare",
	  "the unix socket that `tare collect status` asks" },
	{ IN_COLLECT, "metrics", SETTING_ADDRESS, OF(metrics), "", 0, 0, NULL,
	  "an address of loopback with its port, such as 127.0.0.1:9497; empty: none",
	  "where Prometheus finds /metrics" },
	{ IN_COLLECT, "collector", SETTING_TEXT, OF(collector), "", 0, 0, NULL,
	  "a name; empty: the machine's", "what this collector calls itself in the store" },
	{ IN_COLLECT, "cycle", SETTING_DURATION, OF(cycle_ns), "60s", S, HOUR, NULL, "1s to 1h",
	  "the time between two visits to a server" },
	{ IN_COLLECT, "one_in", SETTING_WHOLE, OF(one_in), "4", 0, 0, NULL,
	  "a whole number, held to 1 ... 60; 0 and less is 1: always",
	  "plans are captured one cycle in so many, staggered over the fleet" },
	{ IN_COLLECT, "at_once", SETTING_U32, OF(at_once), "20", 1, 1000, NULL, "1 to 1000",
	  "most servers that are visited at the same time" },
	{ IN_COLLECT, "connect_timeout", SETTING_DURATION, OF(connect_ns), "5s", 100 * MS, 5 * MIN,
	  NULL, "100ms to 5min", "longest wait for a connection" },
	{ IN_COLLECT, "tls_timeout", SETTING_DURATION, OF(tls_ns), "5s", 100 * MS, 5 * MIN, NULL,
	  "100ms to 5min", "longest wait for TLS and the log-in" },
	{ IN_COLLECT, "query_timeout", SETTING_DURATION, OF(query_ns), "30s", 100 * MS, 10 * MIN,
	  NULL, "100ms to 10min", "longest wait for an answer; it is then cancelled" },
	{ IN_COLLECT, "drain_timeout", SETTING_DURATION, OF(drain_ns), "10s", 100 * MS, 10 * MIN,
	  NULL, "100ms to 10min", "longest wait for the rest of an answer" },
	{ IN_COLLECT, "budget", SETTING_DURATION, OF(budget_ns), "120s", S, HOUR, NULL, "1s to 1h",
	  "longest that a whole visit may take; over it nothing of it is kept" },
	{ IN_COLLECT, "backoff", SETTING_DURATION, OF(backoff_ns), "10s", S, HOUR, NULL, "1s to 1h",
	  "first pause of a server that fails" },
	{ IN_COLLECT, "backoff_most", SETTING_DURATION, OF(backoff_most_ns), "10min", S, DAY, NULL,
	  "1s to 24h, and no less than backoff", "longest pause of a server that fails" },
	{ IN_COLLECT, "candidates", SETTING_U32, OF(visit.candidates), "150", 1, 10000, NULL,
	  "1 to 10000", "most statements that one capture plans" },
	{ IN_COLLECT, "reach", SETTING_DURATION, OF(visit.reach_ns), "10min", MIN, HOUR, NULL,
	  "1min to 1h", "how far back candidates go; one_in is lowered until it fits" },
	{ IN_COLLECT, "look_every", SETTING_DURATION, OF(visit.look_ns), "1s", 0, MIN, NULL,
	  "0s to 1min; 0s: one look a visit", "the time between two looks at waits and blocking" },
	{ IN_COLLECT, "plan_timeout", SETTING_DURATION, OF(visit.plan_timeout_ns), "2s", 10 * MS,
	  MIN, NULL, "10ms to 1min", "longest that planning one statement may take" },
	{ IN_COLLECT, "lock_timeout", SETTING_DURATION, OF(visit.lock_timeout_ns), "100ms", MS,
	  100 * MS, NULL, "1ms to 100ms", "longest that planning waits for a lock" },
	{ IN_COLLECT, "text_budget", SETTING_SIZE, OF(visit.text_bytes), "1MB", 16 * KB, 64 * MB,
	  NULL, "16KB to 64MB", "most bytes of new texts that one visit reads" },
	{ IN_COLLECT, "payload_most", SETTING_SIZE, OF(visit.payload_bytes), "1MB", KB, 64 * MB,
	  NULL, "1KB to 64MB", "largest text or plan that is kept; of a larger one only the size" },
	{ IN_COLLECT, "rows", SETTING_COUNT, OF(visit.rows), "100000", 100, 10000000, NULL,
	  "100 to 10000000", "most rows of one answer" },
	{ IN_COLLECT, "keep_raw", SETTING_DURATION, OF(keep_raw_ns), "7d", HOUR, 3660 * DAY, NULL,
	  "1h to 3660d", "how long differences stay as they were taken" },
	{ IN_COLLECT, "keep_hourly", SETTING_DURATION, OF(keep_hourly_ns), "90d", HOUR, 3660 * DAY,
	  NULL, "1h to 3660d", "how long their sums by the hour stay" },
	{ IN_COLLECT, "keep_daily", SETTING_DURATION, OF(keep_daily_ns), "1826d", DAY, 3660 * DAY,
	  NULL, "1d to 3660d", "how long their sums by the day stay" },
	{ IN_COLLECT, "keep_runs", SETTING_DURATION, OF(keep_runs_ns), "30d", HOUR, 3660 * DAY,
	  NULL, "1h to 3660d", "how long the run log stays" },
	{ IN_COLLECT, "keep_payloads", SETTING_SIZE, OF(keep_payload_bytes), "1024MB", MB, TB, NULL,
	  "1MB to 1048576MB", "most that texts and plans may take; the longest unseen go first" },

	{ IN_SERVER, "kind", SETTING_WORD, OF_SERVER(kind), "postgresql", 0, 0, "postgresql",
	  "postgresql", "what kind of server it is" },
	{ IN_SERVER, "host", SETTING_TEXT, OF_SERVER(host), "localhost", 0, 0, NULL,
	  "a name, an address, or the folder of a unix socket", "where it is" },
	{ IN_BOTH, "port", SETTING_PORT, OF_SERVER(port), "5432", 1, 65535, NULL, "1 to 65535",
	  "its port" },
	{ IN_BOTH, "database", SETTING_TEXT, OF_SERVER(database), "postgres", 0, 0, NULL, "a name",
	  "the database to enter first: the one that has pg_stat_statements" },
	{ IN_BOTH, "user", SETTING_TEXT, OF_SERVER(user), "tare", 0, 0, NULL, "a name",
	  "the role to log in as; tare collect --grants prints what it needs" },
	{ IN_BOTH, "password", SETTING_SECRET, OF_SERVER(password), "", 0, 0, NULL,
	  "env:NAME, file:/path (0600) or cred:NAME", "its password; a literal one is warned of" },
	{ IN_BOTH, "sslmode", SETTING_WORD, OF_SERVER(sslmode), "", 0, 0,
	  " disable allow prefer require verify-ca verify-full",
	  "as libpq; empty: verify-full, and prefer on this machine", "how TLS is asked for" },
	{ IN_BOTH, "sslrootcert", SETTING_TEXT, OF_SERVER(sslrootcert), "", 0, 0, NULL,
	  "a path, or empty: the system's", "certificates that a server's is verified by" },
	{ IN_BOTH, "sslcert", SETTING_PATH, OF_SERVER(sslcert), "", 0, 0, NULL, "an absolute path",
	  "our own certificate" },
	{ IN_BOTH, "sslkey", SETTING_PATH, OF_SERVER(sslkey), "", 0, 0, NULL, "an absolute path",
	  "our own key" },
	{ IN_BOTH, "readings", SETTING_READINGS, OF_SERVER(readings), "all", 0, 0, NULL,
	  "all, or words: statements functions activity blocking databases settings io",
	  "what is read" },
	{ IN_BOTH, "plans", SETTING_SWITCH, OF_SERVER(plans), "yes", 0, 0, NULL, "yes or no",
	  "whether plans are captured" },
};
const size_t setting_def_count = ARRAY_LEN(setting_defs);
