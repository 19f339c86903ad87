/* test_care.c - a helper that dies or hangs costs a fixed share, and stops nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/care.h"
#include "core/scoped.h"

static struct mono at_s(uint64_t seconds)
{
	return (struct mono){ seconds * NS_PER_S };
}

static void each_failure_doubles_the_pause_up_to_ten_minutes(void **state)
{
	static const uint64_t want_s[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600 };
	struct care care;
	uint64_t now_s = 1000;

	(void)state;
	care_init(&care, at_s(now_s));
	assert_true(care_may_start(&care, at_s(now_s)));
	for (size_t i = 0; i < ARRAY_LEN(want_s); i++) {
		care_failed(&care, at_s(now_s));
		assert_false(
			care_may_start(&care, (struct mono){ at_s(now_s + want_s[i]).ns - 1 }));
		assert_true(care_may_start(&care, at_s(now_s + want_s[i])));
		now_s += want_s[i];
	}
}

static void a_calm_hour_forgives_all_failures(void **state)
{
	struct care care;

	(void)state;
	care_init(&care, at_s(0));
	for (int i = 0; i < 5; i++)
		care_failed(&care, at_s(100));
	care_failed(&care, at_s(3699));
	assert_false(care_may_start(&care, at_s(3699 + 31)));
	care_failed(&care, at_s(3699 + 3600));
	assert_true(care_may_start(&care, at_s(3699 + 3601)));
}

/* One that answers well between two failures is no better: it is what a hostile file beside good ones looks like. */
static void a_helper_that_always_hangs_takes_less_than_half_a_percent(void **state)
{
	struct care care;
	uint64_t now_s = 0, hung = 0;

	(void)state;
	care_init(&care, at_s(0));
	while (now_s < 30 * 86400) {
		if (care_may_start(&care, at_s(now_s))) {
			now_s += 2;
			hung += 2;
			care_failed(&care, at_s(now_s));
		} else {
			now_s++;
		}
	}
	assert_in_range(hung, 1000, now_s / 200);
}

static void waiting_takes_a_second_at_once_and_a_tenth_of_all_time(void **state)
{
	struct care care;
	uint64_t waited_ns = 0;

	(void)state;
	care_init(&care, at_s(50));
	assert_int_equal(care_wait_ns(&care, at_s(50)), NS_PER_S);
	assert_int_equal(care_wait_ns(&care, at_s(80)), NS_PER_S);
	care_waited(&care, 2 * NS_PER_S); /* the clock says more than was allowed */
	assert_int_equal(care_wait_ns(&care, at_s(80)), 0);
	for (uint64_t i = 1; i <= 1000; i++) {
		uint64_t ns = care_wait_ns(&care, (struct mono){ at_s(80).ns + i * NS_PER_S / 10 });

		care_waited(&care, ns);
		waited_ns += ns;
	}
	assert_int_equal(waited_ns, 10 * NS_PER_S);
	assert_int_equal(care_wait_ns(&care, at_s(79)),
			 0); /* a time that goes back gives nothing */
}

static void it_may_spend_ten_seconds_and_half_a_percent(void **state)
{
	static const struct {
		const char *name;
		uint64_t spent_ns, now_s;
		bool want;
	} cases[] = {
		{ "at the start, ten seconds", 10 * NS_PER_S, 7, true },
		{ "and no more", 10 * NS_PER_S + 1, 7, false },
		{ "after 200 s one more", 11 * NS_PER_S, 207, true },
		{ "and no more than one", 11 * NS_PER_S + 1, 207, false },
	};
	struct care care;

	(void)state;
	care_init(&care, at_s(7));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s\n", cases[i].name);
		assert_int_equal(care_may_spend(&care, cases[i].spent_ns, at_s(cases[i].now_s)),
				 cases[i].want);
	}
}

static void two_seconds_of_cpu_or_ten_of_silence_are_a_hang(void **state)
{
	(void)state;
	assert_false(care_is_hung(10 * NS_PER_S, 2 * NS_PER_S));
	assert_true(care_is_hung(3 * NS_PER_S, 2 * NS_PER_S + 1));
	assert_true(care_is_hung(10 * NS_PER_S + 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_failure_doubles_the_pause_up_to_ten_minutes),
		cmocka_unit_test(a_calm_hour_forgives_all_failures),
		cmocka_unit_test(a_helper_that_always_hangs_takes_less_than_half_a_percent),
		cmocka_unit_test(waiting_takes_a_second_at_once_and_a_tenth_of_all_time),
		cmocka_unit_test(it_may_spend_ten_seconds_and_half_a_percent),
		cmocka_unit_test(two_seconds_of_cpu_or_ten_of_silence_are_a_hang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
