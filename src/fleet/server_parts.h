/* server_parts.h - a server's memory from inside, for the scripts of a visit. */
#ifndef TARE_FLEET_SERVER_PARTS_H
#define TARE_FLEET_SERVER_PARTS_H

#include "fleet/remembered.h"
#include "fleet/server.h"

#define COLUMNS_BYTES 2048 /* names of a view's columns, with commas between and around */

/* Readings of counters: each has a table of rows and a life. */
enum counted_id {
	COUNTED_STATEMENTS,
	COUNTED_FUNCTIONS,
	COUNTED_DATABASES,
	COUNTED_IO,
	COUNTED_COUNT,
};

/* The reading, and the store's number of it. */
enum reading_id counted_reading(enum counted_id id);

struct counted_memory {
	struct remembered_table rows;
	struct delta_visit before; /* the last visit */
	bool has_before;
	bool is_whole; /* nothing was capped then: what we may see at all was seen */
};

/* Names of databases and roles, by oid. */
struct named {
	uint32_t oid;
	bool is_role;
	char *name; /* owned */
};

struct names_memory {
	struct named *rows; /* owned */
	size_t count, room;
};

/* The name; NULL: not known. Borrowed. */
const char *names_find(const struct names_memory *n, uint32_t oid, bool is_role);
/* Takes a name over whatever was known. -ENOMEM. */
int names_put(struct names_memory *n, uint32_t oid, bool is_role, struct str name);
void names_free(struct names_memory *n);

/* Payloads that the store has, by half of their digest, and the hour they were last written in. */
struct payload_known {
	uint64_t halves[2];
	uint32_t hour;
};

struct payloads_memory {
	struct payload_known *rows; /* owned; open addressing, hour 0: free */
	uint32_t count, room;
};

/* The payload; NULL: not known. Borrowed. */
const struct payload_known *payloads_find(const struct payloads_memory *p, const struct digest *d);
/* Notes that it was written at `at`. -ENOMEM. */
int payloads_put(struct payloads_memory *p, const struct digest *d, struct wall at);
void payloads_free(struct payloads_memory *p);

/* A setting that is not the default one. */
struct setting_known {
	char *name, *value; /* owned; one allocation */
	uint64_t secret;    /* hash of a hidden value; 0: not known */
	uint32_t visit;	    /* number of the last visit that saw it */
};

struct settings_memory {
	struct setting_known *rows; /* owned */
	size_t count, room;
	int64_t loaded_server_ns; /* pg_conf_load_time() when they were read; 0: never */
};

/* The setting; NULL: not known. Borrowed. */
struct setting_known *settings_find(const struct settings_memory *m, struct str name);
/* Takes a value. -ENOMEM. */
int settings_put(struct settings_memory *m, struct str name, struct str value, uint64_t secret);
void settings_memory_free(struct settings_memory *m);

/* A database of the server that was entered for its functions. */
struct entered_known {
	uint32_t dbid;
	struct delta_visit at;
};

struct server {
	uint32_t id;
	uint32_t visit; /* number of the last visit begun; never the same twice */
	bool has_facts;
	struct server_facts facts;
	char database_columns[COLUMNS_BYTES / 2], io_columns[COLUMNS_BYTES / 2];
	struct counted_memory counted[COUNTED_COUNT];
	struct names_memory names;
	struct payloads_memory payloads;
	struct settings_memory settings;
	struct entered_known *entered; /* owned */
	size_t entered_count;
	char texts_database
		[64]; /* where texts can be read when not at home: an SQL_ASCII one; empty: home */
	int64_t texts_again_wall_ns; /* texts cannot be read: not tried before */
};

#endif
