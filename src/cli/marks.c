/* marks.c - datagrams of a job that says what it works on. */
#include "cli/marks.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/scoped.h"
#include "core/units.h"

/* ---- the words ---- */

static bool take_word(struct str *text, const char *word)
{
	size_t len = strlen(word);

	if (text->len < len || memcmp(text->bytes, word, len) != 0)
		return false;
	text->bytes += len;
	text->len -= (uint32_t)len;
	return true;
}

bool mark_parse(const char *bytes, size_t len, struct mark *out)
{
	struct mark mark = { .is_end = false };
	struct str text = { bytes, (uint32_t)len };

	if (len > MARKS_MOST_BYTES || memchr(bytes, '\0', len) != NULL)
		return false;
	while (text.len > 0 && text.bytes[text.len - 1] == '\n')
		text.len--;
	mark.is_of_parent = take_word(&text, "parent ");
	if (take_word(&text, "begin ")) {
		mark.name = text;
	} else {
		mark.is_end = take_word(&text, "end");
		if (!mark.is_end || text.len > 0)
			return false;
	}
	if (!mark.is_end && mark.name.len == 0)
		return false;
	*out = mark;
	return true;
}

int mark_format(const struct mark *mark, char *out, size_t size, size_t *out_len)
{
	int len = snprintf(out, size, "%s%s%.*s", mark->is_of_parent ? "parent " : "",
			   mark->is_end ? "end" : "begin ", (int)mark->name.len,
			   mark->name.len > 0 ? mark->name.bytes : "");

	if (len < 0 || (size_t)len >= size)
		return -ENAMETOOLONG;
	*out_len = (size_t)len;
	return 0;
}

/* ---- the recorder's side ---- */

static bool is_ours(const struct dirent *entry)
{
	return strncmp(entry->d_name, "tare-", 5) == 0 && strlen(entry->d_name) == 11;
}

/* Is somebody there? Only a socket of ours without a listener says no. */
static bool is_left(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct stat st;
	bool is_refused;
	int fd;

	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid() ||
	    strlen(path) >= sizeof(at.sun_path))
		return false;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	memcpy(at.sun_path, path, strlen(path) + 1);
	is_refused =
		connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 && errno == ECONNREFUSED;
	close(fd);
	return is_refused;
}

/* A link, or somebody else's folder, could lead elsewhere when the socket in it is taken away. */
static bool is_folder_of_ours(const char *parent, const struct dirent *entry)
{
	char path[sizeof(((struct marks *)NULL)->path)];
	struct stat st;
	int len;

	if (!is_ours(entry))
		return false;
	len = snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name);
	return len > 0 && (size_t)len < sizeof(path) && lstat(path, &st) == 0 &&
	       S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* What recorders left that were killed: a socket that nobody holds, and its folder. */
static void sweep(const char *parent)
{
	DIR *folder = opendir(parent);
	const struct dirent *entry;
	char path[sizeof(((struct marks *)NULL)->path)];

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		int len =
			is_folder_of_ours(parent, entry)
				? snprintf(path, sizeof(path), "%s/%s/marks", parent, entry->d_name)
				: -1;

		if (len < 0 || (size_t)len >= sizeof(path) || !is_left(path) || unlink(path) < 0)
			continue;
		path[(size_t)len - strlen("/marks")] = '\0';
		rmdir(path);
	}
	if (folder != NULL)
		closedir(folder);
}

static int open_folder(struct marks *m, const char *parent)
{
	int len = snprintf(m->folder, sizeof(m->folder), "%s/tare-XXXXXX", parent);

	if (len < 0 || (size_t)len >= sizeof(m->folder))
		return -ENAMETOOLONG;
	sweep(parent);
	if (mkdtemp(m->folder) == NULL) {
		m->folder[0] = '\0';
		return -errno;
	}
	snprintf(m->path, sizeof(m->path), "%s/marks", m->folder);
	return 0;
}

static int open_socket(struct marks *m)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int on = 1;

	m->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (m->fd < 0)
		return -errno;
	memcpy(at.sun_path, m->path, strlen(m->path) + 1);
	/* The folder is ours alone: nobody comes between the two. */
	if (setsockopt(m->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
	    setsockopt(m->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0 ||
	    bind(m->fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || chmod(m->path, 0600) < 0)
		return -errno;
	return 0;
}

int marks_open(struct marks *m, struct err *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int code = -ENOENT;

	_Static_assert(sizeof(m->path) <= sizeof(((struct sockaddr_un *)NULL)->sun_path),
		       "a path must fit into an address");
	*m = MARKS_EMPTY;
	if (runtime != NULL && runtime[0] == '/')
		code = open_folder(m, runtime);
	if (code < 0)
		code = open_folder(m, "/tmp");
	if (code == 0)
		code = open_socket(m);
	if (code == 0)
		return 0;
	marks_close(m);
	err_set(err, code, "cannot open a socket for marks: %s", strerror(-code));
	err_works(err, "without --tasks marks the job is recorded as a whole");
	err_mend(err, "point XDG_RUNTIME_DIR at a folder of yours, with a short path");
	return code;
}

void marks_close(struct marks *m)
{
	if (m->fd >= 0) {
		close(m->fd);
		unlink(m->path);
	}
	if (m->folder[0] != '\0')
		rmdir(m->folder);
	*m = MARKS_EMPTY;
}

/* What the kernel says beside the bytes: who sent them, and when. */
static void read_control(struct msghdr *message, struct marks_got *out)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
		struct ucred who;
		struct timespec when;

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS && c->cmsg_len >= CMSG_LEN(sizeof(who))) {
			memcpy(&who, CMSG_DATA(c), sizeof(who));
			out->sender = who.pid;
		}
		if (c->cmsg_type == SCM_TIMESTAMPNS && c->cmsg_len >= CMSG_LEN(sizeof(when))) {
			memcpy(&when, CMSG_DATA(c), sizeof(when));
			out->sent_wall_ns =
				(int64_t)when.tv_sec * (int64_t)NS_PER_S + (int64_t)when.tv_nsec;
		}
	}
}

