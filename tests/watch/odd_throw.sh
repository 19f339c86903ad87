#!/bin/sh
# odd_throw.sh - C++: an exception cannot pass a call that has a return probe, so such functions are counted and not timed,
# which is said; overloads and templates have their demangled names.
. "$(dirname "$0")/watch_lib.sh"
[ -x "$targets/odd_throw" ] || skip_all 'no C++ compiler'
need_probes

for off in '' session multi; do
	TARE_NO=$off
	export TARE_NO
	what=${off:+", without $off"}
	plain "$targets/odd_throw"
	watch --interval 1 --price 100% odd::Thrower::work odd::through -- "$targets/odd_throw"
	check "throw$what: the program does the same" same
	check "throw$what: every call is counted, and none is timed" holds 'odd::Thrower::work(unsigned long, bool)' \
		"calls = 1100 AND timed = 0 AND never_timed = 1100 AND mode = 'counting'"
	check "throw$what: totals are not known" holds 'odd::Thrower::work(unsigned long, bool)' 'total_ns IS NULL AND mean_ns IS NULL'
done
check 'an overload is a row of its own' holds \
	'odd::Thrower::work(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)' 'calls = 50'
check 'a template that exceptions pass is counted' holds 'unsigned long odd::through<int>(odd::Thrower&, int, bool)' 'calls = 1100'
check 'the label says that they are not timed' label "scope LIKE '%exception%'"
end
