/* test_link_read.c - bounds on what libpq reads, and rounds of SCRAM found in any pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/link_read.h"

static void a_million_rounds_trip_in_whatever_pieces_they_come(void **state)
{
	static const struct {
		const char *text;
		bool trips;
	} cases[] = {
		{ "r=abcS,s=c2FsdA==,i=4096", false },
		{ "r=abcS,s=c2FsdA==,i=999999", false },
		{ "r=abcS,s=c2FsdA==,i=1000000", true },
		{ "r=abcS,s=c2FsdA==,i=2147483647", true },
		{ "r=abcS,s=c2FsdA==,,i=2147483647", true },
		{ "r=abcS,s=c2FsdA==,i=12,i=2147483647", true },
		{ "r=abcS,s=c2FsdA==,i,i=2147483647", true },
		{ "r=abcS,s=c2FsdA==,i=12x2147483647", false },
		{ "i=2147483647", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t len = strlen(cases[i].text);

		print_message("%s\n", cases[i].text);
		for (size_t piece = 1; piece <= len; piece++) {
			struct link_scan scan = { 0 };
			bool has_tripped = false;

			for (size_t at = 0; at < len; at += piece)
				has_tripped = link_scan_feed(&scan, cases[i].text + at,
							     len - at < piece ? len - at : piece);
			assert_int_equal(has_tripped, cases[i].trips);
		}
	}
}

static void recv_gives_no_more_than_is_allowed(void **state)
{
	char bytes[100] = { 0 };
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(write(ends[0], bytes, 100), 100);
	link_read_begin(60, NULL);
	assert_int_equal(recv(ends[1], bytes, 40, 0), 40);
	assert_int_equal(recv(ends[1], bytes, 40, 0), 20);
	assert_int_equal(recv(ends[1], bytes, 40, 0), -1);
	assert_int_equal(link_read_end(), 60);
	assert_int_equal(recv(ends[1], bytes, 100, 0), 40); /* nobody counts any more */
	close(ends[0]);
	close(ends[1]);
}

static void a_tripped_scan_ends_the_connection(void **state)
{
	static const char asks[] = "r=abcS,s=c2FsdA==,i=50000000";
	struct link_scan scan = { 0 };
	char bytes[100];
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_true(write(ends[0], asks, sizeof(asks)) > 0);
	link_read_begin(1000, &scan);
	assert_int_equal(recv(ends[1], bytes, 100, 0), -1);
	link_read_end();
	assert_true(scan.has_tripped);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_rounds_trip_in_whatever_pieces_they_come),
		cmocka_unit_test(recv_gives_no_more_than_is_allowed),
		cmocka_unit_test(a_tripped_scan_ends_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
