/* debuginfod.c - the recorder's side: questions to the child, files from it. */
#include "sense/debuginfod.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/units.h"
#include "sense/clock.h"
#include "sense/debuginfod_child.h"
#include "sense/sandbox.h"

#define WORKS	 "names that the files here have are found all the same"
#define READY_MS 5000 /* loading the library; a start that takes longer goes without */
#define GRACE_S	 5u   /* that the child has beyond its own limit */

struct debuginfod {
	pid_t pid; /* 0: it has ended, and nothing more comes */
	int socket;
	struct debuginfod_ask queue[DEBUGINFOD_MAX_FILES]; /* all there ever were */
	size_t wanted, asked, answered;
	struct mono asked_at; /* the one in work */
	uint64_t spent_ns;    /* waiting for servers */
};

static struct mono mono_now(void)
{
	return (struct mono){ clock_read_ns(CLOCK_MONOTONIC) };
}

static void end_child(struct debuginfod *d)
{
	if (d->socket >= 0)
		close(d->socket);
	d->socket = -1;
	if (d->pid <= 0)
		return;
	kill(d->pid, SIGKILL);
	while (waitpid(d->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	d->pid = 0;
}

/* One answer. 0; -EAGAIN; -EIO: the child is gone. */
static int hear(struct debuginfod *d, struct debuginfod_answer *out, int *out_fd)
{
	struct iovec bytes = { out, sizeof(*out) };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	ssize_t count = recvmsg(d->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*out_fd = -1;
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (message.msg_controllen >= CMSG_LEN(sizeof(int)) && count >= 0)
		memcpy(out_fd, CMSG_DATA(&control.header), sizeof(*out_fd));
	if (count == (ssize_t)sizeof(*out))
		return 0;
	if (*out_fd >= 0)
		close(*out_fd);
	*out_fd = -1;
	return -EIO;
}

static int wait_until_ready(struct debuginfod *d)
{
	struct pollfd p = { .fd = d->socket, .events = POLLIN };
	struct debuginfod_answer answer;
	int fd, rc;

	if (poll(&p, 1, READY_MS) != 1)
		return -ETIMEDOUT;
	rc = hear(d, &answer, &fd);
	if (fd >= 0)
		close(fd);
	return rc < 0 ? rc : answer.result;
}

static int refuse(int code, struct err *err)
{
	if (code == -EINVAL) {
		err_set(err, code, "cannot ask symbol servers: DEBUGINFOD_URLS names none");
		err_works(err, WORKS);
		return err_mend(err, "set it, as to https://debuginfod.debian.net, or leave out "
				     "--debuginfod");
	}
	err_set(err, code, "cannot ask symbol servers: libdebuginfod.so.1 does not load");
	err_works(err, WORKS);
	return err_mend(err, "install it (Debian: libdebuginfod1), or leave out --debuginfod");
}

int debuginfod_open(struct debuginfod **out, struct err *err)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod *d;
	int ends[2], rc;

	if (urls == NULL || urls[strspn(urls, " \t\n")] == '\0')
		return refuse(-EINVAL, err);
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return err_set(err, -ENOMEM, "cannot ask symbol servers: no memory");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		free(d);
		return err_set(err, -errno, "cannot ask symbol servers: no socket");
	}
	d->pid = sandbox_fork();
	if (d->pid == 0)
		debuginfod_child_run(ends[1], DEBUGINFOD_FILE_S);
	close(ends[1]);
	d->socket = ends[0];
	rc = d->pid > 0 ? wait_until_ready(d) : (int)d->pid;
	if (rc < 0) {
		debuginfod_close(d);
		return refuse(rc, err);
	}
	*out = d;
	return 0;
}

void debuginfod_close(struct debuginfod *d)
{
	if (d == NULL)
		return;
	end_child(d);
	free(d);
}

void debuginfod_want(struct debuginfod *d, const uint8_t *build_id, size_t bytes)
{
	struct debuginfod_ask *ask = &d->queue[d->wanted];

	if (d->wanted == DEBUGINFOD_MAX_FILES || bytes == 0 || bytes > sizeof(ask->build_id))
		return;
	for (size_t i = 0; i < d->wanted; i++)
		if (d->queue[i].build_id_bytes == bytes &&
		    memcmp(d->queue[i].build_id, build_id, bytes) == 0)
			return;
	*ask = (struct debuginfod_ask){ .build_id_bytes = (uint32_t)bytes };
	memcpy(ask->build_id, build_id, bytes);
	d->wanted++;
}

size_t debuginfod_outstanding(const struct debuginfod *d)
{
	return d->pid > 0 ? d->wanted - d->answered : 0;
}

/* One question at a time, so that it is known which one is late. */
static void ask_next(struct debuginfod *d)
{
	if (d->asked > d->answered || d->asked == d->wanted)
		return;
	d->asked_at = mono_now();
	if (send(d->socket, &d->queue[d->asked], sizeof(d->queue[0]),
		 MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(d->queue[0]))
		d->asked++;
	else
		end_child(d);
}

static bool is_too_late(const struct debuginfod *d)
{
	uint64_t waited_ns = mono_elapsed_ns(d->asked_at, mono_now());

	return waited_ns > (DEBUGINFOD_FILE_S + GRACE_S) * NS_PER_S ||
	       d->spent_ns + waited_ns > DEBUGINFOD_ALL_S * NS_PER_S;
}

bool debuginfod_take(struct debuginfod *d, struct debuginfod_file *out)
{
	struct debuginfod_answer answer;
	int fd, rc = 0;

	while (d->pid > 0 && rc == 0) {
		ask_next(d);
		if (d->pid <= 0 || d->asked == d->answered)
			return false;
		rc = hear(d, &answer, &fd);
		if (rc == -EIO || (rc == -EAGAIN && is_too_late(d)))
			end_child(d);
		if (rc < 0)
			return false;
		d->spent_ns += mono_elapsed_ns(d->asked_at, mono_now());
		d->answered++;
		if (answer.result == 0 && fd >= 0 &&
		    answer.build_id_bytes <= sizeof(answer.build_id)) {
			*out = (struct debuginfod_file){ .build_id_bytes = answer.build_id_bytes,
							 .fd = fd };
			memcpy(out->build_id, answer.build_id, sizeof(out->build_id));
			return true;
		}
		if (fd >= 0)
			close(fd);
	}
	return false;
}
