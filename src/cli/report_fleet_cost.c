/* report_fleet_cost.c - what collecting cost: by reading over the fleet, and by server. */
#include <inttypes.h>
#include <string.h>

#include "cli/report_fleet.h"
#include "core/fleet_words.h"
#include "core/scoped.h"
#include "core/units.h"

enum {
	RUNS_END = 24,
	FAILED_END = 32,
	ALL_END = 43,
	MEAN_END = 54,
	LONGEST_END = 65,
	BYTES_END = 76
};

const struct fleet_server_sum *fleet_dearest(const struct fleet_analysis *a, uint64_t *out_ppm)
{
	uint64_t elapsed_ns = (uint64_t)(a->last_wall_ns - a->first_wall_ns);
	const struct fleet_server_sum *dearest = NULL;

	for (size_t i = 0; i < a->server_count; i++)
		if (a->servers[i].server_ns > 0 &&
		    (dearest == NULL || a->servers[i].server_ns > dearest->server_ns))
			dearest = &a->servers[i];
	if (dearest == NULL || elapsed_ns == 0)
		return NULL;
	*out_ppm = (uint64_t)((double)dearest->server_ns / (double)elapsed_ns * (double)PPM + 0.5);
	return dearest;
}

static void add(struct fleet_reading *sum, const struct fleet_reading *r)
{
	sum->runs += r->runs;
	sum->captures += r->captures;
	sum->gated += r->gated;
	sum->failures += r->failures + r->permissions + r->abandoned;
	sum->skipped += r->skipped;
	sum->server_ns += r->server_ns;
	sum->capture_server_ns += r->capture_server_ns;
	sum->longest_server_ns = r->longest_server_ns > sum->longest_server_ns
					 ? r->longest_server_ns
					 : sum->longest_server_ns;
	sum->own_ns += r->own_ns;
	sum->store_ns += r->store_ns;
	sum->rows += r->rows;
	sum->bytes += r->bytes;
	sum->plans += r->plans;
	sum->new_plans += r->new_plans;
}

static void put_duration(struct screen *s, uint64_t ns, size_t end)
{
	char text[48];

	units_format_duration(ns, text, sizeof(text));
	screen_put_right(s, text, end);
}

static void put_count(struct screen *s, uint64_t count, size_t end)
{
	char text[48];

	units_format_exact(count, text, sizeof(text));
	screen_put_right(s, text, end);
}

static void put_line(struct screen *s, const char *indent, const struct fleet_reading *r)
{
	char size[48];

	screen_put(s, indent);
	screen_put(s, reading_name(r->reading));
	put_count(s, r->runs, RUNS_END);
	put_count(s, r->failures, FAILED_END);
	put_duration(s, r->server_ns, ALL_END);
	put_duration(s, fleet_mean_ns(r->server_ns, r->runs), MEAN_END);
	put_duration(s, r->longest_server_ns, LONGEST_END);
	units_format_size(r->bytes, size, sizeof(size));
	screen_put_right(s, size, BYTES_END);
	screen_end(s);
}

static void put_header(struct screen *s)
{
	screen_put(s, "reading");
	screen_put_right(s, "runs", RUNS_END);
	screen_put_right(s, "failed", FAILED_END);
	screen_put_right(s, "on servers", ALL_END);
	screen_put_right(s, "a run", MEAN_END);
	screen_put_right(s, "longest", LONGEST_END);
	screen_put_right(s, "bytes", BYTES_END);
	screen_end(s);
}

/* How the expensive half was gated. */
static void put_gate(struct screen *s, const struct fleet_reading *statements,
		     const struct fleet_reading *plans)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;

	if (statements->captures + statements->gated == 0)
		return;
	text_put(&t, "Plans were captured in ");
	text_put_exact(&t, statements->captures);
	text_put(&t, " of ");
	text_put_counted(&t, statements->captures + statements->gated, "run");
	text_put(&t, ": ");
	text_put_exact(&t, plans->plans);
	text_put(&t, " came, ");
	text_put_exact(&t, plans->new_plans);
	text_put(&t, " of them new.");
	s->has_failed |= t.has_failed;
	screen_wrap(s, text_chars(&t), 0);
}

static void by_server(struct screen *s, const struct fleet_report *r)
{
	for (size_t i = 0; i < r->a.reading_count; i++) {
		const struct fleet_reading *row = &r->a.readings[i];
		struct fleet_reading whole = *row;
		SCOPED(text_free) struct text name = TEXT_EMPTY;

		if (row->reading == READING_VISIT)
			continue;
		if (i == 0 || r->a.readings[i - 1].server != row->server) {
			fleet_put_server(&name, &r->a, row->server);
			s->has_failed |= name.has_failed;
			screen_put(s, text_chars(&name));
			screen_end(s);
		}
		whole.failures += row->permissions + row->abandoned;
		put_line(s, "  ", &whole);
	}
}

void fleet_costs_sum(const struct fleet_analysis *a, struct fleet_reading sums[READING_COUNT])
{
	memset(sums, 0, READING_COUNT * sizeof(*sums));
	for (size_t i = 0; i < a->reading_count; i++)
		if (a->readings[i].reading < READING_COUNT)
			add(&sums[a->readings[i].reading], &a->readings[i]);
}

void fleet_costs(struct screen *s, const struct fleet_report *r, bool shows_all)
{
	struct fleet_reading sums[READING_COUNT];

	fleet_costs_sum(&r->a, sums);
	put_header(s);
	for (uint32_t i = 0; i < READING_COUNT; i++) {
		sums[i].reading = i;
		if (sums[i].runs > 0)
			put_line(s, "", &sums[i]);
	}
	put_gate(s, &sums[READING_STATEMENTS], &sums[READING_PLANS]);
	if (shows_all)
		by_server(s, r);
}
