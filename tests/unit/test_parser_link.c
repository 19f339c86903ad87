/* test_parser_link.c - a parser child that dies, hangs or lies costs its file, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "core/scoped.h"
#include "sense/parser_link.h"
#include "sense/sandbox.h"
#include "traced.h"

static struct mono now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (struct mono){ (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec };
}

/* A question about `name`, a file beside the test. */
static struct parser_ask ask_of(const char *name, int *fd)
{
	struct parser_ask ask = { .question = { .kind = PARSER_TABLES, .file_count = 1 },
				  .fds = fd,
				  .most_bytes = PARSER_MAX_BYTES,
				  .most_wait_ns = PARSER_WAIT_NS };
	struct parser_file file;
	char path[PATH_MAX];

	traced_path(name, path);
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(*fd >= 0);
	file.fd = *fd;
	assert_int_equal(parser_file_identify(&file), 0);
	ask.id = file.id;
	return ask;
}

/* Asks until there is an answer. */
static int ask_on(struct parser_link *l, const struct parser_ask *ask, struct parser_reply *reply)
{
	int rc;

	do
		rc = parser_link_ask(l, ask, reply);
	while (rc == -EAGAIN && l->pid > 0);
	return rc;
}

static void a_child_that_dies_costs_its_file_and_a_pause(void **state)
{
	SCOPED(parser_reply_free) struct parser_reply reply = { .head = { .bytes = { 0 } } };
	struct parser_link l;
	int fd, other;
	struct parser_ask ask = ask_of("walker", &fd), next = ask_of("libnames.so", &other);

	(void)state;
	parser_link_open(&l, false);
	assert_int_equal(ask_on(&l, &ask, &reply), 0);
	parser_reply_free(&reply);
	kill(l.pid, SIGSTOP);
	assert_int_equal(parser_link_ask(&l, &ask, &reply), -EAGAIN);
	kill(l.pid, SIGKILL);
	assert_int_equal(ask_on(&l, &ask, &reply), -EIO);
	assert_int_equal(l.deaths, 1);
	assert_int_equal(l.pid, 0);
	assert_int_equal(parser_link_ask(&l, &next, &reply), -EAGAIN); /* the pause */
	assert_int_equal(l.pid, 0);
	l.care.failed.ns -= CARE_PAUSE_NS; /* is over */
	assert_int_equal(ask_on(&l, &next, &reply), 0);
	parser_link_close(&l);
	close(fd);
	close(other);
}

static void a_child_that_hangs_is_not_waited_for_and_killed(void **state)
{
	SCOPED(parser_reply_free) struct parser_reply reply = { .head = { .bytes = { 0 } } };
	struct parser_link l;
	int fd;
	struct parser_ask ask = ask_of("walker", &fd);
	struct mono start;

	(void)state;
	parser_link_open(&l, false);
	assert_int_equal(ask_on(&l, &ask, &reply), 0);
	parser_reply_free(&reply);
	kill(l.pid, SIGSTOP);
	start = now();
	for (int i = 0; i < 100; i++)
		assert_int_equal(parser_link_ask(&l, &ask, &reply), -EAGAIN);
	/* A second at once, and a tenth of what passes: whoever asks how often, and however slow this machine is. */
	assert_true(mono_elapsed_ns(start, now()) < 5 * NS_PER_S);
	assert_int_equal(l.care.wait_left_ns / NS_PER_S, 0);
	l.asked_at.ns -= CARE_WALL_MOST_NS; /* it hangs for so long */
	parser_link_mind(&l);		    /* nobody asks again */
	assert_int_equal(l.pid, 0);
	assert_int_equal(l.deaths, 1);
	assert_int_equal(parser_link_ask(&l, &ask, &reply), -EIO);
	parser_link_close(&l);
	close(fd);
}

static void what_a_child_spends_has_a_limit(void **state)
{
	SCOPED(parser_reply_free) struct parser_reply reply = { .head = { .bytes = { 0 } } };
	struct parser_link l;
	int fd;
	struct parser_ask ask = ask_of("walker", &fd);

	(void)state;
	parser_link_open(&l, false);
	l.ended_cpu_ns = CARE_SPEND_NS + NS_PER_S;
	assert_int_equal(parser_link_ask(&l, &ask, &reply), -EAGAIN);
	assert_int_equal(l.pid, 0);
	l.care.begun.ns -= 2 * CARE_SPEND_ONE_IN * NS_PER_S; /* later it may again */
	assert_int_equal(ask_on(&l, &ask, &reply), 0);
	parser_link_close(&l);
	close(fd);
}

