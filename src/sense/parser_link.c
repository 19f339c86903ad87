/* parser_link.c - the parser child: started, asked, listened to, watched, killed. */
#include "sense/parser_link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/clock.h"
#include "sense/parser_child.h"
#include "sense/sandbox.h"

#define LOOK_MS	      50       /* while waiting: how often it is looked whether the child hangs */
#define HOLD_NS	      NS_PER_S /* tables that took long are kept so long for who asked for them */
#define PATIENT_TRIES 8u       /* of a patient parser: then it has no child any more */

static struct mono mono_now(void)
{
	return (struct mono){ clock_read_ns(CLOCK_MONOTONIC) };
}

void parser_reply_free(struct parser_reply *r)
{
	for (size_t i = 0; i < PARSER_MAX_PARTS; i++)
		free(r->parts[i]);
	*r = (struct parser_reply){ 0 };
}

uint64_t parser_link_live_ns(const struct parser_link *l)
{
	clockid_t clock;

	return l->pid > 0 && clock_getcpuclockid(l->pid, &clock) == 0 ? clock_read_ns(clock) : 0;
}

uint64_t parser_link_spent_ns(const struct parser_link *l)
{
	return l->ended_cpu_ns + parser_link_live_ns(l);
}

/* ---- its life ---- */

void parser_link_open(struct parser_link *l, bool is_patient)
{
	*l = (struct parser_link){ .is_patient = is_patient, .socket = -1 };
	care_init(&l->care, mono_now());
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * NS_PER_US;
}

static void end_child(struct parser_link *l)
{
	struct rusage used = { 0 };

	if (l->pid <= 0)
		return;
	close(l->socket);
	kill(l->pid, SIGKILL);
	while (wait4(l->pid, NULL, __WALL, &used) < 0 && errno == EINTR)
		;
	l->ended_cpu_ns += timeval_ns(used.ru_utime) + timeval_ns(used.ru_stime);
	l->pid = 0;
	l->socket = -1;
}

void parser_link_close(struct parser_link *l)
{
	end_child(l);
	parser_reply_free(&l->reply);
	parser_reply_free(&l->ready);
	l->is_busy = l->is_ready = false;
}

static int start_child(struct parser_link *l)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid = sandbox_fork();
	if (pid == 0) {
		if (l->comm != NULL)
			prctl(PR_SET_NAME, l->comm);
		parser_child_run(ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return (int)pid;
	}
	l->pid = pid;
	l->socket = ends[0];
	return 0;
}

/* What was asked last is answered: `reply` is kept for who asks again. */
static void finish(struct parser_link *l)
{
	parser_reply_free(&l->ready);
	l->ready = l->reply;
	l->ready_ask = l->asked;
	l->ready_at = mono_now();
	l->is_ready = true;
	l->reply = (struct parser_reply){ 0 };
	l->is_busy = false;
}

/* The child died, hangs or talks nonsense: the answer is -EIO. */
static void fail(struct parser_link *l)
{
	end_child(l);
	l->deaths++;
	care_failed(&l->care, mono_now());
	parser_reply_free(&l->reply);
	l->reply.answer.result = -EIO;
	finish(l);
}

/* ---- asking ---- */

/* All of it, within the time of a hang. */
static int send_all(struct parser_link *l, const void *bytes, size_t len, struct mono end)
{
	size_t at = 0;

	while (at < len) {
		struct pollfd p = { .fd = l->socket, .events = POLLOUT };
		ssize_t count = send(l->socket, (const char *)bytes + at, len - at,
				     MSG_NOSIGNAL | MSG_DONTWAIT);

		if (count > 0)
			at += (size_t)count;
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
		else if (mono_now().ns >= end.ns)
			return -ETIMEDOUT;
		else
			poll(&p, 1, LOOK_MS);
	}
	return 0;
}

