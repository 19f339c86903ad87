/* collect_notify.h - tells systemd how we are (Type=notify), by its datagram: no library is needed for that. Nothing happens where
 * $NOTIFY_SOCKET is not set. One thread. */
#ifndef TARE_CLI_COLLECT_NOTIFY_H
#define TARE_CLI_COLLECT_NOTIFY_H

#include <stdint.h>

#include "core/units.h"

struct notify {
	int fd;		      /* -1: nobody listens */
	uint64_t watchdog_ns; /* a sign of life is due within it; 0: nobody waits for one */
	struct mono alive_at; /* last sign of life */
};

#define NOTIFY_EMPTY ((struct notify){ .fd = -1 })

/* Connects to $NOTIFY_SOCKET, and reads $WATCHDOG_USEC when it is for us ($WATCHDOG_PID). */
void notify_open(struct notify *n);

/* Sends lines such as "READY=1\nSTATUS=...". What does not arrive is no failure of ours. */
void notify_send(const struct notify *n, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* RELOADING=1 with the time that Type=notify-reload asks for. */
void notify_reloading(const struct notify *n, struct mono now);

/* WATCHDOG=1, each third of the time that is given. */
void notify_alive(struct notify *n, struct mono now);

/* Accepts the empty value. */
void notify_close(struct notify *n);

#endif
