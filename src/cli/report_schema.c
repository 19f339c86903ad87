/* report_schema.c - the JSON schema of a report, draft 2020-12. Columns come from core/fields.h; the rest is the
 * table below, in the order in which report_json.c writes. */
#include <stdio.h>
#include <string.h>

#include "cli/report.h"
#include "cli/report_json.h"
#include "core/scoped.h"
#include "format/json.h"

static const char *const kinds[] = { "thread", "native", "kernel", "marker", "unknown" };

const char *report_kind(enum frame_kind kind)
{
	return kinds[(size_t)kind < ARRAY_LEN(kinds) ? (size_t)kind : ARRAY_LEN(kinds) - 1];
}

bool report_is_unmeasured_at_zero(const char *column)
{
	static const char *const columns[] = { "kernel_tick_ps", "own_rss_bytes", "own_cpu_ns" };

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (strcmp(column, columns[i]) == 0)
			return true;
	return false;
}

/* One member of an object of ours. */
struct member {
	const char *object; /* whose: "" is the root; a "$defs" name otherwise */
	const char *name;
	const char *type; /* of JSON, "@NAME" for an object, "[NAME" for an array of them */
	bool may_be_null; /* then NAME_reason stands beside it */
	const char *doc;
};

static const struct member members[] = {
	{ "", "schema_version", "integer", false,
	  "changes when a member goes or changes its meaning" },
	{ "", "verdict", "string", false, "the answer in one sentence, without a full stop" },
	{ "", "label", "@recording", false, "the recording's facts about itself" },
	{ "", "file", "string", false, "the recording that was read" },
	{ "", "file_bytes", "integer", false, "its size, with what stands beside it" },
	{ "", "price", "@price", false, "what measuring took" },
	{ "", "totals", "@totals", false, "the whole run" },
	{ "", "findings", "[finding", false, "what stands out; empty: nothing" },
	{ "", "functions", "[function", false, "by own weight; shares are of the sampled weight" },
	{ "", "threads", "[thread", false, "by weight" },
	{ "", "slots", "[slot", false, "the timeline" },
	{ "", "ledger", "[ledger", false, "what measuring took, window by window" },
	{ "", "replaced_bytes", "integer", false,
	  "bytes in strings above that were no UTF-8: each stands as U+FFFD" },

	{ "share", "value", "number", true, "0 to 1" },
	{ "share", "error", "number", true, "half width of the 95 % interval" },
	{ "share", "is_coarse", "boolean", false, "fewer than 100 samples in the range" },
	{ "share", "words", "string", false, "as a report prints it" },

	{ "weighed", "share", "@share", false, "of the sampled weight" },
	{ "weighed", "weight_ns", "integer", false, "in all states" },
	{ "weighed", "running_ns", "integer", false, "of it, running" },
	{ "weighed", "waiting_ns", "integer", false, "of it, waiting" },
	{ "weighed", "runnable_ns", "integer", false, "of it, runnable but not running" },
	{ "weighed", "kept", "integer", false, "samples" },

	{ "function", "name", "string", false, "as it was recorded" },
	{ "function", "kind", "kind", false, "what it is a function of" },
	{ "function", "module", "string", false, "file name of the binary; empty: none" },
	{ "function", "file", "string", false, "source file; empty: not known" },
	{ "function", "line", "integer", true, "where most of its own time is" },
	{ "function", "is_unnamed", "boolean", false, "it has no symbol" },
	{ "function", "own", "@weighed", false, "without callees" },
	{ "function", "own_uncertain_ns", "integer", false, "of own, came by merging of paths" },
	{ "function", "with_callees", "@weighed", false, "each path counted once" },

	{ "thread", "name", "string", false, "as it called itself" },
	{ "thread", "pid", "integer", false, "process id; 0: not known" },
	{ "thread", "tid", "integer", false, "thread id; 0: not known" },
	{ "thread", "all", "@weighed", false, "all of its time" },

	{ "slot", "function", "integer", true, "place in functions, from 0, of the context shown" },

	{ "finding", "id", "finding_id", false, "never changes its meaning" },
	{ "finding", "title", "string", false, "what" },
	{ "finding", "evidence", "string", false, "in numbers" },
	{ "finding", "look_next", "string", false, "where to look next" },

	{ "price", "value", "number", true, "share of one CPU" },
	{ "price", "error", "number", true,
	  "half width of the 95 % interval over the ledger's windows" },
	{ "price", "limit", "number", false, "share of one CPU that was allowed" },
	{ "price", "spent_ns", "integer", false, "CPU time, our own and the kernel's part" },
	{ "price", "bound", "string", false, "at least, or own part" },

	{ "totals", "clock_ns", "integer", false, "CPU time of the task" },
	{ "totals", "sampled_ns", "integer", false, "of it, weight of samples" },
	{ "totals", "unsampled_ns", "integer", false, "of it, (unsampled)" },
	{ "totals", "uncertain_ns", "integer", false,
	  "of the sampled weight, came by merging of paths" },
	{ "totals", "hole_ns", "integer", false, "span of slots that lost samples and kept none" },
	{ "totals", "slots_lost", "integer", false, "slots that lost samples" },
	{ "totals", "unnamed", "@weighed", false, "own time of functions without a symbol" },
};

