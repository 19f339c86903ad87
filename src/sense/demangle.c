/* demangle.c - libiberty's demanglers behind a ceiling. */
#include "sense/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct output {
	char *bytes;
	size_t len;
	jmp_buf full;
};

/* A name of a few hundred bytes can stand for gigabytes: leave from the middle once there is enough. The demanglers
 * keep what they need on the stack, so nothing is left behind. */
static void collect(const char *piece, size_t len, void *opaque)
{
	struct output *out = opaque;
	size_t room = DEMANGLE_MAX_OUT - out->len;

	if (len > 0) /* else there may be no piece */
		memcpy(out->bytes + out->len, piece, len < room ? len : room);
	out->len += len < room ? len : room;
	if (len >= room)
		longjmp(out->full, 1);
}

static int run(const char *name, int options, struct output *out)
{
	if (setjmp(out->full) != 0)
		return 1;
	if (rust_demangle_callback(name, DMGL_PARAMS, collect, out) != 0)
		return 1;
	out->len = 0;
	return cplus_demangle_v3_callback(name, options, collect, out);
}

bool demangle_may(const char *mangled, size_t len)
{
	return len >= 3 && len <= DEMANGLE_MAX_IN && mangled[0] == '_' &&
	       (mangled[1] == 'Z' || mangled[1] == 'R');
}

static size_t write_plain(const char *mangled, size_t len, int options, char *out)
{
	char name[DEMANGLE_MAX_IN + 1];
	struct output output = { .bytes = out };

	if (!demangle_may(mangled, len))
		return 0;
	memcpy(name, mangled, len);
	name[len] = '\0';
	return run(name, options, &output) != 0 ? output.len : 0;
}

size_t demangle(const char *mangled, size_t len, char *out)
{
	return write_plain(mangled, len, DMGL_PARAMS | DMGL_ANSI, out);
}

size_t demangle_long(const char *mangled, size_t len, char *out)
{
	return write_plain(mangled, len, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT, out);
}
