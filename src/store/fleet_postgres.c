/* fleet_postgres.c - the PostgreSQL engine: opening, calls that connect again by themselves, closing. */
#include "store/fleet_postgres.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"

static void store_free(struct pg_store **p)
{
	if (*p == NULL)
		return;
	pg_disconnect(&(*p)->wire);
	if ((*p)->url != NULL)
		explicit_bzero((*p)->url, strlen((*p)->url));
	free((*p)->url);
	free((*p)->parts);
	free((*p)->before);
	free((*p)->trimmed);
	free((*p)->has_doubles);
	free(*p);
	*p = NULL;
}

static int connect_and_check(struct pg_store *p, struct err *err)
{
	int rc = pg_connect(&p->wire, p->url, p->access == FLEET_READ, err);

	p->part_count = 0;
	if (rc == 0)
		rc = pg_schema_open(p, pg_migrations, pg_migration_count, err);
	if (rc == 0 && p->access == FLEET_WRITE)
		rc = pg_parts_look(p, err);
	if (rc != 0)
		pg_disconnect(&p->wire);
	return rc;
}

static int pg_open(const char *url, enum fleet_access access, void **out_db, struct err *err)
{
	SCOPED(store_free) struct pg_store *p = calloc(1, sizeof(*p));
	int rc;

	if (p == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	p->access = access;
	p->url = strdup(url);
	p->has_doubles = calloc(fleet_table_count, sizeof(bool));
	p->before = calloc(fleet_table_count, sizeof(*p->before));
	p->trimmed = calloc(fleet_table_count, sizeof(*p->trimmed));
	if (p->url == NULL || p->has_doubles == NULL || p->before == NULL || p->trimmed == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	rc = connect_and_check(p, err);
	if (rc != 0)
		return rc;
	*out_db = p;
	p = NULL;
	return 0;
}

int pg_call(struct pg_store *p, uint64_t ms, struct err *err)
{
	int rc = 0;

	if (p->scans > 0)
		return err_set(err, -EBUSY, "cannot write the store while its rows are being read");
	pg_look_alive(&p->wire);
	if (p->wire.conn == NULL)
		rc = connect_and_check(p, err);
	pg_deadline(&p->wire, ms);
	/* Whatever it is, a batch must wait for it, not be thrown away. */
	if (rc != 0 && rc != -ENOMEM)
		rc = err->code = -EHOSTUNREACH;
	return rc;
}

int pg_answer(int rc, struct err *err)
{
	switch (rc) {
	case -EAGAIN:
	case -ETIMEDOUT:
	case -ENOENT:
	case -EEXIST:
	case -EBADMSG:
	case -EPROTO:
		return err->code = -EHOSTUNREACH;
	default:
		return rc;
	}
}

void pg_abandon(struct pg_store *p)
{
	struct err unheard = ERR_EMPTY;

	if (p->wire.conn == NULL)
		return;
	if (PQpipelineStatus(p->wire.conn) != PQ_PIPELINE_OFF) {
		pg_disconnect(&p->wire);
		return;
	}
	if (PQtransactionStatus(p->wire.conn) == PQTRANS_IDLE)
		return;
	if (pg_command(&p->wire, "ROLLBACK", &unheard) != 0)
		pg_disconnect(&p->wire);
}

static void pg_close(void *db)
{
	struct pg_store *p = db;

	store_free(&p);
}

const struct fleet_store_ops fleet_store_postgres = {
	.scheme = "postgresql",
	.open = pg_open,
	.put = pg_put,
	.enrol = pg_enrol,
	.take_place = pg_take_place,
	.scan = pg_scan,
	.tidy = pg_tidy,
	.size = pg_size,
	.close = pg_close,
};
