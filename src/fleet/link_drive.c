/* link_drive.c - a script over a connection of its own, waited for. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/scoped.h"
#include "fleet/link.h"

#define TURN_NS NS_PER_S

struct drive {
	struct link *link;
	struct script *script;
	bool is_done;
	int code;
	struct err err;
};

static void is_done(void *owner, int code, const struct err *err)
{
	struct drive *d = owner;

	d->is_done = true;
	d->code = code;
	d->err = *err;
}

static void is_connected(void *owner, const struct answer *answer)
{
	struct drive *d = owner;

	if (answer->is_ok) {
		link_run(d->link, d->script, is_done, d);
		return;
	}
	d->is_done = true;
	d->code = answer->sqlstate[0] == '2' ? -EACCES : -ENOTCONN;
	err_set(&d->err, d->code, "cannot connect: %s", answer->message);
}

static void hall_close(struct link_hall *hall)
{
	workers_close(hall->names);
	workers_close(hall->steps);
	loop_close(hall->loop);
}

int link_drive(const struct server_settings *settings, const struct link_limits *limits,
	       struct script *script, struct err *err)
{
	SCOPED(hall_close) struct link_hall hall = { .loop = NULL };
	struct drive drive = { .script = script };
	int code;

	link_forget_environment();
	if ((code = loop_open(&hall.loop, err)) != 0 ||
	    (code = workers_open(hall.loop, 1, &hall.names, err)) != 0 ||
	    (code = workers_open(hall.loop, 2, &hall.steps, err)) != 0)
		return code;
	if (link_open(&hall, settings, limits, &drive.link) != 0)
		return err_set(err, -ENOMEM, "cannot connect to '%s': out of memory",
			       settings->name);
	link_connect(drive.link, is_connected, &drive);
	while (!drive.is_done && code == 0)
		code = loop_turn(hall.loop, TURN_NS, err);
	link_close(drive.link);
	if (code == 0 && drive.code != 0) {
		*err = drive.err;
		code = drive.code;
	}
	return code;
}
