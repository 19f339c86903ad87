/* report_fleet_plans.c - plans as trees, and the plan before and after a change. A plan is foreign JSON: its depth is looked at
 * before it is parsed, and it is walked without recursion. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "cli/report_fleet.h"
#include "core/fleet_words.h"
#include "core/scoped.h"
#include "core/units.h"

#define DEPTH_MOST 400u /* brackets within one another: a plan of so many levels is none */
#define NODES_MOST 200u /* shown */

static void drop_json(json_t **value)
{
	json_decref(*value);
}

/* Brackets within one another, outside strings. */
static bool is_too_deep(const char *json, size_t len)
{
	unsigned depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < len; i++) {
		if (in_string && json[i] == '\\')
			i++;
		else if (json[i] == '"')
			in_string = !in_string;
		else if (!in_string && (json[i] == '{' || json[i] == '['))
			depth++;
		else if (!in_string && (json[i] == '}' || json[i] == ']') && depth > 0)
			depth--;
		if (depth > DEPTH_MOST)
			return true;
	}
	return false;
}

static void put_member(struct text *t, const char *before, const json_t *node, const char *key)
{
	const char *value = json_string_value(json_object_get(node, key));

	if (value == NULL || value[0] == '\0')
		return;
	text_put(t, before);
	text_put_cut(t, (struct str){ value, (uint32_t)strlen(value) }, 200);
}

/* "Index Scan using orders_customer on shop.orders o · cost 8.31, rows 1". */
static void put_node(struct text *t, const json_t *node)
{
	const char *type = json_string_value(json_object_get(node, "Node Type"));

	text_put_cut(t, (struct str){ type, (uint32_t)strlen(type) }, 60);
	put_member(t, " ", node, "Join Type");
	put_member(t, " using ", node, "Index Name");
	put_member(t, " on ", node, "Relation Name");
	put_member(t, " on ", node, "Function Name");
	put_member(t, " on ", node, "CTE Name");
	text_printf(t, " (cost %.2f, rows %.0f)",
		    json_number_value(json_object_get(node, "Total Cost")),
		    json_number_value(json_object_get(node, "Plan Rows")));
}

static void put_condition(struct screen *s, const json_t *node, const char *key, size_t indent)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	const char *value = json_string_value(json_object_get(node, key));

	if (value == NULL)
		return;
	text_printf(&t, "%s: ", key);
	text_put_cut(&t, (struct str){ value, (uint32_t)strlen(value) }, 300);
	s->has_failed |= t.has_failed;
	screen_to(s, indent);
	screen_wrap(s, text_chars(&t), indent + 2);
}

static void put_whole_node(struct screen *s, const json_t *node, size_t indent)
{
	static const char *const conditions[] = { "Index Cond",	 "Hash Cond", "Merge Cond",
						  "Join Filter", "Filter",    "Recheck Cond" };
	SCOPED(text_free) struct text t = TEXT_EMPTY;

	put_node(&t, node);
	s->has_failed |= t.has_failed;
	screen_to(s, indent);
	screen_wrap(s, text_chars(&t), indent + 2);
	for (size_t i = 0; i < ARRAY_LEN(conditions); i++)
		put_condition(s, node, conditions[i], indent + 2);
}

/* A node whose children are being shown. */
struct branch {
	const json_t *plans;
	size_t next;
};

static bool is_node(const json_t *node)
{
	return json_is_object(node) &&
	       json_string_value(json_object_get(node, "Node Type")) != NULL;
}

static void put_tree(struct screen *s, const json_t *root, size_t indent)
{
	struct branch stack[DEPTH_MOST / 2 + 1];
	size_t depth = 0, shown = 1;

	put_whole_node(s, root, indent);
	stack[depth++] = (struct branch){ json_object_get(root, "Plans"), 0 };
	while (depth > 0 && shown < NODES_MOST) {
		struct branch *at = &stack[depth - 1];
		const json_t *node = json_array_get(at->plans, at->next);

		if (node == NULL) {
			depth--;
			continue;
		}
		at->next++;
		if (!is_node(node))
			continue;
		/* Deep trees lean to the right no further than half of the screen. */
		put_whole_node(s, node,
			       indent + 2 * (depth < s->columns / 4 ? depth : s->columns / 4));
		shown++;
		if (depth < ARRAY_LEN(stack))
			stack[depth++] = (struct branch){ json_object_get(node, "Plans"), 0 };
	}
	if (depth > 0) {
		screen_to(s, indent);
		screen_put(s, "... more nodes than are shown");
		screen_end(s);
	}
}

