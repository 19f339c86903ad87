/* fakepg_answer.c - answers by the columns that were asked for: names of the outermost SELECT, values by the name. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fleet/fakepg.h"

#define COLUMNS_MOST 128
#define NAME_BYTES   64

const char *const way_names[WAY_COUNT] = { "fine",    "silent", "trickle",  "reset",   "restart",
					   "refuse",  "full",	"notices",  "lengths", "huge",
					   "columns", "errors", "tls",	    "late",    "stall",
					   "params",  "rows",	"kerberos", "rounds",  "copy" };

const char statements_columns[] =
	"userid,dbid,toplevel,queryid,query,plans,total_plan_time,min_plan_time,max_plan_time,"
	"mean_plan_time,stddev_plan_time,calls,total_exec_time,min_exec_time,max_exec_time,"
	"mean_exec_time,stddev_exec_time,rows,shared_blks_hit,shared_blks_read,shared_blks_dirtied,"
	"shared_blks_written,local_blks_hit,local_blks_read,local_blks_dirtied,local_blks_written,"
	"temp_blks_read,temp_blks_written,blk_read_time,blk_write_time,temp_blk_read_time,"
	"temp_blk_write_time,wal_records,wal_fpi,wal_bytes,jit_functions,jit_generation_time,"
	"jit_inlining_count,jit_inlining_time,jit_optimization_count,jit_optimization_time,"
	"jit_emission_count,jit_emission_time";

void out_bytes(struct out *o, const void *bytes, size_t len)
{
	if (o->len + len > o->room) {
		o->room = (o->len + len) * 2;
		o->bytes = realloc(o->bytes, o->room);
		if (o->bytes == NULL)
			abort();
	}
	memcpy(o->bytes + o->len, bytes, len);
	o->len += len;
}

void out_u16(struct out *o, unsigned value)
{
	unsigned char bytes[2] = { (unsigned char)(value >> 8), (unsigned char)value };

	out_bytes(o, bytes, 2);
}

void out_u32(struct out *o, uint32_t value)
{
	unsigned char bytes[4] = { (unsigned char)(value >> 24), (unsigned char)(value >> 16),
				   (unsigned char)(value >> 8), (unsigned char)value };

	out_bytes(o, bytes, 4);
}

void out_text(struct out *o, const char *text)
{
	out_bytes(o, text, strlen(text) + 1);
}

static size_t begun_at;

void out_begin(struct out *o, char type)
{
	out_bytes(o, &type, 1);
	begun_at = o->len;
	out_u32(o, 0);
}

void out_end(struct out *o)
{
	uint32_t len = (uint32_t)(o->len - begun_at);
	struct out at = { .bytes = o->bytes, .len = begun_at, .room = o->room };

	out_u32(&at, len);
}

void answer_error(struct out *o, const char *severity, const char *sqlstate, const char *message)
{
	out_begin(o, 'E');
	out_bytes(o, "S", 1);
	out_text(o, severity);
	out_bytes(o, "V", 1);
	out_text(o, severity);
	out_bytes(o, "C", 1);
	out_text(o, sqlstate);
	out_bytes(o, "M", 1);
	out_text(o, message);
	out_bytes(o, "", 1);
	out_end(o);
}

struct columns {
	char names[COLUMNS_MOST][NAME_BYTES];
	unsigned count;
};

static void add_column(struct columns *c, const char *from, const char *to)
{
	const char *name = to;

	while (to > from && isspace((unsigned char)to[-1]))
		to--;
	/* The last word is its name: "x AS name", "view.name", "name". */
	for (name = to; name > from && (isalnum((unsigned char)name[-1]) || name[-1] == '_');)
		name--;
	if (c->count == COLUMNS_MOST)
		return;
	snprintf(c->names[c->count++], NAME_BYTES, "%.*s", name < to ? (int)(to - name) : 8,
		 name < to ? name : "?column?");
}

static void add_list(struct columns *c, const char *list)
{
	const char *end;

	for (; *list != '\0'; list = *end == ',' ? end + 1 : end) {
		end = list + strcspn(list, ",");
		add_column(c, list, end);
	}
}

/* The end of a piece of SQL that is to be passed over: a string, a comment, a bracket; else one letter. */
static const char *pass(const char *at, int *depth)
{
	const char *end = NULL;

	if (*at == '\'' || *at == '"')
		end = strchr(at + 1, *at);
	else if (strncmp(at, "/*", 2) == 0 && (end = strstr(at, "*/")) != NULL)
		end++;
	*depth += (*at == '(') - (*at == ')');
	return end != NULL ? end + 1 : at + 1;
}

static bool is_word(const char *at, const char *word)
{
	size_t len = strlen(word);

	return strncasecmp(at, word, len) == 0 && !isalnum((unsigned char)at[len]) &&
	       at[len] != '_';
}

/* The outermost SELECT: behind WITH's lists. */
static const char *find_select(const char *sql)
{
	int depth = 0;
	bool is_start = true;

	for (const char *at = sql; *at != '\0';) {
		if (depth == 0 && is_start && is_word(at, "SELECT"))
			return at + 6;
		is_start = !isalnum((unsigned char)*at) && *at != '_';
		at = pass(at, &depth);
	}
	return NULL;
}

