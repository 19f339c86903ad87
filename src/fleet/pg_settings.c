/* pg_settings.c - settings of a server and their changes. Read only when the server loaded its files anew since the last time, and on a
 * new connection: in between, what a session sees of them does not change. What can hold a secret is never taken along. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "fleet/cells.h"
#include "fleet/pg_body.h"

#define HIDDEN "(hidden)"

/* Settings whose value can hold a password or a key, by name; and by a part of it, for those of extensions. */
static const char *const secret_names[] = {
	"primary_conninfo",	  "archive_command",	     "restore_command",
	"ssl_passphrase_command", "archive_cleanup_command", "recovery_end_command",
};
static const char *const secret_parts[] = {
	"password",	     "passwd",	   "passphrase",  "secret",  "token",  "conninfo",
	"_command",	     "credential", "private_key", "api_key", "apikey", "connstr",
	"connection_string", "_dsn",	   "dsn_",	  "_uri",    "license"
};

static bool contains(struct str name, const char *part)
{
	return memmem(name.bytes, name.len, part, strlen(part)) != NULL;
}

bool pg_setting_is_secret(struct str name)
{
	char lower[64];
	struct str small = { lower, name.len < sizeof(lower) ? name.len : sizeof(lower) };

	/* Longer than a name of the server's can be: not one that we know to be harmless. */
	if (name.len >= sizeof(lower))
		return true;
	for (uint32_t i = 0; i < small.len; i++)
		lower[i] = name.bytes[i] >= 'A' && name.bytes[i] <= 'Z' ? (char)(name.bytes[i] + 32)
									: name.bytes[i];
	for (size_t i = 0; i < ARRAY_LEN(secret_names); i++)
		if (small.len == strlen(secret_names[i]) &&
		    memcmp(lower, secret_names[i], small.len) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(secret_parts); i++)
		if (contains(small, secret_parts[i]))
			return true;
	return false;
}

enum setting_column {
	SETTING_NAME,
	SETTING_VALUE,
	SETTING_UNIT,
	SETTING_SOURCE,
	SETTING_BOOT,
	SETTING_COLUMNS
};

static int settings_ask(struct pg_body *b, struct ask *out, struct err *err)
{
	const struct settings_memory *m = &b->server->settings;

	(void)err;
	if (!pg_body_wants(b, READING_SETTINGS) || b->phase > 0)
		return 0;
	if (!b->needs_facts && m->loaded_server_ns != 0 &&
	    m->loaded_server_ns == b->loaded_server_ns)
		return 0;
	text_clear(&b->sql);
	/* Settings of our own session and what the server works out say nothing. */
	text_put(&b->sql,
		 "SELECT " PG_MARK " name, setting, unit, source, boot_val FROM pg_settings"
		 " WHERE source NOT IN ('session', 'client') AND name NOT IN ('search_path',"
		 " 'default_transaction_read_only', 'client_encoding', 'application_name',"
		 " 'statement_timeout', 'lock_timeout', 'in_hot_standby', 'transaction_read_only',"
		 " 'transaction_isolation', 'transaction_deferrable')");
	return pg_body_ask(b, out, SETTING_COLUMNS);
}

static uint64_t hash_of(struct str s)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (uint32_t i = 0; i < s.len; i++)
		hash = (hash ^ (uint8_t)s.bytes[i]) * UINT64_C(0x100000001b3);
	return hash == 0 ? 1 : hash;
}

static bool is_equal(struct str a, const char *b)
{
	return strlen(b) == a.len && (a.len == 0 || memcmp(a.bytes, b, a.len) == 0);
}

/* Notes a setting that is not the default one, as it is now. */
static int note(struct pg_body *b, struct str name, struct str value, uint64_t secret)
{
	struct settings_memory m = { b->settings_read, b->settings_count, b->settings_room, 0 };
	int code = settings_put(&m, name, value, secret);

	b->settings_read = m.rows;
	b->settings_count = m.count;
	b->settings_room = m.room;
	return code;
}

static int put_change(struct pg_body *b, struct str name, struct str before, struct str after)
{
	struct setting_change_row row = { b->server->id, b->settings.at.ns, name, before, after };

	return fleet_batch_add(b->batch, &table_setting_change, BLOCK_PUT, &row);
}

static int put_setting(struct pg_body *b, const struct cell *cells, struct str value)
{
	struct setting_row row = { .server = b->server->id,
				   .name = cell_str(cells[SETTING_NAME]),
				   .value = value,
				   .unit = cell_str(cells[SETTING_UNIT]),
				   .source = cell_str(cells[SETTING_SOURCE]),
				   .seen_wall_ns = b->settings.at.ns };

	return fleet_batch_add(b->batch, &table_setting, BLOCK_PUT, &row);
}

static int settings_row(struct pg_body *b, const struct cell *cells, uint32_t count)
{
	const struct settings_memory *m = &b->server->settings;
	struct str name = cell_str(cells[SETTING_NAME]), value = cell_str(cells[SETTING_VALUE]);
	struct str boot = cell_str(cells[SETTING_BOOT]), before;
	bool is_default = is_equal(cell_str(cells[SETTING_SOURCE]), "default");
	bool is_secret = pg_setting_is_secret(name);
	uint64_t secret = is_secret ? hash_of(value) : 0;
	struct setting_known *known = settings_find(m, name);
	bool is_same;

	(void)count;
	if (name.len == 0)
		return -EPROTO;
	if (known != NULL)
		known->visit = b->server->visit;
	if (is_secret && value.len > 0)
		value = STR_LITERAL(HIDDEN);
	if (is_secret && boot.len > 0)
		boot = STR_LITERAL(HIDDEN);
	if (!is_default && note(b, name, value, secret) != 0)
		return -ENOMEM;
	before =
		known != NULL ? (struct str){ known->value, (uint32_t)strlen(known->value) } : boot;
	is_same = is_equal(value, known != NULL ? known->value : "") &&
		  (known == NULL || known->secret == 0 || known->secret == secret || !is_secret);
	if (m->loaded_server_ns != 0 || m->count > 0) {
		if ((known == NULL && is_default) || (known != NULL && is_same))
			return 0;
		if ((known != NULL || value.len != boot.len ||
		     memcmp(value.bytes, boot.bytes, value.len) != 0) &&
		    put_change(b, name, before, value) != 0)
			return -ENOMEM;
	}
	return put_setting(b, cells, value);
}

/* Settings that were not default and are not there any more: of an extension that is not loaded now. */
static int put_gone(struct pg_body *b)
{
	const struct settings_memory *m = &b->server->settings;

	for (size_t i = 0; i < m->count; i++) {
		const struct setting_known *gone = &m->rows[i];
		struct str name = { gone->name, (uint32_t)strlen(gone->name) };
		struct setting_row row = { .server = b->server->id, .name = name };

		if (gone->visit == b->server->visit)
			continue;
		if (put_change(b, name, (struct str){ gone->value, (uint32_t)strlen(gone->value) },
			       STR_EMPTY) != 0 ||
		    fleet_batch_add(b->batch, &table_setting, BLOCK_DROP, &row) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int settings_ended(struct pg_body *b, const struct answer *a, struct err *err)
{
	(void)err;
	b->phase++;
	b->has_settings = a->is_ok && a->rows > 0;
	return b->has_settings ? put_gone(b) : 0;
}

const struct pg_step pg_step_settings = { READING_SETTINGS, settings_ask, NULL, settings_row,
					  settings_ended };
