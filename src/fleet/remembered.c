/* remembered.c - a chained hash table of packed rows. */
#include "fleet/remembered.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/leb128.h"

#define HEADS_FIRST 64u

/* FNV-1a with a last mix; keys of a server's own making can at worst make its own table slow. */
static uint32_t hash_of(const void *key, size_t len)
{
	const uint8_t *bytes = key;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return (uint32_t)(hash ^ hash >> 29 ^ hash >> 47);
}

static size_t row_bytes(const struct remembered *row)
{
	size_t bytes = sizeof(*row) + row->key_len + row->counters_len;

	if (row->statement != NULL)
		bytes += sizeof(*row->statement) +
			 row->statement->plan_count * sizeof(*row->statement->plans);
	return bytes;
}

uint64_t remembered_bytes(const struct remembered_table *t)
{
	uint64_t bytes = t->head_count * sizeof(*t->heads);

	for (const struct remembered *row = remembered_next(t, NULL); row != NULL;
	     row = remembered_next(t, row))
		bytes += row_bytes(row);
	return bytes;
}

struct remembered *remembered_make(const void *key, size_t key_len, const void *counters,
				   size_t counters_len)
{
	struct remembered *row;

	if (key_len > REMEMBERED_KEY_MOST || counters_len > UINT16_MAX)
		return NULL;
	row = calloc(1, sizeof(*row) + key_len + counters_len);
	if (row == NULL)
		return NULL;
	row->hash = hash_of(key, key_len);
	row->key_len = (uint16_t)key_len;
	row->counters_len = (uint16_t)counters_len;
	memcpy(row->bytes, key, key_len);
	if (counters_len > 0)
		memcpy(row->bytes + key_len, counters, counters_len);
	return row;
}

static int copy_statement(struct remembered *to, const struct statement_known *from)
{
	struct statement_known *copy = remembered_statement(to);

	if (copy == NULL)
		return -ENOMEM;
	*copy = *from;
	copy->plans = NULL;
	if (from->plan_count == 0)
		return 0;
	copy->plans = reallocarray(NULL, from->plan_count, sizeof(*copy->plans));
	if (copy->plans == NULL)
		return -ENOMEM;
	memcpy(copy->plans, from->plans, from->plan_count * sizeof(*copy->plans));
	return 0;
}

struct remembered *remembered_copy(const struct remembered *row, const void *counters,
				   size_t counters_len)
{
	struct remembered *copy;

	if (counters == NULL) {
		counters = row->bytes + row->key_len;
		counters_len = row->counters_len;
	}
	copy = remembered_make(row->bytes, row->key_len, counters, counters_len);
	if (copy == NULL)
		return NULL;
	copy->since_ns = row->since_ns;
	copy->visit = row->visit;
	if (row->statement != NULL && copy_statement(copy, row->statement) != 0) {
		remembered_free(copy);
		return NULL;
	}
	return copy;
}

void remembered_free(struct remembered *row)
{
	if (row != NULL && row->statement != NULL)
		free(row->statement->plans);
	if (row != NULL)
		free(row->statement);
	free(row);
}

static struct remembered **place_of(const struct remembered_table *t, uint32_t hash,
				    const void *key, size_t key_len)
{
	struct remembered **at = &t->heads[hash & (t->head_count - 1)];

	while (*at != NULL && ((*at)->hash != hash || (*at)->key_len != key_len ||
			       memcmp((*at)->bytes, key, key_len) != 0))
		at = &(*at)->next;
	return at;
}

struct remembered *remembered_find(const struct remembered_table *t, const void *key,
				   size_t key_len)
{
	if (t->head_count == 0)
		return NULL;
	return *place_of(t, hash_of(key, key_len), key, key_len);
}

/* Makes room for `count` rows. */
static int make_room(struct remembered_table *t, uint64_t count)
{
	uint32_t wanted = t->head_count > 0 ? t->head_count : HEADS_FIRST;
	struct remembered **heads;

	while (wanted < count && wanted < UINT32_C(1) << 30)
		wanted *= 2;
	if (wanted == t->head_count)
		return 0;
	heads = calloc(wanted, sizeof(*heads));
	if (heads == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->head_count; i++) {
		struct remembered *next;

		for (struct remembered *row = t->heads[i]; row != NULL; row = next) {
			next = row->next;
			row->next = heads[row->hash & (wanted - 1)];
			heads[row->hash & (wanted - 1)] = row;
		}
	}
	free(t->heads);
	t->heads = heads;
	t->head_count = wanted;
	return 0;
}

/* There is room. */
static void put(struct remembered_table *t, struct remembered *row)
{
	struct remembered **at = place_of(t, row->hash, row->bytes, row->key_len);
	struct remembered *old = *at;

	row->next = old != NULL ? old->next : NULL;
	*at = row;
	t->count += old == NULL;
	remembered_free(old);
}

int remembered_put(struct remembered_table *t, struct remembered *row)
{
	if (make_room(t, (uint64_t)t->count + 1) != 0)
		return -ENOMEM;
	put(t, row);
	return 0;
}

