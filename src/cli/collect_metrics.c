/* collect_metrics.c - a running collector for Prometheus. Labels are names of servers from the settings and words of ours: no text of a
 * server's, and so no literal and no secret. */
#include <inttypes.h>
#include <string.h>

#include "cli/collect.h"

/* What follows is of one name: its help and type stand once. */
static void begin(struct text *out, const char *name, const char *type, const char *help)
{
	text_printf(out, "# HELP tare_collect_%s %s\n# TYPE tare_collect_%s %s\n", name, help, name,
		    type);
}

static void put_one(struct text *out, const char *name, const char *type, const char *help,
		    uint64_t value)
{
	begin(out, name, type, help);
	text_printf(out, "tare_collect_%s %" PRIu64 "\n", name, value);
}

/* Nanoseconds as seconds, exact: Prometheus has one unit. */
static void put_seconds(struct text *out, uint64_t ns)
{
	text_printf(out, "%" PRIu64 ".%09" PRIu64 "\n", ns / NS_PER_S, ns % NS_PER_S);
}

/* What is not known has no line. */
static void put_time(struct text *out, const char *name, const char *type, const char *help,
		     uint64_t ns)
{
	if (ns == 0)
		return;
	begin(out, name, type, help);
	text_printf(out, "tare_collect_%s ", name);
	put_seconds(out, ns);
}

/* A label's value: backslash, quote and newline are escaped, as the format asks. */
static void put_label(struct text *out, const char *value)
{
	for (const char *at = value; *at != '\0'; at++) {
		if (*at == '\\' || *at == '"')
			text_add(out, "\\", 1);
		if (*at == '\n')
			text_put(out, "\\n");
		else
			text_add(out, at, 1);
	}
}

static void put_runner(const struct runner_status *r, struct text *out)
{
	put_one(out, "servers", "gauge", "Servers of the fleet.", r->servers);
	put_one(out, "servers_failing", "gauge", "Servers that fail, in the lane with pauses.",
		r->in_lane);
	put_one(out, "servers_visiting", "gauge", "Servers that are being visited.", r->visiting);
	put_one(out, "captures_owed", "gauge", "Servers whose capture is owed.", r->owed);
	put_one(out, "captures_slot", "gauge", "Captures in this turn slot so far.",
		r->slot_captures);
	put_one(out, "captures_last_slot", "gauge", "Captures in the turn slot before.",
		r->last_captures);
	put_one(out, "one_in", "gauge", "Plans are captured one cycle in so many, in force.", r->n);
	put_one(out, "one_in_given", "gauge", "The same as set.", r->n_given);
	put_one(out, "turn_slot_cycles", "gauge", "Cycles in a turn slot.", r->k);
	put_time(out, "cycle_seconds", "gauge", "The cycle as set.", r->cycle_ns);
	put_time(out, "cadence_measured_seconds", "gauge",
		 "Time between two visits of a server, 95th percentile.", r->p95_ns);
	put_time(out, "cadence_model_seconds", "gauge", "The same by the model.", r->model_ns);
	put_time(out, "visit_seconds", "gauge", "Mean time of a visit.", r->run_ns);
	put_time(out, "oldest_capture_seconds", "gauge",
		 "Age of the oldest capture of a server that can be visited.", r->worst_age_ns);
	put_time(out, "longest_turn_seconds", "gauge", "Longest turn of the loop.",
		 r->longest_turn_ns);
	put_one(out, "visits_total", "counter", "Visits that ended.", r->visits);
	put_one(out, "visits_late_total", "counter", "Visits that ended after their own cycle.",
		r->late);
	put_one(out, "visits_skipped_total", "counter", "Visits that were skipped.", r->skipped);
	put_one(out, "visits_failed_total", "counter", "Visits that failed.", r->failures);
}

static void put_store(const struct store_state *s, struct text *out)
{
	put_one(out, "store_up", "gauge", "1: the store is there.", !s->is_away);
	put_one(out, "store_waiting", "gauge", "Batches that wait in memory.", s->waiting);
	put_one(out, "store_spool_bytes", "gauge", "Bytes that wait on disk.", s->spooled_bytes);
	put_one(out, "store_batches_total", "counter", "Batches written.", s->puts);
	put_one(out, "store_lost_total", "counter", "Batches that could not be kept anywhere.",
		s->lost);
	if (s->size_bytes != 0)
		put_one(out, "store_bytes", "gauge", "Bytes of the store.", s->size_bytes);
	put_time(out, "store_put_seconds_total", "counter", "Time spent writing.", s->put_ns);
}

static void put_servers(const struct collect_status *s, struct text *out)
{
	begin(out, "server_up", "gauge", "1: the last visit went well.");
	for (size_t i = 0; i < s->server_count; i++) {
		text_put(out, "tare_collect_server_up{server=\"");
		put_label(out, s->servers[i].name);
		text_printf(out, "\"} %d\n",
			    !s->servers[i].is_in_lane && s->servers[i].visited_wall_ns != 0);
	}
	begin(out, "server_visit_seconds", "gauge", "Time of the last visit.");
	for (size_t i = 0; i < s->server_count; i++) {
		if (s->servers[i].run_ns == 0)
			continue;
		text_put(out, "tare_collect_server_visit_seconds{server=\"");
		put_label(out, s->servers[i].name);
		text_put(out, "\"} ");
		put_seconds(out, s->servers[i].run_ns);
	}
}

void collect_metrics_text(const struct collect_status *s, struct text *out)
{
	begin(out, "info", "gauge", "What runs.");
	text_put(out, "tare_collect_info{version=\"" TARE_VERSION "\",collector=\"");
	put_label(out, s->collector);
	text_put(out, "\"} 1\n");
	put_time(out, "cpu_seconds_total", "counter", "CPU time of the collector.", s->cpu_ns);
	put_one(out, "memory_bytes", "gauge", "Memory that it holds.", s->rss_bytes);
	put_one(out, "settings_refused", "gauge", "1: the last reload was refused.",
		s->refused[0] != '\0');
	put_runner(&s->runner, out);
	if (s->has_store)
		put_store(&s->store, out);
	put_servers(s, out);
}
