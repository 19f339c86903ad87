/* fields_doc.c - prints what a recording consists of, from the tables in core/fields.c.
 * Usage: fields_doc --page INTRO    docs/format.md: INTRO, then a table a table
 *        fields_doc --schema       docs/recording.schema.json: a JSON Schema (2020-12) of the rows */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/fields.h"
#include "core/recording.h"
#include "core/scoped.h"
#include "format/json.h"

#define SCHEMA_VERSION 1

static const char *unit_of(const struct field *f)
{
	static const struct {
		const char *suffix, *unit;
	} units[] = {
		{ "_wall_ns", "ns since 1970" }, { "_ns", "ns" },	   { "_ps", "ps" },
		{ "_bytes", "bytes" },		 { "_ppm", "millionths" },
	};
	size_t len = strlen(f->name);

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		size_t tail = strlen(units[i].suffix);

		if (len > tail && strcmp(f->name + len - tail, units[i].suffix) == 0)
			return units[i].unit;
	}
	return f->type == FIELD_BOOL ? "0 or 1" : "";
}

static const char *type_of(const struct field *f)
{
	switch (f->type) {
	case FIELD_U32:
		return f->is_key ? "INTEGER" : "INTEGER or NULL";
	case FIELD_STR:
		return "TEXT or BLOB";
	case FIELD_BATCHES:
		return "BLOB";
	case FIELD_U64:
	case FIELD_I64:
	case FIELD_BOOL:
		break;
	}
	return "INTEGER";
}

static int copy_intro(const char *path)
{
	FILE *in = fopen(path, "r");
	int c;

	if (in == NULL) {
		perror(path);
		return 1;
	}
	while ((c = getc(in)) != EOF)
		putchar(c);
	fclose(in);
	return 0;
}

static void print_table(const struct table *t)
{
	printf("\n## %s\n%s.\n\n| column | type | unit | what it says |\n| --- | --- | --- | --- "
	       "|\n",
	       t->name, t->doc);
	for (size_t i = 0; i < t->field_count; i++) {
		const struct field *f = &t->fields[i];

		printf("| `%s`%s | %s | %s | %s |\n", f->name, f->is_key ? ", key" : "", type_of(f),
		       unit_of(f), f->doc);
	}
}

static void put_text(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	json_chars(j, value);
}

static void put_whole_number(struct json *j, bool may_be_null, bool is_signed, uint64_t most)
{
	json_key(j, "type");
	if (may_be_null) {
		json_open_array(j);
		json_chars(j, "integer");
		json_chars(j, "null");
		json_close(j);
	} else {
		json_chars(j, "integer");
	}
	if (is_signed)
		return;
	json_key(j, "minimum");
	json_u64(j, 0);
	json_key(j, "maximum");
	json_u64(j, most);
}

static void put_batches(struct json *j)
{
	put_text(j, "type", "array");
	json_key(j, "items");
	json_open_object(j);
	put_whole_number(j, false, false, INT64_MAX);
	json_close(j);
	json_key(j, "minItems");
	json_u64(j, BATCH_COUNT);
	json_key(j, "maxItems");
	json_u64(j, BATCH_COUNT);
}

static void put_field(struct json *j, const struct field *f)
{
	bool is_coin = strncmp(f->name, "rng_", 4) == 0;

	json_key(j, f->name);
	json_open_object(j);
	put_text(j, "description", f->doc);
	switch (f->type) {
	case FIELD_U32:
		put_whole_number(j, !f->is_key, false, NO_ID - 1);
		break;
	case FIELD_U64:
		put_whole_number(j, false, false, is_coin ? UINT64_MAX : INT64_MAX);
		break;
	case FIELD_I64:
		put_whole_number(j, false, true, 0);
		break;
	case FIELD_BOOL:
		put_text(j, "type", "boolean");
		break;
	case FIELD_STR:
		put_text(j, "type", "string");
		break;
	case FIELD_BATCHES:
		put_batches(j);
		break;
	}
	json_close(j);
}

static void put_row(struct json *j, const struct table *t)
{
	json_key(j, t->name);
	json_open_object(j);
	put_text(j, "description", t->doc);
	put_text(j, "type", "object");
	json_key(j, "properties");
	json_open_object(j);
	for (size_t i = 0; i < t->field_count; i++)
		put_field(j, &t->fields[i]);
	json_close(j);
	json_key(j, "required");
	json_open_array(j);
	for (size_t i = 0; i < t->field_count; i++)
		json_chars(j, t->fields[i].name);
	json_close(j);
	json_key(j, "additionalProperties");
	json_bool(j, false);
	json_close(j);
}

/* The rows of one table: the label is one object, the others are arrays. */
static void put_rows(struct json *j, const struct table *t)
{
	char ref[64];

	snprintf(ref, sizeof(ref), "#/$defs/%s", t->name);
	json_key(j, t->name);
	json_open_object(j);
	if (t == &table_recording) {
		put_text(j, "$ref", ref);
	} else {
		put_text(j, "type", "array");
		json_key(j, "items");
		json_open_object(j);
		put_text(j, "$ref", ref);
		json_close(j);
	}
	json_close(j);
}

static int print_schema(void)
{
	struct json j;

	json_begin(&j, json_to_file, stdout, 4);
	json_open_object(&j);
	put_text(&j, "$schema", "https://json-schema.org/draft/2020-12/schema");
	put_text(&j, "title", "A recording of tare, as rows");
	put_text(&j, "type", "object");
	json_key(&j, "properties");
	json_open_object(&j);
	json_key(&j, "schema_version");
	json_open_object(&j);
	json_key(&j, "const");
	json_u64(&j, SCHEMA_VERSION);
	json_close(&j);
	for (size_t i = 0; i < table_count; i++)
		put_rows(&j, tables[i]);
	json_close(&j);
	json_key(&j, "required");
	json_open_array(&j);
	json_chars(&j, "schema_version");
	json_close(&j);
	json_key(&j, "$defs");
	json_open_object(&j);
	for (size_t i = 0; i < table_count; i++)
		put_row(&j, tables[i]);
	json_close(&j);
	json_close(&j);
	return json_end(&j) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	int status = 2;

	if (argc == 3 && strcmp(argv[1], "--page") == 0) {
		status = copy_intro(argv[2]);
		for (size_t i = 0; i < table_count && status == 0; i++)
			print_table(tables[i]);
	} else if (argc == 2 && strcmp(argv[1], "--schema") == 0) {
		status = print_schema();
	} else {
		fprintf(stderr, "usage: fields_doc --page INTRO | fields_doc --schema\n");
	}
	return fflush(stdout) == 0 ? status : 1;
}
