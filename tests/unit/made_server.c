/* made_server.c - answers of a server that is only rows. */
#include "made_server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/scoped.h"

/* One answer being given. */
struct given {
	struct made_server *m;
	struct script *script;
	const struct ask *ask;
	struct answer answer;
	struct cell cells[MADE_CELLS];
	char chars[MADE_CELLS][64];
	uint32_t count;
	bool has_columns, is_enough;
};

void made_init(struct made_server *m)
{
	*m = (struct made_server){ .now_us = INT64_C(1700000000000000),
				   .started_us = INT64_C(1690000000000000),
				   .loaded_us = INT64_C(1690000000000000),
				   .reset_us = INT64_C(1690000000000000),
				   .setting = "4096",
				   .count = 2 };
	m->statements[0] = (struct made_statement){ .dbid = 5, .userid = 20, .queryid = 101 };
	m->statements[1] = (struct made_statement){ .dbid = 5, .userid = 20, .queryid = -102 };
	for (size_t i = 0; i < 2; i++)
		for (size_t c = 0; c < STATEMENT_COUNTERS; c++)
			m->statements[i].counters[c] = 1000 + c;
}

static void put(struct given *g, const char *text)
{
	g->cells[g->count++] = text == NULL ? (struct cell){ NULL, 0 }
					    : (struct cell){ text, (uint32_t)strlen(text) };
}

static void put_number(struct given *g, int64_t number)
{
	snprintf(g->chars[g->count], sizeof(g->chars[0]), "%lld", (long long)number);
	put(g, g->chars[g->count]);
}

/* Gives the row that was put together. */
static void give(struct given *g)
{
	const char *names[MADE_CELLS];

	if (g->m->spoil != NULL)
		g->m->spoil(g->m, g->ask->sql, g->cells, &g->count);
	for (uint32_t i = 0; i < g->count; i++) {
		names[i] = "?column?";
		g->answer.bytes += g->cells[i].len;
	}
	if (!g->has_columns && g->script->columns != NULL &&
	    g->script->columns(g->script->self, names, g->count) != 0)
		g->is_enough = true;
	g->has_columns = true;
	g->answer.rows++;
	if (!g->is_enough && g->script->row(g->script->self, g->cells, g->count) != 0)
		g->is_enough = true;
	g->count = 0;
}

static void give_facts(struct given *g)
{
	put(g, "150002");
	put(g, "PostgreSQL 15.2");
	put(g, "watcher");
	put(g, "home");
	put_number(g, 5);
	put_number(g, 10);
	put(g, "f");
	put(g, "t");
	put(g, "t");
	put(g, "f");
	put(g, ",datid,datname,numbackends,xact_commit,stats_reset,");
	put(g, NULL);
	put(g, "t");
	put(g, "t");
	give(g);
}

static void give_moment(struct given *g)
{
	put_number(g, g->m->now_us);
	put_number(g, g->m->started_us);
	put_number(g, g->m->loaded_us);
	put(g, "f");
	put(g, "public");
	put(g, "1.10");
	put(g, ",userid,dbid,toplevel,queryid,query,plans,total_plan_time,calls,total_exec_time,"
	       "max_exec_time,"
	       "rows,shared_blks_hit,shared_blks_read,stats_since,");
	put(g, g->m->evictions >= 0 ? "t" : "f");
	give(g);
}

static void give_numbers(struct given *g)
{
	for (size_t i = 0; i < g->m->count; i++) {
		const struct made_statement *s = &g->m->statements[i];

		put_number(g, s->dbid);
		put_number(g, s->userid);
		if (s->queryid != 0)
			put_number(g, s->queryid);
		else
			put(g, NULL);
		put(g, "t");
		put(g, "12.5");
		put(g, g->m->since);
		for (size_t c = 0; c < STATEMENT_COUNTERS; c++)
			put_number(g, (int64_t)s->counters[c]);
		give(g);
	}
}

/* Whether a statement stands among those asked for. */
static bool is_wanted(const struct ask *ask, const struct made_statement *s)
{
	char id[32];
	const char *at;
	size_t len = (size_t)snprintf(id, sizeof(id), "%lld", (long long)s->queryid);

	for (at = strstr(ask->params[2], id); at != NULL; at = strstr(at + 1, id))
		if ((at[-1] == '{' || at[-1] == ',') && (at[len] == ',' || at[len] == '}'))
			return true;
	return false;
}

