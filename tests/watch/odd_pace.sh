#!/bin/sh
# odd_pace.sh - what traps a sampler: dearness in step with the interval, a cold first call, bursts, and a function that is
# dear only through what is watched inside it. Each number must be within the error that is printed with it, or say that it
# cannot be told. Errors are half widths of 95 % intervals: twice as much is allowed, which one run in 10,000 exceeds.
. "$(dirname "$0")/watch_lib.sh"
need_probes

# Truth by the target's clock has the probes of each call in it, the recorded times have not.
within='abs(mean_ns - truth_ns) <= 2 * mean_error_ns + 0.04 * truth_ns + 12000'

# The share of timed calls from 30 us up; noise makes dear ones of some cheap ones. One in step with the dear calls would
# see all or none. usage: dear_are PERIOD
dear_are() {
	holds stepped "p50_ns BETWEEN 4500 AND 20000 AND p99_ns >= 50000"
	holds stepped "$((100 / $1)) < 12 OR p90_ns >= 45000"
}

# Unwatched, own_heavy() takes 2 to 4 times what callee_heavy() takes.
ranked() {
	holds callee_heavy 'cannot_rank = 1' >/dev/null && return 0
	own=$(functions_sql own_ns own_heavy | sqlite3 :memory:)
	holds callee_heavy "own_ns < $own"
}

for period in 8 16; do
	plain "$targets/odd_pace" pattern "$period"
	watch stepped -- "$targets/odd_pace" pattern "$period"
	check "every ${period}th call is dear: the program does the same" same
	check "every ${period}th call is dear: all are counted, one in 8 to 16 timed" holds stepped 'calls = 40000 AND timed BETWEEN 1500 AND 8000'
	check "every ${period}th call is dear: the mean is within its error" settles stepped \
		'abs(mean_ns - truth_ns) <= 2 * mean_error_ns + 6000' stepped -- "$targets/odd_pace" pattern "$period"
	check "every ${period}th call is dear: the dear ones are seen as often as they are" dear_are "$period"
done

for count in 3 20 200; do
	plain "$targets/odd_pace" cold "$count"
	watch cold -- "$targets/odd_pace" cold "$count"
	check "a cold first call of $count: the program does the same" same
	check "a cold first call of $count: all are counted" holds cold "calls = $count AND timed >= 1"
	check "a cold first call of $count: total is within its error, or not told" settles cold \
		"total_ns IS NULL OR abs(total_ns - $count * truth_ns) <= 2 * coalesce(total_error_ns, total_ns) + 0.04 * $count * truth_ns" \
		cold -- "$targets/odd_pace" cold "$count"
done
check 'a cold first call of 200: total is known' holds cold 'total_ns IS NOT NULL'
check 'a cold first call is seen as the largest' holds cold 'max_ns >= 5000000'

plain "$targets/odd_pace" bursts 8
watch burst -- "$targets/odd_pace" bursts 8
check 'bursts: the program does the same' same
check 'bursts: none is missed' holds burst 'calls = 8000 AND timed BETWEEN 500 AND 1600'
check 'bursts: the mean is within its error' settles burst "$within" burst -- "$targets/odd_pace" bursts 8

plain "$targets/odd_pace" heavy 500
watch --price 100% own_heavy callee_heavy tiny -- "$targets/odd_pace" heavy 500
check 'callees are watched too: the program does the same' same
check 'callees are watched too: all are counted' holds tiny 'calls = 50000'
check 'callees are watched too: the order is that of the plain run, or the row says that it cannot tell' ranked
end
