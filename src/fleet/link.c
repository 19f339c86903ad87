/* link.c - a link's life, and the scripts that it carries. */
#include "fleet/link.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/scoped.h"
#include "fleet/link_own.h"
#include "fleet/settings_copy.h"
#include "fleet/settings_parts.h"

#define VAIN_MOST 3 /* questions in a row without a connection, then the script ends */

/* A server can ask for Kerberos, and its library then asks name servers for ours: a configuration that cannot be read makes it refuse at
 * once. It is a file without a name, and stays open. */
static void turn_kerberos_off(void)
{
	static const char name[] = "KRB5_CONFIG", broken[] = "[";
	const char *before = getenv(name);
	char path[32];
	int fd;

	if (before != NULL && strncmp(before, "/proc/self/fd/", 14) == 0)
		return;
	fd = memfd_create("no kerberos", MFD_CLOEXEC);
	if (fd < 0 || write(fd, broken, 1) != 1) {
		setenv(name, "/proc/self/fd/-1", 1);
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv(name, path, 1);
}

void link_forget_environment(void)
{
	/* The rest of libpq's variables is overridden by what it is given. */
	static const char *const names[] = { "PGSERVICE",  "PGSERVICEFILE", "PGSYSCONFDIR",
					     "PGHOSTADDR", "PGUSER",	    "PGDATESTYLE",
					     "PGTZ",	   "PGGEQO",	    "PGREQUIRESSL",
					     "PGGSSLIB" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		unsetenv(names[i]);
	turn_kerberos_off();
}

void link_read_error(const char *text, struct answer *out)
{
	const char *at = text, *found, *end;
	size_t len;

	/* 'connection to server at "..." failed: FATAL:  53300: sorry', once an address: the last one counts. */
	while ((found = strstr(at, " failed: ")) != NULL)
		at = found + strlen(" failed: ");
	end = strchr(at, '\n');
	found = strstr(at, ":  ");
	if (found != NULL && (end == NULL || found < end) &&
	    strspn(found + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 5 &&
	    strncmp(found + 8, ": ", 2) == 0) {
		memcpy(out->sqlstate, found + 3, 5);
		out->sqlstate[5] = '\0';
		at = found + 10;
	}
	len = strcspn(at, "\n");
	snprintf(out->message, sizeof(out->message), "%.*s",
		 (int)(len < sizeof(out->message) ? len : sizeof(out->message) - 1), at);
}

static void ring_deadline(void *owner);
static void ring_again(void *owner);
static void ring_turn(void *owner);

int link_open(struct link_hall *hall, const struct server_settings *settings,
	      const struct link_limits *limits, struct link **out)
{
	struct link *k = calloc(1, sizeof(*k));

	if (k == NULL)
		return -ENOMEM;
	k->hall = hall;
	if (hall->cpu_ns == 0)
		hall->cpu_ns = loop_cpu_ns();
	k->limits = *limits;
	k->watch = (struct loop_watch){ .fd = -1, .ready = link_ready, .owner = k };
	k->deadline = (struct loop_alarm){ .ring = ring_deadline, .owner = k };
	k->again = (struct loop_alarm){ .ring = ring_again, .owner = k };
	k->turn = (struct loop_alarm){ .ring = ring_turn, .owner = k };
	if (settings_server_copy(settings, &k->settings) != 0) {
		free(k);
		return -ENOMEM;
	}
	*out = k;
	return 0;
}

void link_set_limits(struct link *k, const struct link_limits *limits)
{
	k->limits = *limits;
}

/* A step that is in a thread closes its connection there. */
static void give_up_step(struct link *k)
{
	struct link_step *s = k->step;

	k->step = NULL;
	if (s == NULL)
		return;
	s->link = NULL;
	if (workers_take_back(k->hall->steps, &s->job)) {
		s->job.done(&s->job);
		return;
	}
	if (k->ghost != NULL) /* cannot be: none is begun while there is one */
		k->ghost->ghost_of = NULL;
	s->ghost_of = k;
	k->ghost = s;
}

void link_shut(struct link *k)
{
	loop_unwatch(k->hall->loop, &k->watch);
	loop_put_off(k->hall->loop, &k->deadline);
	loop_put_off(k->hall->loop, &k->again);
	resolve_give_up(k->hall->names, k->lookup);
	k->lookup = NULL;
	give_up_step(k);
	if (k->conn != NULL) {
		/* PQfinish() says goodbye only where it can be said at once. */
		if (k->state != LINK_IDLE && PQsocket(k->conn) >= 0)
			shutdown(PQsocket(k->conn), SHUT_RDWR);
		PQfinish(k->conn);
	}
	k->conn = NULL;
	k->state = LINK_CLOSED;
}

void link_close(struct link *k)
{
	if (k == NULL)
		return;
	link_stop(k);
	if (k->ghost != NULL)
		k->ghost->ghost_of = NULL;
	settings_server_free(&k->settings);
	free(k->database);
	free(k);
}

/* The script has come to its end; said in a later turn. */
static void end_script(struct link *k, int code, const struct err *err)
{
	k->end_code = code;
	k->end_err = err != NULL ? *err : ERR_EMPTY;
	k->is_ending = true;
	loop_set(k->hall->loop, &k->turn, loop_now().ns);
}

void link_charge(struct link *k)
{
	uint64_t cpu_ns = loop_cpu_ns();

	k->answer.own_ns += cpu_ns - k->hall->cpu_ns;
	k->hall->cpu_ns = cpu_ns;
}

/* The way there and back, with the waking of both sides: no answer of this server was ever faster. */
static uint64_t learn_trip_ns(struct link *k)
{
	if (k->answer.is_ok && (k->trip_ns == 0 || k->answer.elapsed_ns < k->trip_ns))
		k->trip_ns = k->answer.elapsed_ns;
	return k->trip_ns;
}

/* Tells the script its answer, and the owner. Not 0: the script ends. */
static int tell_ended(struct link *k)
{
	struct err err = ERR_EMPTY;
	int code;

	k->is_asked = false;
	k->answer.elapsed_ns = loop_now().ns - k->sent_ns;
	k->answer.trip_ns = learn_trip_ns(k);
	link_charge(k);
	if (k->was_lost && k->lost.message[0] == '\0')
		k->lost = k->answer;
	if (k->answered != NULL)
		k->answered(k->answered_owner, &k->ask, &k->answer);
	code = k->script->ended(k->script->self, &k->answer, &err);
	if (code < 0)
		end_script(k, code, &err);
	return code;
}

/* The next question of the script. Not asked over a connection that is gone: told so, and after a few the script ends. */
static void ask_next(struct link *k)
{
	for (;;) {
		struct err err = ERR_EMPTY;
		int more;

		k->ask = (struct ask){ 0 };
		more = k->script->next(k->script->self, &k->ask, &err);
		if (more <= 0) {
			end_script(k, more, &err);
			return;
		}
		k->answer = (struct answer){ .is_ok = true };
		k->is_asked = true;
		k->sent_ns = loop_now().ns;
		if (k->ask.kind == ASK_DATABASE) {
			k->vain = 0;
			link_begin(k, k->ask.name != NULL && k->ask.name[0] != '\0' ? k->ask.name
										    : NULL);
			return;
		}
		if (k->state == LINK_IDLE && link_send(k) == 0) {
			k->vain = 0;
			return;
		}
		k->answer.is_ok = false;
		if (k->answer.message[0] == '\0')
			snprintf(k->answer.message, sizeof(k->answer.message), "not connected");
		if (tell_ended(k) < 0)
			return;
		if (++k->vain >= VAIN_MOST) {
			err_set(&err, -ENOTCONN, "cannot ask '%s': %s", k->settings.name,
				k->answer.message);
			end_script(k, -ENOTCONN, &err);
			return;
		}
	}
}

void link_has_ended(struct link *k)
{
	if (k->script == NULL)
		return;
	/* Cancelled in time for its answer to end: late all the same, and whole rows may be missing. */
	if (k->answer.is_late) {
		k->answer.is_ok = false;
		if (k->answer.message[0] == '\0' || k->answer.sqlstate[0] != '\0')
			snprintf(k->answer.message, sizeof(k->answer.message),
				 "no answer in time: cancelled");
	}
	if (tell_ended(k) == 0)
		ask_next(k);
}

void link_has_connected(struct link *k, const struct answer *answer)
{
	link_connected_fn *connected = k->connected;

	if (k->script != NULL) { /* it went to another database */
		uint64_t own_ns = k->answer.own_ns;

		k->answer = *answer;
		k->answer.own_ns = own_ns;
		if (tell_ended(k) == 0)
			ask_next(k);
		return;
	}
	k->connected = NULL;
	if (connected != NULL)
		connected(k->connected_owner, answer);
}

/* Rows were left for this turn. */
static void ring_again(void *owner)
{
	link_ready(owner, 0);
}

static void ring_turn(void *owner)
{
	struct link *k = owner;
	struct link_hall *hall = k->hall;
	link_done_fn *done = k->done;
	struct err err;

	if (k->state == LINK_FAILED) {
		struct answer answer = k->answer;

		k->state = LINK_CLOSED;
		link_has_connected(k, &answer);
		return;
	}
	if (k->is_beginning) {
		k->is_beginning = false;
		ask_next(k);
		return;
	}
	if (!k->is_ending)
		return;
	k->is_ending = false;
	k->script = NULL;
	k->done = NULL;
	if (k->has_grown || k->database != NULL)
		link_shut(k);
	err = k->end_err;
	done(k->done_owner, k->end_code, &err); /* k may be gone */
	hall->cpu_ns = loop_cpu_ns();
}

static void ring_deadline(void *owner)
{
	struct link *k = owner;
	struct answer answer = { .is_ok = false, .is_late = true };

	if (k->state == LINK_ASKING || k->state == LINK_CANCELLED) {
		link_is_late(k);
		return;
	}
	snprintf(answer.message, sizeof(answer.message), "%s",
		 k->state == LINK_RESOLVING ? "the name server does not answer in time"
		 : k->is_in_tls		    ? "the TLS handshake does not end in time"
					    : "it does not let us in in time");
	link_shut(k);
	link_has_connected(k, &answer);
}

void link_connect(struct link *k, link_connected_fn *done, void *owner)
{
	link_stop(k);
	k->connected = done;
	k->connected_owner = owner;
	link_begin(k, NULL);
}

void link_run(struct link *k, struct script *script, link_done_fn *done, void *owner)
{
	k->script = script;
	k->done = done;
	k->done_owner = owner;
	k->vain = 0;
	k->was_lost = false;
	k->lost = (struct answer){ 0 };
	k->is_beginning = true;
	loop_set(k->hall->loop, &k->turn, loop_now().ns);
}

void link_on_answer(struct link *k, link_answered_fn *answered, void *owner)
{
	k->answered = answered;
	k->answered_owner = owner;
}

void link_stop(struct link *k)
{
	link_shut(k);
	loop_put_off(k->hall->loop, &k->turn);
	k->script = NULL;
	k->done = NULL;
	k->connected = NULL;
	k->is_asked = k->is_beginning = k->is_ending = false;
}

void link_cut(struct link *k)
{
	struct answer answer = { .is_ok = false, .is_late = true, .message = "cut short" };
	struct err err = ERR_EMPTY;
	struct script *script = k->script;
	bool was_asked = k->is_asked;

	link_stop(k);
	if (script != NULL && was_asked)
		script->ended(script->self, &answer, &err);
}

void link_disconnect(struct link *k)
{
	if (k->state == LINK_IDLE && k->script == NULL)
		link_shut(k);
}

bool link_is_ready(const struct link *k)
{
	return k->state == LINK_IDLE && k->script == NULL && k->database == NULL;
}

bool link_take_is_new(struct link *k)
{
	bool is_new = k->is_new;

	k->is_new = false;
	return is_new;
}

const struct answer *link_lost(const struct link *k)
{
	return k->was_lost ? &k->lost : NULL;
}

const char *link_sslmode(const struct link *k)
{
	return k->sslmode;
}
