/* collect_notify.c - the protocol of sd_notify(3). */
#include "cli/collect_notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void read_watchdog(struct notify *n)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t us, owner;

	if (usec == NULL || units_parse_count(usec, &us) < 0 || us > UINT64_MAX / NS_PER_US)
		return;
	if (pid != NULL && (units_parse_count(pid, &owner) < 0 || owner != (uint64_t)getpid()))
		return;
	n->watchdog_ns = us * NS_PER_US;
}

void notify_open(struct notify *n)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path != NULL ? strlen(path) : 0;

	*n = NOTIFY_EMPTY;
	if (len < 2 || len >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@') /* an abstract one */
		to.sun_path[0] = '\0';
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->fd >= 0 && connect(n->fd, (struct sockaddr *)&to,
				  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		notify_close(n);
	if (n->fd >= 0)
		read_watchdog(n);
}

void notify_send(const struct notify *n, const char *fmt, ...)
{
	char lines[1024];
	va_list args;
	int len;

	if (n->fd < 0)
		return;
	va_start(args, fmt);
	len = vsnprintf(lines, sizeof(lines), fmt, args);
	va_end(args);
	if (len > 0)
		send(n->fd, lines, strlen(lines), MSG_NOSIGNAL);
}

void notify_reloading(const struct notify *n, struct mono now)
{
	notify_send(n, "RELOADING=1\nMONOTONIC_USEC=%llu",
		    (unsigned long long)(now.ns / NS_PER_US));
}

void notify_alive(struct notify *n, struct mono now)
{
	if (n->watchdog_ns == 0 || mono_elapsed_ns(n->alive_at, now) < n->watchdog_ns / 3)
		return;
	n->alive_at = now;
	notify_send(n, "WATCHDOG=1");
}

void notify_close(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	*n = NOTIFY_EMPTY;
}