void remembered_sweep(struct remembered_table *t,
		      bool (*is_gone)(void *owner, const struct remembered *row), void *owner)
{
	for (uint32_t i = 0; i < t->head_count; i++) {
		struct remembered **at = &t->heads[i];

		while (*at != NULL) {
			struct remembered *row = *at;

			if (!is_gone(owner, row)) {
				at = &row->next;
				continue;
			}
			*at = row->next;
			t->count--;
			remembered_free(row);
		}
	}
}

struct remembered *remembered_next(const struct remembered_table *t, const struct remembered *row)
{
	uint32_t head = 0;

	if (row != NULL && row->next != NULL)
		return row->next;
	if (row != NULL)
		head = (row->hash & (t->head_count - 1)) + 1;
	for (; head < t->head_count; head++)
		if (t->heads[head] != NULL)
			return t->heads[head];
	return NULL;
}

int remembered_merge(struct remembered_table *to, struct remembered_table *from)
{
	if (make_room(to, (uint64_t)to->count + from->count) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < from->head_count; i++) {
		struct remembered *next;

		for (struct remembered *row = from->heads[i]; row != NULL; row = next) {
			next = row->next;
			put(to, row);
		}
	}
	free(from->heads);
	*from = REMEMBERED_TABLE_EMPTY;
	return 0;
}

void remembered_table_free(struct remembered_table *t)
{
	for (uint32_t i = 0; i < t->head_count; i++) {
		struct remembered *next;

		for (struct remembered *row = t->heads[i]; row != NULL; row = next) {
			next = row->next;
			remembered_free(row);
		}
	}
	free(t->heads);
	*t = REMEMBERED_TABLE_EMPTY;
}

struct statement_known *remembered_statement(struct remembered *row)
{
	if (row->statement == NULL)
		row->statement = calloc(1, sizeof(*row->statement));
	return row->statement;
}

struct plan_known *statement_plan(struct statement_known *s, const struct digest *plan)
{
	for (unsigned i = 0; i < s->plan_count; i++)
		if (memcmp(&s->plans[i].plan, plan, sizeof(*plan)) == 0)
			return &s->plans[i];
	return NULL;
}

int statement_add_plan(struct statement_known *s, const struct plan_known *plan)
{
	unsigned kept = s->plan_count < PLANS_REMEMBERED ? s->plan_count : PLANS_REMEMBERED - 1;
	struct plan_known *plans = reallocarray(s->plans, kept + 1, sizeof(*plans));

	if (plans == NULL)
		return -ENOMEM;
	memmove(plans + 1, plans, kept * sizeof(*plans));
	plans[0] = *plan;
	s->plans = plans;
	s->plan_count = (uint8_t)(kept + 1);
	return 0;
}

size_t counters_pack(const struct counter *counters, size_t count, uint8_t *out)
{
	size_t len = 0;

	/* A counter of 2^63 - 1 has no room behind the one that stands for "not measured". */
	for (size_t i = 0; i < count; i++)
		len += leb128_put(out + len,
				  counters[i].value < INT64_MAX ? counters[i].value + 1 : 0);
	return len;
}

int counters_unpack(const uint8_t *bytes, size_t len, struct counter *out, size_t count)
{
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t value;
		size_t took;

		out[i] = NOT_MEASURED;
		if (at == len)
			continue;
		took = leb128_get(bytes + at, len - at, &value);
		if (took == 0)
			return -EBADMSG;
		at += took;
		if (value > 0)
			out[i] = COUNTER(value - 1);
	}
	return at == len ? 0 : -EBADMSG;
}

size_t statement_key_pack(const struct statement_key *key, uint8_t out[STATEMENT_KEY_MOST])
{
	size_t len = 0;

	out[len++] = key->is_toplevel;
	len += leb128_put(out + len, key->dbid);
	len += leb128_put(out + len, key->userid);
	for (int shift = 0; shift < 64; shift += 8)
		out[len++] = (uint8_t)((uint64_t)key->queryid >> shift);
	return len;
}

bool statement_key_unpack(const uint8_t *bytes, size_t len, struct statement_key *out)
{
	uint64_t dbid, userid;
	size_t at = 1, took;

	if (len < 1 || bytes[0] > 1)
		return false;
	took = leb128_get(bytes + at, len - at, &dbid);
	at += took;
	if (took == 0 || dbid >= UINT32_MAX)
		return false;
	took = leb128_get(bytes + at, len - at, &userid);
	at += took;
	if (took == 0 || userid >= UINT32_MAX || len - at != sizeof(out->queryid))
		return false;
	out->is_toplevel = bytes[0] == 1;
	out->dbid = (uint32_t)dbid;
	out->userid = (uint32_t)userid;
	out->queryid = 0;
	for (int shift = 0; shift < 64; shift += 8)
		out->queryid |= (int64_t)((uint64_t)bytes[at++] << shift);
	return true;
}