static void put_chars(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	json_chars(j, value);
}

static void put_enum(struct json *j, const char *type)
{
	const char *id;

	json_key(j, "enum");
	json_open_array(j);
	if (strcmp(type, "kind") == 0)
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			json_chars(j, kinds[i]);
	else
		for (size_t i = 0; (id = findings_id(i)) != NULL; i++)
			json_chars(j, id);
	json_close(j);
}

static void put_reference(struct json *j, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "#/$defs/%s", name);
	put_chars(j, "$ref", path);
}

static void put_type(struct json *j, const char *type, bool may_be_null)
{
	json_key(j, "type");
	if (!may_be_null) {
		json_chars(j, type);
		return;
	}
	json_open_array(j);
	json_chars(j, type);
	json_chars(j, "null");
	json_close(j);
}

static void put_property(struct json *j, const struct member *m)
{
	char key[64];

	json_key(j, m->name);
	json_open_object(j);
	put_chars(j, "description", m->doc);
	if (m->type[0] == '@') {
		put_reference(j, m->type + 1);
	} else if (m->type[0] == '[') {
		put_type(j, "array", false);
		json_key(j, "items");
		json_open_object(j);
		put_reference(j, m->type + 1);
		json_close(j);
	} else if (strcmp(m->type, "kind") == 0 || strcmp(m->type, "finding_id") == 0) {
		put_type(j, "string", false);
		put_enum(j, m->type);
	} else {
		put_type(j, m->type, m->may_be_null);
	}
	json_close(j);
	if (!m->may_be_null)
		return;
	snprintf(key, sizeof(key), "%s_reason", m->name);
	json_key(j, key);
	json_open_object(j);
	put_chars(j, "description", "why it is null");
	put_type(j, "string", false);
	json_close(j);
}

static struct member member_of_field(const struct field *f)
{
	static const char *const types[] = {
		[FIELD_U32] = "integer",  [FIELD_U64] = "integer", [FIELD_I64] = "integer",
		[FIELD_BOOL] = "boolean", [FIELD_STR] = "string",  [FIELD_BATCHES] = "array",
		[FIELD_F64] = "number",	  [FIELD_STEPS] = "array",
	};
	bool is_number = f->type == FIELD_U32 || f->type == FIELD_U64 || f->type == FIELD_I64;

	return (struct member){ "", f->name, types[f->type], is_number, f->doc };
}

/* The properties of one object: columns of a table, if it has one, then members of ours. */
static void put_object(struct json *j, const char *object, const struct table *table)
{
	put_type(j, "object", false);
	json_key(j, "additionalProperties");
	json_bool(j, false);
	json_key(j, "properties");
	json_open_object(j);
	for (size_t i = 0; table != NULL && i < table->field_count; i++) {
		struct member m = member_of_field(&table->fields[i]);

		put_property(j, &m);
	}
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (strcmp(members[i].object, object) == 0)
			put_property(j, &members[i]);
	json_close(j);
	json_key(j, "required");
	json_open_array(j);
	for (size_t i = 0; table != NULL && i < table->field_count; i++)
		json_chars(j, table->fields[i].name);
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (strcmp(members[i].object, object) == 0)
			json_chars(j, members[i].name);
	json_close(j);
}

int report_schema(FILE *out)
{
	static const struct {
		const char *name;
		const struct table *table;
	} objects[] = {
		{ "recording", &table_recording },
		{ "slot", &table_slot },
		{ "ledger", &table_ledger },
		{ "share", NULL },
		{ "weighed", NULL },
		{ "function", NULL },
		{ "thread", NULL },
		{ "finding", NULL },
		{ "price", NULL },
		{ "totals", NULL },
	};
	struct json j;

	json_begin(&j, json_to_file, out, 4);
	json_open_object(&j);
	put_chars(&j, "$schema", "https://json-schema.org/draft/2020-12/schema");
	put_chars(&j, "title", "tare report --json");
	put_object(&j, "", NULL);
	json_key(&j, "$defs");
	json_open_object(&j);
	for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
		json_key(&j, objects[i].name);
		json_open_object(&j);
		put_object(&j, objects[i].name, objects[i].table);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	return json_end(&j);
}
