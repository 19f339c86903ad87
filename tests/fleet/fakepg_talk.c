/* fakepg_talk.c - what a fake server says to what it is told. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/fakepg.h"

#define OUT_MOST (256 * 1024) /* of a way without end, on its way */
#define LATE_S	 40

static void put_ready(struct out *o)
{
	out_begin(o, 'Z');
	out_bytes(o, "I", 1);
	out_end(o);
}

static void put_parameter(struct out *o, const char *name, const char *value)
{
	out_begin(o, 'S');
	out_text(o, name);
	out_text(o, value);
	out_end(o);
}

static void let_in(struct conn *c)
{
	struct out *o = &c->out;

	c->is_in = true;
	c->of->logins++;
	out_begin(o, 'R');
	out_u32(o, 0);
	out_end(o);
	put_parameter(o, "server_version", "15.0");
	put_parameter(o, "client_encoding", "SQL_ASCII");
	put_parameter(o, "server_encoding", "UTF8");
	put_parameter(o, "standard_conforming_strings", "on");
	out_begin(o, 'K');
	out_u32(o, (uint32_t)(c->fd + 1000));
	out_u32(o, 42);
	out_end(o);
	put_ready(o);
}

/* Ways at the door. Returns whether the connection was let in, or is played with. */
static void log_in(struct conn *c)
{
	struct out *o = &c->out;

	switch (c->of->way) {
	case WAY_SILENT:
		return;
	case WAY_FULL:
		answer_error(o, "FATAL", "53300", "sorry, too many clients already");
		c->is_to_close = true;
		return;
	case WAY_KERBEROS:
		out_begin(o, 'R');
		out_u32(o, 7);
		out_end(o);
		return;
	case WAY_ROUNDS:
		out_begin(o, 'R');
		out_u32(o, 10);
		out_text(o, "SCRAM-SHA-256");
		out_bytes(o, "", 1);
		out_end(o);
		return;
	case WAY_PARAMS:
		let_in(c);
		c->is_endless = true;
		return;
	default:
		break;
	}
	if (c->of->way == WAY_RESTART && fake_now_s() < c->of->down_until) {
		answer_error(o, "FATAL", "57P03", "the database system is starting up");
		c->is_to_close = true;
		return;
	}
	let_in(c);
}

/* SCRAM's first message of ours: the client's nonce, and as many rounds as there can be. */
static void ask_rounds(struct conn *c, const char *body, size_t len)
{
	const char *nonce = memmem(body, len, "r=", 2);
	char text[256];

	if (nonce == NULL)
		return;
	snprintf(text, sizeof(text), "%.*sServer,s=c2FsdHNhbHQ=,i=2147483647",
		 (int)(body + len - nonce), nonce);
	out_begin(&c->out, 'R');
	out_u32(&c->out, 11);
	out_bytes(&c->out, text, strlen(text));
	out_end(&c->out);
}

static void answer(struct conn *c, const char *sql, bool is_simple)
{
	struct asking a = { .sql = sql,
			    .endpoint = c->endpoint,
			    .visit = c->of->visit,
			    .rows = c->rows_asked,
			    .way = c->of->way,
			    .params = (const char *const *)c->params };

	if (strstr(sql, "pg_stat_statements(") != NULL)
		c->of->visit++;
	switch (a.way) {
	case WAY_STALL:
		return;
	case WAY_NOTICES:
	case WAY_ROWS:
	case WAY_HUGE:
		c->is_endless = true;
		break;
	case WAY_LATE:
		c->late_until = fake_now_s() + LATE_S;
		break;
	case WAY_COPY:
		out_begin(&c->out, 'H');
		out_bytes(&c->out, "", 1);
		out_u16(&c->out, 0);
		out_end(&c->out);
		return;
	default:
		break;
	}
	if (c->is_endless)
		a.sql = "SELECT one"; /* what is poured has one column */
	if (is_simple || c->is_endless)
		answer_describe(&c->out, &a);
	if (a.way == WAY_HUGE) {
		out_begin(&c->out, 'D');
		out_u16(&c->out, 1);
		out_u32(&c->out, 1000000000);
		out_end(&c->out);
		/* The length of the whole: a gigabyte is to come. */
		struct out at = { c->out.bytes, c->out.len - 10, c->out.room, 0 };
		out_u32(&at, 1000000010);
	}
	if (!c->is_endless && !answer_rows(&c->out, &a))
		c->is_to_close = true;
}

static const char *sql_of(const struct conn *c, const char *name)
{
	for (unsigned i = 0; i < FAKE_STATEMENTS; i++)
		if (c->statements[i].sql != NULL && strcmp(c->statements[i].name, name) == 0)
			return c->statements[i].sql;
	return "";
}

static void keep_statement(struct conn *c, const char *name, const char *sql)
{
	struct statement *s = NULL;

	for (unsigned i = 0; i < FAKE_STATEMENTS && s == NULL; i++)
		if (c->statements[i].sql != NULL && strcmp(c->statements[i].name, name) == 0)
			s = &c->statements[i];
	if (s == NULL)
		s = &c->statements[c->next_statement++ % FAKE_STATEMENTS];
	free(s->sql);
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->sql = strdup(sql);
}

static void put_empty(struct out *o, char type)
{
	out_begin(o, type);
	out_end(o);
}

