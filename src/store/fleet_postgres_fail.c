/* fleet_postgres_fail.c - SQLSTATEs to errnos; the server's words made harmless. */
#include "store/fleet_postgres_fail.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/scoped.h"

#define WORDS_MOST 300u

/* Words of a server in one line, without what a terminal would obey. */
struct words {
	char text[WORDS_MOST + 1];
};

static struct words words_of(const char *from)
{
	struct words w = { "" };
	size_t len = 0;

	while (from != NULL && *from != '\0' && len < WORDS_MOST) {
		unsigned char c = (unsigned char)*from++;
		bool is_blank = c <= 0x20 || c == 0x7f;

		if (is_blank && (len == 0 || w.text[len - 1] == ' '))
			continue;
		w.text[len++] = is_blank ? ' ' : (char)c;
	}
	while (len > 0 && (w.text[len - 1] == ' ' || w.text[len - 1] == '.'))
		len--;
	w.text[len] = '\0';
	return w;
}

void pg_fail_clear(struct pg_wire *w)
{
	w->sqlstate[0] = '\0';
}

const char *pg_sqlstate(const struct pg_wire *w)
{
	return w->sqlstate;
}

static int away(struct err *err)
{
	err_works(err, "what was written before is whole; the rest waits until the store is back");
	return -EHOSTUNREACH;
}

int pg_fail_lost(struct pg_wire *w, struct err *err)
{
	struct words said = words_of(w->conn != NULL ? PQerrorMessage(w->conn) : "");

	/* libpq repeats a value that it cannot take, and it may be a password in a wrong place. */
	if (strncmp(said.text, "invalid ", 8) == 0) {
		err_set(err, -EHOSTUNREACH,
			"cannot reach the store: libpq does not take a setting in its URL");
		pg_disconnect(w);
		return -EHOSTUNREACH;
	}
	err_set(err, -EHOSTUNREACH, "cannot reach the store: %s",
		said.text[0] != '\0' ? said.text : "the connection was lost");
	if (strstr(said.text, "root certificate") != NULL ||
	    strstr(said.text, "does not support SSL") != NULL) {
		err_mend(err, "give its certificate with sslrootcert=FILE in the URL, or say "
			      "sslmode=... there: away from this machine it is verify-full");
		pg_disconnect(w);
		return -EHOSTUNREACH;
	}
	pg_disconnect(w);
	return away(err);
}

int pg_fail_late(struct pg_wire *w, struct err *err)
{
	err_set(err, -EHOSTUNREACH, "cannot reach the store: it did not answer in time");
	pg_disconnect(w);
	return away(err);
}

/* The first row whose beginning fits says what it is. */
static const struct {
	const char *sqlstate;
	int code;
} codes[] = {
	{ "08", -EHOSTUNREACH }, { "57014", -ETIMEDOUT },
	{ "57", -EHOSTUNREACH }, { "25006", -EHOSTUNREACH },
	{ "55P03", -ETIMEDOUT }, { "25P03", -EHOSTUNREACH },
	{ "40", -EAGAIN },	 { "53100", -ENOSPC },
	{ "53", -EHOSTUNREACH }, { "58", -EIO },
	{ "XX001", -EIO },	 { "XX002", -EIO },
	{ "42501", -EACCES },	 { "42P01", -EBADMSG },
	{ "42P07", -EBADMSG },	 { "42703", -EBADMSG },
	{ "42804", -EBADMSG },	 { "3F000", -EBADMSG },
	{ "23505", -EEXIST },	 { "23514", -ENOENT },
	{ "22", -ERANGE },	 { "23502", -ERANGE },
	{ "54000", -ERANGE },
};

static int code_of(const char *sqlstate)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (strncmp(sqlstate, codes[i].sqlstate, strlen(codes[i].sqlstate)) == 0)
			return codes[i].code;
	return -EPROTO;
}

int pg_fail_result(struct pg_wire *w, const PGresult *res, struct err *err)
{
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	struct words said = words_of(PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY));
	int code = code_of(sqlstate != NULL ? sqlstate : "08");

	snprintf(w->sqlstate, sizeof(w->sqlstate), "%.5s", sqlstate != NULL ? sqlstate : "");
	err_set(err, code, "cannot use the store: %s (SQLSTATE %s)",
		said.text[0] != '\0' ? said.text : "the connection was lost",
		w->sqlstate[0] != '\0' ? w->sqlstate : "unknown");
	return code == -EHOSTUNREACH ? away(err) : code;
}
