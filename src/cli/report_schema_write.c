/* report_schema_write.c - members that all reports have, and writing the JSON schema that tables of members describe, draft
 * 2020-12. */
#include <stdio.h>
#include <string.h>

#include "cli/report_json.h"
#include "core/scoped.h"

/* ---- members of all reports ---- */

static const struct member begin_rows[] = {
	{ "", "schema_version", "integer", false,
	  "changes when a member goes or changes its meaning" },
	{ "", "verdict", "string", false, "the answer in one sentence, without a full stop" },
	{ "", "label", "@recording", false, "the recording's facts about itself" },
};

static const struct member file_rows[] = {
	{ "", "file", "string", false, "the recording that was read" },
	{ "", "file_bytes", "integer", false, "its size, with what stands beside it" },
	{ "", "price", "@price", false, "what measuring took" },
	{ "", "totals", "@totals", false, "the whole run" },
	{ "", "findings", "[finding", false, "what stands out; empty: nothing" },
};

static const struct member end_rows[] = {
	{ "", "ledger", "[ledger", false, "what measuring took, window by window" },
	{ "", "replaced_bytes", "integer", false,
	  "bytes in strings above that were no UTF-8: each stands as U+FFFD" },
};

static const struct member part_rows[] = {
	{ "finding", "id", "=finding_id", false, "never changes its meaning" },
	{ "finding", "title", "string", false, "what" },
	{ "finding", "evidence", "string", false, "in numbers" },
	{ "finding", "look_next", "string", false, "where to look next" },

	{ "price", "value", "number", true, "share of one CPU" },
	{ "price", "error", "number", true,
	  "half width of the 95 % interval over the ledger's windows" },
	{ "price", "limit", "number", false, "share of one CPU that was allowed" },
};

const struct members report_members_begin = { begin_rows, ARRAY_LEN(begin_rows) };
const struct members report_members_file = { file_rows, ARRAY_LEN(file_rows) };
const struct members report_members_end = { end_rows, ARRAY_LEN(end_rows) };
const struct members report_members_parts = { part_rows, ARRAY_LEN(part_rows) };

/* ---- writing ---- */

static void put_enum(struct json *j, const struct schema *schema, const char *name)
{
	const char *word;

	json_key(j, "enum");
	json_open_array(j);
	for (size_t i = 0; i < schema->word_count; i++) {
		if (strcmp(schema->words[i].name, name) != 0)
			continue;
		for (size_t k = 0; (word = schema->words[i].word(k)) != NULL; k++)
			json_chars(j, word);
	}
	json_close(j);
}

static void put_reference(struct json *j, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "#/$defs/%s", name);
	json_put_chars(j, "$ref", path);
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

/* An array of arrays of numbers: [lowest ns, highest ns, weight]. */
static void put_steps_type(struct json *j)
{
	put_type(j, "array", false);
	json_key(j, "items");
	json_open_object(j);
	put_type(j, "array", false);
	json_key(j, "items");
	json_open_object(j);
	put_type(j, "integer", false);
	json_close(j);
	json_close(j);
}

static void put_property(struct json *j, const struct schema *schema, const struct member *m)
{
	char key[64];

	json_key(j, m->name);
	json_open_object(j);
	json_put_chars(j, "description", m->doc);
	if (m->type[0] == '@') {
		put_reference(j, m->type + 1);
	} else if (m->type[0] == '[') {
		put_type(j, "array", false);
		json_key(j, "items");
		json_open_object(j);
		put_reference(j, m->type + 1);
		json_close(j);
	} else if (m->type[0] == '=') {
		put_type(j, "string", false);
		put_enum(j, schema, m->type + 1);
	} else if (strcmp(m->type, "steps") == 0) {
		put_steps_type(j);
	} else {
		put_type(j, m->type, m->may_be_null);
	}
	json_close(j);
	if (!m->may_be_null)
		return;
	snprintf(key, sizeof(key), "%s_reason", m->name);
	json_key(j, key);
	json_open_object(j);
	json_put_chars(j, "description", "why it is null");
	put_type(j, "string", false);
	json_close(j);
}

static struct member member_of_field(const struct field *f)
{
	static const char *const types[] = {
		[FIELD_U32] = "integer",   [FIELD_U64] = "integer", [FIELD_I64] = "integer",
		[FIELD_BOOL] = "boolean",  [FIELD_STR] = "string",  [FIELD_BATCHES] = "array",
		[FIELD_F64] = "number",	   [FIELD_STEPS] = "steps", [FIELD_COUNTER] = "integer",
		[FIELD_DIGEST] = "string", [FIELD_BLOB] = "string",
	};
	bool is_number = f->type == FIELD_U32 || f->type == FIELD_U64 || f->type == FIELD_I64 ||
			 f->type == FIELD_COUNTER;

	return (struct member){ "", f->name, types[f->type], is_number, f->doc };
}

/* Does something with every member of one object, in order. */
static void for_each_of(struct json *j, const struct schema *schema, const char *object,
			void (*put)(struct json *j, const struct schema *schema,
				    const struct member *m))
{
	for (size_t t = 0; t < schema->table_count; t++)
		for (size_t i = 0; i < schema->tables[t]->count; i++)
			if (strcmp(schema->tables[t]->rows[i].object, object) == 0)
				put(j, schema, &schema->tables[t]->rows[i]);
}

static void put_name(struct json *j, const struct schema *schema, const struct member *m)
{
	(void)schema;
	json_chars(j, m->name);
}

/* The properties of one object: columns of a table, if it has one, then members of ours. */
static void put_object(struct json *j, const struct schema *schema,
		       const struct schema_object *object)
{
	const struct table *table = object->table;

	put_type(j, "object", false);
	json_key(j, "additionalProperties");
	json_bool(j, false);
	json_key(j, "properties");
	json_open_object(j);
	for (size_t i = 0; table != NULL && i < table->field_count; i++) {
		struct member m = member_of_field(&table->fields[i]);

		put_property(j, schema, &m);
	}
	for_each_of(j, schema, object->name, put_property);
	json_close(j);
	json_key(j, "required");
	json_open_array(j);
	for (size_t i = 0; table != NULL && i < table->field_count; i++)
		json_chars(j, table->fields[i].name);
	for_each_of(j, schema, object->name, put_name);
	json_close(j);
}

int schema_write(FILE *out, const struct schema *schema)
{
	static const struct schema_object root = { "", NULL };
	struct json j;

	json_begin(&j, json_to_file, out, 4);
	json_open_object(&j);
	json_put_chars(&j, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_put_chars(&j, "title", schema->title);
	put_object(&j, schema, &root);
	json_key(&j, "$defs");
	json_open_object(&j);
	for (size_t i = 0; i < schema->object_count; i++) {
		json_key(&j, schema->objects[i].name);
		json_open_object(&j);
		put_object(&j, schema, &schema->objects[i]);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	return json_end(&j);
}
