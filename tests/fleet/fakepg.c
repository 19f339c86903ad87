/* fakepg.c - many servers in one process, by epoll. Usage: fakepg FOLDER COUNT ROWS [tcp] [every=SECONDS] [WAY=COUNT]...
 * Endpoint i (from 0) is FOLDER/.s.PGSQL.(10000 + i), with `tcp` 127.0.0.1 and a port that the first lines tell; the first ones have the ways
 * given, in that order, the rest are fine. Prints "ready" when all listen, and at SIGTERM what was seen. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "fleet/fakepg.h"

#define PORT_FIRST 10000

static struct endpoint *endpoints;
static struct conn *conns;
static unsigned endpoint_count, rows_asked, restart_every_s = 20;
static int epoll;

double fake_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void conn_close(struct conn *c)
{
	if (c->is_counted)
		c->of->open--;
	close(c->fd);
	if (c->before != NULL)
		c->before->behind = c->behind;
	else
		conns = c->behind;
	if (c->behind != NULL)
		c->behind->before = c->before;
	for (unsigned i = 0; i < FAKE_STATEMENTS; i++)
		free(c->statements[i].sql);
	free(c->portal);
	for (unsigned i = 0; i < 8; i++)
		free(c->params[i]);
	free(c->out.bytes);
	free(c);
}

static void watch(struct conn *c)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
	bool is_held = c->late_until > fake_now_s() || c->of->way == WAY_TRICKLE;

	if ((c->out.at < c->out.len || c->is_endless) && !is_held)
		event.events |= EPOLLOUT;
	epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &event);
}

/* Returns false: closed. */
static bool take_input(struct conn *c)
{
	ssize_t got = read(c->fd, c->in + c->in_len, FAKE_IN_MOST - 1 - c->in_len);
	size_t taken;

	if (got <= 0)
		return got < 0 && errno == EAGAIN;
	if (c->of->way == WAY_SILENT || (c->of->way == WAY_TLS && c->out.len > 0))
		return true; /* read, and forgotten */
	c->in_len += (size_t)got;
	while ((taken = talk_take(c)) > 0) {
		c->in_len -= taken;
		memmove(c->in, c->in + taken, c->in_len);
	}
	return true;
}

/* Returns false: closed. */
static bool give_output(struct conn *c, size_t most)
{
	ssize_t sent;

	if (c->is_endless)
		talk_pour(c);
	if (c->out.at < c->out.len) {
		size_t len = c->out.len - c->out.at;

		sent = send(c->fd, c->out.bytes + c->out.at, len < most ? len : most, MSG_NOSIGNAL);
		if (sent < 0)
			return errno == EAGAIN;
		c->out.at += (size_t)sent;
	}
	if (c->out.at == c->out.len)
		c->out.at = c->out.len = 0;
	return c->out.len > 0 || !c->is_to_close;
}