static void give_texts(struct given *g)
{
	g->m->has_asked_texts = true;
	for (size_t i = 0; i < g->m->count; i++) {
		const struct made_statement *s = &g->m->statements[i];
		const char *text = s->text != NULL ? s->text : "SELECT 1";
		bool is_own = strstr(text, "/* tare */") != NULL;

		if (!is_wanted(g->ask, s))
			continue;
		put_number(g, s->dbid);
		put_number(g, s->userid);
		put_number(g, s->queryid);
		put(g, "t");
		put_number(g, (int64_t)strlen(text));
		put(g, is_own ? "t" : "f");
		put(g, "home");
		put(g, "someone");
		put(g, is_own ? NULL : text);
		put(g, NULL);
		put(g, NULL);
		give(g);
	}
}

static void give_database(struct given *g)
{
	put_number(g, 5);
	put(g, "home");
	put_number(g, 3);
	put(g, NULL);
	for (size_t c = 0; c < DATABASE_COUNTERS; c++)
		put_number(g, 77);
	give(g);
}

static void give_setting(struct given *g, const char *name, const char *value, const char *source)
{
	put(g, name);
	put(g, value);
	put(g, NULL);
	put(g, source);
	put(g, "4096");
	give(g);
}

static void answer(struct given *g)
{
	const char *sql = g->ask->sql;

	if (strstr(sql, "server_version_num") != NULL) {
		give_facts(g);
	} else if (strstr(sql, "set_config('search_path'") != NULL) {
		for (int i = 0; i < 5; i++)
			put(g, "");
		give(g);
	} else if (strstr(sql, "pg_control_system") != NULL) {
		put(g, "7000000000000000001");
		give(g);
	} else if (strstr(sql, "pg_conf_load_time") != NULL) {
		give_moment(g);
	} else if (strstr(sql, "dealloc") != NULL) {
		put_number(g, g->m->evictions);
		put_number(g, g->m->reset_us);
		give(g);
	} else if (strstr(sql, "(false)") != NULL) {
		give_numbers(g);
	} else if (strstr(sql, "(true)") != NULL) {
		give_texts(g);
	} else if (strstr(sql, "FROM pg_stat_database") != NULL) {
		give_database(g);
	} else if (strstr(sql, "FROM pg_settings") != NULL) {
		give_setting(g, "work_mem", g->m->setting,
			     strcmp(g->m->setting, "4096") == 0 ? "default" : "configuration file");
		give_setting(g, "primary_conninfo", "host=a password=canary", "configuration file");
	}
}

int made_carry(struct made_server *m, struct script *script, struct err *err)
{
	for (;;) {
		struct ask ask = { 0 };
		struct given g = {
			.m = m, .script = script, .ask = &ask, .answer = { .is_ok = true }
		};
		const char *state;
		int code = script->next(script->self, &ask, err);

		if (code <= 0)
			return code;
		m->questions++;
		state = m->fail != NULL ? m->fail(m, ask.sql != NULL ? ask.sql : ask.name) : NULL;
		if (state != NULL && state[0] != '\0') {
			g.answer.is_ok = false;
			snprintf(g.answer.sqlstate, sizeof(g.answer.sqlstate), "%s", state);
		} else if (ask.kind == ASK_QUERY) {
			answer(&g);
		}
		g.answer.links_done = ask.link_count; /* nothing that is planned has a row here */
		g.answer.elapsed_ns = 1000000;
		g.answer.trip_ns = 100000;
		code = script->ended(script->self, &g.answer, err);
		if (code != 0)
			return code;
	}
}

int made_visit(struct made_server *m, struct server *server, struct visit_settings *settings,
	       bool is_new, bool is_abandoned, struct fleet_batch *out)
{
	struct err err = ERR_EMPTY;
	struct script body = { 0 };
	int code;

	*out = FLEET_BATCH_EMPTY;
	settings->cycle++;
	code = pg_body_open(server, settings, is_new, out, &body, &err);
	if (code == 0)
		code = made_carry(m, &body, &err);
	if (code == 0 && !is_abandoned)
		code = pg_body_commit(&body, &err);
	pg_body_close(&body);
	return code;
}
