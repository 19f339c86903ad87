/* debuginfod_child.c - asks symbol servers through elfutils' own library, one file after another. */
#include "sense/debuginfod_child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/sandbox.h"

#define LIBRARY "libdebuginfod.so.1"
#define SOCKET	3

/* What we use of <elfutils/debuginfod.h>. */
struct debuginfod_client;
struct library {
	struct debuginfod_client *(*begin)(void);
	int (*find)(struct debuginfod_client *c, const unsigned char *id, int id_bytes,
		    char **path);
};

static void *symbol_of(void *library, const char *name, bool *is_whole)
{
	void *symbol = dlsym(library, name);

	*is_whole = *is_whole && symbol != NULL;
	return symbol;
}

/* A function pointer comes as an object's: their sizes are equal here. */
#define TAKE(field, name)                                                         \
	do {                                                                      \
		void *symbol = symbol_of(handle, name, &is_whole);                \
		_Static_assert(sizeof(symbol) == sizeof(out->field), "as POSIX"); \
		memcpy(&out->field, &symbol, sizeof(symbol));                     \
	} while (0)

static int load(struct library *out)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	bool is_whole = handle != NULL;

	if (handle == NULL)
		return -ENOENT;
	TAKE(begin, "debuginfod_begin");
	TAKE(find, "debuginfod_find_debuginfo");
	return is_whole ? 0 : -ENOENT;
}

static void say(const struct debuginfod_answer *answer, int fd)
{
	struct iovec bytes = { (void *)answer, sizeof(*answer) };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int));
		control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						   .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	if (sendmsg(SOCKET, &message, MSG_NOSIGNAL) != (ssize_t)sizeof(*answer))
		_exit(1);
}

static void answer_one(const struct library *library, struct debuginfod_client *c,
		       const struct debuginfod_ask *ask)
{
	struct debuginfod_answer answer = { .build_id_bytes = ask->build_id_bytes };
	char *path = NULL;
	int fd = library->find(c, ask->build_id, (int)ask->build_id_bytes, &path);

	free(path);
	memcpy(answer.build_id, ask->build_id, sizeof(answer.build_id));
	answer.result = fd < 0 ? fd : 0;
	say(&answer, fd);
	if (fd >= 0)
		close(fd);
}

/* What the library would say, and for how long it tries. */
static void be_quiet(uint32_t most_file_s)
{
	char seconds[16];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	unsetenv("DEBUGINFOD_PROGRESS");
	unsetenv("DEBUGINFOD_VERBOSE");
	snprintf(seconds, sizeof(seconds), "%u", (unsigned)most_file_s);
	setenv("DEBUGINFOD_TIMEOUT", seconds, 1);
	setenv("DEBUGINFOD_MAXTIME", seconds, 1);
	setenv("DEBUGINFOD_RETRY_LIMIT", "1", 1);
}

_Noreturn void debuginfod_child_run(int socket, uint32_t most_file_s)
{
	struct debuginfod_answer ready = { .result = 0 };
	struct debuginfod_client *c = NULL;
	struct library library = { .begin = NULL };
	struct debuginfod_ask ask;

	if (dup2(socket, SOCKET) < 0 || close_range(SOCKET + 1, ~0U, 0) < 0 ||
	    sandbox_drop_rights() < 0)
		_exit(1);
	be_quiet(most_file_s);
	ready.result = load(&library);
	if (ready.result == 0)
		c = library.begin();
	if (ready.result == 0 && c == NULL)
		ready.result = -ENOMEM;
	say(&ready, -1);
	if (ready.result < 0)
		_exit(1);
	while (recv(SOCKET, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask) &&
	       ask.build_id_bytes <= sizeof(ask.build_id))
		answer_one(&library, c, &ask);
	_exit(0);
}
