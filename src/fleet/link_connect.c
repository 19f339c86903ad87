/* link_connect.c - making a connection: the address by a thread, libpq's steps by a thread, a deadline over all of it and one over
 * the TLS handshake. */
#include "fleet/link_own.h"
#include "fleet/link_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/scoped.h"

#define NO_FILE		"/dev/null/none" /* cannot be: neither a password file nor a client's key */
#define STEPS_MOST	1000		 /* of one connecting: a dozen is usual */
#define READ_MOST_BYTES (64 * 1024)	 /* in one step */
#define ALL_ROOTS	"/etc/ssl/certs/ca-certificates.crt"

/* Nothing may come from the environment or a home: "" here, since libpq takes an empty value of a list for none. */
static const char nothing_but[] =
	"password='' options='' hostaddr='' sslcrl='' sslcrldir='' sslpassword='' requirepeer='' "
	"passfile='/dev/null/none'";

static void put(char **at, const char *text)
{
	*at = text == NULL ? NULL : strdup(text);
}

static const char *given(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : NULL;
}

static void way_free(struct link_way *w)
{
	char **all[] = { &w->name,	  &w->host,    &w->hostaddr, &w->port,
			 &w->database,	  &w->user,    &w->password, &w->sslmode,
			 &w->sslrootcert, &w->sslcert, &w->sslkey };

	secret_free(&w->password); /* it may be one itself */
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		free(*all[i]);
	free(w);
}

static void step_free(struct link_step *s)
{
	if (s->conn != NULL)
		PQfinish(s->conn);
	if (s->way != NULL)
		way_free(s->way);
	free(s);
}

/* "a,b" for libpq, which wants as many hosts as addresses. */
static char *join(const struct addresses *list, const char *host)
{
	size_t room = (strlen(host) + sizeof(list->text[0]) + 1) * RESOLVE_MOST + 1, len = 0;
	char *text = calloc(1, room);

	for (unsigned i = 0; text != NULL && i < list->count; i++)
		len += (size_t)snprintf(text + len, room - len, "%s%s", i > 0 ? "," : "",
					host[0] != '\0' ? host : list->text[i]);
	return text;
}

static struct link_way *way_of(const struct link *k)
{
	const struct server_settings *s = &k->settings;
	struct link_way *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	if (asprintf(&w->name, "server '%s'", s->name) < 0)
		w->name = NULL;
	if (k->is_on_socket) {
		put(&w->host, s->host);
	} else {
		w->host = join(&k->addresses, s->host);
		w->hostaddr = join(&k->addresses, "");
	}
	put(&w->port, given(s->port) != NULL ? s->port : "5432");
	put(&w->database, k->database != NULL	       ? k->database
			  : given(s->database) != NULL ? s->database
						       : "postgres");
	put(&w->user, given(s->user));
	put(&w->password, given(s->password));
	put(&w->sslmode, k->sslmode);
	/* Where nothing is to be verified, libpq would all the same, if it had authorities. */
	put(&w->sslrootcert, given(s->sslrootcert) != NULL	     ? s->sslrootcert
			     : strncmp(k->sslmode, "verify", 6) == 0 ? ALL_ROOTS
								     : NO_FILE);
	put(&w->sslcert, given(s->sslcert));
	put(&w->sslkey, given(s->sslkey));
	snprintf(w->options, sizeof(w->options),
		 "-c search_path=pg_catalog -c default_transaction_read_only=on "
		 "-c statement_timeout=%llu -c datestyle=ISO -c intervalstyle=postgres",
		 (unsigned long long)(k->limits.query_ns / NS_PER_MS));
	if (w->name == NULL || w->host == NULL || w->database == NULL || w->port == NULL ||
	    w->sslmode == NULL || w->sslrootcert == NULL) {
		way_free(w);
		return NULL;
	}
	return w;
}

/* Notices go nowhere: libpq would print them. */
static void swallow(void *owner, const PGresult *result)
{
	(void)owner;
	(void)result;
}

