/* plan_desk.c - takes plans from a real server and looks at what stayed behind. */
#include "fleet/plan_desk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct desk desk_at(const struct stage *stage)
{
	return (struct desk){
		.stage = stage,
		.limits = VISIT_LIMITS_DEFAULT,
		.version = (int)stage_number(stage, NULL,
					     "select current_setting('server_version_num')::int"),
	};
}

void desk_clear(struct desk *d)
{
	for (size_t i = 0; i < d->count; i++)
		free(d->found[i].redacted);
	d->count = 0;
	if (d->conn != NULL)
		PQfinish(d->conn);
	d->conn = NULL;
}

static int take(void *owner, const struct plan_found *found)
{
	struct desk *d = owner;
	struct desk_found *kept = &d->found[d->count];

	assert_in_range(d->count, 0, DESK_FOUND_MOST - 1);
	*kept = (struct desk_found){ .key = found->key,
				     .reason = found->reason,
				     .plan = found->plan };
	memcpy(kept->sqlstate, found->sqlstate, sizeof(kept->sqlstate));
	if (found->redacted.len > 0)
		kept->redacted = strndup(found->redacted.bytes, found->redacted.len);
	snprintf(kept->path, sizeof(kept->path), "%.*s", (int)found->plan.search_path.len,
		 found->plan.search_path.bytes);
	snprintf(kept->settings, sizeof(kept->settings), "%.*s", (int)found->plan.settings.len,
		 found->plan.settings.bytes);
	d->count++;
	return d->stop_after > 0 && d->count == (size_t)d->stop_after ? d->stop_with : 0;
}

static struct str str_of(const char *chars)
{
	return chars != NULL ? (struct str){ chars, (uint32_t)strlen(chars) } : STR_EMPTY;
}

static void check_nothing_stays(PGconn *conn)
{
	PGresult *result;

	if (conn == NULL || PQstatus(conn) != CONNECTION_OK)
		return;
	assert_int_equal(PQtransactionStatus(conn), PQTRANS_IDLE);
	result = PQexec(conn, "select count(*), current_setting('search_path'), "
			      "current_setting('plan_cache_mode') from pg_prepared_statements");
	if (PQresultStatus(result) != PGRES_TUPLES_OK) { /* the connection was cut */
		PQclear(result);
		return;
	}
	assert_string_equal(PQgetvalue(result, 0, 0), "0");
	assert_string_equal(PQgetvalue(result, 0, 2), "auto");
	PQclear(result);
}

int desk_plan(struct desk *d, const char *const *texts, size_t count)
{
	struct plan_wanted *wanted = calloc(count + 1, sizeof(*wanted));
	struct server_facts facts = { .version = d->version };
	struct script script = { .self = NULL };
	struct drive drive = { .stage = d->stage,
			       .user = d->user,
			       .database = d->database,
			       .conn = d->conn,
			       .on_ask = d->on_ask,
			       .owner = d->owner };
	int code;

	assert_non_null(wanted);
	d->err = ERR_EMPTY;
	for (size_t i = 0; i < count; i++)
		wanted[i] = (struct plan_wanted){
			.key = { 1, 10, d->queryid != 0 ? d->queryid : (int64_t)i + 1, true },
			.text = str_of(texts[i]),
			.user = str_of(d->run_user),
			.search_path = str_of(d->path),
		};
	assert_int_equal(plans_open(wanted, count, &facts, &d->limits, take, d, &script, &d->err),
			 0);
	code = drive_script(&drive, &script, &d->err);
	plans_close(&script);
	plans_close(&script);
	free(wanted);
	d->asked = drive.asked;
	d->conn = drive.conn;
	check_nothing_stays(d->conn);
	return code;
}

const struct desk_found *desk_plan_one(struct desk *d, const char *text)
{
	size_t before = d->count;

	if (desk_plan(d, &text, 1) != 0)
		fail_msg("%s", d->err.msg);
	assert_int_equal(d->count, before + 1);
	return &d->found[before];
}
