/* fuzz_fleet_store.c - any bytes as a fleet's store: opened for reading, and every table scanned. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "store/fleet_store.h"

struct looking {
	const struct table *table;
	uint64_t sum;
};

/* What a reader would do: look at every byte. */
static int look(void *owner, const void *row)
{
	struct looking *l = owner;

	for (size_t i = 0; i < l->table->field_count; i++) {
		const void *at = (const char *)row + l->table->fields[i].offset;
		const struct str *s = at;
		const struct blob *b = at;

		if (l->table->fields[i].type == FIELD_STR)
			for (uint32_t k = 0; k < s->len; k++)
				l->sum += (unsigned char)s->bytes[k];
		else if (l->table->fields[i].type == FIELD_BLOB)
			for (uint32_t k = 0; k < b->len; k++)
				l->sum += ((const unsigned char *)b->bytes)[k];
		else if (l->table->fields[i].type == FIELD_COUNTER &&
			 IS_MEASURED(*(const struct counter *)at) &&
			 ((const struct counter *)at)->value > INT64_MAX)
			abort();
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct statement_key key = { 1, 2, 3, true };
	struct fleet_range history = { 1, 0, INT64_MAX, &key, NULL };
	char path[64] = "/dev/shm/tare-fuzz-XXXXXX";
	struct err err = ERR_EMPTY;
	struct looking l = { NULL, 0 };
	int fd = mkstemp(path), rc = -1;
	void *db = NULL;

	if (fd < 0)
		return 0;
	if (write(fd, bytes, size) == (ssize_t)size && fleet_store_is(path))
		rc = fleet_store_sqlite.open(path, FLEET_READ, &db, &err);
	for (size_t i = 0; i < fleet_table_count && rc == 0; i++) {
		l.table = fleet_tables[i].table;
		fleet_store_sqlite.scan(db, l.table, &FLEET_RANGE_ALL, look, &l, &err);
	}
	l.table = &table_statement;
	if (rc == 0)
		fleet_store_sqlite.scan(db, &table_statement, &history, look, &l, &err);
	fleet_store_sqlite.close(db);
	close(fd);
	unlink(path);
	if (l.sum == UINT64_MAX)
		abort();
	return 0;
}