/* The way as libpq takes it. The first dbname is a list that only forbids; the second one is a name and no list. */
static PGconn *start_on(const struct link_way *w, const char *secret)
{
	static const char *const keys[] = { "dbname",
					    "host",
					    "hostaddr",
					    "port",
					    "dbname",
					    "user",
					    "password",
					    "options",
					    "sslmode",
					    "sslrootcert",
					    "sslcert",
					    "sslkey",
					    "application_name",
					    "client_encoding",
					    "gssencmode",
					    "ssl_min_protocol_version",
					    "keepalives",
					    "tcp_user_timeout",
					    "krbsrvname",
					    "channel_binding",
					    "sslcompression",
					    "target_session_attrs",
					    NULL };
	const char *const values[] = { nothing_but,
				       w->host,
				       w->hostaddr,
				       w->port,
				       w->database,
				       w->user,
				       secret,
				       w->options,
				       w->sslmode,
				       w->sslrootcert,
				       w->sslcert != NULL ? w->sslcert : NO_FILE,
				       w->sslkey != NULL ? w->sslkey : NO_FILE,
				       "tare",
				       "SQL_ASCII",
				       "disable",
				       "TLSv1.2",
				       "1",
				       "30000",
				       "postgres",
				       "prefer",
				       "0",
				       "any",
				       NULL };

	_Static_assert(ARRAY_LEN(keys) == ARRAY_LEN(values), "a value for each key");
	return PQconnectStartParams(keys, values, 1);
}

/* In a worker's thread. */
static void start(struct link_step *s)
{
	const struct link_way *w = s->way;
	SCOPED(secret_free) char *secret = NULL;

	if (w->password != NULL &&
	    secret_read(w->password, "password", w->name, &secret, &s->err) != 0)
		return;
	s->conn = start_on(w, secret);
	if (s->conn == NULL) {
		err_set(&s->err, -ENOMEM, "out of memory");
		return;
	}
	PQsetNoticeReceiver(s->conn, swallow, NULL);
	PQsetErrorVerbosity(s->conn, PQERRORS_VERBOSE); /* its SQLSTATE stands nowhere else */
	s->polled = PGRES_POLLING_WRITING;
	if (PQstatus(s->conn) == CONNECTION_BAD)
		s->polled = PGRES_POLLING_FAILED;
}

static void poll_once(struct link_step *s)
{
	link_read_begin(READ_MOST_BYTES, &s->scan);
	s->polled = PQconnectPoll(s->conn);
	link_read_end();
}

static void work(struct job *job)
{
	struct link_step *s = (struct link_step *)job;

	if (s->is_start)
		start(s);
	else
		poll_once(s);
	s->is_in_tls = s->conn != NULL && PQstatus(s->conn) == CONNECTION_SSL_STARTUP;
}

static void step_is_done(struct job *job);

static int begin_step(struct link *k, bool is_start)
{
	struct link_step *s = calloc(1, sizeof(*s));
	int code = -ENOMEM;

	if (s == NULL)
		return code;
	s->job = (struct job){ .work = work, .done = step_is_done };
	s->link = k;
	s->is_start = is_start;
	s->scan = k->scan;
	s->way = is_start ? way_of(k) : NULL;
	if (!is_start || s->way != NULL) {
		s->conn = k->conn;
		code = workers_do(k->hall->steps, &s->job);
	}
	if (code != 0) {
		s->conn = NULL;
		step_free(s);
		return code;
	}
	k->conn = NULL;
	k->step = s;
	return 0;
}

static void give_up(struct link *k, const char *sqlstate, const char *message)
{
	struct answer answer = { .is_ok = false };

	snprintf(answer.sqlstate, sizeof(answer.sqlstate), "%s", sqlstate);
	snprintf(answer.message, sizeof(answer.message), "%s", message);
	link_shut(k);
	link_has_connected(k, &answer);
}

/* The TLS handshake has a clock of its own; the other one stands meanwhile. */
static void set_deadline(struct link *k, bool is_in_tls)
{
	uint64_t now_ns = loop_now().ns, passed_ns = now_ns - k->phase_began_ns;

	if (k->phase_began_ns != 0 && is_in_tls == k->is_in_tls)
		return;
	if (k->phase_began_ns != 0 && is_in_tls)
		k->connect_left_ns =
			passed_ns < k->connect_left_ns ? k->connect_left_ns - passed_ns : 1;
	k->is_in_tls = is_in_tls;
	k->phase_began_ns = now_ns;
	loop_set(k->hall->loop, &k->deadline,
		 now_ns + (is_in_tls ? k->limits.tls_ns : k->connect_left_ns));
}

static void is_open(struct link *k)
{
	struct answer answer = { .is_ok = true };

	loop_put_off(k->hall->loop, &k->deadline);
	k->state = LINK_IDLE;
	k->is_new = true;
	k->has_grown = false;
	k->idle_wakes = 0;
	if (PQsetnonblocking(k->conn, 1) != 0 || PQprotocolVersion(k->conn) < 3) {
		give_up(k, "", "the connection cannot be used without waiting");
		return;
	}
	if (!k->is_on_socket) {
		int most = 256 * 1024; /* bounds what one turn reads */

		setsockopt(PQsocket(k->conn), SOL_SOCKET, SO_RCVBUF, &most, sizeof(most));
	}
	if (loop_watch(k->hall->loop, &k->watch, PQsocket(k->conn), EPOLLIN) != 0) {
		give_up(k, "", "cannot wait for the connection");
		return;
	}
	link_has_connected(k, &answer);
}