static unsigned u16_at(const char *bytes)
{
	return (unsigned)(unsigned char)bytes[0] << 8 | (unsigned char)bytes[1];
}

/* Of a Bind: portal, statement, formats, then the values. The client is ours: lengths are right. */
static void take_params(struct conn *c, const char *body, size_t len)
{
	const char *at = body + strlen(body) + 1, *end = body + len;
	unsigned count;

	for (unsigned i = 0; i < 8; i++) {
		free(c->params[i]);
		c->params[i] = NULL;
	}
	at += strlen(at) + 1;
	at += 2 + 2 * u16_at(at);
	count = u16_at(at);
	at += 2;
	for (unsigned i = 0; i < count && i < 8 && at + 4 <= end; i++) {
		uint32_t bytes = (uint32_t)u16_at(at) << 16 | u16_at(at + 2);

		at += 4;
		if (bytes == 0xffffffff)
			continue;
		c->params[i] = strndup(at, bytes);
		at += bytes;
	}
}

/* One message of the client's; its body is NUL-terminated by the caller. */
static void take_message(struct conn *c, char type, const char *body, size_t len)
{
	struct asking a = { .way = c->of->way,
			    .rows = c->rows_asked,
			    .params = (const char *const *)c->params };

	/* Behind a failure all is passed over until the next Sync. */
	if (type == 'S')
		c->has_failed = false;
	else if (c->has_failed && strchr("PBDE", type) != NULL)
		return;
	switch (type) {
	case 'Q':
		answer(c, body, true);
		if (c->of->way != WAY_STALL && !c->is_endless && !c->is_to_close)
			put_ready(&c->out);
		break;
	case 'P':
		keep_statement(c, body, body + strlen(body) + 1);
		if (c->of->way != WAY_STALL)
			put_empty(&c->out, '1');
		break;
	case 'B':
		free(c->portal);
		c->portal = strdup(sql_of(c, body + strlen(body) + 1));
		take_params(c, body, len);
		if (c->of->way != WAY_STALL)
			put_empty(&c->out, '2');
		break;
	case 'D':
		a.sql = body[0] == 'S' ? sql_of(c, body + 1) : c->portal;
		if (a.way != WAY_STALL && a.way != WAY_COPY && a.way != WAY_ROWS &&
		    a.way != WAY_HUGE && a.way != WAY_NOTICES && a.sql != NULL)
			answer_describe(&c->out, &a);
		break;
	case 'E':
		answer(c, c->portal != NULL ? c->portal : "", false);
		c->has_failed = c->of->way == WAY_ERRORS;
		break;
	case 'S':
		if (c->of->way != WAY_STALL && !c->is_endless && !c->is_to_close)
			put_ready(&c->out);
		break;
	case 'p':
		ask_rounds(c, body, len);
		break;
	case 'X':
		c->is_to_close = true;
		break;
	default:
		break;
	}
}

/* The first packet has no type. Returns what it took; 0: not whole yet. */
static size_t take_first(struct conn *c)
{
	uint32_t len, code;

	if (c->in_len < 8)
		return 0;
	memcpy(&len, c->in, 4);
	memcpy(&code, c->in + 4, 4);
	len = ntohl(len);
	code = ntohl(code);
	if (len > c->in_len || len < 8)
		return 0;
	if (code == 80877103 || code == 80877104) { /* TLS, Kerberos' encryption */
		out_bytes(&c->out, c->of->way == WAY_TLS ? "S" : "N", 1);
	} else if (code == 80877102) { /* cancel: nobody here listens to it */
		c->is_to_close = true;
	} else {
		c->is_counted = true;
		if (++c->of->open > c->of->most_open)
			c->of->most_open = c->of->open;
		c->is_in = true;
		log_in(c);
	}
	return len;
}

size_t talk_take(struct conn *c)
{
	uint32_t len;
	char kept;

	if (!c->is_in)
		return take_first(c);
	if (c->in_len < 5)
		return 0;
	memcpy(&len, c->in + 1, 4);
	len = ntohl(len) + 1;
	if (len > c->in_len || len + 1 > FAKE_IN_MOST)
		return 0;
	kept = c->in[len];
	c->in[len] = '\0';
	take_message(c, c->in[0], c->in + 5, len - 5);
	c->in[len] = kept;
	return len;
}

/* More of what has no end. */
void talk_pour(struct conn *c)
{
	static const char block[4096];
	char name[32];

	while (c->out.len - c->out.at < OUT_MOST / 2) {
		switch (c->of->way) {
		case WAY_NOTICES:
			out_begin(&c->out, 'N');
			out_bytes(&c->out, "SNOTICE\0C00000\0Mmore\0", 21);
			out_bytes(&c->out, "", 1);
			out_end(&c->out);
			break;
		case WAY_ROWS:
			out_begin(&c->out, 'D');
			out_u16(&c->out, 1);
			out_u32(&c->out, 4);
			out_bytes(&c->out, "rows", 4);
			out_end(&c->out);
			break;
		case WAY_PARAMS:
			snprintf(name, sizeof(name), "tare.p%u", c->serial++);
			put_parameter(&c->out, name, "x");
			break;
		default:
			out_bytes(&c->out, block, sizeof(block));
		}
	}
}
