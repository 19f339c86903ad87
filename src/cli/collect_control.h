/* collect_control.h - the unix socket by which a running collector is asked: one line in, one JSON document out. 0600, so that only its user
 * and root come in. Never waits for a client. One thread. */
#ifndef TARE_CLI_COLLECT_CONTROL_H
#define TARE_CLI_COLLECT_CONTROL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"
#include "core/text.h"
#include "core/units.h"

#define CONTROL_CLIENTS 8u
#define CONTROL_WAIT_NS (5 * NS_PER_S) /* a client that takes longer is left */
#define CONTROL_POLLS	(1 + CONTROL_CLIENTS)

struct control_client {
	int fd; /* -1: none */
	struct mono since;
	char asked[32];
	size_t asked_len;
	struct text answer;
	size_t sent;
};

struct control {
	int fd; /* -1: closed */
	char path[108];
	struct control_client clients[CONTROL_CLIENTS];
};

/* Answers a request, a word; appends to `out`. A negative errno: it is not one of ours. */
typedef int control_answer_fn(void *owner, const char *asked, struct text *out);

/* The empty value. */
void control_init(struct control *c);

/* Listens at `path`; what a dead collector left there is taken away. -EADDRINUSE: a living one has it; -ENAMETOOLONG: over 107 bytes. */
int control_open(const char *path, struct control *c, struct err *err);

/* What to wait for. Returns how many of CONTROL_POLLS were filled. */
size_t control_polls(const struct control *c, struct pollfd *out);

/* Accepts, reads, answers, sends, as far as it goes without waiting. */
void control_turn(struct control *c, struct mono now, control_answer_fn *answer, void *owner);

/* Removes the socket. Accepts the empty value, and may run twice. */
void control_close(struct control *c);

/* Asks a running collector. -ENOENT, -ECONNREFUSED: none runs there; -EACCES; -ETIMEDOUT. */
int control_ask(const char *path, const char *asked, struct text *out, struct err *err);

/* Where the socket is: `set` when it is not empty, else control.sock in $RUNTIME_DIRECTORY, or in /run/tare. -ENAMETOOLONG. */
int control_path(const char *set, char *out, size_t size);

#endif