static ssize_t receive(struct marks *m, struct marks_got *out, int flags)
{
	char control[256] __attribute__((aligned(sizeof(size_t))));
	struct iovec bytes = { out->bytes, sizeof(out->bytes) };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t got = recvmsg(m->fd, &message, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = got < 0 ? NULL : CMSG_FIRSTHDR(&message);

	/* Descriptors that came along are nothing to us. */
	for (; c != NULL; c = CMSG_NXTHDR(&message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			for (size_t at = 0; at + sizeof(int) <= c->cmsg_len - CMSG_LEN(0);
			     at += sizeof(int)) {
				int fd;

				memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
				close(fd);
			}
	if (got >= 0)
		read_control(&message, out);
	return got;
}

bool marks_peek(struct marks *m, struct marks_got *out)
{
	ssize_t len;

	if (m->fd < 0)
		return false;
	out->sender = 0;
	out->sent_wall_ns = 0;
	len = receive(m, out, MSG_PEEK | MSG_TRUNC);
	out->len = len < 0 ? 0 : (size_t)len;
	return len >= 0;
}

void marks_take(struct marks *m)
{
	char ignored;

	if (recv(m->fd, &ignored, sizeof(ignored), MSG_DONTWAIT) < 0)
		return; /* somebody else cannot have taken it: there is nothing to do */
}

void marks_shut(struct marks *m, bool is_shut)
{
	struct sock_filter none[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	const struct sock_fprog program = { .len = 1, .filter = none };
	int on = 1;

	if (m->fd < 0 || m->is_shut == is_shut)
		return;
	if (is_shut)
		setsockopt(m->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
	else
		setsockopt(m->fd, SOL_SOCKET, SO_DETACH_FILTER, &on, sizeof(on));
	m->is_shut = is_shut;
}

/* ---- the job's side ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static int no_recorder(const char *path, struct err *err)
{
	if (path == NULL)
		err_set(err, -ENOENT, "cannot mark a task: $" MARKS_ENV " is not set");
	else
		err_set(err, -ENOENT, "cannot mark a task: nobody listens at '%.200s'", path);
	err_works(err, "the job goes on; nothing is recorded of its tasks");
	err_mend(err, "run it by tare record --tasks marks -- CMD");
	return -ENOENT;
}

static int send_failed(int code, const char *path, struct err *err)
{
	if (code == -ENOENT || code == -ECONNREFUSED)
		return no_recorder(path, err);
	if (code != -EAGAIN)
		return err_set(err, code, "cannot mark a task: %s", strerror(-code));
	err_set(err, code, "cannot mark a task: too many marks wait to be read");
	err_mend(err, "mark larger parts of the work");
	return code;
}

/* The kernel counts what was sent and not yet taken. */
static void wait_until_taken(int fd, unsigned wait_ms)
{
	const struct timespec ms = { .tv_nsec = (long)NS_PER_MS };
	int left = 0;

	for (unsigned i = 0; i < wait_ms; i++) {
		if (ioctl(fd, SIOCOUTQ, &left) < 0 || left == 0)
			return;
		nanosleep(&ms, NULL);
	}
}

int marks_send(const struct mark *mark, unsigned wait_ms, struct err *err)
{
	SCOPED(close_fd) int fd = -1;
	const char *path = getenv(MARKS_ENV);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char bytes[MARKS_MOST_BYTES];
	size_t len = 0;

	if (path == NULL || path[0] == '\0' || strlen(path) >= sizeof(at.sun_path))
		return no_recorder(path, err);
	if (mark_format(mark, bytes, sizeof(bytes), &len) < 0)
		return err_set(err, -ENAMETOOLONG, "cannot mark a task: its name has %u bytes",
			       mark->name.len);
	memcpy(at.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(err, -errno, "cannot mark a task: %s", strerror(errno));
	if (sendto(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&at,
		   sizeof(at)) < 0)
		return send_failed(-errno, path, err);
	wait_until_taken(fd, wait_ms);
	return 0;
}
