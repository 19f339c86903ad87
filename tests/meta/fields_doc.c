/* fields_doc.c - prints docs/format.md or docs/format-fleet.md: the text of a file, then a table a table, from
 * core/fields.c or core/fleet_fields.c.
 * Usage: fields_doc recording|fleet INTRO */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/fields.h"
#include "core/fleet.h"
#include "core/scoped.h"

static const char *unit_of(const struct field *f)
{
	static const struct {
		const char *suffix, *unit;
	} units[] = {
		{ "_wall_ns", "ns since 1970" }, { "_ns", "ns" },	   { "_ps", "ps" },
		{ "_bytes", "bytes" },		 { "_ppm", "millionths" }, { "_ns2", "ns squared" },
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
	case FIELD_STEPS:
	case FIELD_BLOB:
		return "BLOB";
	case FIELD_F64:
		return "REAL";
	case FIELD_COUNTER:
		return "INTEGER or NULL";
	case FIELD_DIGEST:
		return f->is_key ? "BLOB" : "BLOB or NULL";
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
	printf("\n## %s\n%c%s.\n\n", t->name, toupper((unsigned char)t->doc[0]), t->doc + 1);
	printf("| column | type | unit | what it says |\n| --- | --- | --- | --- |\n");
	for (size_t i = 0; i < t->field_count; i++) {
		const struct field *f = &t->fields[i];

		printf("| `%s`%s | %s | %s | %s |\n", f->name, f->is_key ? ", key" : "", type_of(f),
		       unit_of(f), f->doc);
	}
}

static void print_fleet_table(const struct fleet_table *t)
{
	static const char *const keeps[] = {
		[KEEP_STATE] = "as long as its server is in the fleet",
		[KEEP_RAW] = "as raw rows stay: 7 days",
		[KEEP_HOURLY] = "as hours stay: 90 days",
		[KEEP_DAILY] = "as days stay: 5 years",
		[KEEP_RUNS] = "as the run log stays: 30 days",
		[KEEP_PAYLOADS] = "while it is named or was seen lately, and payloads have room",
	};

	print_table(t->table);
	printf("\nRows stay %s.", keeps[t->keep]);
	if (t->hourly != NULL)
		printf(" Before they go they are summed in `%s`%s%s%s.", t->hourly->name,
		       t->daily != NULL ? " and `" : "", t->daily != NULL ? t->daily->name : "",
		       t->daily != NULL ? "`" : "");
	printf("\n");
}

int main(int argc, char **argv)
{
	bool is_fleet = argc == 3 && strcmp(argv[1], "fleet") == 0;
	int status = 0;

	if (argc != 3 || (!is_fleet && strcmp(argv[1], "recording") != 0)) {
		fprintf(stderr, "usage: fields_doc recording|fleet INTRO\n");
		return 2;
	}
	status = copy_intro(argv[2]);
	for (size_t i = 0; i < table_count && status == 0 && !is_fleet; i++)
		print_table(tables[i]);
	for (size_t i = 0; i < fleet_table_count && status == 0 && is_fleet; i++)
		print_fleet_table(&fleet_tables[i]);
	return fflush(stdout) == 0 ? status : 1;
}
