/* report_fleet_load.c - reads a fleet's store into an analysis: state first, then what happened. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/collect_store.h"
#include "cli/payload.h"
#include "cli/report_fleet.h"
#include "core/scoped.h"
#include "core/units.h"
#include "fleet/settings.h"

#define DAY_NS	     (UINT64_C(86400) * NS_PER_S)
#define TEXTS_LOADED 200u /* statements whose text is shown */

/* In this order: changes of plans must be known before statements are taken. */
static const struct table *const state_tables[] = { &table_server, &table_capture, &table_query,
						    &table_plan, &table_no_plan };
static const struct table *const event_tables[] = {
	&table_run,	 &table_setting_change, &table_blocking, &table_collector, &table_statement,
	&table_function, &table_database,	&table_io,	 &table_wait
};

static int take_row(void *owner, const void *row)
{
	const struct {
		struct fleet_analysis *a;
		const struct table *table;
	} *to = owner;

	return fleet_analysis_take(to->a, to->table, row);
}

static int load_table(struct fleet_report *r, const struct table *t,
		      const struct fleet_range *range, struct err *err)
{
	struct {
		struct fleet_analysis *a;
		const struct table *table;
	} to = { &r->a, t };
	int rc = r->ops->scan(r->db, t, range, take_row, &to, err);

	if (rc == -ENOMEM && err->code == 0)
		return err_set(err, rc, "cannot read '%s': out of memory", r->path);
	return rc;
}

/* The newest run: a report ends there, whenever it is asked for. */
static int take_newest(void *owner, const void *row)
{
	int64_t *newest = owner, at_ns = ((const struct run_row *)row)->at_wall_ns;

	*newest = at_ns > *newest ? at_ns : *newest;
	return 0;
}

static int find_span(struct fleet_report *r, uint64_t last_ns, struct fleet_range *out,
		     struct err *err)
{
	int64_t newest = 0;
	struct timespec now;
	int rc;

	*out = FLEET_RANGE_ALL;
	/* A month of runs is not read for the newest of them when there is one of the last hour. */
	clock_gettime(CLOCK_REALTIME, &now);
	out->from_wall_ns = (now.tv_sec - 3600) * (int64_t)NS_PER_S;
	rc = r->ops->scan(r->db, &table_run, out, take_newest, &newest, err);
	out->from_wall_ns = 0;
	if (rc == 0 && newest == 0)
		rc = r->ops->scan(r->db, &table_run, out, take_newest, &newest, err);
	if (rc != 0 || newest == 0)
		return rc;
	last_ns = last_ns != 0 ? last_ns : DAY_NS;
	out->to_wall_ns = newest + 1;
	out->from_wall_ns = last_ns < (uint64_t)newest ? newest + 1 - (int64_t)last_ns : 0;
	return 0;
}

static int load_rows(struct fleet_report *r, uint64_t last_ns, struct err *err)
{
	struct fleet_range all = FLEET_RANGE_ALL, span;
	int rc = find_span(r, last_ns, &span, err);

	if (rc == 0)
		rc = fleet_analysis_open(span.from_wall_ns, span.to_wall_ns, &r->a);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(state_tables); i++)
		rc = load_table(r, state_tables[i], &all, err);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(event_tables); i++)
		rc = load_table(r, event_tables[i], &span, err);
	if (rc == 0)
		rc = fleet_analysis_close_input(&r->a);
	return rc;
}

/* What a scan for one payload found. */
struct wanted {
	struct text *text;
	bool has_it, is_bad;
	uint64_t size;
};

static int take_payload(void *owner, const void *row)
{
	const struct payload_row *p = row;
	struct wanted *w = owner;
	int rc;

	w->size = p->size_bytes;
	rc = payload_read(p, FLEET_PAYLOAD_MOST_BYTES, w->text);
	w->has_it = rc == 0;
	w->is_bad = rc == -EBADMSG;
	return rc == -ENOMEM ? rc : 0;
}

int fleet_report_payload(struct fleet_report *r, uint32_t server, const struct digest *digest,
			 struct text *out, bool *out_has, uint64_t *out_size, struct err *err)
{
	struct fleet_range range = FLEET_RANGE_ALL;
	struct wanted wanted = { .text = out };
	int rc;

	*out_has = false;
	*out_size = 0;
	if (fleet_digest_is_none(digest))
		return 0;
	range.server = server;
	range.digest = digest;
	rc = r->ops->scan(r->db, &table_payload, &range, take_payload, &wanted, err);
	if (rc != 0)
		return rc;
	if (wanted.is_bad)
		return err_set(err, -EBADMSG, "cannot read '%s': a payload is damaged", r->path);
	*out_has = wanted.has_it;
	*out_size = wanted.size;
	return out->has_failed ? err_set(err, -ENOMEM, "cannot read '%s': out of memory", r->path)
			       : 0;
}

static int load_texts(struct fleet_report *r, struct err *err)
{
	size_t count = r->a.statement_count < TEXTS_LOADED ? r->a.statement_count : TEXTS_LOADED;

	r->texts = calloc(count + 1, sizeof(*r->texts));
	if (r->texts == NULL)
		return err_set(err, -ENOMEM, "cannot read '%s': out of memory", r->path);
	for (size_t i = 0; i < count; i++) {
		struct fleet_statement *s = &r->a.statements[i];
		struct text text = TEXT_EMPTY;
		uint64_t size;
		bool has_it;
		int rc = s->query == NULL ? 0
					  : fleet_report_payload(r, s->server, &s->query->text,
								 &text, &has_it, &size, err);

		if (rc != 0) {
			text_free(&text);
			return rc;
		}
		s->text = (struct str){ text.bytes, (uint32_t)text.len };
		r->texts[r->text_count++] = text.bytes;
	}
	return 0;
}

int fleet_report_open_with(const char *path, const char *password, uint64_t last_ns,
			   struct fleet_report *out, struct err *err)
{
	struct fleet_report r = { .path = strdup(path) };
	int rc = r.path != NULL ? collect_store_read(path, password, &r.ops, &r.db, err)
				: err_set(err, -ENOMEM, "cannot open the store: out of memory");

	if (rc == 0 && strstr(path, "://") != NULL)
		settings_url_hide(r.path);
	if (rc == 0)
		rc = load_rows(&r, last_ns, err);
	if (rc == 0)
		rc = load_texts(&r, err);
	if (rc == 0)
		rc = r.ops->size(r.db, &r.bytes, err);
	if (rc != 0) {
		fleet_report_close(&r);
		return rc;
	}
	*out = r;
	return 0;
}

int fleet_report_open(const char *path, uint64_t last_ns, struct fleet_report *out, struct err *err)
{
	return fleet_report_open_with(path, "", last_ns, out, err);
}

void fleet_report_close(struct fleet_report *r)
{
	for (size_t i = 0; i < r->text_count; i++)
		free(r->texts[i]);
	free(r->texts);
	findings_free(&r->findings);
	fleet_analysis_free(&r->a);
	if (r->ops != NULL)
		r->ops->close(r->db);
	free(r->path);
	*r = FLEET_REPORT_EMPTY;
}