static void has_failed(struct link *k)
{
	struct answer answer = { .is_ok = false };

	link_read_error(PQerrorMessage(k->conn), &answer);
	if (k->scan.has_tripped) {
		k->hall->refused++;
		snprintf(answer.message, sizeof(answer.message),
			 "it asks for a million rounds of SCRAM or more");
	}
	give_up(k, answer.sqlstate, answer.message);
}

/* In the loop's thread: what the step came to. */
static void step_is_done(struct job *job)
{
	struct link_step *s = (struct link_step *)job;
	struct link *k = s->link;
	char why[sizeof(s->err.msg)];

	if (k == NULL) {
		if (s->ghost_of != NULL)
			s->ghost_of->ghost = NULL;
		step_free(s);
		return;
	}
	k->step = NULL;
	k->scan = s->scan;
	k->conn = s->conn;
	s->conn = NULL;
	snprintf(why, sizeof(why), "%s", s->err.msg);
	if (k->conn == NULL) {
		give_up(k, "", why);
	} else if (s->polled == PGRES_POLLING_OK) {
		is_open(k);
	} else if (s->polled == PGRES_POLLING_FAILED) {
		has_failed(k);
	} else {
		set_deadline(k, s->is_in_tls);
		if (loop_watch(k->hall->loop, &k->watch, PQsocket(k->conn),
			       s->polled == PGRES_POLLING_READING ? EPOLLIN : EPOLLOUT) != 0)
			give_up(k, "", "cannot wait for the connection");
	}
	step_free(s);
}

static void resolved(void *owner, int code, const char *why, const struct addresses *found)
{
	struct link *k = owner;
	char message[200];

	k->lookup = NULL;
	if (code == 0) {
		k->addresses = *found;
		k->has_addresses = true;
	} else if (code != -EAGAIN || !k->has_addresses) {
		snprintf(message, sizeof(message), "its name is not known: %s", why);
		give_up(k, "", message);
		return;
	} /* else: the name server is silent, the address of last time is as good as any */
	link_begin(k, NULL);
}

/* verify-full away from this machine, unless said otherwise. */
static void choose_sslmode(struct link *k)
{
	const char *said = given(k->settings.sslmode);

	if (said == NULL)
		said = k->addresses.is_loopback ? "prefer" : "verify-full";
	snprintf(k->sslmode, sizeof(k->sslmode), "%s", said);
}

static int begin_lookup(struct link *k)
{
	struct err err = ERR_EMPTY;

	k->state = LINK_RESOLVING;
	return resolve_start(k->hall->names, k->settings.host, resolved, k, &k->lookup, &err);
}

void link_begin(struct link *k, const char *database)
{
	bool is_known = k->state == LINK_RESOLVING; /* resolved() has called */
	int code = 0;

	if (!is_known) {
		link_shut(k);
		free(k->database);
		k->database = database != NULL ? strdup(database) : NULL;
		if (database != NULL && k->database == NULL)
			code = -ENOMEM;
		if (k->ghost != NULL)
			code = -EBUSY;
		k->connect_left_ns = k->limits.connect_ns;
		k->phase_began_ns = 0;
		k->steps = 0;
		k->scan = (struct link_scan){ 0 };
		set_deadline(k, false);
		/* Another database is at the same address. */
		is_known = (database != NULL && k->has_addresses) ||
			   resolve_literal(k->settings.host, &k->addresses);
		k->has_addresses = k->has_addresses || is_known;
		if (!is_known && code == 0)
			code = begin_lookup(k);
	}
	if (is_known && code == 0) {
		k->state = LINK_CONNECTING;
		k->is_on_socket = k->addresses.count == 0;
		choose_sslmode(k);
		code = begin_step(k, true);
	}
	if (code == 0)
		return;
	link_shut(k);
	k->state = LINK_FAILED; /* told in a later turn */
	k->answer = (struct answer){ .is_ok = false };
	snprintf(k->answer.message, sizeof(k->answer.message), "%s",
		 code == -EAGAIN  ? "no thread can be started"
		 : code == -EBUSY ? "a step of the connecting before has not ended"
				  : "out of memory");
	loop_set(k->hall->loop, &k->turn, loop_now().ns);
}

void link_next_step(struct link *k)
{
	loop_unwatch(k->hall->loop, &k->watch); /* libpq may close the socket and open another */
	if (++k->steps > STEPS_MOST)
		give_up(k, "", "it sends too much before it lets us in");
	else if (begin_step(k, false) != 0)
		give_up(k, "", "out of memory");
}
