/* lines.c - the child that reads lines, and what it may say. */
#include "sense/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/frame.h"
#include "core/units.h"
#include "sense/dwarflines.h"
#include "sense/sandbox.h"

#define BUFFER_BYTES	 8192u /* holds a message */
#define MAX_ANSWER_BYTES (4u << 20)

/* What goes through the pipe: a place and the bytes of its file's name; at the end one with `line` 0, whose address
 * is the result. */
struct message {
	uint64_t address;
	uint32_t line, file_len;
};
_Static_assert(sizeof(struct message) + STR_MAX_BYTES <= BUFFER_BYTES, "a message fits");

/* The child's side. */
struct answer {
	const struct lines_request *request;
	int pipe;
	size_t len;
	char bytes[BUFFER_BYTES];
};

static void flush(struct answer *a)
{
	size_t at = 0;

	while (at < a->len) {
		ssize_t count = write(a->pipe, a->bytes + at, a->len - at);

		if (count <= 0)
			_exit(1);
		at += (size_t)count;
	}
	a->len = 0;
}

static void say(struct answer *a, const struct message *message, const char *file)
{
	if (a->len + sizeof(*message) + message->file_len > sizeof(a->bytes))
		flush(a);
	memcpy(a->bytes + a->len, message, sizeof(*message));
	memcpy(a->bytes + a->len + sizeof(*message), file, message->file_len);
	a->len += sizeof(*message) + message->file_len;
}

static void tell(void *owner, uint64_t address, uint32_t line, const char *file)
{
	struct answer *a = owner;
	struct message message = { address, line, (uint32_t)strnlen(file, STR_MAX_BYTES) };

	if (message.file_len > 0 && a->request->wants(a->request->owner, address))
		say(a, &message, file);
}

static _Noreturn void be_child(const struct lines_request *request, int pipe)
{
	struct answer a = { .request = request, .pipe = pipe };
	struct message end = { 0 };

	if (sandbox_enter() < 0)
		_exit(1);
	end.address = (uint64_t)dwarflines_read(request->fd, request->address, tell, &a);
	say(&a, &end, "");
	flush(&a);
	_exit(0);
}

/* Takes the whole messages of `bytes`. Returns how many bytes they were; -EBADMSG: nonsense. *out_result is set by the
 * last one. */
static ssize_t take(const struct lines_request *request, const char *bytes, size_t len,
		    int *out_result)
{
	size_t at = 0;

	while (len - at >= sizeof(struct message)) {
		struct message m;

		memcpy(&m, bytes + at, sizeof(m));
		if (m.file_len > STR_MAX_BYTES)
			return -EBADMSG;
		if (len - at < sizeof(m) + m.file_len)
			break;
		if (m.line == 0)
			*out_result = (int)(int64_t)m.address;
		else if (m.file_len > 0)
			request->take(request->owner, m.address, m.line, bytes + at + sizeof(m),
				      m.file_len);
		at += sizeof(m) + m.file_len;
	}
	return (ssize_t)at;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / NS_PER_MS;
}

/* Listens until the child says its result, or has had its time. */
static int listen_to(const struct lines_request *request, int pipe)
{
	char bytes[BUFFER_BYTES];
	size_t have = 0, total = 0;
	uint64_t end_ms = now_ms() + LINES_TIMEOUT_MS, at_ms;
	int result = -EIO;

	while (total < MAX_ANSWER_BYTES && (at_ms = now_ms()) < end_ms) {
		struct pollfd p = { .fd = pipe, .events = POLLIN };
		ssize_t count, used;

		if (poll(&p, 1, (int)(end_ms - at_ms)) <= 0)
			continue;
		count = read(pipe, bytes + have, sizeof(bytes) - have);
		if (count <= 0)
			break;
		have += (size_t)count;
		total += (size_t)count;
		used = take(request, bytes, have, &result);
		if (used < 0)
			return -EIO;
		have -= (size_t)used;
		memmove(bytes, bytes + used, have);
	}
	return result;
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * NS_PER_US;
}

int lines_read(const struct lines_request *request, uint64_t *spent_ns)
{
	struct rusage used;
	int pipes[2], rc;
	pid_t child;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	child = sandbox_fork();
	if (child == 0)
		be_child(request, pipes[1]);
	close(pipes[1]);
	rc = child < 0 ? (int)child : listen_to(request, pipes[0]);
	close(pipes[0]);
	if (child < 0)
		return rc;
	kill(child, SIGKILL); /* it has said all, or too little for too long */
	while (wait4(child, NULL, __WALL, &used) < 0)
		if (errno != EINTR)
			return rc;
	*spent_ns += timeval_ns(used.ru_utime) + timeval_ns(used.ru_stime);
	return rc;
}