int fleet_put_plan(struct screen *s, const char *json, size_t len, size_t indent, struct err *err)
{
	SCOPED(drop_json)
	json_t *whole = is_too_deep(json, len) ? NULL : json_loadb(json, len, JSON_ALLOW_NUL, NULL);
	const json_t *root = json_is_array(whole) ? json_array_get(whole, 0) : whole;
	const json_t *plan = json_object_get(root, "Plan");

	if (!is_node(plan))
		return err_set(err, -EBADMSG,
			       "cannot show a plan: it is damaged, or not PostgreSQL's");
	put_tree(s, plan, indent);
	return 0;
}

static int put_one(struct screen *s, struct fleet_report *r, const char *word,
		   const struct plan_row *plan, int64_t from_wall_ns, struct err *err)
{
	SCOPED(text_free) struct text json = TEXT_EMPTY;
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	char from[64], to[64];
	uint64_t size;
	bool has_it;
	int rc = fleet_report_payload(r, plan->server, &plan->plan, &json, &has_it, &size, err);

	if (rc != 0)
		return rc;
	units_format_wall((struct wall){ from_wall_ns }, from, sizeof(from));
	units_format_wall((struct wall){ plan->seen_wall_ns }, to, sizeof(to));
	text_printf(&t, "%s: cost %.2f, seen from %s to %s", word, plan->total_cost, from, to);
	s->has_failed |= t.has_failed;
	screen_to(s, 2);
	screen_wrap(s, text_chars(&t), 4);
	if (has_it)
		return fleet_put_plan(s, text_chars(&json), json.len, 4, err);
	screen_to(s, 4);
	text_clear(&t);
	text_put(&t, "— not kept");
	if (size > 0) {
		text_put(&t, ": it has ");
		text_put_size(&t, size);
	}
	screen_put(s, text_chars(&t));
	screen_end(s);
	return 0;
}

/* The change that cost most; when none is told, the largest statement that changed within the span. */
static const struct fleet_statement *chosen(const struct fleet_analysis *a)
{
	const struct fleet_statement *s = fleet_worst_change(a);

	for (size_t i = 0; s == NULL && i < a->statement_count; i++)
		if (a->statements[i].plan_before != NULL &&
		    a->statements[i].changed_wall_ns >= a->from_wall_ns)
			s = &a->statements[i];
	return s;
}

static void put_side(struct text *t, const struct fleet_side *side)
{
	if (side->calls == 0) {
		text_put(t, "— no calls");
		return;
	}
	text_put_duration(t, fleet_mean_ns(side->exec_ns, side->calls));
	text_put(t, " in the mean of ");
	text_put_counted(t, side->calls, "call");
}

int fleet_plan_change(struct screen *s, struct fleet_report *r, struct err *err)
{
	const struct fleet_statement *row = chosen(&r->a);
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	int rc;

	if (row == NULL)
		return 0;
	screen_end(s);
	screen_put(s, "a plan that changed");
	screen_end(s);
	text_put(&t, "on ");
	fleet_put_server(&t, &r->a, row->server);
	text_put(&t, ": ");
	fleet_put_statement(&t, row, 400);
	screen_to(s, 2);
	screen_wrap(s, text_chars(&t), 4);
	text_clear(&t);
	text_put(&t, "before ");
	put_side(&t, &row->before);
	text_put(&t, "; after ");
	put_side(&t, &row->after);
	s->has_failed |= t.has_failed;
	screen_to(s, 2);
	screen_wrap(s, text_chars(&t), 4);
	rc = put_one(s, r, "before", row->plan_before, row->plan_before->first_wall_ns, err);
	return rc != 0 ? rc : put_one(s, r, "after", row->plan, row->changed_wall_ns, err);
}
