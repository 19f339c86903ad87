/* collect_control.c - one line in, one document out. */
#include "cli/collect_control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/scoped.h"

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void control_init(struct control *c)
{
	*c = (struct control){ .fd = -1 };
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		c->clients[i].fd = -1;
}

int control_path(const char *set, char *out, size_t size)
{
	const char *folder = getenv("RUNTIME_DIRECTORY");
	int len;

	if (set != NULL && set[0] != '\0')
		len = snprintf(out, size, "%s", set);
	else /* systemd may name several, parted by colons */
		len = snprintf(out, size, "%.*s/control.sock",
			       folder != NULL ? (int)strcspn(folder, ":") : 9,
			       folder != NULL ? folder : "/run/tare");
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

static int address_of(const char *path, struct sockaddr_un *out)
{
	size_t len = strlen(path);

	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (len >= sizeof(out->sun_path))
		return -ENAMETOOLONG;
	memcpy(out->sun_path, path, len + 1);
	return 0;
}

/* Takes away what nobody listens to any more. */
static int clear_place(const struct sockaddr_un *at)
{
	SCOPED(close_fd) int fd = -1;
	struct stat st;

	if (lstat(at->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 || errno == EAGAIN)
		return -EADDRINUSE;
	if (errno != ECONNREFUSED)
		return -errno;
	return unlink(at->sun_path) < 0 ? -errno : 0;
}

static int listen_at(const struct sockaddr_un *at, int *out_fd)
{
	SCOPED(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t before;
	int rc = clear_place(at);

	if (fd < 0)
		return -errno;
	if (rc < 0)
		return rc;
	before = umask(0177);
	rc = bind(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 ? -errno : 0;
	umask(before);
	if (rc == 0 && listen(fd, CONTROL_CLIENTS) < 0)
		rc = -errno;
	if (rc < 0)
		return rc;
	*out_fd = scoped_take_fd(&fd);
	return 0;
}

int control_open(const char *path, struct control *c, struct err *err)
{
	struct sockaddr_un at;
	int rc = address_of(path, &at);

	control_init(c);
	if (rc == 0)
		rc = listen_at(&at, &c->fd);
	if (rc == 0) {
		memcpy(c->path, at.sun_path, sizeof(c->path));
		return 0;
	}
	err_set(err, rc, "cannot listen at '%s': %s", path,
		rc == -EADDRINUSE ? "another collector does" : strerror(-rc));
	return err_mend(err, "set control to a path of up to 107 bytes in a folder of ours");
}

size_t control_polls(const struct control *c, struct pollfd *out)
{
	size_t count = 0;

	if (c->fd < 0)
		return 0;
	out[count++] = (struct pollfd){ .fd = c->fd, .events = POLLIN };
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		if (c->clients[i].fd >= 0)
			out[count++] =
				(struct pollfd){ .fd = c->clients[i].fd,
						 .events = c->clients[i].answer.len > 0 ? POLLOUT
											: POLLIN };
	return count;
}

static void leave(struct control_client *client)
{
	close_fd(&client->fd);
	text_free(&client->answer);
	*client = (struct control_client){ .fd = -1 };
}

static void accept_all(struct control *c, struct mono now)
{
	for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
		if (c->clients[i].fd >= 0)
			continue;
		c->clients[i].fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (c->clients[i].fd < 0)
			return;
		c->clients[i].since = now;
	}
}

/* Reads the request; makes the answer when it is whole. */
static void read_request(struct control_client *client, control_answer_fn *answer, void *owner)
{
	size_t room = sizeof(client->asked) - 1 - client->asked_len;
	ssize_t got = room > 0 ? read(client->fd, client->asked + client->asked_len, room) : 0;
	char *end;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		leave(client);
		return;
	}
	client->asked_len += (size_t)got;
	client->asked[client->asked_len] = '\0';
	end = strchr(client->asked, '\n');
	if (end == NULL)
		return;
	*end = '\0';
	if (answer(owner, client->asked, &client->answer) < 0 || client->answer.has_failed ||
	    client->answer.len == 0)
		leave(client);
}

static void send_answer(struct control_client *client)
{
	ssize_t sent = send(client->fd, client->answer.bytes + client->sent,
			    client->answer.len - client->sent, MSG_NOSIGNAL);

	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (sent > 0)
		client->sent += (size_t)sent;
	if (sent <= 0 || client->sent == client->answer.len)
		leave(client);
}

void control_turn(struct control *c, struct mono now, control_answer_fn *answer, void *owner)
{
	if (c->fd < 0)
		return;
	accept_all(c, now);
	for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
		struct control_client *client = &c->clients[i];

		if (client->fd >= 0 && client->answer.len == 0)
			read_request(client, answer, owner);
		if (client->fd >= 0 && client->answer.len > 0)
			send_answer(client);
		if (client->fd >= 0 && mono_elapsed_ns(client->since, now) > CONTROL_WAIT_NS)
			leave(client);
	}
}

void control_close(struct control *c)
{
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		if (c->clients[i].fd >= 0)
			leave(&c->clients[i]);
	if (c->fd >= 0)
		unlink(c->path);
	close_fd(&c->fd);
}

static int ask(int fd, const char *asked, struct text *out)
{
	char bytes[4096];
	ssize_t got;

	if (send(fd, asked, strlen(asked), MSG_NOSIGNAL) < 0 || send(fd, "\n", 1, MSG_NOSIGNAL) < 0)
		return -errno;
	while ((got = read(fd, bytes, sizeof(bytes))) > 0)
		text_add(out, bytes, (size_t)got);
	if (got < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (out->has_failed)
		return -ENOMEM;
	return out->len > 0 ? 0 : -EPROTO;
}

int control_ask(const char *path, const char *asked, struct text *out, struct err *err)
{
	SCOPED(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval most = { .tv_sec = CONTROL_WAIT_NS / NS_PER_S };
	struct sockaddr_un at;
	int rc = address_of(path, &at);

	if (fd < 0)
		rc = -errno;
	if (rc == 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
		rc = connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : 0;
	}
	if (rc == 0)
		rc = ask(fd, asked, out);
	if (rc == 0)
		return 0;
	err_set(err, rc, "cannot ask the collector at '%s': %s", path,
		rc == -ENOENT || rc == -ECONNREFUSED ? "none is running there" : strerror(-rc));
	if (rc == -EACCES || rc == -EPERM)
		return err_mend(err, "ask as its user, or as root");
	return err_mend(err, "start it: tare collect; or name its settings: --config FILE");
}
