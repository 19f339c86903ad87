#!/bin/sh
# odd_throw.sh - C++: an exception cannot pass a call that has a return probe, so such functions are timed by probes where
# they are left; overloads and templates have their demangled names.
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
	check "throw$what: every call is counted, and timed where it is left" holds 'odd::Thrower::work(unsigned long, bool)' \
		"calls = 1100 AND mode = 'entry+exits' AND timed >= 100"
	check "throw$what: calls that an exception passed are abandoned" holds 'odd::Thrower::work(unsigned long, bool)' \
		'timed + abandoned = 1100 AND abandoned BETWEEN 990 AND 1000'
	check "throw$what: so are those around them" holds 'unsigned long odd::through<int>(odd::Thrower&, int, bool)' \
		'calls = 1100 AND timed + abandoned = 1100 AND abandoned BETWEEN 990 AND 1000'
done
check 'an overload is a row of its own' holds \
	'odd::Thrower::work(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)' 'calls = 50'
end
