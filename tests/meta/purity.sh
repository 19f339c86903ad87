#!/bin/sh
# core is pure: it has no clock, file, socket, environment, random source or stream. Everything that libcore.a wants
# from outside must be on the list below; what is not is named, with the object that wants it.
# Usage: purity.sh LIBCORE       the check
#        purity.sh --self-test CC   shows that the check finds each kind of impurity
set -eu

# Plain memory and text; snprintf writes to memory only. Not gmtime_r (reads TZ and files), strerror (locale), rand.
allowed='memcpy memmove memset memcmp memchr memrchr memmem mempcpy
strlen strnlen strcmp strncmp strchr strrchr strstr strspn strcspn strcasecmp strncasecmp
strtol strtoul strtoll strtoull strtod
snprintf vsnprintf malloc calloc realloc reallocarray free qsort bsearch abs labs llabs
sqrt log log2 log10 log1p exp exp2 expm1 pow floor ceil fabs fmin fmax fmod round trunc nearbyint rint lround llround ldexp frexp
sqrtf floorf ceilf fabsf roundf isnan isinf
explicit_bzero'
# The compiler's and the C library's own: checked variants, assert, errno, character classes, 128-bit division.
allowed_own='__[a-z0-9_]*_chk __stack_chk_fail __assert_fail __errno_location __ctype_[a-z]*_loc
__u?(div|mod|divmod)ti[34] _GLOBAL_OFFSET_TABLE_ __isoc[0-9]*_strto[a-z]*
__(asan|ubsan|tsan|msan|sanitizer|sancov|lsan)_.*'

check() {
	# shellcheck disable=SC2086 # lists of words
	expression=$(printf '%s|' $allowed $allowed_own)
	nm -A -P "$1" >"$place/symbols"
	# "archive[object]: name type ..."; small letters, T, D, B, R, W... are defined here, U and w are wanted.
	awk -v allowed="^(${expression%|})\$" '
		{
			object = $1
			sub(/^.*\[/, "", object)
			sub(/\]:$/, "", object)
		}
		$3 == "U" || $3 == "w" { wants[object " wants " $2] = $2; next }
		{ own[$2] = 1 }
		END {
			for (line in wants)
				if (!(wants[line] in own) && wants[line] !~ allowed)
					print line
		}' "$place/symbols" | sort >"$place/impure"
	[ -s "$place/symbols" ] || {
		echo "'$1' has no symbols: nothing was checked"
		return 1
	}
	[ -s "$place/impure" ] || return 0
	echo "core must be pure, but:"
	cat "$place/impure"
	return 1
}

# must_find NAME BODY: a library whose one function does BODY is refused, and NAME is named.
must_find() {
	printf '%s\n' "$headers" "void sin(void);" "void sin(void) { $2; }" >"$place/bad.c"
	compile "$place/bad.c" "$place/bad.a"
	if check "$place/bad.a" >"$place/log"; then
		echo "purity.sh did not see $1"
		exit 1
	fi
	grep -q "bad.o wants $1\$" "$place/log" || {
		echo "purity.sh did not name $1:"
		cat "$place/log"
		exit 1
	}
}

compile() {
	# shellcheck disable=SC2086 # may be several words
	$compiler -w -O1 -fno-builtin -U_FORTIFY_SOURCE -D_GNU_SOURCE -c "$1" -o "$place/bad.o"
	rm -f "$2"
	ar rcs "$2" "$place/bad.o"
}

self_test() {
	compiler=$1
	headers='#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/mman.h>
#include <pthread.h>
#include <string.h>'
	must_find clock_gettime 'struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t)'
	must_find time 'time(0)'
	must_find gmtime_r 'struct tm m; time_t t = 0; gmtime_r(&t, &m)'
	must_find getenv 'getenv("HOME")'
	must_find open 'open("/dev/null", O_RDONLY)'
	must_find fopen 'fopen("/dev/null", "r")'
	must_find puts 'puts("x")'
	must_find stderr 'fwrite("x", 1, 1, stderr)'
	must_find socket 'socket(1, 1, 0)'
	must_find mmap 'mmap(0, 1, 0, 0, 0, 0)'
	must_find rand 'rand()'
	must_find getpid 'getpid()'
	must_find syscall 'syscall(39)'
	must_find exit 'exit(1)'
	must_find pthread_create 'pthread_create(0, 0, 0, 0)'
	# One that only looks allowed, and one that wants nothing bad.
	must_find memory_of_strangers 'memory_of_strangers()'
	printf '%s\n' "$headers" 'void sin(char *a); void sin(char *a) { memset(a, 0, strlen(a)); }' >"$place/good.c"
	compile "$place/good.c" "$place/good.a"
	check "$place/good.a"
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
case $1 in
--self-test)
	shift
	self_test "$*"
	;;
*)
	check "$1"
	;;
esac
