#!/bin/sh
# libtare lives in other people's programs: it shows only tare_*, in both of its forms, and wants nothing that would start a
# thread, write, print, end the process or handle a signal.
# Usage: exports.sh LIBTARE.SO LIBTARE.A     the check
#        exports.sh --self-test CC            shows that the check finds what must not be there
set -eu

# What libtare may want from outside: memory, its own mapping, time, threads' ends.
allowed='memcpy|memset|memmove|strncmp|strnlen|__errno_location|__stack_chk_fail|clock_gettime|getpid|syscall|prctl
memfd_create|fchmod|ftruncate(64)?|fcntl(64)?|fstat(64)?|close|mmap(64)?|munmap|madvise|getrlimit(64)?|sched_yield
__fstat(64)?|__fcntl(64)?|pthread_(atfork|key_create|key_delete|setspecific)|__register_atfork|__cxa_finalize
__gmon_start__|_ITM_.*|_GLOBAL_OFFSET_TABLE_|__tls_get_addr|__(asan|ubsan|tsan|sanitizer)_.*|__dso_handle|__mem(cpy|set)_chk'

check() {
	bad=0
	nm -D --defined-only -P "$1" | awk '{ sub(/@.*/, "", $1) } $1 !~ /^(__odr_asan[.])?tare_/ { print "libtare.so shows " $1; bad = 1 } END { exit bad }' ||
		bad=1
	# A static library cannot hide its own globals, so they bear the name too.
	nm -g --defined-only -P "$2" | awk '$2 ~ /^[TDBRCWV]$/ && $1 !~ /^(__odr_asan[.])?tare_/ { print "libtare.a shows " $1; bad = 1 } END { exit bad }' ||
		bad=1
	wanted="^($(printf '%s' "$allowed" | tr '\n' '|'))\$"
	nm -D -u -P "$1" | awk -v allowed="$wanted" '{ sub(/@.*/, "", $1) } $1 !~ allowed { print "libtare.so wants " $1; bad = 1 } END { exit bad }' ||
		bad=1
	return "$bad"
}

must_find() {
	printf '%s\n' "$2" >"$place/a.c"
	"$cc" -c -fPIC -O1 -w -o "$place/a.o" "$place/a.c"
	"$cc" -shared -o "$place/a.so" "$place/a.o"
	rm -f "$place/a.a"
	ar rc "$place/a.a" "$place/a.o"
	if check "$place/a.so" "$place/a.a" >"$place/log"; then
		echo "exports.sh did not see: $2"
		exit 1
	fi
	grep -q "$1" "$place/log" || {
		echo "exports.sh did not say '$1':"
		cat "$place/log"
		exit 1
	}
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
if [ "$1" = --self-test ]; then
	cc=$2
	must_find 'libtare.so shows other' 'int other(void) { return 1; }'
	must_find 'libtare.a shows other' '__attribute__((visibility("hidden"))) int other(void) { return 1; } int tare_x(void) { return other(); }'
	must_find 'libtare.so wants printf' 'int printf(const char *, ...); int tare_x(void) { return printf("%d", 1); }'
	must_find 'libtare.so wants pthread_create' 'int pthread_create(); int tare_x(void) { return pthread_create(); }'
	must_find 'libtare.so wants abort' 'void abort(void); void tare_x(void) { abort(); }'
else
	check "$1" "$2"
fi
