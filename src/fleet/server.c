/* server.c - what is remembered of a server between visits, and how rows of the store become that again. */
#include "fleet/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/server_parts.h"
#include "fleet/visit.h"

int server_open(uint32_t id, struct server **out)
{
	struct server *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	s->id = id;
	*out = s;
	return 0;
}

void server_close(struct server *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < COUNTED_COUNT; i++)
		remembered_table_free(&s->counted[i].rows);
	names_free(&s->names);
	payloads_free(&s->payloads);
	settings_memory_free(&s->settings);
	free(s->entered);
	free(s);
}

enum reading_id counted_reading(enum counted_id id)
{
	static const enum reading_id readings[COUNTED_COUNT] = {
		[COUNTED_STATEMENTS] = READING_STATEMENTS,
		[COUNTED_FUNCTIONS] = READING_FUNCTIONS,
		[COUNTED_DATABASES] = READING_DATABASES,
		[COUNTED_IO] = READING_IO,
	};

	return readings[id];
}

static struct counted_memory *counted_of(struct server *s, uint32_t reading)
{
	for (unsigned i = 0; i < COUNTED_COUNT; i++)
		if ((uint32_t)counted_reading(i) == reading)
			return &s->counted[i];
	return NULL;
}

static int remember_life(struct server *s, const struct life_row *row, struct wall now)
{
	struct counted_memory *m = counted_of(s, row->reading);

	if (m == NULL || row->at_wall_ns > now.ns ||
	    (uint64_t)(now.ns - row->at_wall_ns) > DELTA_LOOK_BACK_NS)
		return 0;
	m->before = (struct delta_visit){ row->system_id,	  row->at_server_ns,
					  row->started_server_ns, row->reset_server_ns,
					  row->evictions,	  row->is_complete };
	m->has_before = true;
	return 0;
}

/* The row of a key, made when there is none. */
static struct remembered *row_of(struct remembered_table *t, const void *key, size_t len)
{
	struct remembered *row = remembered_find(t, key, len);

	if (row != NULL)
		return row;
	row = remembered_make(key, len, NULL, 0);
	if (row != NULL && remembered_put(t, row) != 0) {
		remembered_free(row);
		row = NULL;
	}
	return row;
}

/* Without a life its rows say nothing. What cannot be read is left out: first sight again. */
static int remember_baseline(struct server *s, const struct baseline_row *row)
{
	struct counted_memory *m = counted_of(s, row->reading);
	struct counter counters[STATEMENT_COUNTERS];
	struct remembered *old, *made;

	if (m == NULL || row->key.len > REMEMBERED_KEY_MOST || row->counters.len > UINT16_MAX ||
	    counters_unpack(row->counters.bytes, row->counters.len, counters, STATEMENT_COUNTERS) !=
		    0)
		return 0;
	made = remembered_make(row->key.bytes, row->key.len, row->counters.bytes,
			       row->counters.len);
	if (made == NULL)
		return -ENOMEM;
	made->since_ns = row->since_ns;
	old = remembered_find(&m->rows, row->key.bytes, row->key.len);
	if (old != NULL) {
		made->statement = old->statement;
		old->statement = NULL;
	}
	if (remembered_put(&m->rows, made) == 0)
		return 0;
	remembered_free(made);
	return -ENOMEM;
}

static struct statement_known *statement_of(struct server *s, const struct statement_key *key)
{
	uint8_t packed[STATEMENT_KEY_MOST];
	struct remembered *row = row_of(&s->counted[COUNTED_STATEMENTS].rows, packed,
					statement_key_pack(key, packed));

	return row != NULL ? remembered_statement(row) : NULL;
}

static int remember_query(struct server *s, const struct query_row *row)
{
	struct statement_known *known = statement_of(s, &row->key);
	size_t len = row->command.len;

	if (known == NULL || names_put(&s->names, row->key.dbid, false, row->database) != 0 ||
	    names_put(&s->names, row->key.userid, true, row->user) != 0)
		return -ENOMEM;
	known->text = row->text;
	known->text_bytes = row->text_bytes;
	known->first_wall_ns = row->first_wall_ns;
	known->seen_wall_ns = row->seen_wall_ns;
	/* A row without text and without a word for it waits for its text still. */
	known->state = len > 0 || row->key.queryid == 0 ? TEXT_KNOWN : TEXT_WANTED;
	if (len >= sizeof(known->command))
		len = sizeof(known->command) - 1;
	if (len > 0)
		memcpy(known->command, row->command.bytes, len);
	known->command[len] = '\0';
	return 0;
}

static int remember_plan(struct server *s, const struct plan_row *row)
{
	struct statement_known *known = statement_of(s, &row->key);
	struct plan_known plan = { row->plan, row->first_wall_ns, row->seen_wall_ns };

	if (known == NULL)
		return -ENOMEM;
	if (statement_plan(known, &row->plan) != NULL)
		return 0;
	return statement_add_plan(known, &plan);
}

static int remember_no_plan(struct server *s, const struct no_plan_row *row)
{
	struct statement_known *known = statement_of(s, &row->key);

	if (known == NULL)
		return -ENOMEM;
	known->no_plan = (struct no_plan_known){ .reason = row->reason,
						 .again_wall_ns = row->again_wall_ns,
						 .tries = (uint32_t)row->tries };
	if (row->sqlstate.len == 5)
		memcpy(known->no_plan.sqlstate, row->sqlstate.bytes, 5);
	return 0;
}

int server_remember(struct server *s, const struct table *t, const void *row, struct wall now)
{
	const struct setting_row *setting = row;
	const struct payload_row *payload = row;

	if (t == &table_life)
		return remember_life(s, row, now);
	if (t == &table_baseline)
		return remember_baseline(s, row);
	if (t == &table_query)
		return remember_query(s, row);
	if (t == &table_plan)
		return remember_plan(s, row);
	if (t == &table_no_plan)
		return remember_no_plan(s, row);
	if (t == &table_payload)
		return payloads_put(&s->payloads, &payload->digest,
				    (struct wall){ payload->seen_wall_ns });
	if (t != &table_setting ||
	    (setting->source.len == 7 && memcmp(setting->source.bytes, "default", 7) == 0))
		return 0;
	return settings_put(&s->settings, setting->name, setting->value, 0);
}

uint64_t server_bytes(const struct server *s)
{
	uint64_t bytes = sizeof(*s) + s->names.room * sizeof(*s->names.rows) +
			 s->payloads.room * sizeof(*s->payloads.rows) +
			 s->settings.room * sizeof(*s->settings.rows) +
			 s->entered_count * sizeof(*s->entered);

	for (size_t i = 0; i < COUNTED_COUNT; i++)
		bytes += remembered_bytes(&s->counted[i].rows);
	for (size_t i = 0; i < s->names.count; i++)
		bytes += strlen(s->names.rows[i].name) + 1;
	for (size_t i = 0; i < s->settings.count; i++)
		bytes += strlen(s->settings.rows[i].name) + strlen(s->settings.rows[i].value) + 2;
	return bytes;
}

const struct server_facts *server_facts_of(const struct server *s)
{
	return s->has_facts ? &s->facts : NULL;
}