static int send_question(struct parser_link *l, const struct parser_ask *ask)
{
	struct iovec bytes = { (void *)&ask->question, sizeof(ask->question) };
	size_t fd_bytes = ask->question.file_count * sizeof(int);
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(PARSER_MAX_FILES * sizeof(int))];
	} control = { .bytes = { 0 } };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = fd_bytes > 0 ? control.bytes : NULL,
				  .msg_controllen = fd_bytes > 0 ? CMSG_SPACE(fd_bytes) : 0 };
	struct mono end = mono_now();

	end.ns += l->is_patient ? CARE_WALL_MOST_NS : ask->most_wait_ns;
	control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(fd_bytes),
					   .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS };
	if (fd_bytes > 0)
		memcpy(CMSG_DATA(&control.header), ask->fds, fd_bytes);
	/* The child has answered all before: the socket is empty, and has room for these few bytes. */
	if (sendmsg(l->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)sizeof(ask->question))
		return -EIO;
	if (send_all(l, ask->wanted, ask->question.wanted_count * sizeof(uint64_t), end) < 0)
		return -EIO;
	return send_all(l, ask->text, ask->question.text_bytes, end);
}

static bool may_start(const struct parser_link *l)
{
	return l->is_patient ? l->deaths < PATIENT_TRIES : care_may_start(&l->care, mono_now());
}

/* 0: it is asked, or has failed already. -EAGAIN: not now. */
static int begin(struct parser_link *l, const struct parser_ask *ask)
{
	if (!l->is_patient && !care_may_spend(&l->care, parser_link_spent_ns(l), mono_now()))
		return -EAGAIN;
	if (l->pid == 0 && !may_start(l))
		return l->is_patient ? -EIO : -EAGAIN;
	if (l->pid == 0 && start_child(l) < 0) {
		care_failed(&l->care, mono_now());
		return l->is_patient ? -EIO : -EAGAIN;
	}
	l->asked = *ask;
	l->asked_at = mono_now();
	l->asked_cpu_ns = parser_link_live_ns(l);
	l->have_bytes = 0;
	l->is_busy = true;
	if (send_question(l, ask) < 0)
		fail(l);
	return 0;
}

/* ---- listening ---- */

/* Where the next bytes of the answer belong, and how many more that piece takes; 0: it is whole. */
static uint64_t next_piece(struct parser_link *l, char **out_at)
{
	struct parser_reply *r = &l->reply;
	uint64_t before = sizeof(r->answer), in = l->have_bytes;

	if (in < before) {
		*out_at = (char *)&r->answer + in;
		return before - in;
	}
	if (in < before + r->answer.head_bytes) {
		*out_at = r->head.bytes + (in - before);
		return before + r->answer.head_bytes - in;
	}
	before += r->answer.head_bytes;
	for (size_t i = 0; i < PARSER_MAX_PARTS; before += r->answer.part_bytes[i++]) {
		if (in >= before + r->answer.part_bytes[i])
			continue;
		*out_at = (char *)r->parts[i] + (in - before);
		return before + r->answer.part_bytes[i] - in;
	}
	return 0;
}

/* The lengths have come: they are checked before memory is taken for them. */
static int make_room(struct parser_link *l)
{
	struct parser_answer *a = &l->reply.answer;
	uint64_t total = 0;

	if (a->kind != l->asked.question.kind || a->head_bytes > PARSER_MAX_HEAD || a->result > 0 ||
	    a->result < -4095)
		return -EBADMSG;
	for (size_t i = 0; i < PARSER_MAX_PARTS; i++) {
		if (a->part_bytes[i] > l->asked.most_bytes)
			return -EBADMSG;
		total += a->part_bytes[i];
	}
	if (total > l->asked.most_bytes || (a->result < 0 && total + a->head_bytes > 0))
		return -EBADMSG;
	for (size_t i = 0; i < PARSER_MAX_PARTS; i++) {
		if (a->part_bytes[i] == 0)
			continue;
		l->reply.parts[i] = malloc(a->part_bytes[i]);
		if (l->reply.parts[i] == NULL)
			return -ENOMEM;
	}
	return 0;
}

