/* link_read.c - recv() and SSL_read() for the whole program: the linker gives shared libraries the program's own where it has one. The same as
 * the libraries', but within link_read_begin() and link_read_end(). */
#include "fleet/link_read.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define MARK	    ",i=" /* of SCRAM's first answer; a nonce has no comma */
#define MARK_BYTES  3u
#define DIGITS_MOST 6u /* 999,999 rounds: a second */

struct meter {
	bool is_on;
	uint64_t left, read;
	struct link_scan *scan; /* borrowed */
};

static _Thread_local struct meter meter;

bool link_scan_feed(struct link_scan *scan, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len && !scan->has_tripped; i++) {
		if (scan->at < MARK_BYTES)
			scan->at = bytes[i] == MARK[scan->at] ? scan->at + 1 : bytes[i] == MARK[0];
		else if (bytes[i] >= '0' && bytes[i] <= '9')
			scan->has_tripped = ++scan->at > MARK_BYTES + DIGITS_MOST;
		else
			scan->at = bytes[i] == MARK[0];
	}
	return scan->has_tripped;
}

static bool is_refused(const void *bytes, size_t len)
{
	return meter.is_on && meter.scan != NULL && link_scan_feed(meter.scan, bytes, len);
}

/* By other names here: the fortified header has an inline recv(), and libssl's header is not needed. */
ssize_t link_recv(int fd, void *bytes, size_t len, int flags) __asm__("recv")
	__attribute__((visibility("default")));
int link_ssl_read(void *ssl, void *bytes, int len) __asm__("SSL_read")
	__attribute__((visibility("default")));

ssize_t link_recv(int fd, void *bytes, size_t len, int flags)
{
	ssize_t got;

	if (meter.is_on && meter.left == 0) {
		errno = EAGAIN;
		return -1;
	}
	if (meter.is_on && len > meter.left)
		len = meter.left;
	got = recvfrom(fd, bytes, len, flags, NULL, NULL);
	if (!meter.is_on || got <= 0)
		return got;
	meter.left -= (uint64_t)got;
	meter.read += (uint64_t)got;
	if (is_refused(bytes, (size_t)got)) {
		errno = ECONNRESET;
		return -1;
	}
	return got;
}

int link_ssl_read(void *ssl, void *bytes, int len)
{
	static _Atomic(int (*)(void *, void *, int)) real;
	int (*read_on)(void *, void *, int) = real;
	int got;

	if (read_on == NULL) {
		void *found = dlsym(RTLD_NEXT, "SSL_read");

		memcpy(&read_on, &found, sizeof(read_on));
		real = read_on;
	}
	got = read_on != NULL ? read_on(ssl, bytes, len) : -1;
	if (got > 0 && is_refused(bytes, (size_t)got))
		memset(bytes, 0, (size_t)got); /* no message of the protocol's: libpq gives up */
	return got;
}

void link_read_begin(uint64_t most, struct link_scan *scan)
{
	meter = (struct meter){ .is_on = true, .left = most, .scan = scan };
}

uint64_t link_read_end(void)
{
	meter.is_on = false;
	return meter.read;
}