static void find_columns(const char *sql, struct columns *c)
{
	const char *at = find_select(sql), *from = at;
	int depth = 0;
	bool is_start = true;

	c->count = 0;
	if (is_word(sql, "EXPLAIN"))
		add_list(c, "QUERY PLAN");
	if (at == NULL || c->count > 0)
		return;
	for (; *at != '\0' && *at != ';'; at = pass(at, &depth)) {
		if (depth == 0 && is_start && (is_word(at, "FROM") || is_word(at, "WHERE")))
			break;
		if (depth == 0 && *at == ',') {
			add_column(c, from, at);
			from = at + 1;
		}
		is_start = !isalnum((unsigned char)*at) && *at != '_';
	}
	while (from < at && isspace((unsigned char)*from))
		from++;
	if (*from == '*') {
		add_list(c,
			 strstr(sql, "pg_stat_statements") != NULL ? statements_columns : "a,b,c");
		return;
	}
	add_column(c, from, at);
}

static bool has(const char *name, const char *part)
{
	return strstr(name, part) != NULL;
}

/* A value that looks like what the column says, and grows from visit to visit where it counts. */
static void value_of(const struct asking *a, const char *name, uint32_t row, char *out)
{
	uint64_t grown = (uint64_t)(a->visit + 1) * (row + 1);

	if (strcmp(name, "queryid") == 0 || strcmp(name, "query_id") == 0)
		snprintf(out, NAME_BYTES, "%llu", 1000003ull * (row + 1) + a->endpoint);
	else if (strcmp(name, "query") == 0)
		snprintf(out, NAME_BYTES, "SELECT c%u FROM t WHERE id = $1", row);
	else if (strcmp(name, "toplevel") == 0)
		snprintf(out, NAME_BYTES, "t");
	else if (strcmp(name, "dbid") == 0 || strcmp(name, "datid") == 0)
		snprintf(out, NAME_BYTES, "%u", strcmp(name, "datid") == 0 ? 5 + row : 5);
	else if (strcmp(name, "userid") == 0)
		snprintf(out, NAME_BYTES, "10");
	else if (strncmp(name, "is_", 3) == 0 || strncmp(name, "has_", 4) == 0)
		snprintf(out, NAME_BYTES, "f");
	else if (has(name, "min_") || has(name, "max_") || has(name, "mean_") ||
		 has(name, "stddev_"))
		snprintf(out, NAME_BYTES, "%u.25", row + 1);
	else if (has(name, "_time"))
		snprintf(out, NAME_BYTES, "%llu.125", (unsigned long long)grown * 3);
	else if (has(name, "name") || has(name, "schema") || has(name, "type") ||
		 has(name, "state"))
		snprintf(out, NAME_BYTES, "%s%u", "n", row);
	else
		snprintf(out, NAME_BYTES, "%llu", (unsigned long long)grown);
}

void answer_describe(struct out *o, const struct asking *a)
{
	struct columns c;

	find_columns(a->sql, &c);
	out_begin(o, c.count > 0 ? 'T' : 'n');
	if (c.count > 0)
		out_u16(o, c.count);
	for (unsigned i = 0; i < c.count; i++) {
		out_text(o, c.names[i]);
		out_u32(o, 0);
		out_u16(o, 0);
		out_u32(o, 25);
		out_u16(o, 0xffff);
		out_u32(o, 0xffffffff);
		out_u16(o, 0);
	}
	out_end(o);
}

static void put_row(struct out *o, const struct asking *a, const struct columns *c, uint32_t row)
{
	unsigned count = c->count + (a->way == WAY_COLUMNS ? 3 : 0);
	char value[CANNED_BYTES];
	enum canned canned;

	out_begin(o, 'D');
	out_u16(o, count);
	for (unsigned i = 0; i < count; i++) {
		canned = canned_value(a, row, i, value);
		if (canned == CANNED_NULL || (i < c->count && strcmp(c->names[i], "NULL") == 0)) {
			out_u32(o, 0xffffffff);
			continue;
		}
		if (canned == CANNED_NOT)
			value_of(a, i < c->count ? c->names[i] : "more", row, value);
		out_u32(o, a->way == WAY_LENGTHS ? 1000 : (uint32_t)strlen(value));
		out_bytes(o, value, strlen(value));
	}
	out_end(o);
}

bool answer_rows(struct out *o, const struct asking *a)
{
	struct columns c;
	uint32_t rows = canned_rows(a);
	char tag[32];

	if (a->way == WAY_ERRORS) {
		answer_error(o, "ERROR", "42501", "permission denied for everything");
		return true;
	}
	find_columns(a->sql, &c);
	for (uint32_t row = 0; row < rows && c.count > 0; row++) {
		put_row(o, a, &c, row);
		if (a->way == WAY_RESET && row == rows / 2) {
			o->len -= 5; /* in the middle of a row */
			return false;
		}
	}
	snprintf(tag, sizeof(tag), c.count > 0 ? "SELECT %u" : "SET", rows);
	out_begin(o, 'C');
	out_text(o, tag);
	out_end(o);
	return true;
}