/* Takes what is there. 1: the answer is whole; 0: not yet; negative: there will be none. */
static int take(struct parser_link *l)
{
	char *at;
	uint64_t want;

	while ((want = next_piece(l, &at)) > 0) {
		ssize_t count = recv(l->socket, at, want, MSG_DONTWAIT);
		int rc;

		if (count < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (count <= 0)
			return -EIO;
		l->have_bytes += (uint64_t)count;
		rc = l->have_bytes == sizeof(l->reply.answer) ? make_room(l) : 0;
		if (rc < 0)
			return rc;
	}
	return 1;
}

static bool is_hung(const struct parser_link *l)
{
	return care_is_hung(mono_elapsed_ns(l->asked_at, mono_now()),
			    parser_link_live_ns(l) - l->asked_cpu_ns);
}

/* Takes what there is; a child that hangs is killed. Afterwards something is ready, or the child is still at it. */
static void look(struct parser_link *l)
{
	int rc = take(l);

	if (rc > 0)
		finish(l);
	else if (rc < 0 || is_hung(l))
		fail(l);
}

void parser_link_mind(struct parser_link *l)
{
	if (l->is_busy)
		look(l);
}

/* Listens for as long as may be. */
static void wait_for(struct parser_link *l, uint64_t most_wait_ns, uint64_t least_wait_ns)
{
	struct mono start = mono_now();
	uint64_t left_ns = care_wait_ns(&l->care, start), passed_ns = 0;

	if (left_ns > most_wait_ns)
		left_ns = most_wait_ns;
	if (left_ns < least_wait_ns)
		left_ns = least_wait_ns;
	look(l);
	while (l->is_busy && (l->is_patient || passed_ns < left_ns)) {
		struct pollfd p = { .fd = l->socket, .events = POLLIN };
		uint64_t more_ms = (left_ns - passed_ns) / NS_PER_MS + 1;

		poll(&p, 1, l->is_patient || more_ms > LOOK_MS ? LOOK_MS : (int)more_ms);
		look(l);
		passed_ns = mono_elapsed_ns(start, mono_now());
	}
	care_waited(&l->care, passed_ns);
}

static bool is_same(const struct parser_ask *a, const struct parser_ask *b)
{
	return a->question.kind == b->question.kind && a->question.address == b->question.address &&
	       a->question.text_bytes == b->question.text_bytes &&
	       memcmp(&a->id, &b->id, sizeof(a->id)) == 0;
}

/* Gives out what is ready, if it is the answer to `ask`. */
static bool give(struct parser_link *l, const struct parser_ask *ask,
		 struct parser_reply *out_reply)
{
	if (!l->is_ready || !is_same(&l->ready_ask, ask))
		return false;
	*out_reply = l->ready;
	l->ready = (struct parser_reply){ 0 };
	l->is_ready = false;
	return true;
}

/* Would another answer push out one that somebody is coming back for? */
static bool is_held(const struct parser_link *l)
{
	return l->is_ready && l->ready_ask.question.kind == PARSER_TABLES &&
	       mono_elapsed_ns(l->ready_at, mono_now()) < HOLD_NS;
}

int parser_link_ask(struct parser_link *l, const struct parser_ask *ask,
		    struct parser_reply *out_reply)
{
	bool was_ours = false;

	/* What another one asked first, and did not fetch, comes before: twice around is enough. */
	for (int i = 0; i < 2; i++) {
		int rc = 0;

		if (l->is_busy)
			wait_for(l, ask->most_wait_ns, was_ours ? ask->least_wait_ns : 0);
		if (give(l, ask, out_reply))
			return out_reply->answer.result == -EIO ? -EIO : 0;
		if (l->is_busy || was_ours || is_held(l))
			return -EAGAIN;
		rc = begin(l, ask);
		if (rc < 0)
			return rc;
		was_ours = true;
	}
	return -EAGAIN;
}