static void a_patient_one_is_started_again_a_few_times(void **state)
{
	SCOPED(parser_reply_free) struct parser_reply reply = { .head = { .bytes = { 0 } } };
	struct parser_link l;
	int fd, starts = 0;
	struct parser_ask ask = ask_of("walker", &fd);

	(void)state;
	parser_link_open(&l, true);
	for (int i = 0; i < 20; i++) {
		if (parser_link_ask(&l, &ask, &reply) != 0)
			break;
		starts++;
		parser_reply_free(&reply);
		kill(l.pid, SIGKILL);
		assert_int_equal(parser_link_ask(&l, &ask, &reply), -EIO);
	}
	assert_int_equal(starts, 8);
	parser_link_close(&l);
	close(fd);
}

/* ---- lies ---- */

/* A link to a child that says what we write into the returned socket. */
static int lie(struct parser_link *l, const struct parser_ask *ask)
{
	int ends[2];

	parser_link_open(l, true);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	l->pid = sandbox_fork();
	if (l->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* when the test fails */
		for (;;)
			pause();
	}
	assert_true(l->pid > 0);
	l->socket = ends[0];
	l->asked = *ask;
	l->asked_at = now();
	l->is_busy = true;
	return ends[1];
}

static void lengths_that_cannot_be_are_refused_before_memory_is_taken(void **state)
{
	static const struct {
		const char *name;
		struct parser_answer answer;
	} cases[] = {
		{ "an answer to another question", { .kind = PARSER_NAMES } },
		{ "a head that has no room", { PARSER_TABLES, 0, PARSER_MAX_HEAD + 1, 0, { 0 } } },
		{ "a part beyond all", { PARSER_TABLES, 0, 0, 0, { UINT64_MAX } } },
		{ "parts that are too much together",
		  { PARSER_TABLES,
		    0,
		    0,
		    0,
		    { PARSER_MAX_BYTES / 2, 0, 0, PARSER_MAX_BYTES / 2 + 1 } } },
		{ "parts whose sum begins anew",
		  { PARSER_TABLES, 0, 0, 0, { UINT64_MAX / 2 + 1, UINT64_MAX / 2 + 1 } } },
		{ "a result that is none", { PARSER_TABLES, 1, 0, 0, { 0 } } },
		{ "an error that is none", { PARSER_TABLES, -5000, 0, 0, { 0 } } },
		{ "a failure with something to show", { PARSER_TABLES, -ENOEXEC, 0, 0, { 16 } } },
	};
	int fd;
	struct parser_ask ask = ask_of("walker", &fd);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct parser_reply reply = { .head = { .bytes = { 0 } } };
		struct parser_link l;
		int mouth = lie(&l, &ask);

		l.is_patient =
			false; /* what is refused is refused at once: nothing more is waited for */
		ask.most_wait_ns = 0;
		print_message("%s\n", cases[i].name);
		assert_int_equal(write(mouth, &cases[i].answer, sizeof(cases[i].answer)),
				 sizeof(cases[i].answer));
		assert_int_equal(parser_link_ask(&l, &ask, &reply), -EIO);
		assert_int_equal(l.pid, 0); /* it is not asked again */
		close(mouth);
		parser_reply_free(&reply);
		parser_link_close(&l);
	}
	close(fd);
}

static void an_answer_in_pieces_is_taken_when_it_is_whole(void **state)
{
	const struct parser_answer answer = { PARSER_TABLES, 0, 8, 0, { 3, 0, 5 } };
	char bytes[sizeof(answer) + 16];
	struct parser_reply reply = { .head = { .bytes = { 0 } } };
	struct parser_link l;
	int fd, mouth;
	struct parser_ask ask = ask_of("walker", &fd);

	(void)state;
	memcpy(bytes, &answer, sizeof(answer));
	memcpy(bytes + sizeof(answer), "headheadabcfghij", 16);
	mouth = lie(&l, &ask);
	l.is_patient = false;
	ask.most_wait_ns = 0;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		assert_int_equal(parser_link_ask(&l, &ask, &reply), -EAGAIN);
		assert_int_equal(write(mouth, bytes + i, 1), 1);
	}
	assert_int_equal(parser_link_ask(&l, &ask, &reply), 0);
	assert_memory_equal(reply.head.bytes, "headhead", 8);
	assert_memory_equal(reply.parts[0], "abc", 3);
	assert_null(reply.parts[1]);
	assert_memory_equal(reply.parts[2], "fghij", 5);
	close(mouth);
	parser_reply_free(&reply);
	parser_link_close(&l);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_that_dies_costs_its_file_and_a_pause),
		cmocka_unit_test(a_child_that_hangs_is_not_waited_for_and_killed),
		cmocka_unit_test(what_a_child_spends_has_a_limit),
		cmocka_unit_test(a_patient_one_is_started_again_a_few_times),
		cmocka_unit_test(lengths_that_cannot_be_are_refused_before_memory_is_taken),
		cmocka_unit_test(an_answer_in_pieces_is_taken_when_it_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
