/* report_page_collect_plans.c - the plans of a fleet's page. The content of those that changed comes first, then that of the dearest
 * statements' plans, while there is room. */
#include <errno.h>
#include <string.h>

#include "cli/report_page_collect.h"
#include "core/scoped.h"
#include "core/units.h"

/* A plan on its way into the page. */
struct placed {
	const struct plan_row *row;
	size_t line; /* the statement's */
	bool has_content;
};

struct plans {
	struct placed rows[COLLECT_PAGE_PLANS];
	size_t count;
	size_t left_out;
};

static bool is_of(const struct plan_row *row, const struct fleet_statement *s)
{
	return row->server == s->server && row->key.queryid == s->key.queryid &&
	       row->key.dbid == s->key.dbid && row->key.userid == s->key.userid &&
	       row->key.is_toplevel == s->key.is_toplevel;
}

static bool has_changed(const struct collect_page *p, const struct fleet_statement *s)
{
	return s->plan_before != NULL && s->changed_wall_ns >= p->r->a.from_wall_ns;
}

static bool is_there(const struct plans *plans, const struct plan_row *row)
{
	for (size_t i = 0; i < plans->count; i++)
		if (plans->rows[i].row == row)
			return true;
	return false;
}

static void place(struct plans *plans, const struct plan_row *row, size_t line)
{
	if (row == NULL || is_there(plans, row))
		return;
	if (plans->count == COLLECT_PAGE_PLANS)
		plans->left_out++;
	else
		plans->rows[plans->count++] = (struct placed){ row, line, false };
}

/* In the order in which they get room: both sides of changes, the plans now, and all that were before. */
static void gather(const struct collect_page *p, struct plans *out)
{
	const struct fleet_block *block = fleet_batch_block(&p->r->a.rows, &table_plan, BLOCK_PUT);

	for (size_t i = 0; i < collect_page_rows(p, p->lines); i++) {
		const struct fleet_statement *s = &p->r->a.statements[i];

		if (!has_changed(p, s))
			continue;
		place(out, s->plan_before, i);
		place(out, s->plan, i);
	}
	for (size_t i = 0; i < collect_page_rows(p, p->lines); i++)
		place(out, p->r->a.statements[i].plan, i);
	for (size_t i = 0; i < collect_page_rows(p, p->lines); i++) {
		const struct fleet_statement *s = &p->r->a.statements[i];

		if (s->plans < 2)
			continue;
		for (size_t k = 0; k < block->count; k++)
			if (is_of(fleet_block_row(block, k), s))
				place(out, fleet_block_row(block, k), i);
	}
}

bool collect_page_has_plans(const struct collect_page *p)
{
	for (size_t i = 0; i < collect_page_rows(p, p->lines); i++)
		if (p->r->a.statements[i].plan != NULL)
			return true;
	return false;
}

/* As it stands in the page: quotes and new lines take two bytes there, and what could end a script six. */
static size_t bytes_in_page(const struct text *json)
{
	size_t bytes = json->len;

	for (size_t i = 0; i < json->len; i++) {
		bytes += json->bytes[i] == '"' || json->bytes[i] == '\\' || json->bytes[i] == '\n';
		bytes += 5 *
			 (json->bytes[i] == '<' || json->bytes[i] == '>' || json->bytes[i] == '&');
	}
	return bytes;
}

static void put_digest(struct json *j, const char *key, const struct digest *d)
{
	char hex[13]; /* enough to tell the plans of one statement apart */

	for (size_t i = 0; i < 6; i++)
		snprintf(hex + 2 * i, 3, "%02x", d->bytes[i]);
	json_put_chars(j, key, hex);
}

/* Content and why there is none. */
static int put_content(struct json *j, const struct collect_page *p, const struct plan_row *row,
		       size_t *room, struct err *err)
{
	SCOPED(text_free) struct text content = TEXT_EMPTY;
	const char *why = NULL;
	uint64_t size;
	bool has_it;
	int rc = fleet_report_payload(p->r, row->server, &row->plan, &content, &has_it, &size, err);

	if (rc != 0)
		return rc;
	if (!has_it)
		why = "not kept";
	else if (bytes_in_page(&content) > *room)
		why = "left out: no room";
	if (why != NULL) {
		json_put_chars(j, "why", why);
		return 0;
	}
	*room -= bytes_in_page(&content);
	json_put_str(j, "content", (struct str){ text_chars(&content), (uint32_t)content.len });
	return 0;
}

static int put_plan(struct json *j, const struct collect_page *p, const struct placed *placed,
		    size_t *room, struct err *err)
{
	const struct plan_row *row = placed->row;
	const struct fleet_statement *s = &p->r->a.statements[placed->line];
	int rc;

	json_open_object(j);
	json_put_u64(j, "line", placed->line);
	json_put_chars(j, "role",
		       row == s->plan				    ? "now"
		       : row == s->plan_before && has_changed(p, s) ? "before"
								    : "earlier");
	put_digest(j, "digest", &row->plan);
	put_digest(j, "shape", &row->shape);
	collect_page_put_ms(j, "first", row->first_wall_ns);
	collect_page_put_ms(j, "seen", row->seen_wall_ns);
	json_put_double(j, "cost", row->total_cost);
	json_put_double(j, "rows", row->plan_rows);
	collect_page_put_name(j, "path", row->search_path);
	collect_page_put_name(j, "settings", row->settings);
	json_put_bool(j, "generic", row->is_generic);
	json_put_u64(j, "bytes", row->plan_bytes);
	rc = put_content(j, p, row, room, err);
	json_close(j);
	return rc;
}

int collect_page_put_plans(struct json *j, const struct collect_page *p, struct err *err)
{
	struct plans plans = { .count = 0 };
	size_t room = collect_page_rows(p, COLLECT_PAGE_BYTES);
	int rc = 0;

	gather(p, &plans);
	json_key(j, "plans");
	json_open_array(j);
	for (size_t i = 0; i < plans.count && rc == 0; i++)
		rc = put_plan(j, p, &plans.rows[i], &room, err);
	json_close(j);
	json_put_u64(j, "plansLeftOut", plans.left_out);
	return rc;
}