static void accept_one(struct endpoint *e)
{
	int fd = accept4(e->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct conn *c;
	struct epoll_event event = { .events = EPOLLIN };

	if (fd < 0)
		return;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		abort();
	c->fd = fd;
	c->of = e;
	c->endpoint = (uint32_t)(e - endpoints);
	c->rows_asked = rows_asked;
	c->behind = conns;
	if (conns != NULL)
		conns->before = c;
	conns = c;
	event.data.ptr = c;
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Ways that go by the clock. */
static void tick(double now)
{
	static double trickled, restarted;
	bool trickles = now - trickled >= 1, restarts = now - restarted >= restart_every_s;

	if (trickles)
		trickled = now;
	if (restarts)
		restarted = now;
	for (unsigned i = 0; i < endpoint_count && restarts; i++)
		if (endpoints[i].way == WAY_RESTART)
			endpoints[i].down_until = now + 1;
	for (struct conn *c = conns, *behind; c != NULL; c = behind) {
		behind = c->behind;
		if (c->of->way == WAY_RESTART && restarts) {
			answer_error(&c->out, "FATAL", "57P01",
				     "terminating connection due to administrator command");
			give_output(c, SIZE_MAX);
			conn_close(c);
		} else if (c->of->way == WAY_TRICKLE && trickles && !give_output(c, 1)) {
			conn_close(c);
		} else if (c->of->way == WAY_LATE) {
			watch(c);
		}
	}
}

static void serve_event(const struct epoll_event *event)
{
	struct conn *c = event->data.ptr;
	bool is_open = true;

	if ((char *)c >= (char *)endpoints && (char *)c < (char *)(endpoints + endpoint_count)) {
		accept_one(event->data.ptr);
		return;
	}
	if ((event->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
		is_open = take_input(c);
	if (is_open && c->of->way != WAY_TRICKLE && c->late_until <= fake_now_s())
		is_open = give_output(c, SIZE_MAX);
	if (is_open)
		watch(c);
	else
		conn_close(c);
}

static void listen_at(struct endpoint *e, const char *folder, unsigned i, bool is_tcp)
{
	struct sockaddr_un path = { .sun_family = AF_UNIX };
	struct sockaddr_in port = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = e };
	socklen_t len = sizeof(port);
	int fd = socket(is_tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(path.sun_path, sizeof(path.sun_path), "%s/.s.PGSQL.%u", folder, PORT_FIRST + i);
	if (fd < 0 || (is_tcp ? bind(fd, (struct sockaddr *)&port, sizeof(port))
			      : bind(fd, (struct sockaddr *)&path, sizeof(path))) != 0) {
		perror("fakepg: bind");
		exit(2);
	}
	getsockname(fd, (struct sockaddr *)&port, &len);
	e->port = is_tcp ? ntohs(port.sin_port) : (uint16_t)(PORT_FIRST + i);
	if (is_tcp)
		printf("endpoint %u %u\n", i, e->port);
	e->fd = fd;
	if (e->way == WAY_REFUSE)
		return; /* bound, so that nobody else is there */
	if (listen(fd, 64) != 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		exit(2);
}

static void give_ways(int argc, char **argv)
{
	unsigned at = 0;

	for (int i = 0; i < argc; i++) {
		const char *equals = strchr(argv[i], '=');
		unsigned way = 0, count;

		if (strncmp(argv[i], "every=", 6) == 0) {
			restart_every_s = (unsigned)atoi(argv[i] + 6);
			continue;
		}
		count = equals != NULL ? (unsigned)atoi(equals + 1) : 0;

		while (way < WAY_COUNT && equals != NULL &&
		       (strncmp(argv[i], way_names[way], (size_t)(equals - argv[i])) != 0 ||
			way_names[way][equals - argv[i]] != '\0'))
			way++;
		if (equals == NULL || way == WAY_COUNT) {
			fprintf(stderr, "fakepg: no way '%s'\n", argv[i]);
			exit(2);
		}
		for (; count > 0 && at < endpoint_count; count--)
			endpoints[at++].way = (enum way)way;
	}
}

static void tell(void)
{
	uint32_t most = 0, logins = 0;

	for (unsigned i = 0; i < endpoint_count; i++) {
		if (endpoints[i].way != WAY_FINE)
			continue;
		logins += endpoints[i].logins;
		if (endpoints[i].most_open > most)
			most = endpoints[i].most_open;
	}
	fprintf(stderr, "most connections of a fine endpoint: %u, logins to fine ones: %u\n", most,
		logins);
}

int main(int argc, char **argv)
{
	struct rlimit files = { 65536, 65536 };
	struct epoll_event batch[256];
	bool is_tcp = argc > 4 && strcmp(argv[4], "tcp") == 0;
	sigset_t stop;
	int signals;

	if (argc < 4)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	signals = signalfd(-1, &stop, SFD_NONBLOCK | SFD_CLOEXEC);
	setrlimit(RLIMIT_NOFILE, &files);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	endpoint_count = (unsigned)atoi(argv[2]);
	rows_asked = (unsigned)atoi(argv[3]);
	endpoints = calloc(endpoint_count, sizeof(*endpoints));
	if (endpoints == NULL)
		return 2;
	give_ways(argc - 4 - is_tcp, argv + 4 + is_tcp);
	for (unsigned i = 0; i < endpoint_count; i++)
		listen_at(&endpoints[i], argv[1], i, is_tcp);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		struct signalfd_siginfo got;
		int count = epoll_wait(epoll, batch, 256, 100);

		for (int i = 0; i < count; i++)
			serve_event(&batch[i]);
		tick(fake_now_s());
		if (read(signals, &got, sizeof(got)) > 0)
			break;
	}
	tell();
	return 0;
}
